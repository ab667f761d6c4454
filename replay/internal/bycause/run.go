package bycause

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/beside"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/ownsecrets"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// Run is a recorded run that is to be made again.
type Run struct {
	Recorded *calls.Tree
	Live     Live
	Known    wire.Comparer
	// Kept keeps the new run.
	Kept adk.Probe
	// File is what the recording is called where a run that waits says so.
	File string
	// Whole has one that never ends be an error: else it stands as far as it came.
	Whole bool
}

// Outcome is what became of a new run, beside what it told.
type Outcome struct {
	Pairing
	IDs     *rename.IDs         // that live code made anew
	Callers *codeplace.Callers  // who made the operations
	Lent    []*calls.Step       // the recorded operations whose answers one got that asked otherwise
	Shared  map[int]*calls.Step // as asks.Recorded has it
	Own     *ownsecrets.Secrets // the same
	Refused []beside.Ask        // what was asked beside the run, and not let through
	Endless []string            // who waits for whom in a run that never ends, and was left behind
}

// Pairing is how the crossings of a new run go with the recorded ones, by their numbers.
type Pairing struct {
	// NewSeq has, of each recorded call, return and operation, the new crossing in its place; 0 if
	// there is none.
	NewSeq []int
	// Asks are the recorded asks whose answers those of the new run got, by the crossings that
	// begin them; 0 is none. Rivals are others that were as much like it.
	Asks, Rivals map[int]int
	// Unanswered are the calls that the recording has no answer for.
	Unanswered map[int]bool
	// Unasked are the crossings that executed a tool of live code's own.
	Unasked map[int]bool
}

// Make makes the run again. An error says that there is no new run: the recording is none that
// can be made again, the engine refuses what the run is given, or the context has ended.
func (r Run) Make(ctx context.Context) (*Outcome, error) {
	var first *adk.Crossing
	if r.Recorded.Root != nil {
		first = r.Recorded.Root.Begin
	}
	if err := stub.MustOpen(first); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // a short run may be over before somebody hears of it
		return nil, stub.Interrupted(ctx)
	}
	p := newPlayer(r.Recorded, r.Live, r.Known)
	runCtx := stub.NewRunContext(ctx)
	p.cancel = runCtx.End
	defer context.AfterFunc(ctx, func() { p.fail(stub.Interrupted(ctx)) })()

	p.kept = r.Kept
	run, err := p.again(first, r.Recorded.Info)
	if err != nil {
		return nil, err
	}
	refusals := func() []beside.Ask { return nil }
	if r.Live.Any {
		refusals = beside.Begin(r.Live.Outside).End
		defer refusals()
	}
	refused, err, ended := p.run(ctx, r.File, func() error { return run(runCtx) })
	strays := refusals()
	switch {
	case !ended && (r.Whole || ctx.Err() != nil):
		return nil, p.neverEnded(ctx)
	case err != nil:
		return nil, err
	case refused != nil && r.Live.Any:
		return nil, fmt.Errorf("replay: the engine refuses the run with the live parts: %w", refused)
	case refused != nil:
		return nil, stub.Impossible(calls.LineOfFirst, fmt.Errorf("it describes a run that cannot be made: %w", refused))
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.failed != nil {
		return nil, p.failed
	}
	p.pairUnused()
	p.Callers, p.Refused, p.Shared, p.Own = &p.callers, strays, p.asks.Shared, p.asks.Own
	p.Asks, p.Rivals = p.asks.Counterparts, p.asks.Rivals
	return &p.Outcome, nil
}

// again is the recorded run with the live parts in it.
func (p *player) again(first *adk.Crossing, info adk.RunInfo) (func(context.Context) error, error) {
	if info.Standalone {
		in := p.stage.DispatchStandalone(first, info, p, &p.listeners)
		p.live.applyDispatch(&in.Input, &in.Output, &in.Executor)
		in.Raw.Storage = p.live.storage(in.Raw.Storage)
		p.live.applyInput(&in.Raw.SystemPrompt, &in.Raw.Instructions, &in.Raw.Stash)
		if p.live.Tools {
			in.Raw.Tools = safetext.Each(p.live.Config.Tools, p.stage.Tool)
		}
		return stub.RunStandalone(in), nil
	}
	config, raw, err := p.stage.Turn(first, info, p)
	if err != nil {
		return nil, err
	}
	p.live.apply(&config, &raw)
	if p.live.Tools {
		config.Tools = safetext.Each(p.live.Config.Tools, p.stage.Tool)
	}
	return stub.RunTurn(config, raw, &p.listeners)
}

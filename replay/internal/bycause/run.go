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

// Run is a recorded run to be made again.
type Run struct {
	Recorded *calls.Tree
	Live     Live
	Known    wire.Comparer
	// Kept records the new run.
	Kept adk.Probe
	// File is the name of the recording in messages about a run that waits.
	File string
	// Whole makes it an error that the new run never ends. Otherwise the outcome is as far as the
	// run went.
	Whole bool
}

// Outcome is what is known of a new run in addition to its crossings.
type Outcome struct {
	Pairing
	IDs     *rename.IDs         // which ids that live code made stand for recorded ones
	Callers *codeplace.Callers  // where user code called the operations
	Lent    []*calls.Step       // recorded operations that answered others with different arguments
	Shared  map[int]*calls.Step // see asks.Recorded
	Own     *ownsecrets.Secrets // see asks.Recorded
	Refused []beside.Ask        // requests that user code made outside the engine, and that were blocked
	Endless []string            // who waits for whom, in a run that never ends and was left behind
}

// Pairing says which crossings of a new run stand for which recorded ones, by their numbers.
type Pairing struct {
	// NewSeq has, at the number of each recorded call, return and operation, the number of the new
	// crossing that stands for it; 0 if there is none.
	NewSeq []int
	// Asks has the number of the recorded ask whose answer a new ask got, by the number of the new
	// ask; 0 is none. Rivals has another recorded ask that was just as similar to the new one.
	Asks, Rivals map[int]int
	// Unanswered has the calls for which the recording has no answer.
	Unanswered map[int]bool
	// Unasked has the crossings that executed a tool of live code itself (isUnasked).
	Unasked map[int]bool
}

// Make makes the run again. An error says why there is no new run: the recording cannot be run
// again, the engine refuses what the run is given, the context has ended, or, with Whole, the run
// never ends.
func (r Run) Make(ctx context.Context) (*Outcome, error) {
	var first *adk.Crossing
	if r.Recorded.Root != nil {
		first = r.Recorded.Root.Begin
	}
	if err := stub.MustOpen(first); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // a short run may be over before the AfterFunc below is called
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

// again returns a function that makes the recorded run with the live parts in it.
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

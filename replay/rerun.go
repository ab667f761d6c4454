package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/beside"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/again"
	"github.com/adkreplay/adkreplay/replay/internal/moved"
	"github.com/adkreplay/adkreplay/replay/internal/tape"
	"github.com/adkreplay/adkreplay/replay/internal/withhold"
	"github.com/adkreplay/adkreplay/replay/trace"
)

func init() {
	again.Do = func(ctx context.Context, recorded *trace.Trace, cancels []*adk.Crossing, live again.Live) (*again.Run, error) {
		return runOnce(ctx, recorded, cancels, live.(Live))
	}
	again.SettlesGates = func(live again.Live) bool { return live.(Live).settlesGates() }
}

// runOnce runs a turn once more, as again.Do has it.
func runOnce(ctx context.Context, recorded *trace.Trace, cancels []*adk.Crossing, live Live) (*again.Run, error) {
	known, err := wire.NewSentinels(recorded.Options().Sentinels, recorded.Options().ErrorTypes)
	if err != nil {
		return nil, err
	}
	if err := live.Check(); err != nil {
		return nil, err
	}
	live.unredacted = isClear(recorded)
	tree := calls.Of(recorded)
	tree.Cancels = cancels
	run, err := rerunWhole(ctx, tree, known, live, recorded.Options())
	if err != nil {
		return nil, err
	}
	once := &again.Run{Trace: run.shown, Crossings: run.lines, Counterparts: run.newSeq, NotCompared: run.unseen()}
	for _, x := range run.got.Lines {
		if x.Kind == adk.KindCall && run.unanswered[x.ID] || wire.IsSettlement(x) && x.Key == wire.ByReplay {
			once.Unanswered = append(once.Unanswered, x.Seq)
		}
	}
	return once, nil
}

// rerun makes the run again, to be held against the recording. The new run has no trace
// of its own: what is as recorded is held once.
func rerun(ctx context.Context, want *calls.Tree, known *wire.Sentinels, live Live, options trace.Options) (*replayed, error) {
	return runAgain(ctx, want, known, live, options, false)
}

// rerunWhole is rerun for who wants the trace of the new run.
func rerunWhole(ctx context.Context, want *calls.Tree, known *wire.Sentinels, live Live, options trace.Options) (*replayed, error) {
	return runAgain(ctx, want, known, live, options, true)
}

func runAgain(ctx context.Context, want *calls.Tree, known *wire.Sentinels, live Live, options trace.Options, whole bool) (*replayed, error) {
	var first *adk.Crossing
	if want.Root != nil {
		first = want.Root.Begin
	}
	if err := stub.MustOpen(first); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // a short run may be over before somebody hears of it
		return nil, stub.Interrupted(ctx)
	}
	comparer := wire.Comparer{Sentinels: known, Format: want.Version()}
	p := newCausal(want, live, comparer)
	runCtx := stub.NewRunContext(withhold.WithSizes(ctx, want.Lines))
	p.cancel = runCtx.End
	defer context.AfterFunc(ctx, func() { p.fail(stub.Interrupted(ctx)) })()

	kept := newKept(p, options, whole)
	p.kept = kept
	run, err := p.again(first, want.Info)
	if err != nil {
		return nil, err
	}
	refusals := func() []beside.Ask { return nil }
	if live.any() {
		refusals = beside.Begin(live.names).End
		defer refusals()
	}
	refused, err, ended := p.run(ctx, options.File, func() error { return run(runCtx) })
	strays := refusals()
	switch {
	case !ended && (whole || ctx.Err() != nil):
		return nil, p.neverEnded(ctx)
	case err != nil:
		return nil, err
	case refused != nil && live.any():
		return nil, fmt.Errorf("replay: the engine refuses the run with the live parts: %w", refused)
	case refused != nil:
		return nil, stub.Impossible(calls.LineOfFirst, fmt.Errorf("it describes a run that cannot be made: %w", refused))
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.failed != nil {
		return nil, p.failed
	}
	again := &replayed{ids: p.ids, beside: strays, endless: p.endless, lent: p.lent, shared: p.asks.Shared, own: p.asks.Own, comparison: comparison{known: comparer, newSeq: p.newSeq, live: live, want: describe.Of(want), callers: &p.callers, order: moved.Order{IsApart: p.callers.IsApart},
		unanswered: map[int]bool{}, unasked: p.unasked, asks: p.asks.Counterparts, rivals: p.asks.Rivals}}
	for _, call := range p.unanswered {
		again.unanswered[call] = true
	}
	if err := kept.give(again); err != nil {
		return nil, fmt.Errorf("replay: the new run cannot be recorded: %w", err)
	}
	if want.Cut { // what comes behind is held against nothing
		again.compare()
		again.got = describe.Of(again.got.Within(want, again.counterparts))
		again.found, again.equal, again.views = nil, nil, compare.Views{}
	}
	return again, nil
}

// holds makes a run the one that is held against the recording, with the recorded ids.
func (r *replayed) holds(run *trace.Trace) {
	r.shown, r.lines = run, r.ids.Apply(run.Lines())
	r.got = describe.Of(calls.New(r.want.Version(), run.Info, r.lines))
}

// again is the recorded run with the live parts in it.
func (p *causal) again(first *adk.Crossing, info adk.RunInfo) (func(context.Context) error, error) {
	if info.Standalone {
		in := p.stage.DispatchStandalone(first, info, p, &p.listeners)
		p.live.applyDispatch(&in.Input, &in.Output, &in.Executor)
		in.Raw.Storage = p.live.storage(in.Raw.Storage)
		p.live.applyInput(&in.Raw.SystemPrompt, &in.Raw.Instructions, &in.Raw.Stash)
		if p.live.Takes(Tools) {
			in.Raw.Tools = safetext.Each(p.live.Config.Tools, p.stage.Tool)
		}
		return stub.RunStandalone(in), nil
	}
	config, raw, err := p.stage.Turn(first, info, p)
	if err != nil {
		return nil, err
	}
	p.live.apply(&config, &raw)
	if p.live.Takes(Tools) {
		config.Tools = safetext.Each(p.live.Config.Tools, p.stage.Tool)
	}
	return stub.RunTurn(config, raw, &p.listeners)
}

// kept is what keeps a new run while it is made.
type kept interface {
	adk.Probe
	// give hands the run over to be held against the recording.
	give(to *replayed) error
}

// newKept keeps a run as a trace of its own where somebody wants that, whole or to take out
// of it what the recording's redaction hides, and else on a tape.
func newKept(p *causal, options trace.Options, whole bool) kept {
	options.File = ""
	if !whole && !p.live.hides() {
		return &keptTape{tape.New(p.known, p.tree.Lines, options)}
	}
	k := &keptTrace{options: options}
	k.Recorder = Record(&k.written, RecordOptions{Sentinels: options.Sentinels, ErrorTypes: options.ErrorTypes, MaxLine: options.MaxLine, MaxSaid: options.MaxSaid,
		MaxCrossings: options.MaxCrossings, MaxValues: options.MaxValues})
	return k
}

// keptTrace keeps a new run as a trace.
type keptTrace struct {
	*Recorder
	written tape.Pages
	options trace.Options
}

func (k *keptTrace) give(to *replayed) error {
	in, err := trace.NewReader(&k.written, k.options)
	if err == nil {
		to.trace, err = in.Rest()
	}
	var format *trace.FormatError
	if to.endless != nil && errors.As(err, &format) && format.Fault == trace.FaultTruncated { // it has come to no footer
		err = nil
	}
	if err := errors.Join(k.Err(), err); err != nil {
		return err
	}
	to.holds(to.trace)
	if !to.live.hides() {
		return nil
	}
	shown, err := to.withheld(trace.Options{Sentinels: k.options.Sentinels, ErrorTypes: k.options.ErrorTypes})
	if err == nil && shown != to.trace {
		to.holds(shown)
	}
	return err
}

// keptTape keeps a new run on a tape.
type keptTape struct{ *tape.Tape }

func (k *keptTape) give(to *replayed) error {
	info, told, err := k.Run()
	if err != nil {
		return err
	}
	switch {
	case to.ids.Any():
		lines := make([]trace.Line, len(told))
		for i, x := range told {
			lines[i].Crossing = *x
		}
		to.got = describe.Of(calls.New(to.want.Version(), info, to.ids.Apply(lines)))
	case slices.Equal(told, to.want.Lines):
		to.got = to.want
	default:
		to.got = describe.Of(calls.NewOf(to.want.Version(), info, told))
	}
	return nil
}

package replay

import (
	"context"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// verifyLive is Verify with live seams: the run is made again, recorded, and the
// two recordings are held against each other.
func verifyLive(ctx context.Context, r *trace.Reader, known *wire.Sentinels, live Live) (*Report, error) {
	if err := live.Check(); err != nil {
		return nil, err
	}
	trace, unread := r.Rest()
	if len(trace.Lines) == 0 && unread != nil {
		return nil, unread
	}
	want := calls.Of(trace)
	if d := contract(want.Lines); d != nil {
		return &Report{Live: live.parts(), Divergence: d}, unread
	}
	live.unredacted = isClear(trace)
	again, err := rerun(ctx, want, known, live, r.Options())
	if err != nil {
		return &Report{Live: live.parts()}, err
	}
	report := again.report()
	if report.Divergence != nil && live.harmless() {
		second, err := rerun(ctx, want, known, live, r.Options())
		if err != nil {
			return nil, err
		}
		again.sameTwice(second, report.Divergence)
	}
	if report.Divergence != nil || unread != nil || again.isRecorded() {
		return report, unread
	}
	report.Divergence, err = ofItself(ctx, r.Header(), trace.Lines, known)
	return report, err
}

// ofItself is where a recording and the engine part without any live code: with
// every seam scripted it must play again to the crossing. A comparison with live
// seams leaves alone what live code may do otherwise, such as the order between
// strands; what no engine can have recorded must not hide there. Where a new run is
// nothing but the recorded crossings in their order, an engine has just made them.
func ofItself(ctx context.Context, header trace.Header, lines []trace.Line, known *wire.Sentinels) (*Divergence, error) {
	report, err := play(ctx, header, &linesSource{lines}, known)
	if err != nil || report.Divergence == nil {
		return nil, err
	}
	report.Divergence.Scripted = true
	return report.Divergence, nil
}

// linesSource gives the lines of a trace that was read, which are its own.
type linesSource struct{ rest []trace.Line }

func (s *linesSource) next() (*trace.Line, error) {
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	line := &s.rest[0]
	s.rest = s.rest[1:]
	return line, nil
}

func (*linesSource) spare(*trace.Line) {}

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
	comparer := wire.Comparer{Sentinels: known, Format: want.Version()}
	p := newCausal(want, live, comparer)
	runCtx := stub.NewRunContext(withRedactedSizes(ctx, want))
	p.cancel = runCtx.End
	defer context.AfterFunc(ctx, func() { p.fail(stub.Interrupted(ctx)) })()

	sites, kept := &callers{}, newKept(p, options, whole)
	run, err := p.again(first, want.Info, adk.MultiProbe(p, kept, sites))
	if err != nil {
		return nil, err
	}
	label := watchdog.NewLabel()
	unwatch := p.watch(label)
	refused, err := stub.OwnGoroutine(func() error {
		defer label.Begin()()
		return run(runCtx)
	})
	unwatch()
	switch {
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
	again := &replayed{ids: p.ids, newSeq: p.newSeq, comparison: comparison{known: comparer, live: live, want: describe.Of(want), callers: sites,
		unanswered: map[int]bool{}, unasked: p.unasked, asks: p.asks.counterparts, rivals: p.asks.rivals}}
	for _, call := range p.unanswered {
		again.unanswered[call] = true
	}
	if err := kept.give(again); err != nil {
		return nil, fmt.Errorf("replay: the new run cannot be recorded: %w", err)
	}
	return again, nil
}

// withRedactedSizes has those who make artifacts of tool calls again leave out what
// redaction took from their marks (ART-25).
func withRedactedSizes(ctx context.Context, want *calls.Tree) context.Context {
	var sizes map[string]forging.Size
	for _, x := range want.Lines {
		call, _ := x.Record.(*adk.ToolCall)
		if call == nil {
			continue
		}
		media, _ := call.Results().(*adk.Media)
		if media == nil {
			continue
		}
		mark, _ := media.Stashed(forging.StashKey)
		if size, unhashed := forging.Unhashed(mark.Value); unhashed {
			if sizes == nil {
				sizes = map[string]forging.Size{}
			}
			sizes[call.ID()] = size
		}
	}
	if sizes == nil {
		return ctx
	}
	return forging.WithSizes(ctx, sizes)
}

// holds makes a run the one that is held against the recording, with the recorded ids.
func (r *replayed) holds(run *trace.Trace) {
	r.shown, r.lines = run, r.ids.apply(run.Lines)
	r.got = describe.Of(calls.New(r.want.Version(), run.Info, r.lines))
}

// again is the recorded run with the live parts in it.
func (p *causal) again(first *adk.Crossing, info adk.RunInfo, probe adk.Probe) (func(context.Context) error, error) {
	if info.Standalone {
		in := p.stage.DispatchStandalone(first, info, p, &p.listeners)
		p.live.applyDispatch(&in.Input, &in.Output, &in.Executor)
		in.Raw.Storage, in.Raw.Probe = p.live.storage(in.Raw.Storage), probe
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
	config.Probe = probe
	p.live.apply(&config, &raw)
	if p.live.Takes(Tools) {
		config.Tools = safetext.Each(p.live.Config.Tools, p.stage.Tool)
	}
	return stub.RunTurn(config, raw, &p.listeners)
}

// followed runs a trace once more to its end, and tells what came of the
// crossings behind a divergence; nil where that cannot be told.
func followed(ctx context.Context, recorded io.Reader, rewind io.Seeker, options trace.Options, known *wire.Sentinels, d *Divergence) *Impact {
	if _, err := rewind.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	r, err := trace.NewReader(recorded, options)
	if err != nil {
		return nil
	}
	whole, err := r.Rest()
	if err != nil {
		return nil
	}
	again, err := rerun(ctx, calls.Of(whole), known, Live{}, options)
	if err != nil {
		return nil
	}
	again.compare()
	return again.behind(d.Crossing)
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/again"
	"github.com/adkreplay/adkreplay/replay/internal/bycause"
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

// runOnce runs a turn once more, for again.Do.
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
	once := &again.Run{Trace: run.shown, Crossings: run.lines, Counterparts: run.paired.NewSeq, NotCompared: run.unseen()}
	for _, x := range run.got.Lines {
		if x.Kind == adk.KindCall && run.paired.Unanswered[x.ID] || wire.IsSettlement(x) && x.Key == wire.ByReplay {
			once.Unanswered = append(once.Unanswered, x.Seq)
		}
	}
	return once, nil
}

// rerun makes the run again, to be compared with the recording. The new run has no trace of its
// own: crossings that are as recorded are stored only once.
func rerun(ctx context.Context, want *calls.Tree, known *wire.Sentinels, live Live, options trace.Options) (*replayed, error) {
	return runAgain(ctx, want, known, live, options, false)
}

// rerunWhole is rerun for callers that need the trace of the new run.
func rerunWhole(ctx context.Context, want *calls.Tree, known *wire.Sentinels, live Live, options trace.Options) (*replayed, error) {
	return runAgain(ctx, want, known, live, options, true)
}

func runAgain(ctx context.Context, want *calls.Tree, known *wire.Sentinels, live Live, options trace.Options, whole bool) (*replayed, error) {
	comparer := wire.Comparer{Sentinels: known, Format: want.Version()}
	kept := newKept(want, comparer, live, options, whole)
	run := bycause.Run{Recorded: want, Live: live.inRun(), Known: comparer, Kept: kept, File: options.File, Whole: whole}
	outcome, err := run.Make(withhold.WithSizes(ctx, want.Lines))
	if err != nil {
		return nil, err
	}
	made := &replayed{outcome: outcome, comparison: newComparison(comparer, live, describe.Of(want), nil, outcome.Callers)}
	made.paired = outcome.Pairing
	if err := kept.give(made); err != nil {
		return nil, fmt.Errorf("replay: the new run cannot be recorded: %w", err)
	}
	if want.Cut { // what comes behind is held against nothing
		made.compare()
		made.got = describe.Of(made.got.Within(want, made.counterparts))
		made.found, made.equal, made.views = nil, nil, compare.Views{}
	}
	return made, nil
}

// holds makes run the new run that is compared with the recording, with the recorded ids.
func (r *replayed) holds(run *trace.Trace) {
	r.shown, r.lines = run, r.outcome.IDs.Apply(run.Lines())
	r.got = describe.Of(calls.New(r.want.Version(), run.Info, r.lines))
}

// kept records a new run while it is made.
type kept interface {
	adk.Probe
	// give hands the run over to be compared with the recording.
	give(to *replayed) error
}

// newKept records a run as a trace of its own if the caller needs the whole trace, or if the
// recording's redaction hides something that must be removed from the run; and else on a tape.
func newKept(want *calls.Tree, known wire.Comparer, live Live, options trace.Options, whole bool) kept {
	options.File = ""
	if !whole && !live.hides() {
		return &keptTape{tape.New(known, want.Lines, options)}
	}
	k := &keptTrace{options: options}
	k.Recorder = Record(&k.written, recordingAs(options))
	return k
}

// keptTrace records a new run as a trace.
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
	if to.outcome.Endless != nil && errors.As(err, &format) && format.Fault == trace.FaultTruncated { // the run has no footer
		err = nil
	}
	if err := errors.Join(k.Err(), err); err != nil {
		return err
	}
	to.holds(to.trace)
	if !to.live.hides() {
		return nil
	}
	shown, err := to.withheld(unlimited(k.options))
	if err == nil && shown != to.trace {
		to.holds(shown)
	}
	return err
}

// keptTape records a new run on a tape.
type keptTape struct{ *tape.Tape }

func (k *keptTape) give(to *replayed) error {
	info, told, err := k.Run()
	if err != nil {
		return err
	}
	switch {
	case to.outcome.IDs.Any():
		lines := make([]trace.Line, len(told))
		for i, x := range told {
			lines[i].Crossing = *x
		}
		to.got = describe.Of(calls.New(to.want.Version(), info, to.outcome.IDs.Apply(lines)))
	case slices.Equal(told, to.want.Lines):
		to.got = to.want
	default:
		to.got = describe.Of(calls.NewOf(to.want.Version(), info, told))
	}
	return nil
}

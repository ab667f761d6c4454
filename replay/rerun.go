package replay

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Again is a recorded turn that was run once more on today's engine.
type Again struct {
	// Trace is the new run. Where the recording is redacted, what live code says in the
	// place of what was is withheld in it, and in Crossings.
	Trace *trace.Trace
	// Crossings are those of the new run as they are held against the recording: with
	// the recorded ids in the place of those that live code made anew.
	Crossings []trace.Line
	// Counterparts has, for the number of each recorded crossing, the number of the one
	// of the new run that stands in its place: 0 where there is none, and at 0.
	Counterparts []int
	// Unanswered are the numbers of the crossings of the new run that the recording has
	// no answer for: calls of scripted seams that were not recorded, and gates that
	// nobody settles now.
	Unanswered []int
	// NotCompared says what live seams can do that no crossing tells.
	NotCompared []string
}

// RunAgain runs the turn that a trace holds once more, with the seams in live as user
// code. All others do what the trace says, which need not be what an engine told: it
// may have been changed. cancels are made besides, from outside and each behind the
// crossing whose number it bears.
//
// An error says that there is no new run: live chooses what it does not bring, the
// engine refuses what the run is given, or the context has ended.
func RunAgain(ctx context.Context, recorded *trace.Trace, cancels []*adk.Crossing, live Live) (*Again, error) {
	known, err := wire.NewSentinels(recorded.Options().Sentinels)
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
	again := &Again{Trace: run.shown, Crossings: run.lines, Counterparts: run.newSeq, NotCompared: live.unseen()}
	for _, x := range run.got.Lines {
		if x.Kind == adk.KindCall && run.unanswered[x.ID] || wire.IsSettlement(x) && x.Key == wire.ByReplay {
			again.Unanswered = append(again.Unanswered, x.Seq)
		}
	}
	return again, nil
}

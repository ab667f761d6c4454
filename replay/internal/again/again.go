// Package again is the door by which packages beside replay have a turn run once more and
// get the new run: what verify and what-if are made of, and users need neither's parts.
// Package replay opens it as it is loaded, as package log does for log/slog.
package again

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Run is a recorded turn that was run once more on today's engine.
type Run struct {
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

// Live is a replay.Live, and nothing else: replay imports this package, which so cannot
// name it.
type Live interface {
	Check() error
	Takes(seam string) bool
}

// Do runs the turn that a trace holds once more, with the seams in live as user code.
// All others do what the trace says, which need not be what an engine told: it may have
// been changed. cancels are made besides, from outside and each behind the crossing whose
// number it bears.
//
// An error says that there is no new run: live chooses what it does not bring, the
// engine refuses what the run is given, or the context has ended.
var Do func(ctx context.Context, recorded *trace.Trace, cancels []*adk.Crossing, live Live) (*Run, error)

// SettlesGates reports whether a listener of the user's settles gates. Where none is given
// there is nobody to settle them, and they are settled as recorded.
var SettlesGates func(live Live) bool

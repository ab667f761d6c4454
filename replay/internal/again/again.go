// Package again lets packages beside replay run a turn once more and get the new run. They need it
// for verify and what-if; users need none of it. Package replay sets its functions when it is
// loaded, as package log does for log/slog.
package again

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Run is a recorded turn that was run once more on today's engine.
type Run struct {
	// Trace is the new run. Where the recording is redacted, Trace and Crossings withhold what live
	// code says in the place of what was removed.
	Trace *trace.Trace
	// Crossings are those of the new run as they are compared with the recording: with the recorded
	// ids in the place of those that live code made anew.
	Crossings []trace.Line
	// Counterparts has, at the number of each recorded crossing, the number of the new crossing in
	// its place; 0 where there is none, and at index 0.
	Counterparts []int
	// Unanswered are the numbers of the crossings of the new run that the recording has no answer
	// for: calls of scripted seams that were not recorded, and gates that nothing settles now.
	Unanswered []int
	// NotCompared says what live seams can do that no crossing shows.
	NotCompared []string
}

// Live is always a replay.Live. This package cannot name that type, because replay imports it.
type Live interface {
	Check() error
	Takes(seam string) bool
}

// Do runs the turn of a trace once more, with the seams in live as user code. All other seams do
// what the trace says, even if the trace was edited and no engine did that. cancels are made in
// addition, from outside, each after the crossing that has its number.
//
// An error means that there is no new run: live chooses something that it does not bring, the
// engine refuses what the run is given, or the context has ended.
var Do func(ctx context.Context, recorded *trace.Trace, cancels []*adk.Crossing, live Live) (*Run, error)

// SettlesGates reports whether a listener of the user settles gates. Where there is none, gates are
// settled as recorded.
var SettlesGates func(live Live) bool

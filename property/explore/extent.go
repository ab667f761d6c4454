package explore

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// longestTurn is how many crossings a subject's undisturbed turn may have.
const longestTurn = 100_000

// extent is the length of a run. steps counts the crossings other than events and pieces of
// answers: a loop makes steps, while the length of a stream only depends on what it says.
type extent struct{ crossings, steps int }

func (e *extent) add(x *adk.Crossing) {
	e.crossings++
	if x.Kind.Class() != adk.ClassEvent && x.Kind.Event() == 0 && !wire.IsPiece(x) {
		e.steps++
	}
}

// isTooLong reports whether a run goes on without end. usual is the extent of the undisturbed run;
// zero means unknown.
func (e extent) isTooLong(usual extent) bool {
	return usual.steps > 0 && e.steps >= longestRun(usual.steps) || e.crossings >= max(longestTurn, longestRun(usual.crossings))
}

// longestRun returns how many crossings, or steps, a run may have before its caller cancels, if the
// undisturbed turn has the given number.
func longestRun(undisturbed int) int { return 10*undisturbed + 1000 }

// deafAt returns at how many crossings a run is stopped whose caller cancelled at the given number.
// A turn that heeds its context ends earlier.
func deafAt(cancelled int) int { return cancelled + cancelled/10 + 1000 }

package explore

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// longestTurn is how many crossings a subject's undisturbed turn may have.
const longestTurn = 100_000

// extent is how long a run is. Its steps are the crossings that do more than say something,
// or hand out a piece of an answer: a loop has steps, while one stream is as long as what it
// has to say.
type extent struct{ crossings, steps int }

func (e *extent) add(x *adk.Crossing) {
	e.crossings++
	if x.Kind.Class() != adk.ClassEvent && x.Kind.Event() == 0 && !wire.IsPiece(x) {
		e.steps++
	}
}

// isTooLong reports whether a run goes on and on, where usual is the undisturbed one's
// extent; zero is one that is not known.
func (e extent) isTooLong(usual extent) bool {
	return usual.steps > 0 && e.steps >= longestRun(usual.steps) || e.crossings >= max(longestTurn, longestRun(usual.crossings))
}

// longestRun is how many crossings, or steps, a run may have before its caller cancels,
// where nothing goes wrong in a turn of so many.
func longestRun(undisturbed int) int { return 10*undisturbed + 1000 }

// deafAt is how many crossings a run has at most whose caller has cancelled it because it
// had so many: more than any turn has that heeds its context.
func deafAt(cancelled int) int { return cancelled + cancelled/10 + 1000 }

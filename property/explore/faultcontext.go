package explore

import (
	"context"

	"github.com/adkreplay/adkreplay/internal/cues"
	"github.com/adkreplay/adkreplay/internal/ending"
	"github.com/adkreplay/adkreplay/internal/reread"
)

// outside is the context that is given to Run. It ends when the schedule says so, with the Err and
// the cause that the schedule says.
type outside struct {
	ending.Context

	breaker  reread.Breaker // breaks what is read in the run
	prompter cues.Prompter  // says which iterations of scripts are played in the run
}

// endedByFault is how most runs are ended.
var endedByFault = ending.By(errBroken)

// end ends the context, unless it has ended. A nil cause means err.
func (o *outside) end(err, cause error) {
	var ended context.Context
	switch cause {
	case errBroken:
		ended = endedByFault
	case nil:
		ended = ending.By(err)
	default:
		ended = ending.By(cause)
	}
	o.End(err, ended)
}

// Value returns the breaker to readers, the prompter to scripts, and the cause to package context.
func (o *outside) Value(key any) any {
	switch key {
	case reread.BreakerKey{}:
		return o.breaker
	case cues.PrompterKey{}:
		return o.prompter
	}
	return o.Context.Value(key)
}

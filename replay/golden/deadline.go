package golden

import (
	"context"
	"errors"
	"time"
)

// Where live code waits for what never comes, go test ends the process at its deadline, with
// a page of goroutines and without a report. A check ends before that, and says in which
// trace, and where in the user's code, who waits.

// errNearlyOver is why a check is over.
var errNearlyOver = errors.New("the test is nearly out of time, which go test -timeout gives")

// inTime is what a check of a test runs in: it ends when nine tenths of what the test has
// left have passed, as the rest is for saying so. Tests without a deadline have all the time.
func inTime(t TB) (context.Context, context.CancelFunc) {
	timed, has := t.(interface{ Deadline() (time.Time, bool) })
	if !has {
		return context.Background(), func() {}
	}
	deadline, is := timed.Deadline()
	if !is {
		return context.Background(), func() {}
	}
	return context.WithDeadlineCause(context.Background(), deadline.Add(-time.Until(deadline)/10), errNearlyOver)
}

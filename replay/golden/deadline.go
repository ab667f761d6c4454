package golden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// Where live code waits for what never comes, go test ends the process at its deadline, with
// a page of goroutines and without a report. A check ends before that, and says in which
// trace, and where in the user's code, who waits.

// errNearlyOver is why a check is over.
var errNearlyOver = errors.New("the test is nearly out of time, which go test -timeout gives")

// silence is how long live code may do nothing until somebody at the terminal is told.
const silence = 30 * time.Second

// inTime is what a check of a test runs in: it ends when nine tenths of what the test has
// left have passed, as the rest is for saying so. Tests without a deadline have all the time.
// Of live code that does nothing for long it says so at once, and where that waits.
func inTime(t TB) (context.Context, context.CancelFunc) {
	ctx, cancel := untilNearlyOver(t)
	return watchdog.WithSilence(ctx, silence, func(trace string, all []watchdog.Goroutine) {
		who, _, _ := strings.Cut(watchdog.Describe(all), "\n")
		fmt.Fprintln(os.Stderr, safetext.Folded(fmt.Sprintf("golden: %s: live code has done nothing for %s: %s", safetext.Line(trace), silence, safetext.Line(who)), 80))
	}), cancel
}

func untilNearlyOver(t TB) (context.Context, context.CancelFunc) {
	timed, has := t.(interface{ Deadline() (time.Time, bool) })
	if !has {
		return context.Background(), func() {}
	}
	deadline, ok := timed.Deadline()
	if !ok {
		return context.Background(), func() {}
	}
	return context.WithDeadlineCause(context.Background(), deadline.Add(-time.Until(deadline)/10), errNearlyOver)
}

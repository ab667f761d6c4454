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

// If live code waits for something that never comes, go test ends the process at its deadline, with
// a page of goroutines and no report. So a check ends earlier, and reports the trace and the place
// in the user's code that waits.

// errNearlyOver is the cause with which a check is ended.
var errNearlyOver = errors.New("the test is nearly out of time, which go test -timeout gives")

// silence is how long live code may do nothing before a line on standard error says so.
const silence = 30 * time.Second

// inTime returns the context of a check. The context ends after nine tenths of the time that the
// test has left, so that the rest is available for the report. A test without a deadline has
// unlimited time. If live code does nothing for the duration of silence, the context's watchdog
// prints where it waits.
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

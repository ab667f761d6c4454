package timelimit

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/errtree"
)

// step is how long Outlast sleeps before it looks again.
const step = 20 * time.Millisecond

// Outlast returns err: when ctx has ended, if it has a deadline and err, which is final, is
// that one has passed, since whoever is given err looks at ctx then, and asks again if that
// goes on. Else it returns at once. It sleeps, since a strand that waits for nothing but a
// channel would be taken for one that stands still, and in steps, since ctx may be
// cancelled before its time.
func Outlast(ctx context.Context, err error, final bool) error {
	deadline, has := ctx.Deadline()
	if !final || !has || !errtree.Every(err, isDeadline) {
		return err
	}
	for ctx.Err() == nil {
		time.Sleep(max(min(time.Until(deadline), step), time.Millisecond))
	}
	return err
}

// isDeadline decides on the error of a context itself. One that only answers for it, as a
// client's whose own Timeout has passed, is of no caller.
func isDeadline(err error) (ok, decided bool) {
	ok = err == context.DeadlineExceeded
	return ok, ok
}

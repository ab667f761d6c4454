package timelimit

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/errtree"
)

// step is how long Outlast sleeps between two checks of its context.
const step = 20 * time.Millisecond

// Outlast returns err, in most cases at once. If err is final and says that a deadline has passed,
// and ctx has a deadline, it first waits until ctx has ended, because a caller that gets such an
// error checks ctx and would ask again if ctx were still alive. It sleeps, because a strand that
// waits on a channel alone would be taken for one that is stuck. It sleeps in steps, because ctx
// may be cancelled before its deadline.
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

// isDeadline decides only on a context's own error. An error that merely matches it, such as that
// of a client whose own Timeout has passed, is not the deadline of a caller.
func isDeadline(err error) (ok, decided bool) {
	ok = err == context.DeadlineExceeded
	return ok, ok
}

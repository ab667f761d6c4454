package subtests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/shell"
)

// T is what this package needs of a *testing.T; Self is the type itself.
type T[Self any] interface {
	Helper()
	Errorf(format string, args ...any)
	Name() string
	Run(name string, f func(Self)) bool
}

// Fail fails a subtest with the given name, and says how to run it alone.
func Fail[Self T[Self]](t Self, name string, found fmt.Stringer) {
	t.Helper()
	t.Run(name, func(t Self) {
		t.Helper()
		t.Errorf("%s    go test -run '%s'", found, shell.TestPattern(t.Name()))
	})
}

// ErrTimeout is the cause with which the context of Within ends before the timeout of go test.
var ErrTimeout = errors.New("the timeout of go test was about to come")

// mostSpare is how long before the timeout of go test an exploration ends at most.
const mostSpare = 5 * time.Second

// Within returns the context of a test, which ends a little before the timeout of go test: after a
// timeout nothing of what was found would be reported.
func Within(t interface{ Context() context.Context }) (context.Context, context.CancelFunc) {
	if timed, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if timeout, given := timed.Deadline(); given {
			spare := min(mostSpare, time.Until(timeout)/4)
			return context.WithDeadlineCause(t.Context(), timeout.Add(-spare), ErrTimeout)
		}
	}
	return context.WithCancel(t.Context())
}

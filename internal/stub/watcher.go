package stub

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// ErrUnanswered is the error that a live seam gets if the recording has no answer: the same
// operation with the same arguments was not recorded for its seam and strand, or not as often.
var ErrUnanswered error = &adk.Error{Code: adk.E_UNANSWERED, Message: "the recording has no answer to this"}

// NoAnswer is ErrUnanswered with a text that says which crossing of a new run keeps the run from
// being accepted.
type NoAnswer string

// Error returns the text.
func (e NoAnswer) Error() string { return string(e) }

// Is reports whether the error is ErrUnanswered.
func (NoAnswer) Is(target error) bool { return target == ErrUnanswered }

// Lacks reports whether an error comes from a replay that had no answer. The error may have been
// written and read back; if user code wrapped it without %w, only its text is left.
func Lacks(err error) bool {
	return err != nil && (errors.Is(err, adk.E_UNANSWERED) || strings.Contains(err.Error(), ErrUnanswered.Error()) || strings.Contains(err.Error(), wire.NotHeld))
}

// ErrStopped is the cause with which a replay stops its run.
var ErrStopped = errors.New("replay: stopped at the first divergence")

// leave ends a scripted call as the recorded one ended.
func leave(x *adk.Crossing) error {
	switch x.Outcome {
	case adk.OutcomePanic:
		if p, ok := errors.AsType[*adk.PanicError](x.Err); ok {
			panic(p.Value)
		}
		panic(x.Err)
	case adk.OutcomeGoexit:
		runtime.Goexit()
	}
	return x.Err
}

// Impossible returns the error for a trace that no run can have produced.
func Impossible(line int, err error) error {
	return &trace.FormatError{Line: line, Fault: trace.FaultImpossible, Reason: err.Error(), Err: err}
}

// OwnGoroutine runs the new run on a separate goroutine, because a recorded Goexit ends it. refused
// is the error that the run returned. err is set if the run panicked, which is a fault of this
// package or of the engine, and not of the trace.
func OwnGoroutine(run func() error) (refused, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if value := recover(); value != nil {
				err = ownFault(value)
			}
		}()
		refused = run()
	}()
	<-done
	return refused, err
}

// ownFault returns the error of a replay that panicked.
func ownFault(value any) error {
	return fmt.Errorf("replay: the replay itself failed: %v\n%s", value, debug.Stack())
}

// Interrupted returns the error of a replay whose own context ended.
func Interrupted(ctx context.Context) error {
	return fmt.Errorf("replay: interrupted: %w", context.Cause(ctx))
}

// LeftBehindError is the error of a replay that ended before the goroutines of its run did.
type LeftBehindError struct {
	Why error
	// Who says how many goroutines there are, and what they do.
	Who string
}

// Error says why the replay ended, and which goroutines were left behind.
func (e *LeftBehindError) Error() string { return e.Why.Error() + "\n" + e.Who }

// Unwrap returns the reason why the replay ended.
func (e *LeftBehindError) Unwrap() error { return e.Why }

// Watcher passes calls to the observer of the new run and fails the replay if the observer panics.
// The engine would go on without an observer that panics (DET-4), so the rest of the run would go
// unobserved.
type Watcher struct {
	adk.Observer
	Fail func(error)
}

// Begin passes on the beginning of a step.
func (w Watcher) Begin(s adk.Step) {
	defer w.contained()
	w.Observer.Begin(s)
}

// Park passes on the beginning of a wait.
func (w Watcher) Park(strand int, ready func() bool) {
	defer w.contained()
	w.Observer.Park(strand, ready)
}

// Resume passes on the end of a wait.
func (w Watcher) Resume(strand int) {
	defer w.contained()
	w.Observer.Resume(strand)
}

// Tell passes on a crossing.
func (w Watcher) Tell(x *adk.Crossing) {
	defer w.contained()
	w.Observer.Tell(x)
}

// Handler returns the observer's handler for a tool, if it supplies one.
func (w Watcher) Handler(tool *adk.Tool, own adk.ToolHandler) adk.ToolHandler {
	defer w.contained()
	if server, serves := w.Observer.(adk.ToolServer); serves {
		return server.Handler(tool, own)
	}
	return nil
}

func (w Watcher) contained() {
	if value := recover(); value != nil {
		w.Fail(ownFault(value))
	}
}

// LineOf returns a line to follow the name of its seam, or "" if it says nothing more.
func LineOf(seam, line string) string {
	if line == seam {
		return ""
	}
	return ", " + line
}

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

// ErrUnanswered is what a live seam gets where the recording has no answer: the
// same operation with the same arguments was not recorded for its seam and
// strand, or not as often.
var ErrUnanswered error = &adk.Error{Code: adk.E_UNANSWERED, Message: "the recording has no answer to this"}

// NoAnswer says of which crossing of a new run it is that ErrUnanswered keeps it from being accepted.
type NoAnswer string

// Error is the text.
func (e NoAnswer) Error() string { return string(e) }

// Is reports whether the error is ErrUnanswered.
func (NoAnswer) Is(target error) bool { return target == ErrUnanswered }

// Lacks reports whether an error is one that a replay makes for want of an answer.
// It was written and read; where user code wrapped it without %w only its text is left.
func Lacks(err error) bool {
	return err != nil && (errors.Is(err, adk.E_UNANSWERED) || strings.Contains(err.Error(), ErrUnanswered.Error()) || strings.Contains(err.Error(), wire.NotHeld))
}

// ErrStopped is the cause of a run that its replay broke off.
var ErrStopped = errors.New("replay: stopped at the first divergence")

// leave ends a scripted call as the recording says.
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

// Impossible is the error for a trace of no run.
func Impossible(line int, err error) error {
	return &trace.FormatError{Line: line, Fault: trace.FaultImpossible, Reason: err.Error(), Err: err}
}

// OwnGoroutine runs the new run on a goroutine of its own, as a recorded Goexit
// ends it. refused is what the run answered; err says that it panicked, which is
// a fault of this package or of the engine and none of the trace.
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

// ownFault is the error of a replay that panicked.
func ownFault(value any) error {
	return fmt.Errorf("replay: the replay itself failed: %v\n%s", value, debug.Stack())
}

// Interrupted is the error of a replay whose own context ended.
func Interrupted(ctx context.Context) error {
	return fmt.Errorf("replay: interrupted: %w", context.Cause(ctx))
}

// LeftBehindError is of a replay that has ended before the goroutines of its run.
type LeftBehindError struct {
	Why error
	// Who says how many they are, and what they do.
	Who string
}

// Error is why it has ended, and who was left behind.
func (e *LeftBehindError) Error() string { return e.Why.Error() + "\n" + e.Who }

// Unwrap is why it has ended.
func (e *LeftBehindError) Unwrap() error { return e.Why }

// Watcher observes the new run, and fails the replay where that panics: the engine
// goes on without an observer that does (DET-4), and nobody would see the rest.
type Watcher struct {
	adk.Observer
	Fail func(error)
}

// Begin hands a beginning on.
func (w Watcher) Begin(s adk.Step) {
	defer w.contained()
	w.Observer.Begin(s)
}

// Park hands a wait on.
func (w Watcher) Park(strand int, ready func() bool) {
	defer w.contained()
	w.Observer.Park(strand, ready)
}

// Resume hands the end of a wait on.
func (w Watcher) Resume(strand int) {
	defer w.contained()
	w.Observer.Resume(strand)
}

// Tell hands a crossing on.
func (w Watcher) Tell(x *adk.Crossing) {
	defer w.contained()
	w.Observer.Tell(x)
}

// Handler is that of the observer, if it gives one.
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

// LineOf is a line behind its seam, where it says more than that.
func LineOf(seam, line string) string {
	if line == seam {
		return ""
	}
	return ", " + line
}

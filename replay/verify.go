package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/adkreplay/adkreplay/adk"
)

// Report is what a replay found.
type Report struct {
	// Crossings is how many crossings of the new run agreed with the recorded.
	Crossings int `json:"crossings"`
	// Divergence is the first that did not; nil if all did.
	Divergence *Divergence `json:"divergence,omitempty"`
	// Live are the labels of the seams that were user code; empty when all were
	// scripted.
	Live []string `json:"live,omitempty"`
	// Unreached are those of Live that the new run never came to: nothing is said
	// about their code.
	Unreached []string `json:"unreached,omitempty"`
	// NotCompared says in words what this replay could not hold against the
	// recording; nothing where all seams were scripted and nothing was redacted.
	NotCompared []string `json:"notCompared,omitempty"`
}

// Verify re-runs the turn that a trace holds on today's engine, with the seams
// in live as user code and every other seam doing what was recorded, and
// compares every crossing. Without live seams the trace is read as the replay
// goes on, and the replay stops at the first difference; with live ones it is
// read first and run to the end.
//
// A trace that cannot be read to its end is a *FormatError; what was replayed
// before that is in the report. Any other error says that nothing was replayed.
func Verify(ctx context.Context, trace io.Reader, live Live, options ...Options) (*Report, error) {
	r, err := NewReader(trace, options...)
	if err != nil {
		return nil, err
	}
	known, err := newSentinels(optional(options).Sentinels)
	if err != nil {
		return nil, err
	}
	report := newerContract(r.Header(), live)
	switch {
	case report != nil:
		err = r.readRest()
	case live.any():
		report, err = verifyLive(ctx, r, known, live)
	default:
		report, err = verifyScripted(ctx, trace, r, known)
	}
	if report != nil && report.Divergence != nil {
		report.Divergence.Trace = r.given().File
	}
	if report != nil {
		report.NotCompared = append(report.NotCompared, redactedNote(r.extra())...)
	}
	var format *FormatError
	if errors.As(err, &format) && format.File == "" {
		format.File = r.given().File
	}
	return report, err
}

// verifyScripted is Verify without live seams. What follows from a divergence is
// told where the trace can be read once more.
func verifyScripted(ctx context.Context, trace io.Reader, r *Reader, known *sentinels) (*Report, error) {
	report, err := play(ctx, r.Header(), readerSource{r}, known)
	if err != nil || report.Divergence == nil {
		return report, err
	}
	if err := r.readRest(); err != nil {
		return report, err
	}
	if again, ok := trace.(io.Seeker); ok {
		report.Divergence.After = followed(ctx, trace, again, r.given(), known, report.Divergence)
	}
	return report, nil
}

// readRest reads what a replay that stopped at a divergence left unread: where
// the file was cut short or changed, that may be all that differs.
func (r *Reader) readRest() error {
	for {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// The lines that say what a run begins with.
const (
	lineOfHeader = 1
	lineOfFirst  = 2
)

// impossible is the error for a trace of no run.
func impossible(line int, err error) error {
	return &FormatError{Line: line, Fault: FaultImpossible, Reason: err.Error(), Err: err}
}

// readerSource gives the crossings of a Reader.
type readerSource struct{ r *Reader }

func (s readerSource) next() (*adk.Crossing, error) {
	line, err := s.r.Next()
	if err != nil {
		return nil, err
	}
	return &line.Crossing, nil
}

// play replays what src gives.
func play(ctx context.Context, header Header, src source, known *sentinels) (*Report, error) {
	p := newPlayer(src, known)
	p.outdated = header.Contract < ContractRevision
	runCtx := newRunContext(ctx)
	p.cancel = runCtx.end
	defer context.AfterFunc(ctx, func() { p.fail(interrupted(ctx)) })()

	again, err := p.again(header.Info)
	if err != nil {
		return nil, err
	}
	if refused, err := ownGoroutine(func() error { return again(runCtx) }); err != nil {
		return nil, err
	} else if refused != nil {
		return nil, impossible(lineOfFirst, fmt.Errorf("it describes a run that cannot be made: %w", refused))
	}
	return p.finish()
}

// ownGoroutine runs the new run on a goroutine of its own, as a recorded Goexit
// ends it. refused is what the run answered; err says that it panicked, which is
// a fault of this package or of the engine and none of the trace.
func ownGoroutine(run func() error) (refused, err error) {
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

// interrupted is the error of a replay whose own context ended.
func interrupted(ctx context.Context) error {
	return fmt.Errorf("replay: interrupted: %w", context.Cause(ctx))
}

// watcher observes the new run, and fails the replay where that panics: the engine
// goes on without an observer that does (DET-4), and nobody would see the rest.
type watcher struct {
	adk.Observer
	fail func(error)
}

// Begin hands a beginning on.
func (w watcher) Begin(s adk.Step) {
	defer w.contained()
	w.Observer.Begin(s)
}

// Park hands a wait on.
func (w watcher) Park(strand int, ready func() bool) {
	defer w.contained()
	w.Observer.Park(strand, ready)
}

// Resume hands the end of a wait on.
func (w watcher) Resume(strand int) {
	defer w.contained()
	w.Observer.Resume(strand)
}

// Tell hands a crossing on.
func (w watcher) Tell(x *adk.Crossing) {
	defer w.contained()
	w.Observer.Tell(x)
}

// Handler is that of the observer, if it gives one.
func (w watcher) Handler(tool *adk.Tool) adk.ToolHandler {
	defer w.contained()
	if server, serves := w.Observer.(adk.ToolServer); serves {
		return server.Handler(tool)
	}
	return nil
}

func (w watcher) contained() {
	if value := recover(); value != nil {
		w.fail(ownFault(value))
	}
}

// fail stops a replay that cannot go on.
func (p *player) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readErr = err
	p.stop()
}

// finish judges the replay when the new run is over.
func (p *player) finish() (*Report, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.peek(0); x != nil && !p.stopped {
		p.missing(x)
	}
	report := &Report{Crossings: p.matched, Divergence: p.found}
	if p.readErr != nil && p.readErr != io.EOF {
		return report, p.readErr
	}
	return report, nil
}

package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/internal/optional"
	"github.com/adkreplay/adkreplay/replay/internal/outlet"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Recorder is a probe that writes a trace of what it observes (contract DET-4).
// It never disturbs a turn: where writing fails or panics, the trace ends there
// without a footer, and Err says why. It is safe for concurrent use.
//
// Each line is written while the turn waits for it. Where the underlying writer
// can be slow, RecordOptions.Buffer puts a queue between.
type Recorder struct {
	options RecordOptions
	open    func(adk.RunInfo) (io.WriteCloser, error)
	rules   *redacting.Compiled      // nil where nothing is redacted
	among   *redacting.Conversations // nil where each run is redacted by itself
	invalid error                    // of the options: nothing is recorded

	behind   sync.WaitGroup // the runs that are still being written
	mu       sync.Mutex
	errs     []error // the first failures
	failures int     // all of them
}

// keptFailures is how many failures a recorder keeps: where a disk is full, every run
// of a process fails.
const keptFailures = 16

// RecordOptions are what a recorder can be told. Record and RecordEach take them at
// most once; none are the zero RecordOptions.
type RecordOptions struct {
	// Sentinels are as in trace.Options: the errors of user code that a trace names.
	Sentinels map[string]error
	// ErrorTypes are as in trace.Options: the types that errors.As finds in a replay, too.
	ErrorTypes map[string]trace.ErrorType
	// MaxBytes is the longest trace, in bytes of its lines, compressed or not. A
	// trace ends before the line that would go beyond it, without a footer. Zero is
	// no bound, and with Compress trace.DefaultMaxUnpacked: readers unpack no more
	// unless their trace.Options raise it.
	MaxBytes int64
	// MaxLine is the longest line, in bytes: a crossing that says more is cut into
	// several. Zero is trace.DefaultMaxLine, beyond which nobody reads whose
	// trace.Options do not raise it too.
	MaxLine int64
	// MaxSaid, MaxCrossings and MaxValues are how many bytes a crossing says, how many
	// crossings a trace has, and how many JSON values a crossing: the trace ends before
	// the one that is beyond, without a footer. Zero is what readers take.
	MaxSaid, MaxCrossings, MaxValues int64
	// Redact is what must not be written; nil is nothing.
	Redact *redact.Rules
	// Conversation says which conversation a run is of, by the call that it begins with,
	// which has what the run was given: a text that names it, empty for none. What a path
	// of Redact finds in a run of it is looked for in its later runs, too, which are told
	// what this one has said. Of the 1024 latest conversations the recorder remembers the
	// 256 latest such texts. Nil is each run by itself. It may be called from many
	// goroutines.
	Conversation func(first *adk.Crossing) string
	// Sample reports of a run that begins whether it is recorded; nil is every run.
	// OneIn makes one. It may be called from many goroutines.
	Sample func(adk.RunInfo) bool
	// Buffer is how many bytes of a run may wait for a writer that is slower than
	// the run. With it, traces are written behind their runs, which never wait;
	// where the bytes do not suffice, the trace ends there without a footer. Zero
	// writes while the run waits.
	Buffer int
	// Compress has traces compressed with zstd. Readers need no option: they tell a
	// compressed trace by its first bytes. Every crossing still comes out by itself,
	// so that a crash leaves what was recorded before it. What a run keeps for that
	// is bounded for all runs together: of 512 that are under way at once a trace
	// says once what its lines have in common; of those beyond, each line is
	// compressed by itself, which saves little.
	Compress bool
}

// writing is what of the options the writer of a trace is told.
func (o RecordOptions) writing() trace.Options {
	return trace.Options{Sentinels: o.Sentinels, ErrorTypes: o.ErrorTypes, MaxLine: o.MaxLine, MaxSaid: o.MaxSaid, MaxCrossings: o.MaxCrossings, MaxValues: o.MaxValues}
}

// recordingAs has a recorder write as a trace was read: writing the other way round.
func recordingAs(o trace.Options) RecordOptions {
	return RecordOptions{Sentinels: o.Sentinels, ErrorTypes: o.ErrorTypes, MaxLine: o.MaxLine, MaxSaid: o.MaxSaid, MaxCrossings: o.MaxCrossings, MaxValues: o.MaxValues}
}

// unlimited is what of the options says which errors are known: what has been read is written
// again whatever its size.
func unlimited(o trace.Options) trace.Options {
	return trace.Options{Sentinels: o.Sentinels, ErrorTypes: o.ErrorTypes}
}

// Record makes a Recorder that writes the trace of one run to w. A second run
// is not observed, and Err says so; without a writer none is, and Err says so at once.
func Record(w io.Writer, options ...RecordOptions) *Recorder {
	if w == nil {
		return RecordEach(nil, options...)
	}
	var once sync.Once
	open := func(adk.RunInfo) (out io.WriteCloser, err error) {
		err = errors.New("the recorder has a run already, and a writer for one only: RecordEach records many")
		once.Do(func() { out, err = outlet.Unclosed(w), nil })
		return out, err
	}
	return RecordEach(open, options...)
}

// RecordEach makes a Recorder that writes a trace of every run to a writer of
// its own. open is called as the run begins; the writer is closed when the run
// has ended, or when writing failed. open may be called from many goroutines.
func RecordEach(open func(adk.RunInfo) (io.WriteCloser, error), options ...RecordOptions) *Recorder {
	r := &Recorder{options: optional.First(options), open: open}
	if open == nil {
		r.open = func(adk.RunInfo) (io.WriteCloser, error) { return nil, nil }
		r.failed(errors.New("replay: the recorder was given no writer, and records nothing: want an io.Writer, or RecordEach with a function that opens one"))
	}
	if redaction := r.options.Redact; redaction != nil {
		r.rules, r.invalid = redacting.Compile(redaction)
		if of := r.options.Conversation; of != nil {
			r.among = redacting.NewConversations(of)
		}
	}
	return r
}

// Observe opens the writer of a run that begins. A run that RecordOptions.Sample leaves
// out, or whose writer does not open, is not observed.
func (r *Recorder) Observe(info adk.RunInfo) adk.Observer {
	out, err := r.opened(info)
	if err != nil {
		r.failed(fmt.Errorf("replay: a run is not recorded: %w", err))
		return nil
	}
	if out == nil {
		return nil
	}
	out = r.layered(out)
	if r.rules != nil {
		return &recording{recorder: r, out: out, trace: redacting.NewWriterIn(r.among, out, trace.Header{Info: info}, r.rules, r.options.writing())}
	}
	return &recording{recorder: r, out: out, trace: trace.NewWriter(out, trace.Header{Info: info}, r.options.writing())}
}

// opened is the writer of a run, nil for a run that is left out.
func (r *Recorder) opened(info adk.RunInfo) (out io.WriteCloser, err error) {
	defer outlet.Contain(&err)
	if r.invalid != nil {
		return nil, r.invalid
	}
	if sample := r.options.Sample; sample != nil && !sample(info) {
		return nil, nil
	}
	out, err = r.open(info)
	if err == nil && out == nil {
		err = errors.New("there is no writer")
	}
	return out, err
}

// Err says why traces have no footer or were not begun, of all runs so far; nil
// if there are none such. Of many it has the first 16, and says how many more there
// were. Ask when the runs have ended, and with RecordOptions.Buffer after Wait.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := slices.Clone(r.errs)
	if more := r.failures - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("replay: and %s more", safetext.Counted(more, "failure")))
	}
	return errors.Join(errs...)
}

func (r *Recorder) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if len(r.errs) < keptFailures {
		r.errs = append(r.errs, err)
	}
}

// recording observes one run. The engine tells it crossings one at a time.
type recording struct {
	recorder *Recorder
	out      io.WriteCloser
	trace    crossingWriter
	over     bool
}

// crossingWriter is a Writer, or one that redacts.
type crossingWriter interface {
	Write(*adk.Crossing) error
	Close() error
}

// Begin does nothing: a recorder holds nobody back.
func (*recording) Begin(adk.Step) {}

// Park does nothing.
func (*recording) Park(int, func() bool) {}

// Resume does nothing.
func (*recording) Resume(int) {}

// Tell writes the crossing. The return of the run is its last.
func (r *recording) Tell(c *adk.Crossing) {
	if r.over {
		return
	}
	r.over = c.Kind == adk.KindReturn && c.ID == calls.RunCall
	if err := r.write(c); err != nil {
		r.over = true
		r.recorder.failed(err)
	}
	if r.over {
		r.close()
	}
}

func (r *recording) write(c *adk.Crossing) (err error) {
	defer outlet.Contain(&err)
	if err := r.trace.Write(c); err != nil || !r.over {
		return err
	}
	return r.trace.Close()
}

func (r *recording) close() {
	if err := r.closeOut(); err != nil {
		r.recorder.failed(fmt.Errorf("replay: closing a trace: %w", err))
	}
}

func (r *recording) closeOut() (err error) {
	defer outlet.Contain(&err)
	return r.out.Close()
}

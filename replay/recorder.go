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

// Recorder is a probe that writes a trace of what it observes (contract DET-4). It never disturbs a
// turn: where writing fails or panics, the trace ends there without a footer, and Err says why. A
// Recorder is safe for concurrent use.
//
// Each line is written while the turn waits for it. Where the underlying writer can be slow,
// RecordOptions.Buffer puts a queue between.
type Recorder struct {
	options RecordOptions
	open    func(adk.RunInfo) (io.WriteCloser, error)
	rules   *redacting.Compiled      // nil where nothing is redacted
	among   *redacting.Conversations // nil where each run is redacted by itself
	invalid error                    // of the options; then nothing is recorded

	behind   sync.WaitGroup // the runs that are still being written
	mu       sync.Mutex
	errs     []error // the first failures
	failures int     // how many there were
}

// keptFailures is how many failures a recorder keeps: when a disk is full, every run of a process
// fails.
const keptFailures = 16

// RecordOptions are the options of a recorder. Record and RecordEach take at most one; without it
// they use the zero RecordOptions.
type RecordOptions struct {
	// Sentinels are the errors of user code that a trace names, as in trace.Options.
	Sentinels map[string]error
	// ErrorTypes are the types that errors.As finds in a replay, too, as in trace.Options.
	ErrorTypes map[string]trace.ErrorType
	// MaxBytes limits the length of a trace, in bytes of its lines before compression. A trace ends
	// before the line that would exceed it, without a footer. Zero is no limit; with Compress it is
	// trace.DefaultMaxUnpacked, since readers unpack no more unless their trace.Options raise it.
	MaxBytes int64
	// MaxLine limits the length of a line, in bytes: a crossing that needs more is split into
	// several lines. Zero is trace.DefaultMaxLine; a reader needs a larger limit in its
	// trace.Options to read longer lines.
	MaxLine int64
	// MaxSaid limits the bytes of a crossing, MaxCrossings the crossings of a trace, and MaxValues
	// the JSON values of a crossing. A trace ends before the crossing that would exceed one of
	// them, without a footer. Zero is the default limit of readers.
	MaxSaid, MaxCrossings, MaxValues int64
	// Redact says what must not be written; nil redacts nothing.
	Redact *redact.Rules
	// Conversation names the conversation that a run belongs to; empty for none. first is the call
	// that begins the run, with what the run was given. A secret that a path of Redact finds in one
	// run is then redacted in the later runs of the conversation, too, since they are given what
	// this run has said. The recorder remembers the 256 latest secrets of each of the 1024 latest
	// conversations. Nil redacts each run by itself. Conversation may be called from several
	// goroutines at once.
	Conversation func(first *adk.Crossing) string
	// Sample reports whether a run that begins is recorded; nil records every run. OneIn makes such
	// a function. It may be called from several goroutines at once.
	Sample func(adk.RunInfo) bool
	// Buffer is how many bytes of a run may wait for a writer that is slower than the run. With it,
	// another goroutine writes the trace and the run never waits; when the buffer is full, the
	// trace ends without a footer. Zero writes while the run waits.
	Buffer int
	// Compress compresses traces with zstd. Readers need no option: they recognize a compressed
	// trace by its first bytes. Every crossing is still written by itself, so that a crash leaves
	// what was recorded before it. The memory for that is bounded for all runs together: up to 512
	// runs at the same time compress each line with what the lines before it have in common;
	// further runs compress each line by itself, which saves little.
	Compress bool
}

// writing is the part of the options that the writer of a trace needs.
func (o RecordOptions) writing() trace.Options {
	return trace.Options{Sentinels: o.Sentinels, ErrorTypes: o.ErrorTypes, MaxLine: o.MaxLine, MaxSaid: o.MaxSaid, MaxCrossings: o.MaxCrossings, MaxValues: o.MaxValues}
}

// recordingAs makes the options with which a recorder writes as a trace was read. It is the inverse
// of writing.
func recordingAs(o trace.Options) RecordOptions {
	return RecordOptions{Sentinels: o.Sentinels, ErrorTypes: o.ErrorTypes, MaxLine: o.MaxLine, MaxSaid: o.MaxSaid, MaxCrossings: o.MaxCrossings, MaxValues: o.MaxValues}
}

// unlimited keeps only which errors are known: what has been read is written again whatever its
// size.
func unlimited(o trace.Options) trace.Options {
	return trace.Options{Sentinels: o.Sentinels, ErrorTypes: o.ErrorTypes}
}

// Record makes a Recorder that writes the trace of one run to w. It does not observe a second run,
// and Err then says so. If w is nil it records nothing, and Err says so at once.
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

// RecordEach makes a Recorder that writes the trace of every run to a writer of its own. It calls
// open when a run begins, and closes the writer when the run has ended or writing has failed. open
// may be called from several goroutines at once.
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

// Observe opens the writer of a run that begins. It returns nil, and the run is not recorded, if
// RecordOptions.Sample leaves the run out or its writer does not open.
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

// opened is the writer of a run; nil for a run that is left out.
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

// Err says why traces of the runs so far have no footer or were not begun; nil if there are no such
// traces. It has the first 16 failures, and says how many more there were. Call it when the runs
// have ended, and with RecordOptions.Buffer after Wait.
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

// recording observes one run. The engine calls it with one crossing at a time.
type recording struct {
	recorder *Recorder
	out      io.WriteCloser
	trace    crossingWriter
	over     bool
}

// crossingWriter is a trace.Writer, or a writer that redacts.
type crossingWriter interface {
	Write(*adk.Crossing) error
	Close() error
}

// Begin does nothing: a recorder never holds a step back.
func (*recording) Begin(adk.Step) {}

// Park does nothing.
func (*recording) Park(int, func() bool) {}

// Resume does nothing.
func (*recording) Resume(int) {}

// Tell writes a crossing. The last one is the return of the run.
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

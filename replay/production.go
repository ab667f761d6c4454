package replay

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file is what a recorder needs in production: between it and the disk lie
// layers that keep a trace from growing too large and a slow disk from the turn.

// OneIn records every n-th run, the first one included, as RecordOptions.Sample asks.
// An n below 2 records every run.
func OneIn(n int) func(adk.RunInfo) bool {
	var runs atomic.Uint64
	return func(adk.RunInfo) bool {
		run := runs.Add(1) - 1
		return n < 2 || run%uint64(n) == 0
	}
}

// layered is the writer of a run behind all that the options ask for.
func (r *Recorder) layered(out io.WriteCloser) io.WriteCloser {
	if r.options.Buffer > 0 {
		out = r.startBehind(out)
	}
	if r.options.Compress {
		out = trace.NewCompressor(out)
	}
	if most := r.options.maxBytes(); most > 0 {
		out = &capped{out, most}
	}
	return out
}

// maxBytes is how long a trace may get; zero is no bound.
func (o RecordOptions) maxBytes() int64 {
	if o.MaxBytes <= 0 && o.Compress {
		return trace.DefaultMaxUnpacked
	}
	return o.MaxBytes
}

// capped ends a trace that grows too large.
type capped struct {
	io.WriteCloser
	left int64
}

func (c *capped) Write(line []byte) (int, error) {
	if int64(len(line)) > c.left {
		return 0, fmt.Errorf("the line has %d bytes, and of RecordOptions.MaxBytes %d are left", len(line), c.left)
	}
	c.left -= int64(len(line))
	return c.WriteCloser.Write(line)
}

// behind writes what it is given on a goroutine of its own, which ends when it
// is closed and all is written. Neither Write nor Close waits for the writer.
type behind struct {
	out    io.WriteCloser
	failed func(error)

	mu     sync.Mutex
	more   *sync.Cond
	queue  [][]byte
	room   int
	closed bool
	err    error // of out, or for want of room
	told   bool  // Write has given err back
}

// startBehind starts the goroutine that writes a run.
func (r *Recorder) startBehind(out io.WriteCloser) *behind {
	b := &behind{out: out, failed: r.failed, room: r.options.Buffer}
	b.more = sync.NewCond(&b.mu)
	r.behind.Add(1)
	go func() {
		defer r.behind.Done()
		b.run()
	}()
	return b
}

// Wait blocks until all that RecordOptions.Buffer holds back of runs that have ended
// is written and their writers are closed. A writer that never returns makes it
// wait for ever.
func (r *Recorder) Wait() { r.behind.Wait() }

var errSlow = errors.New("the writer is slower than the run, and RecordOptions.Buffer is full")

func (b *behind) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil && len(line) > b.room {
		b.err = errSlow
	}
	if b.err != nil {
		b.told = true
		return 0, b.err
	}
	b.room -= len(line)
	b.queue = append(b.queue, append([]byte(nil), line...))
	b.more.Signal()
	return len(line), nil
}

// Close says that nothing follows.
func (b *behind) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Signal()
	return nil
}

// run writes line after line. What came before the room ran out is written too.
func (b *behind) run() {
	for line := b.next(); line != nil; line = b.next() {
		if err := writeContained(b.out, line); err != nil {
			b.fail(err)
		}
	}
	if err := closeContained(b.out); err != nil {
		b.failed(fmt.Errorf("replay: closing a trace: %w", err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil && !b.told {
		b.failed(fmt.Errorf("replay: writing a trace: %w", b.err))
	}
}

// next waits for a line, and gives nil when none follows.
func (b *behind) next() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.closed {
		b.more.Wait()
	}
	if len(b.queue) == 0 {
		return nil
	}
	line := b.queue[0]
	b.queue = b.queue[1:]
	b.room += len(line)
	return line
}

// fail drops what waits: behind a line that is missing nothing can be read.
func (b *behind) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.queue = err, nil
}

func writeContained(w io.Writer, line []byte) (err error) {
	defer containPanic(&err)
	n, err := w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}

func closeContained(c io.Closer) (err error) {
	defer containPanic(&err)
	return c.Close()
}

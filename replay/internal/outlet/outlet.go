// Package outlet is what stands between who records a run and where that is written: a cap on
// its length, and a queue before a writer that may be slow.
package outlet

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Contain makes a panic an error, of whoever defers it.
func Contain(err *error) {
	if value := recover(); value != nil {
		*err = &adk.PanicError{Value: value}
	}
}

// Unclosed leaves the closing of a writer to whoever opened it.
func Unclosed(out io.Writer) io.WriteCloser { return unclosed{out} }

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Capped refuses a line that would make what is written longer than most bytes.
func Capped(out io.WriteCloser, most int64) io.WriteCloser { return &capped{out, most} }

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

// Queue holds back what is written until Run has written it, of which neither Write nor Close
// waits.
type Queue struct {
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

// NewQueue has room for so many bytes; failed is told what went wrong and no Write gave back.
func NewQueue(out io.WriteCloser, room int, failed func(error)) *Queue {
	q := &Queue{out: out, failed: failed, room: room}
	q.more = sync.NewCond(&q.mu)
	return q
}

var errSlow = errors.New("the writer is slower than the run, and RecordOptions.Buffer is full")

// Write is refused where there is no room, and behind a line that was not written.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil && len(line) > q.room {
		q.err = errSlow
	}
	if q.err != nil {
		q.told = true
		return 0, q.err
	}
	q.room -= len(line)
	q.queue = append(q.queue, append([]byte(nil), line...))
	q.more.Signal()
	return len(line), nil
}

// Close says that nothing follows.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Signal()
	return nil
}

// Run writes line after line until the queue is closed and all is written. What came before
// the room ran out is written too.
func (q *Queue) Run() {
	for line := q.next(); line != nil; line = q.next() {
		if err := writeContained(q.out, line); err != nil {
			q.fail(err)
		}
	}
	if err := closeContained(q.out); err != nil {
		q.failed(fmt.Errorf("replay: closing a trace: %w", err))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil && !q.told {
		q.failed(fmt.Errorf("replay: writing a trace: %w", q.err))
	}
}

// next waits for a line, and gives nil when none follows.
func (q *Queue) next() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) == 0 && !q.closed {
		q.more.Wait()
	}
	if len(q.queue) == 0 {
		return nil
	}
	line := q.queue[0]
	q.queue = q.queue[1:]
	q.room += len(line)
	return line
}

// fail drops what waits: behind a line that is missing nothing can be read.
func (q *Queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err, q.queue = err, nil
}

func writeContained(w io.Writer, line []byte) (err error) {
	defer Contain(&err)
	n, err := w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}

func closeContained(c io.Closer) (err error) {
	defer Contain(&err)
	return c.Close()
}

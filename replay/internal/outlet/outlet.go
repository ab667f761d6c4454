// Package outlet has the layers between a recorder and the writer of a trace: a cap on its length,
// and a queue before a writer that may be slow.
package outlet

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Contain turns a panic of the function that defers it into an error.
func Contain(err *error) {
	if value := recover(); value != nil {
		*err = &adk.PanicError{Value: value}
	}
}

// Unclosed leaves the closing of a writer to the code that opened it.
func Unclosed(out io.Writer) io.WriteCloser { return unclosed{out} }

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Capped refuses a line that would make the output longer than most bytes.
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

// Queue holds what is written until Run has written it. Write and Close do not wait for that.
type Queue struct {
	out    io.WriteCloser
	failed func(error)

	mu     sync.Mutex
	more   *sync.Cond
	queue  [][]byte
	room   int
	closed bool
	err    error // of out, or because there is no room
	told   bool  // Write has returned err
}

// NewQueue makes a queue with room for so many bytes. failed is called with an error that no Write
// has returned.
func NewQueue(out io.WriteCloser, room int, failed func(error)) *Queue {
	q := &Queue{out: out, failed: failed, room: room}
	q.more = sync.NewCond(&q.mu)
	return q
}

var errSlow = errors.New("the writer is slower than the run, and RecordOptions.Buffer is full")

// Write returns an error if there is no room, or after a line that was not written.
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

// Run writes line after line until the queue is closed and everything is written. Lines that came
// before the room ran out are written, too.
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

// next waits for a line; nil means that none follows.
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

// fail drops what waits: nothing after a missing line can be read.
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

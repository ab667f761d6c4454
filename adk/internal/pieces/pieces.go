// Package pieces lets a loop range once over the pieces of a stream.
package pieces

import (
	"iter"
	"sync/atomic"
)

// Loop is one loop over a stream, as seen by the code that hands out the pieces.
type Loop[P any] struct {
	yield   func(P, error) bool
	inBody  bool // the loop's body is running; stays true if it panics or ends its goroutine
	stopped bool // the loop has been left
}

// Seq returns the stream whose pieces run hands out. If run returns an error and the loop was not
// left before, the loop's last round gets that error and no piece. A second loop gets no piece and,
// as its error, twice.
func Seq[P any](run func(*Loop[P]) error, twice error) iter.Seq2[P, error] {
	var ranged atomic.Bool
	return func(yield func(P, error) bool) {
		l := &Loop[P]{yield: yield}
		err := twice
		if !ranged.Swap(true) {
			err = run(l)
		}
		if err != nil && !l.Left() {
			var none P
			yield(none, err)
		}
	}
}

// Hand runs the loop's body with a piece, and reports whether the body wants more.
func (l *Loop[P]) Hand(piece P) (more bool) {
	l.inBody = true
	more = l.yield(piece, nil)
	l.inBody = false
	l.stopped = !more
	return more
}

// InBody reports whether the loop's body is running. If it is true after Hand, the body panicked or
// ended its goroutine.
func (l *Loop[P]) InBody() bool { return l.inBody }

// Left reports whether the loop has been left, or its body has not returned: no more pieces may be
// handed to it.
func (l *Loop[P]) Left() bool { return l.stopped || l.inBody }

// Package pieces lets a loop range over the pieces of a stream, once.
package pieces

import (
	"iter"
	"sync/atomic"
)

// Loop is one loop over a stream, for the one that hands out its pieces.
type Loop[P any] struct {
	yield   func(P, error) bool
	inBody  bool // the loop's body runs; stays if it panics or ends its goroutine
	stopped bool // the loop has been left
}

// Seq is the stream whose pieces run hands out. The error that run gives is the last round
// of the loop, and of no piece, unless the loop was left before. A second loop gets the
// error twice.
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

// Hand runs the loop's body with a piece, and reports whether it wants more.
func (l *Loop[P]) Hand(piece P) (more bool) {
	l.inBody = true
	more = l.yield(piece, nil)
	l.inBody = false
	l.stopped = !more
	return more
}

// InBody reports whether the loop's body runs: behind Hand, that it panicked or ended its
// goroutine.
func (l *Loop[P]) InBody() bool { return l.inBody }

// Left reports whether the loop's body has not come to its end: nothing more may be handed
// to it.
func (l *Loop[P]) Left() bool { return l.stopped || l.inBody }

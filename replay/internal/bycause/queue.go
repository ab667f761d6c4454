package bycause

import (
	"cmp"
	"slices"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// queue holds the goroutines that wait for a step of the new run. The player decides which of them
// may take it.
type queue struct {
	tree   *calls.Tree
	others []*waiter // in the order in which they came
	inLine []*waiter // those for which isInLine is true, in the recorded order
}

// hold queues w until its step may be taken.
func (q *queue) hold(w *waiter) {
	if !q.isInLine(w) {
		q.others = append(q.others, w)
		return
	}
	q.inLine = slices.Insert(q.inLine, q.place(w), w)
}

// release removes w from the queue, if it was queued.
func (q *queue) release(w *waiter) {
	switch {
	case w.moved == nil:
	case q.isInLine(w):
		at := q.place(w)
		at += slices.Index(q.inLine[at:], w)
		q.inLine = slices.Delete(q.inLine, at, at+1)
	default:
		q.others = state.Without(q.others, w)
	}
}

// place is the index in inLine at which w stands, or would stand: before all waiters with the same
// place in the recording.
func (q *queue) place(w *waiter) int {
	at, _ := slices.BinarySearchFunc(q.inLine, w.seq(), func(w *waiter, seq int) int { return cmp.Compare(w.seq(), seq) })
	return at
}

// isInLine reports whether a step waits only for its turn and for what was recorded before it:
// shared operations, cancels and aborts. If one such step may not be taken, no such step that was
// recorded later may be taken, either: what the first one waits for comes before the later one as
// well, and a strand makes it that waits for no step, or for one before both. So first need ask for
// the first of them only.
func (q *queue) isInLine(w *waiter) bool {
	return q.tree.Order == nil && !w.let && !w.last && w.next != nil && (w.turn || calls.IsShared(w.step.Kind) || q.tree.Shares(w.next)) &&
		calls.GateID(w.next) == "" && !wire.Aborts(w.next)
}

// first is a waiter that may take its step; nil if there is none. Of those in line it tries only
// the first.
func (q *queue) first(may func(*waiter) bool) *waiter {
	if at := slices.IndexFunc(q.others, may); at >= 0 {
		return q.others[at]
	}
	if len(q.inLine) > 0 && may(q.inLine[0]) {
		return q.inLine[0]
	}
	return nil
}

// any reports whether a goroutine waits.
func (q *queue) any() bool { return len(q.others)+len(q.inLine) > 0 }

// all returns all waiters, in line or not.
func (q *queue) all() []*waiter { return slices.Concat(q.others, q.inLine) }

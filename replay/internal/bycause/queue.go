package bycause

import (
	"cmp"
	"slices"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// queue is who waits for a step of a new run. Which of them may take it is for the player to say.
type queue struct {
	tree   *calls.Tree
	others []*waiter // in the order in which they came
	inLine []*waiter // those for whom isInLine is true, in the recorded order
}

// hold adds one that is to wait.
func (q *queue) hold(w *waiter) {
	if !q.isInLine(w) {
		q.others = append(q.others, w)
		return
	}
	q.inLine = slices.Insert(q.inLine, q.place(w), w)
}

// release takes one away again that may have been held.
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

// place is where one stands in line, or before those of the same step.
func (q *queue) place(w *waiter) int {
	at, _ := slices.BinarySearchFunc(q.inLine, w.seq(), func(w *waiter, seq int) int { return cmp.Compare(w.seq(), seq) })
	return at
}

// isInLine reports whether a step waits for nothing but its turn, and that what is shared, a cancel
// and an abort come before it. Where one such step may not be taken none that is recorded behind it
// may: what it waits for comes before those as well, and is made by a strand that either waits
// for a step before it too, or for none.
func (q *queue) isInLine(w *waiter) bool {
	return q.tree.Order == nil && !w.let && !w.last && w.next != nil && (w.turn || calls.IsShared(w.step.Kind) || q.tree.Shares(w.next)) &&
		calls.GateID(w.next) == "" && !wire.Aborts(w.next)
}

// first is one who may take a step; nil if nobody may. Of those in line only the first one is asked.
func (q *queue) first(may func(*waiter) bool) *waiter {
	if at := slices.IndexFunc(q.others, may); at >= 0 {
		return q.others[at]
	}
	if len(q.inLine) > 0 && may(q.inLine[0]) {
		return q.inLine[0]
	}
	return nil
}

// any reports whether anybody waits.
func (q *queue) any() bool { return len(q.others)+len(q.inLine) > 0 }

// all are those who wait, in line or not.
func (q *queue) all() []*waiter { return slices.Concat(q.others, q.inLine) }

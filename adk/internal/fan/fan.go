// Package fan tells several observers one thing after the other, and goes on without one that
// panics.
package fan

import "sync/atomic"

// One is one of several observers, dropped when it panics.
type One[O any] struct {
	Observer O
	dropped  atomic.Bool
}

// Tell has the observer told what it is called with, unless it was dropped.
func (o *One[O]) Tell(what func(O)) {
	if o.dropped.Load() {
		return
	}
	defer func() {
		if recover() != nil {
			o.dropped.Store(true)
		}
	}()
	what(o.Observer)
}

// All are the observers, in the order in which they are told.
type All[O any] []*One[O]

// Add puts an observer behind the others.
func (a *All[O]) Add(observer O) { *a = append(*a, &One[O]{Observer: observer}) }

// Each tells all of them.
func (a All[O]) Each(what func(O)) {
	for _, o := range a {
		o.Tell(what)
	}
}

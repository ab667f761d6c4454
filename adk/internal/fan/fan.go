// Package fan calls several observers one after the other, and drops one that panics.
package fan

import "sync/atomic"

// One is one of several observers. It is dropped when it panics.
type One[O any] struct {
	Observer O
	dropped  atomic.Bool
}

// Tell calls what with the observer, unless it was dropped.
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

// All is a list of observers, in the order in which they are called.
type All[O any] []*One[O]

// Add appends an observer.
func (a *All[O]) Add(observer O) { *a = append(*a, &One[O]{Observer: observer}) }

// Each calls what with each of them.
func (a All[O]) Each(what func(O)) {
	for _, o := range a {
		o.Tell(what)
	}
}

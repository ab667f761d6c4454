// Package ordered provides a keyed set that keeps the order in which its members were added. The
// engine's sets of records, registries and subscriptions are built on it (contract RUN-12, DET-3).
package ordered

import (
	"iter"
	"slices"
	"sync/atomic"
)

// scanLimit is the size up to which a linear search is faster than a map.
const scanLimit = 8

// spare is how many members a new set has room for. Most sets stay small but grow, and so do copies
// of them.
const spare = 4

// copyLimit is the size up to which copying is cheaper than sharing, since after sharing the first
// change must copy.
const copyLimit = 32

// Set holds values by key, in the order in which their keys were first added. The zero Set is empty
// and ready to use.
//
// A Set is not safe for concurrent use: a write must not run concurrently with any other use. Reads
// may run concurrently with reads. A Set must not be copied; use CopyFrom.
type Set[K comparable, V any] struct {
	// head are the first members, shared with the set that this one was copied from; they are never
	// changed. tail are the members after head, or all members of a set that is not a copy of a
	// long one.
	head, tail []entry[K, V]
	// index exists only above scanLimit, and only after a lookup or a copy. It is atomic because a
	// read may build it.
	index atomic.Pointer[index[K]]
	// shared says that a copy reads the tail, too, so that nothing may be changed in place. behind
	// says that a copy had to copy the tail, because the tail is after a head.
	shared, behind atomic.Bool
	edits          *edits // nil before the first edit
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Add sets the value of a key. If the key exists, it keeps its place, its value is replaced, and
// replaced is true. A new key comes last.
func (s *Set[K, V]) Add(key K, value V) (replaced bool) {
	if at := s.find(key); at >= 0 {
		s.edit(at)
		s.at(at).value = value
		return true
	}
	if s.behind.Load() {
		s.join()
	}
	if s.tail == nil {
		s.tail = make([]entry[K, V], 0, spare)
	}
	s.tail = append(s.tail, entry[K, V]{key, value})
	if known := s.index.Load(); known != nil {
		s.index.Store(known.with(key, s.Len()-1))
	}
	return false
}

// Remove removes a key. It returns the value that was there, and whether there was one. The other
// members keep their order.
func (s *Set[K, V]) Remove(key K) (value V, removed bool) {
	at := s.find(key)
	if at < 0 {
		return value, false
	}
	value = s.at(at).value
	s.edit(at)
	in := at - len(s.head)
	s.tail = slices.Delete(s.tail, in, in+1)
	s.moveUp(key, at)
	return value, true
}

// edit prepares a change of the entries from a place on: it makes them the set's own and records
// the edit.
func (s *Set[K, V]) edit(at int) {
	s.note(at)
	switch {
	case at < len(s.head):
		s.join()
	case s.shared.CompareAndSwap(true, false):
		s.tail = slices.Clone(s.tail)
	}
}

// join makes all members the set's own.
func (s *Set[K, V]) join() {
	s.tail = slices.Concat(s.head, s.tail)
	s.head = nil
	s.shared.Store(false)
	s.behind.Store(false)
}

// at returns the entry at a place.
func (s *Set[K, V]) at(place int) *entry[K, V] {
	if place < len(s.head) {
		return &s.head[place]
	}
	return &s.tail[place-len(s.head)]
}

// moveUp updates the index after the entry of key was removed at a place.
func (s *Set[K, V]) moveUp(key K, at int) {
	known := s.index.Load()
	if known == nil {
		return
	}
	if s.Len() <= scanLimit || at < known.places() {
		s.index.Store(nil)
		return
	}
	delete(known.own, key)
	for i := at; i < s.Len(); i++ {
		known.own[s.at(i).key] = i
	}
}

// Get returns the value of a key, and whether there is one.
func (s *Set[K, V]) Get(key K) (value V, found bool) {
	if at := s.find(key); at >= 0 {
		return s.at(at).value, true
	}
	return value, false
}

// Has reports whether the set has a key.
func (s *Set[K, V]) Has(key K) bool { return s.find(key) >= 0 }

// Len returns the number of members.
func (s *Set[K, V]) Len() int { return len(s.head) + len(s.tail) }

// At returns the value at a place, from 0 to Len-1.
func (s *Set[K, V]) At(place int) V { return s.at(place).value }

// All returns the values in order, in a new slice.
func (s *Set[K, V]) All() []V { return s.Last(0) }

// Last returns the last n values of All, or all of them if n is 0.
func (s *Set[K, V]) Last(n int) []V {
	if n <= 0 || n > s.Len() {
		n = s.Len()
	}
	all := make([]V, n)
	for i := range all {
		all[i] = s.At(s.Len() - n + i)
	}
	return all
}

// Values iterates over the values in order. The set must not change meanwhile.
func (s *Set[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for i := range s.Len() {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// CopyFrom makes s an independent set of the members of other, in the same order. For more than a
// few members, the copy costs nothing until one of the sets changes existing members, and adding to
// either costs no more than without the copy. Moments of other are also moments of s from then on.
func (s *Set[K, V]) CopyFrom(other *Set[K, V]) {
	s.empty()
	s.become(other.edits)
	n := other.Len()
	if n > copyLimit {
		s.share(other)
		return
	}
	if n > cap(s.tail) {
		s.tail = make([]entry[K, V], 0, n+spare)
	}
	s.tail = append(append(s.tail, other.head...), other.tail...)
}

// share makes s, which must be empty, a set of the members of other without copying them.
func (s *Set[K, V]) share(other *Set[K, V]) {
	n := len(other.tail)
	switch {
	case other.head == nil:
		s.head, s.tail = other.tail[:n:n], nil
		other.shared.Store(true)
	default: // a copy with additions: it joins them on its next one, so this branch is taken only once
		s.head, s.tail = other.head, slices.Clone(other.tail)
		other.behind.Store(n > copyLimit)
	}
	known := other.index.Load()
	if known == nil {
		known = other.buildIndex()
	}
	known = known.frozen()
	other.index.Store(known)
	s.index.Store(known)
}

// Clear removes all members, and keeps their memory for new ones.
func (s *Set[K, V]) Clear() {
	if s.Len() > 0 {
		s.note(0)
	}
	s.empty()
}

// empty is Clear without recording an edit. Most sets are empty already when this is called, and
// reading the atomics is cheaper than writing them.
func (s *Set[K, V]) empty() {
	if s.shared.Load() {
		s.shared.Store(false)
		s.tail = nil
	}
	clear(s.tail)
	s.head, s.tail = nil, s.tail[:0]
	if s.behind.Load() {
		s.behind.Store(false)
	}
	if s.index.Load() != nil {
		s.index.Store(nil)
	}
}

// find returns the place of key, or -1.
func (s *Set[K, V]) find(key K) int {
	if s.Len() <= scanLimit {
		return slices.IndexFunc(s.tail, func(e entry[K, V]) bool { return e.key == key })
	}
	known := s.index.Load()
	if known == nil {
		known = s.buildIndex()
	}
	return known.find(key)
}

func (s *Set[K, V]) buildIndex() *index[K] {
	known := &index[K]{own: make(map[K]int, s.Len()+1)}
	for i := range s.Len() {
		known.own[s.at(i).key] = i
	}
	s.index.Store(known)
	return known
}

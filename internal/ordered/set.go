// Package ordered holds a keyed set that remembers in which order its members
// came. It is a leaf without opinion: the engine's sets of records, registries
// and subscriptions rest on it (contract RUN-12, DET-3).
package ordered

import (
	"iter"
	"slices"
	"sync/atomic"
)

// scanLimit is the size up to which looking at every entry beats a map.
const scanLimit = 8

// spare is the room that a set makes for members to come: most stay small and are
// added to, a copy of one too.
const spare = 4

// copyLimit is the size up to which copying is better than sharing, which has the first
// change copy after all.
const copyLimit = 32

// Set holds values by key, in the order in which their keys were first added.
// The zero Set is empty and ready to use.
//
// A Set is not safe for concurrent use: whoever changes it must be alone with
// it. Reads may run beside reads. It must not be copied; CopyFrom does that.
type Set[K comparable, V any] struct {
	// head are the first members, of a set that this one was copied from: nobody changes
	// them. tail are those behind, and all of a set that is no copy of a long one.
	head, tail []entry[K, V]
	// index exists only above scanLimit, and only once somebody has looked a key up or
	// copied the set. It is atomic because a read may be the one to build it.
	index atomic.Pointer[index[K]]
	// shared says that a copy reads the tail too: nothing is changed in its place. behind
	// says that a copy had to take the tail apart, since it lies behind a head.
	shared, behind atomic.Bool
	edits          *edits // nil before the first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Add puts value under key. A key that is there keeps its place and gets the
// new value, and replaced is true; any other key comes last.
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

// Remove takes key out and gives the value that was there, and whether it was.
// The others keep their order.
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

// edit makes the entries the set's own before those from a place on change, and notes that.
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

// at is the entry at a place.
func (s *Set[K, V]) at(place int) *entry[K, V] {
	if place < len(s.head) {
		return &s.head[place]
	}
	return &s.tail[place-len(s.head)]
}

// moveUp repairs the index after the entry of key was taken out at a place.
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

// Get gives the value under key, and whether there is one.
func (s *Set[K, V]) Get(key K) (value V, found bool) {
	if at := s.find(key); at >= 0 {
		return s.at(at).value, true
	}
	return value, false
}

// Has reports whether key is there.
func (s *Set[K, V]) Has(key K) bool { return s.find(key) >= 0 }

// Len is the number of members.
func (s *Set[K, V]) Len() int { return len(s.head) + len(s.tail) }

// At is the value at a place, from 0 to Len less one.
func (s *Set[K, V]) At(place int) V { return s.at(place).value }

// All gives the values in order, in a slice that is the caller's.
func (s *Set[K, V]) All() []V { return s.Last(0) }

// Last gives the last so many of All, or all of them where n is 0.
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

// Values walks the values in order. The set must not change meanwhile.
func (s *Set[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for i := range s.Len() {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// CopyFrom makes s an independent set of the members of other, in the same order. Of more
// than a few it costs nothing until one of the two changes what is there, and what is added
// to either costs as much as without. Moments of other are those of s from here on.
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

// share makes s, which is empty, a set of the members of other that has no copies of them.
func (s *Set[K, V]) share(other *Set[K, V]) {
	n := len(other.tail)
	switch {
	case other.head == nil:
		s.head, s.tail = other.tail[:n:n], nil
		other.shared.Store(true)
	default: // what came to a copy: it is joined once more comes, so that this is done once
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

// Clear takes all members out, and keeps the room that they took for others.
func (s *Set[K, V]) Clear() {
	if s.Len() > 0 {
		s.note(0)
	}
	s.empty()
}

// empty is Clear without an edit. Most sets that are made empty are: to look is less than
// to write.
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

// find gives the place of key, or -1.
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

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
// it. Reads may run beside reads. It must not be copied; Clone does that.
type Set[K comparable, V any] struct {
	entries []entry[K, V]
	// index maps a key to its place in entries. It exists only above scanLimit,
	// and only once somebody has looked a key up, so that Clone stays one copy.
	// It is atomic because a read may be the one to build it.
	index atomic.Pointer[map[K]int]
	// shared says that a copy reads the entries too: nothing is changed in its place.
	shared atomic.Bool
	edits  *edits // nil before the first
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
		s.entries[at].value = value
		return true
	}
	if s.entries == nil {
		s.entries = make([]entry[K, V], 0, spare)
	}
	s.entries = append(s.entries, entry[K, V]{key, value})
	if index := s.index.Load(); index != nil {
		(*index)[key] = len(s.entries) - 1
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
	value = s.entries[at].value
	s.edit(at)
	s.entries = slices.Delete(s.entries, at, at+1)
	s.moveUp(key, at)
	return value, true
}

// edit makes the entries the set's own before those from a place on change, and notes that.
func (s *Set[K, V]) edit(at int) {
	s.note(at)
	if s.shared.CompareAndSwap(true, false) {
		s.entries = slices.Clone(s.entries)
	}
}

// moveUp repairs the index after the entry of key was taken out at a place.
func (s *Set[K, V]) moveUp(key K, at int) {
	index := s.index.Load()
	if index == nil {
		return
	}
	if len(s.entries) <= scanLimit {
		s.index.Store(nil)
		return
	}
	delete(*index, key)
	for i := at; i < len(s.entries); i++ {
		(*index)[s.entries[i].key] = i
	}
}

// Get gives the value under key, and whether there is one.
func (s *Set[K, V]) Get(key K) (value V, found bool) {
	if at := s.find(key); at >= 0 {
		return s.entries[at].value, true
	}
	return value, false
}

// Has reports whether key is there.
func (s *Set[K, V]) Has(key K) bool { return s.find(key) >= 0 }

// Len is the number of members.
func (s *Set[K, V]) Len() int { return len(s.entries) }

// At is the value at a place, from 0 to Len less one.
func (s *Set[K, V]) At(place int) V { return s.entries[place].value }

// All gives the values in order, in a slice that is the caller's.
func (s *Set[K, V]) All() []V { return s.Last(0) }

// Last gives the last so many of All, or all of them where n is 0.
func (s *Set[K, V]) Last(n int) []V {
	if n <= 0 || n > len(s.entries) {
		n = len(s.entries)
	}
	all := make([]V, n)
	for i, e := range s.entries[len(s.entries)-n:] {
		all[i] = e.value
	}
	return all
}

// Values walks the values in order. The set must not change meanwhile.
func (s *Set[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for i := range s.entries {
			if !yield(s.entries[i].value) {
				return
			}
		}
	}
}

// Clone gives an independent set of the same members in the same order. The
// values themselves are shared.
func (s *Set[K, V]) Clone() *Set[K, V] {
	clone := &Set[K, V]{}
	clone.CopyFrom(s)
	return clone
}

// CopyFrom makes s an independent set of the members of other, in the same order. Of more
// than a few it costs nothing until one of the two changes what is there. Moments of other
// are those of s from here on.
func (s *Set[K, V]) CopyFrom(other *Set[K, V]) {
	s.empty()
	s.become(other.edits)
	n := len(other.entries)
	if n > copyLimit {
		s.entries = other.entries[:n:n]
		s.shared.Store(true)
		other.shared.Store(true)
		return
	}
	if n > cap(s.entries) {
		s.entries = make([]entry[K, V], 0, n+spare)
	}
	s.entries = append(s.entries, other.entries...)
}

// Clear takes all members out, and keeps the room that they took for others.
func (s *Set[K, V]) Clear() {
	if len(s.entries) > 0 {
		s.note(0)
	}
	s.empty()
}

// empty is Clear without an edit. Most sets that are made empty are: to look is less than
// to write.
func (s *Set[K, V]) empty() {
	if s.shared.Load() {
		s.shared.Store(false)
		s.entries = nil
	}
	clear(s.entries)
	s.entries = s.entries[:0]
	if s.index.Load() != nil {
		s.index.Store(nil)
	}
}

// find gives the place of key, or -1.
func (s *Set[K, V]) find(key K) int {
	if len(s.entries) <= scanLimit {
		return slices.IndexFunc(s.entries, func(e entry[K, V]) bool { return e.key == key })
	}
	index := s.index.Load()
	if index == nil {
		index = s.buildIndex()
	}
	if at, found := (*index)[key]; found {
		return at
	}
	return -1
}

func (s *Set[K, V]) buildIndex() *map[K]int {
	index := make(map[K]int, len(s.entries)+1)
	for i := range s.entries {
		index[s.entries[i].key] = i
	}
	s.index.Store(&index)
	return &index
}

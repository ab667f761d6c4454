package ordered

import "sync"

// Shared is a Set that many goroutines read and change. Each method is one step. The zero
// Shared is empty; it must not be copied.
type Shared[K comparable, V any] struct {
	mu  sync.RWMutex
	set Set[K, V]
}

// AddNew adds a value at the end, unless the key is taken.
func (s *Shared[K, V]) AddNew(key K, value V) (added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set.Has(key) {
		return false
	}
	s.set.Add(key, value)
	return true
}

// Add puts a value in the place of the one with the key, or at the end.
func (s *Shared[K, V]) Add(key K, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Add(key, value)
}

// Remove takes out the value with the key, and reports whether there was one.
func (s *Shared[K, V]) Remove(key K) (removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, removed = s.set.Remove(key)
	return removed
}

// Prune takes out the values that goes says it of, and gives their keys, in order. goes is
// called under the lock.
func (s *Shared[K, V]) Prune(key func(V) K, goes func(V) bool) (pruned []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for value := range s.set.Values() {
		if goes(value) {
			pruned = append(pruned, key(value))
		}
	}
	for _, one := range pruned {
		s.set.Remove(one)
	}
	return pruned
}

// Get is the value with the key, and whether there is one.
func (s *Shared[K, V]) Get(key K) (value V, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.Get(key)
}

// Len is the number of values.
func (s *Shared[K, V]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.Len()
}

// All are the values in order, as a slice of the caller's own.
func (s *Shared[K, V]) All() []V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.All()
}

// CopyFrom makes it, which nobody else has yet, one of the values of other.
func (s *Shared[K, V]) CopyFrom(other *Shared[K, V]) {
	other.mu.RLock()
	defer other.mu.RUnlock()
	s.set.CopyFrom(&other.set)
}

// Read gives the set to read to who reads it, under the lock.
func (s *Shared[K, V]) Read(read func(*Set[K, V])) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	read(&s.set)
}

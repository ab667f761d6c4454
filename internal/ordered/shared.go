package ordered

import "sync"

// Shared is a Set for concurrent use. Each method is atomic. The zero Shared is empty. A Shared
// must not be copied.
type Shared[K comparable, V any] struct {
	mu  sync.RWMutex
	set Set[K, V]
}

// AddNew adds a value at the end, unless the key exists.
func (s *Shared[K, V]) AddNew(key K, value V) (added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set.Has(key) {
		return false
	}
	s.set.Add(key, value)
	return true
}

// Add replaces the value of a key, or adds it at the end.
func (s *Shared[K, V]) Add(key K, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Add(key, value)
}

// Remove removes the value of a key, and reports whether there was one.
func (s *Shared[K, V]) Remove(key K) (removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, removed = s.set.Remove(key)
	return removed
}

// Prune removes the values for which goes returns true, and returns their keys, in order. It calls
// goes while it holds the lock.
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

// Get returns the value of a key, and whether there is one.
func (s *Shared[K, V]) Get(key K) (value V, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.Get(key)
}

// Len returns the number of values.
func (s *Shared[K, V]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.Len()
}

// All returns the values in order, in a new slice.
func (s *Shared[K, V]) All() []V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.All()
}

// CopyFrom copies the values of other to s. No other goroutine may use s yet.
func (s *Shared[K, V]) CopyFrom(other *Shared[K, V]) {
	other.mu.RLock()
	defer other.mu.RUnlock()
	s.set.CopyFrom(&other.set)
}

// Read calls read with the set while it holds the lock for reading.
func (s *Shared[K, V]) Read(read func(*Set[K, V])) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	read(&s.set)
}

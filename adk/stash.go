package adk

import (
	"cmp"
	"time"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// StashReader reads a stash.
type StashReader interface {
	// Get returns a copy of the value at a dot-path, or fallback if there is none.
	Get(path string, fallback any) any
	// Has reports whether Get without a fallback would return a value.
	Has(path string) bool
	// Keys returns the paths of the leaves, sorted.
	Keys() []string
	// All returns a copy of the nested tree.
	All() map[string]any
}

// Stash is a context's stash, used through a handle (STA). It is safe for concurrent use.
type Stash struct{ call *call }

var _ StashReader = Stash{}

// Get returns a copy of the value at a dot-path, or fallback if there is none (STA-1, STA-3).
func (s Stash) Get(path string, fallback any) any {
	defer s.call.lock()()
	if value, ok := s.call.visible.stash.Find(path); ok {
		return plain.Copy(value)
	}
	return fallback
}

// Has reports whether Get without a fallback would return a value (STA-2).
func (s Stash) Has(path string) bool {
	defer s.call.lock()()
	_, ok := s.call.visible.stash.Find(path)
	return ok
}

// Keys returns the dot-paths of the leaves, sorted (STA-1).
func (s Stash) Keys() []string {
	defer s.call.lock()()
	return s.call.visible.stash.Keys()
}

// All returns a copy of the nested tree. An empty stash gives an empty map, not nil.
func (s Stash) All() map[string]any {
	defer s.call.lock()()
	root := s.call.visible.stash.Root()
	if root == nil {
		return map[string]any{}
	}
	return plain.Copy(root).(map[string]any)
}

// Set puts a copy of value at a dot-path and creates the maps on the way; nil removes the path. A
// path that leads to a subtree replaces it. Only a map[string]any is a subtree. Any other value is
// a leaf, including a slice and a map of another type, and no path leads into it. A path that has
// an empty segment, or leads below a leaf or into a slice, is E_INVALID_STASH_PATH, and so is a
// dotted or empty key in a subtree (STA-2 to STA-5, STA-7).
func (s Stash) Set(path string, value any) (err error) {
	ended := s.call.step(KindStash, func(_ time.Time, x *Crossing) {
		fault := s.call.visible.stash.Set(path, value)
		if fault != nil {
			err = &Error{Code: E_INVALID_STASH_PATH, Message: fault.Error()}
		}
		if x != nil {
			x.Name, x.Value, x.Err = path, value, err
		}
	})
	return cmp.Or(ended, err)
}

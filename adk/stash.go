package adk

import (
	"cmp"
	"time"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// StashReader reads a stash.
type StashReader interface {
	// Get is a copy of the value at a dot-path, or fallback if it has none.
	Get(path string, fallback any) any
	// Has is true exactly when Get without a fallback would give a value.
	Has(path string) bool
	// Keys are the paths of the leaves, sorted.
	Keys() []string
	// All is a copy of the nested tree.
	All() map[string]any
}

// Stash is a context's stash, through a handle (STA). It is safe for
// concurrent use.
type Stash struct{ call *call }

var _ StashReader = Stash{}

// Get is a copy of the value at a dot-path, or fallback if it has none (STA-1,
// STA-3).
func (s Stash) Get(path string, fallback any) any {
	defer s.call.lock()()
	if value, ok := s.call.visible.stash.Find(path); ok {
		return plain.Copy(value)
	}
	return fallback
}

// Has is true exactly when Get without a fallback would give a value (STA-2).
func (s Stash) Has(path string) bool {
	defer s.call.lock()()
	_, ok := s.call.visible.stash.Find(path)
	return ok
}

// Keys are the dot-paths of the leaves, sorted (STA-1).
func (s Stash) Keys() []string {
	defer s.call.lock()()
	return s.call.visible.stash.Keys()
}

// All is a copy of the nested tree, empty and not nil if there is nothing.
func (s Stash) All() map[string]any {
	defer s.call.lock()()
	root := s.call.visible.stash.Root()
	if root == nil {
		return map[string]any{}
	}
	return plain.Copy(root).(map[string]any)
}

// Set puts a copy of value at a dot-path, building the maps on the way; nil
// removes the path. A path over a subtree replaces it. Only a map[string]any is
// a subtree: any other value is a leaf, a slice and a map of another type too,
// and no path leads into it. A path with an empty segment, below a leaf or into
// a slice is E_INVALID_STASH_PATH, and so is a dotted or empty key in a subtree
// (STA-2 to STA-5, STA-7).
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

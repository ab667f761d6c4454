package adk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// stash is a nested tree of plain data under dot-paths (STA). Nodes are
// map[string]any; everything else is a leaf, slices and typed maps included.
type stash struct {
	tree map[string]any
	// known is the digest of tree while it is fresh.
	known Digest
	fresh bool
}

// newStash takes a tree that checkTree has accepted.
func newStash(tree map[string]any) stash {
	s := stash{}
	if len(tree) > 0 {
		s.tree = tidyCopy(tree)
	}
	return s
}

// copyOf is a deep copy (STA-6).
func (s *stash) copyOf() stash {
	copied := stash{known: s.known, fresh: s.fresh}
	if s.tree != nil {
		copied.tree = plain.Copy(s.tree).(map[string]any)
	}
	return copied
}

// digest is StashDigest, computed once a change.
func (s *stash) digest() Digest {
	if !s.fresh {
		s.known, s.fresh = StashDigest(s.tree), true
	}
	return s.known
}

// find walks to the value at path; it is not copied.
func (s *stash) find(path string) (any, bool) {
	var node any = s.tree
	for _, segment := range strings.Split(path, ".") {
		branch, ok := node.(map[string]any)
		if !ok {
			return nil, false
		}
		if node, ok = branch[segment]; !ok || segment == "" {
			return nil, false
		}
	}
	return node, true
}

// set puts a copy of value at path, or removes the path for nil (STA-1 to
// STA-5, STA-7).
func (s *stash) set(path string, value any) error {
	segments := strings.Split(path, ".")
	if slices.Contains(segments, "") {
		return stashError("stash path %q has an empty segment: segments are joined by single dots", path)
	}
	if err := s.walkable(path, segments); err != nil {
		return err
	}
	if nested, ok := value.(map[string]any); ok {
		if err := checkTree(nested, path+"."); err != nil {
			return stashError("%s", err)
		}
		value = tidyCopy(nested)
	} else {
		value = plain.Copy(value)
	}
	s.fresh = false
	if value == nil {
		s.remove(segments)
		return nil
	}
	if s.tree == nil {
		s.tree = map[string]any{}
	}
	node := s.tree
	for _, segment := range segments[:len(segments)-1] {
		child, ok := node[segment].(map[string]any)
		if !ok {
			child = map[string]any{}
			node[segment] = child
		}
		node = child
	}
	node[segments[len(segments)-1]] = value
	return nil
}

// walkable refuses a path that leads below a leaf (STA-4, STA-5).
func (s *stash) walkable(path string, segments []string) error {
	var node any = s.tree
	for i, segment := range segments {
		branch, ok := node.(map[string]any)
		if !ok {
			return stashError("stash path %q leads below %q, which holds a %T and not a map[string]any: choose another path, or set %[2]q to nil first",
				path, strings.Join(segments[:i], "."), node)
		}
		if node, ok = branch[segment]; !ok {
			return nil
		}
	}
	return nil
}

// remove deletes the value at a path; branches above it stay.
func (s *stash) remove(segments []string) {
	node := s.tree
	for _, segment := range segments[:len(segments)-1] {
		child, ok := node[segment].(map[string]any)
		if !ok {
			return
		}
		node = child
	}
	delete(node, segments[len(segments)-1])
}

// keys are the paths of the leaves, sorted (STA-1).
func (s *stash) keys() []string {
	keys := leafPaths(nil, "", s.tree)
	slices.Sort(keys)
	return keys
}

func leafPaths(keys []string, prefix string, node map[string]any) []string {
	for name, value := range node {
		if branch, ok := value.(map[string]any); ok {
			keys = leafPaths(keys, prefix+name+".", branch)
		} else {
			keys = append(keys, prefix+name)
		}
	}
	return keys
}

// checkTree refuses keys that a dot-path could never reach (STA-7).
func checkTree(tree map[string]any, prefix string) error {
	names := make([]string, 0, len(tree))
	for name := range tree {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "" {
			return fmt.Errorf("stash key %q is empty at its end: give the value a name", prefix)
		}
		if strings.Contains(name, ".") {
			return fmt.Errorf("stash key %q has a dot: a nested map was meant, %s", prefix+name, nestedHint(name))
		}
		if branch, ok := tree[name].(map[string]any); ok {
			if err := checkTree(branch, prefix+name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

// nestedHint shows a.b as {a: {b: …}}.
func nestedHint(dotted string) string {
	segments := strings.Split(dotted, ".")
	return "{" + strings.Join(segments, ": {") + ": …" + strings.Repeat("}", len(segments))
}

// tidyCopy is a deep copy of a tree without nil entries: setting nil deletes
// (STA-2). Nil branches become empty ones, so that paths can grow below them.
func tidyCopy(tree map[string]any) map[string]any {
	copied := make(map[string]any, len(tree))
	for name, value := range tree {
		switch v := value.(type) {
		case nil:
		case map[string]any:
			copied[name] = tidyCopy(v)
		default:
			copied[name] = plain.Copy(value)
		}
	}
	return copied
}

func stashError(format string, args ...any) error {
	return &Error{Code: E_INVALID_STASH_PATH, Message: fmt.Sprintf(format, args...)}
}

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
	if value, ok := s.call.visible.stash.find(path); ok {
		return plain.Copy(value)
	}
	return fallback
}

// Has is true exactly when Get without a fallback would give a value (STA-2).
func (s Stash) Has(path string) bool {
	defer s.call.lock()()
	_, ok := s.call.visible.stash.find(path)
	return ok
}

// Keys are the dot-paths of the leaves, sorted (STA-1).
func (s Stash) Keys() []string {
	defer s.call.lock()()
	return s.call.visible.stash.keys()
}

// All is a copy of the nested tree, empty and not nil if there is nothing.
func (s Stash) All() map[string]any {
	defer s.call.lock()()
	if s.call.visible.stash.tree == nil {
		return map[string]any{}
	}
	return plain.Copy(s.call.visible.stash.tree).(map[string]any)
}

// Set puts a copy of value at a dot-path, building the maps on the way; nil
// removes the path. A path over a subtree replaces it. Only a map[string]any is
// a subtree: any other value is a leaf, a slice and a map of another type too,
// and no path leads into it. A path with an empty segment, below a leaf or into
// a slice is E_INVALID_STASH_PATH, and so is a dotted or empty key in a subtree
// (STA-2 to STA-5, STA-7).
func (s Stash) Set(path string, value any) error {
	c := s.call
	if err := c.enter(KindStash); err != nil {
		return err
	}
	defer c.run.mu.Unlock()
	at := c.now()
	err := c.visible.stash.set(path, value)
	if x := c.run.crossing(c, KindStash, Whole, at); x != nil {
		x.Name, x.Value, x.Err = path, value, err
		c.run.tell(x)
	}
	return err
}

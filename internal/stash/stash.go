package stash

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// Tree is a nested tree of plain data. A map[string]any is a node; everything else is a leaf,
// including slices and typed maps. The zero Tree is empty. It is not safe for concurrent use.
type Tree struct {
	root map[string]any
	// shared says that a copy shares nodes of this tree. Then the tree changes no node in place,
	// except for those in own, by their addresses.
	shared bool
	own    map[uintptr]bool
}

// New returns a tree with a copy of root, which Check must have accepted.
func New(root map[string]any) Tree {
	if len(root) == 0 {
		return Tree{}
	}
	return Tree{root: tidyCopy(root)}
}

// Copy returns an independent copy of the tree (STA-6). The two share their nodes and values until
// one of them changes; it then copies the nodes of the changed path.
func (t *Tree) Copy() Tree {
	if t.root == nil {
		return Tree{}
	}
	t.shared, t.own = true, nil
	return Tree{root: t.root, shared: true}
}

// Root returns the tree itself, which must not be changed. It is nil if nothing was ever set.
func (t *Tree) Root() map[string]any { return t.root }

// Find returns the value at a path, which must not be changed. found reports whether there is one.
func (t *Tree) Find(path string) (value any, found bool) { return Find(t.root, path) }

// Find is like Tree.Find, for a tree that is given as a map.
func Find(root map[string]any, path string) (value any, found bool) {
	var node any = root
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

// Set sets a copy of value at path. If value is nil, Set removes the path (STA-1 to STA-5, STA-7).
func (t *Tree) Set(path string, value any) error {
	segments := strings.Split(path, ".")
	if slices.Contains(segments, "") {
		return fmt.Errorf("stash path %q has an empty segment: segments are joined by single dots", path)
	}
	if err := t.walkable(path, segments); err != nil {
		return err
	}
	if nested, ok := value.(map[string]any); ok {
		if err := checkTree(nested, path+"."); err != nil {
			return err
		}
		value = tidyCopy(nested)
	} else {
		value = plain.Copy(value)
	}
	if value == nil {
		t.remove(segments)
		return nil
	}
	t.root = t.changeable(t.root)
	node := t.root
	for _, segment := range segments[:len(segments)-1] {
		child, _ := node[segment].(map[string]any)
		child = t.changeable(child)
		node[segment] = child
		node = child
	}
	node[segments[len(segments)-1]] = value
	return nil
}

// changeable returns a node that no copy shares: the node itself, a clone of it, or a new one if it
// is nil.
func (t *Tree) changeable(node map[string]any) map[string]any {
	switch {
	case node == nil:
		node = map[string]any{}
	case !t.shared || t.own[address(node)]:
		return node
	default:
		node = maps.Clone(node)
	}
	if t.shared {
		if t.own == nil {
			t.own = map[uintptr]bool{}
		}
		t.own[address(node)] = true
	}
	return node
}

// address identifies a node. A new node may have the address of one that no longer exists; both
// then belong only to this tree.
func address(node map[string]any) uintptr { return reflect.ValueOf(node).Pointer() }

// walkable returns an error for a path that leads below a leaf (STA-4, STA-5).
func (t *Tree) walkable(path string, segments []string) error {
	var node any = t.root
	for i, segment := range segments {
		branch, ok := node.(map[string]any)
		if !ok {
			return fmt.Errorf("stash path %q leads below %q, which holds a %T and not a map[string]any: choose another path, or set %[2]q to nil first",
				path, strings.Join(segments[:i], "."), node)
		}
		if node, ok = branch[segment]; !ok {
			return nil
		}
	}
	return nil
}

// remove deletes the value at a path. The branches above it remain.
func (t *Tree) remove(segments []string) {
	if _, found := t.Find(strings.Join(segments, ".")); !found {
		return
	}
	t.root = t.changeable(t.root)
	node := t.root
	for _, segment := range segments[:len(segments)-1] {
		child := t.changeable(node[segment].(map[string]any)) // cannot panic: the path was found
		node[segment] = child
		node = child
	}
	delete(node, segments[len(segments)-1])
}

// Keys returns the paths of the leaves, sorted (STA-1).
func (t *Tree) Keys() []string {
	keys := leafPaths(nil, "", t.root)
	slices.Sort(keys)
	return keys
}

// Leaves returns the dot-paths of all leaves in a tree, in any order.
func Leaves(tree map[string]any) []string { return leafPaths(nil, "", tree) }

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

// Check returns an error if the tree has a key that no dot-path can reach: an empty one, or one
// with a dot (STA-7). The error names the first such key in the order of names (DET-3).
func Check(tree map[string]any) error { return checkTree(tree, "") }

func checkTree(tree map[string]any, prefix string) error {
	names := make([]string, 0, len(tree)) // slices.Sorted of maps.Keys would cost every turn three allocations
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

// nestedHint formats a.b as {a: {b: …}}.
func nestedHint(dotted string) string {
	segments := strings.Split(dotted, ".")
	return "{" + strings.Join(segments, ": {") + ": …" + strings.Repeat("}", len(segments))
}

// tidyCopy returns a deep copy of a tree without nil entries, because setting nil deletes (STA-2).
// Nil branches become empty ones, so that paths can be set below them.
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

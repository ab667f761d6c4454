package stash

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// Tree is a nested tree of plain data. Nodes are map[string]any; everything else
// is a leaf, slices and typed maps included. The zero Tree is empty. It is not safe
// for concurrent use.
type Tree struct {
	root map[string]any
	// shared says that a copy has nodes of this tree: but for those that are its own, by
	// their addresses, it changes none of them in its place.
	shared bool
	own    map[uintptr]bool
}

// New is a tree with a copy of what Check has accepted.
func New(root map[string]any) Tree {
	if len(root) == 0 {
		return Tree{}
	}
	return Tree{root: tidyCopy(root)}
}

// Copy is a tree that neither changes with this one nor changes it (STA-6). The two have the
// same nodes and values until one of them changes: then it copies the nodes of that path.
func (t *Tree) Copy() Tree {
	if t.root == nil {
		return Tree{}
	}
	t.shared, t.own = true, nil
	return Tree{root: t.root, shared: true}
}

// Root is the tree itself, and no copy; nil where nothing was ever set. It must not be
// changed.
func (t *Tree) Root() map[string]any { return t.root }

// Find is the value at a path, and no copy, which must not be changed; found reports whether
// there is one.
func (t *Tree) Find(path string) (value any, found bool) { return Find(t.root, path) }

// Find is Tree.Find in a tree that somebody else holds.
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

// Set puts a copy of value at path, or removes the path for nil (STA-1 to
// STA-5, STA-7).
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

// changeable is a node, nil where there is none, that no copy has: itself, or another like
// it.
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

// address tells nodes apart. One that is new may have that of one which is gone: both are
// the same tree's own.
func address(node map[string]any) uintptr { return reflect.ValueOf(node).Pointer() }

// walkable refuses a path that leads below a leaf (STA-4, STA-5).
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

// remove deletes the value at a path; branches above it stay.
func (t *Tree) remove(segments []string) {
	if _, found := t.Find(strings.Join(segments, ".")); !found {
		return
	}
	t.root = t.changeable(t.root)
	node := t.root
	for _, segment := range segments[:len(segments)-1] {
		child := t.changeable(node[segment].(map[string]any)) // as it was found
		node[segment] = child
		node = child
	}
	delete(node, segments[len(segments)-1])
}

// Keys are the paths of the leaves, sorted (STA-1).
func (t *Tree) Keys() []string {
	keys := leafPaths(nil, "", t.root)
	slices.Sort(keys)
	return keys
}

// Leaves are the dot-paths to all that is no branch in a tree, in any order.
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

// Check refuses keys that a dot-path could never reach: empty ones, and those with
// a dot (STA-7). Of several it names the first by the order of names (DET-3).
func Check(tree map[string]any) error { return checkTree(tree, "") }

func checkTree(tree map[string]any, prefix string) error {
	names := make([]string, 0, len(tree)) // slices.Sorted of maps.Keys costs every turn three allocations
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

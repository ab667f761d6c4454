package stash_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/stash"
)

// STA-1, STA-2, STA-4: paths build nested maps; nil deletes, also within a tree; setting a path that
// leads to a subtree replaces the subtree.
func TestTree(t *testing.T) {
	var tree stash.Tree
	for _, step := range []struct {
		path  string
		value any
		keys  []string
	}{
		{"none", nil, nil},
		{"b.y", 1, []string{"b.y"}},
		{"b.x.z", "deep", []string{"b.x.z", "b.y"}},
		{"a", []any{1}, []string{"a", "b.x.z", "b.y"}},
		{"c", map[string]any{"gone": nil, "kept": map[string]any{"k": 1}}, []string{"a", "b.x.z", "b.y", "c.kept.k"}},
		{"b.y", nil, []string{"a", "b.x.z", "c.kept.k"}},
		{"b.y.q", nil, []string{"a", "b.x.z", "c.kept.k"}},
		{"b", "leaf now", []string{"a", "b", "c.kept.k"}},
	} {
		require.NoError(t, tree.Set(step.path, step.value), step.path)
		assert.Equal(t, step.keys, tree.Keys(), "after %s", step.path)
	}
	assert.Equal(t, map[string]any{"a": []any{1}, "b": "leaf now", "c": map[string]any{"kept": map[string]any{"k": 1}}}, tree.Root())
	for path, want := range map[string]any{"b": "leaf now", "c.kept.k": 1, "": nil, "b.": nil, ".b": nil, "a.0": nil, "b.y": nil, "c.gone": nil} {
		value, found := tree.Find(path)
		assert.Equal(t, want, value, path)
		assert.Equal(t, want != nil, found, path)
	}
}

// STA-4, STA-5, STA-7: an error says where the refused value is, and nothing is changed.
func TestTreeRefuses(t *testing.T) {
	tree := stash.New(map[string]any{"leaf": 1, "list": []any{1}})
	for _, c := range []struct {
		path  string
		value any
		want  string
	}{
		{"", 1, "empty segment"},
		{"a..b", 1, `"a..b" has an empty segment`},
		{"leaf.b.c", 1, `"leaf.b.c" leads below "leaf"`},
		{"leaf.b", nil, `"leaf.b" leads below "leaf"`},
		{"list.0", 1, `"list.0" leads below "list"`},
		{"map", map[string]any{"a.b": 1}, `"map.a.b" has a dot: a nested map was meant, {a: {b: …}}`},
		{"map", map[string]any{"": 1}, `"map." is empty at its end`},
	} {
		assert.ErrorContains(t, tree.Set(c.path, c.value), c.want)
		assert.Equal(t, map[string]any{"leaf": 1, "list": []any{1}}, tree.Root(), c.path)
	}
	assert.NoError(t, stash.Check(map[string]any{"a": map[string]any{"b": 1}, "typed": map[string]int{"x.y": 1}}))
	assert.ErrorContains(t, stash.Check(map[string]any{"a": map[string]any{"": 1}}), `"a." is empty`)
	assert.ErrorContains(t, stash.Check(map[string]any{"a": map[string]any{"b.c": 1}}), `"a.b.c" has a dot`)
}

// DET-3: if several keys are wrong, the first in order of names is reported, every time.
func TestCheckNamesTheFirst(t *testing.T) {
	tree := map[string]any{}
	for _, name := range []string{"a.x", "b.x", "c.x", "d.x", "e.x", "f.x", "g.x", "h.x"} {
		tree[name] = 1
	}
	for range 20 {
		assert.ErrorContains(t, stash.Check(tree), `"a.x"`)
	}
}

// STA-3: maps and slices are copied when they are set, at every depth; other values are shared.
func TestTreeCopies(t *testing.T) {
	shared := &struct{ n int }{1}
	given := func() map[string]any {
		return map[string]any{"list": []any{map[string]any{"k": 1}}, "typed": map[string]int{"n": 1}, "shared": shared}
	}
	spoil := func(tree map[string]any) {
		tree["list"].([]any)[0].(map[string]any)["k"] = 2
		tree["typed"].(map[string]int)["n"] = 2
	}
	own, list := given(), []any{1}
	tree := stash.New(own)
	spoil(own)
	require.NoError(t, tree.Set("in", list))
	list[0] = 2
	copied := tree.Copy()
	want := given()
	want["in"] = []any{1}
	assert.Equal(t, want, tree.Root())
	value, _ := copied.Find("shared")
	assert.Same(t, shared, value)
}

// STA-6: changing a tree or one of its copies does not change the others, and does not copy what lies next to
// the changed path.
func TestCopiesChangeAlone(t *testing.T) {
	dump := func(tree *stash.Tree) string { return fmt.Sprint(tree.Root()) }
	rapid.Check(t, func(t *rapid.T) {
		trees, want := []*stash.Tree{{}}, []string{"map[]"}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			at := rapid.IntRange(0, len(trees)-1).Draw(t, "tree")
			if rapid.Bool().Draw(t, "copy") {
				copied := trees[at].Copy()
				trees, want = append(trees, &copied), append(want, want[at])
			}
			path := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 1, 3).Draw(t, "path"), ".")
			value := rapid.SampledFrom([]any{nil, 1, 2, map[string]any{"a": 1, "b": map[string]any{"b": 2}}}).Draw(t, "value")
			_ = trees[at].Set(path, value) // a path below a leaf is refused
			alone := stash.New(trees[at].Root())
			want[at] = dump(&alone)
			for i, tree := range trees {
				require.Equal(t, want[i], dump(tree), "tree %d after a change of %d at %s", i, at, path)
			}
		}
	})
	large := map[string]any{}
	for i := range 1000 {
		large[strconv.Itoa(i)] = i
	}
	tree := stash.New(map[string]any{"large": large, "few": map[string]any{"a": 1}})
	allocs.AtMost(t, 20, 100, func() {
		copied := tree.Copy()
		_ = copied.Set("few.a", 2)
	}, "a copy and a change beside much")
}

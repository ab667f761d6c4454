package jsonindex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk/artifact/internal/jsonindex"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/race"
)

const (
	plenty = 1 << 30
	deep   = 500
)

// documents generates texts of strict JSON: nested, with repeated keys, also in another spelling, and
// with values that span many blocks of the index.
func documents() *rapid.Generator[string] {
	key := rapid.SampledFrom([]string{`""`, `"a"`, `"\u0061"`, `"b]"`, `"\\\""`, `"` + strings.Repeat("k", 200) + `"`, `"x1"`, `"x2"`, `"x3"`, `"x4"`, `"x5"`, `"x6"`, `"x7"`, `"x8"`, `"x9"`, `"y1"`, `"y2"`, `"y3"`})
	scalar := rapid.SampledFrom([]string{`0`, `-1.50`, `1e400`, `null`, `true`, `"}"`, `"\"[{"`, `"\\"`, `"` + strings.Repeat(`é\n`, 400) + `"`, `9007199254740993`, `""`})
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t", strings.Repeat(" ", 150)})
	var value func(left int) *rapid.Generator[string]
	value = func(left int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			items := rapid.SampledFrom([]int{0, 1, 3, 20, 70}).Draw(t, "items")
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind < 2 && left > 0:
				list := make([]string, items)
				for i := range list {
					list[i] = space.Draw(t, "space") + value(left-1-items/20).Draw(t, "value")
					if kind == 1 {
						list[i] = key.Draw(t, "key") + space.Draw(t, "space") + ":" + list[i]
					}
				}
				return []string{"[", "{"}[kind] + strings.Join(list, ",") + space.Draw(t, "space") + []string{"]", "}"}[kind]
			case kind == 2 && left > 0:
				depth := rapid.IntRange(1, 90).Draw(t, "depth")
				return strings.Repeat(`[1,{"a":`, depth) + value(0).Draw(t, "value") + strings.Repeat(`},2]`, depth)
			}
			return scalar.Draw(t, "scalar")
		})
	}
	return value(4)
}

// The index answers for a document as the document's tree does.
func TestLikeTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := " " + documents().Draw(t, "document")
		tree, err := jsontree.Parse(text, deep)
		require.NoError(t, err)
		require.NoError(t, jsontree.Check(text, deep))
		walk := jsonindex.New(text).NewWalk(plenty)
		same(t, walk, walk.At(0), tree)
		for indent := range 3 {
			written, err := walk.Append(nil, walk.At(0), indent, 1<<30)
			require.NoError(t, err)
			require.Equal(t, string(jsontree.AppendIndent(nil, tree, indent)), string(written))
		}
	})
}

func same(t require.TestingT, walk *jsonindex.Walk, node jsonindex.Node, tree any) {
	values := []any{}
	switch tree := tree.(type) {
	case []any:
		require.True(t, walk.IsList(node))
		values = tree
	case *jsontree.Object:
		require.True(t, walk.IsObject(node))
		require.True(t, slices.Equal(tree.Keys(), slices.Collect(names(walk, node))))
		for name, value := range tree.All() {
			values = append(values, value)
			member, found := walk.Member(node, name)
			require.True(t, found)
			require.True(t, walk.Equal(member, member))
			require.Equal(t, jsontree.Text(value), written(t, walk, member))
		}
		_, found := walk.Member(node, "none")
		require.False(t, found)
	default:
		require.True(t, jsontree.Equal(tree, walk.Value(node)))
		return
	}
	require.Equal(t, len(values), walk.Len(node))
	i := 0
	for child := range walk.Children(node) {
		same(t, walk, child, values[i])
		i++
	}
	require.Equal(t, len(values), i)
	if walk.IsList(node) {
		for i := len(values) + 1; i >= 0; i -= 1 + i/7 {
			item, found := walk.Item(node, i)
			require.Equal(t, i < len(values), found)
			if found {
				require.Equal(t, jsontree.Text(values[i]), written(t, walk, item))
			}
		}
	}
}

func names(walk *jsonindex.Walk, node jsonindex.Node) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range walk.Members(node) {
			if !yield(name) {
				return
			}
		}
	}
}

func written(t require.TestingT, walk *jsonindex.Walk, node jsonindex.Node) string {
	text, err := walk.Append(nil, node, 0, 1<<30)
	require.NoError(t, err)
	return string(text)
}

// Equal agrees with the comparison of trees for any two values of a document.
func TestEqual(t *testing.T) {
	values := []string{`1`, `1.0`, `"a"`, `"\u0061"`, `[]`, `{}`, `[1]`, `[1.0]`, `[1,2]`, `{"a":1,"b":[2]}`, `{"b":[2.0],"\u0061":1}`, `{"a":2,"a":1,"b":[2]}`, `null`, `{"c":1,"b":[2]}`}
	walk := jsonindex.New("[" + strings.Join(values, ",") + "]").NewWalk(plenty)
	nodes := slices.Collect(walk.Children(0))
	for i, a := range nodes {
		for j, b := range nodes {
			x, err := jsontree.Parse(values[i], deep)
			require.NoError(t, err)
			y, err := jsontree.Parse(values[j], deep)
			require.NoError(t, err)
			assert.Equal(t, jsontree.Equal(x, y), walk.Equal(a, b), "%s %s", values[i], values[j])
		}
	}
}

// The index of the densest texts takes a fraction of their size, and a question to it takes hardly
// more than its answer.
func TestDenseDocuments(t *testing.T) {
	const size = 1 << 20
	for _, piece := range []string{`1,`, `[],`, `{"":0},`, `"",`, strings.Repeat("[", 400) + strings.Repeat("]", 400) + ",", `{"":0,"a":1},`} {
		text := "[" + strings.Repeat(piece, size/len(piece)) + "0]"
		taken := allocs.Bytes(func() {
			require.NoError(t, jsontree.Check(text, deep))
			walk := jsonindex.New(text).NewWalk(plenty)
			n := walk.Len(0)
			require.Equal(t, size/len(piece)+1, n)
			for i := n - 1; i > 0; i -= 1 + n/100 {
				_, found := walk.Item(0, i)
				require.True(t, found)
			}
		})
		assert.True(t, taken < size/4 || race.Detector, "%.10s: %d bytes", piece, taken)
	}
}

// A question that exceeds a bound ends with an error: of nodes, texts, keys or answers.
func TestBounds(t *testing.T) {
	ask := func(walk *jsonindex.Walk, question func(walk *jsonindex.Walk)) (err error) {
		defer jsonindex.Recover(&err)
		question(walk)
		return nil
	}
	long := jsonindex.New(`["` + strings.Repeat("x", 100_000) + `",[1,2,3]]`)
	text, _ := long.NewWalk(plenty).Item(0, 0)
	for name, question := range map[string]func(walk *jsonindex.Walk){
		"nodes": func(walk *jsonindex.Walk) { walk.Visit(101) }, "a text": func(walk *jsonindex.Walk) { walk.Value(text) },
		"equal": func(walk *jsonindex.Walk) {
			for range 101 {
				walk.Equal(0, 0)
			}
		},
	} {
		assert.ErrorIs(t, ask(long.NewWalk(100), question), jsonindex.ErrTooManyNodes, name)
	}
	assert.NoError(t, ask(long.NewWalk(1000), func(walk *jsonindex.Walk) { walk.Value(text) }))
	escaped := jsonindex.New(`"\n` + strings.Repeat("x", 8<<20) + `"`)
	assert.ErrorContains(t, ask(escaped.NewWalk(plenty), func(walk *jsonindex.Walk) { walk.Value(0) }), "escapes")
	named := jsonindex.New(`{"\n` + strings.Repeat("x", 8<<20) + `":0}`)
	assert.ErrorContains(t, ask(named.NewWalk(plenty), func(walk *jsonindex.Walk) { walk.Member(0, "a") }), "escapes")
	many := strings.Repeat(`"":0,`, 1_000_000)
	within := jsonindex.New("{" + many + `"":{` + many + `"":0}}`)
	assert.ErrorContains(t, ask(within.NewWalk(plenty), func(walk *jsonindex.Walk) {
		for outer := range walk.Children(0) {
			walk.Len(outer)
		}
	}), "2000000 keys")
	for _, text := range []string{`[[[[[[[[[[0]]]]]]]]]]`, `"0123456789"`, `{"0123456789":0}`, `["01234","56789"]`, `["0123456"]`, `[1,2,3,4]`, `{"012345":"6"}`} {
		_, err := jsonindex.New(text).NewWalk(plenty).Append(nil, 0, 2, 9)
		assert.ErrorIs(t, err, jsonindex.ErrTooLong, text)
	}
	assert.PanicsWithValue(t, "another", func() { _ = ask(long.NewWalk(1), func(*jsonindex.Walk) { panic("another") }) })
}

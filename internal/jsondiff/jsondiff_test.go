package jsondiff_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/jsondiff"
)

// told returns the places at which two JSON texts differ, with the values there.
func told(t *testing.T, r jsondiff.Rules, a, b string) (all []string) {
	before, ok := jsondiff.Decode(a)
	require.True(t, ok)
	after, ok := jsondiff.Decode(b)
	require.True(t, ok)
	r.Walk(jsondiff.At("f"), before, after, func(at jsondiff.Place, a, b any) {
		all = append(all, fmt.Sprintf("%s %s: %v %v", at.Path, at.Any, a, b))
	})
	return all
}

func TestWalk(t *testing.T) {
	same := jsondiff.Rules{Same: func(a, b any) bool { return reflect.DeepEqual(a, b) }}
	shallow, skipping, inline, crossed := same, same, same, same
	shallow.Deepest = 1
	skipping.Skip = func(name string, depth int) bool { return name == "at" && depth == 1 }
	inline.Inline = func(object map[string]any) bool { return object["#"] != nil }
	crossed.Pairs = func(a, b []any) ([]jsondiff.Pair, bool) { return []jsondiff.Pair{{A: 1, B: 0}, {A: 0, B: -1}}, true }
	for _, c := range []struct {
		name  string
		rules jsondiff.Rules
		a, b  string
		want  []string
	}{
		{"the same", same, `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		{"members by name", same, `{"b":1,"a":2}`, `{"b":3,"a":4}`, []string{"f.a f.a: 2 4", "f.b f.b: 1 3"}},
		{"null is not absent", same, `{"a":null}`, `{}`, []string{"f.a f.a: <nil> {}"}},
		{"any element", same, `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":3}]}`, []string{"f.a[1].b f.a[].b: 2 3"}},
		{"lists of two lengths", same, `[1]`, `[1,2]`, []string{"f f: [1] [1 2]"}},
		{"of two types", same, `{"a":1}`, `[1]`, []string{"f f: map[a:1] [1]"}},
		{"numbers as they are spelled", same, `1.0`, `1`, []string{"f f: 1.0 1"}},
		{"too deep", shallow, `{"a":{"b":1}}`, `{"a":{"b":2}}`, []string{"f.a f.a: map[b:1] map[b:2]"}},
		{"left out at its depth", skipping, `{"at":1,"a":{"at":1}}`, `{"at":2,"a":{"at":2}}`, []string{"f.a.at f.a.at: 1 2"}},
		{"at its own place", inline, `{"#":1,"a":{"b":1}}`, `{"#":1,"a":{"b":2}}`, []string{"f.b f.b: 1 2"}},
		{"as the rules pair", crossed, `[1,2]`, `[2]`, []string{"f[0] f[]: 1 {}"}},
	} {
		assert.Equal(t, c.want, told(t, c.rules, c.a, c.b), c.name)
	}
}

func drawTree(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "b"}), func(v string) any { return v }))
	if depth == 0 {
		return leaf
	}
	below := drawTree(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(below, 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), below, 0, 3), func(v map[string]any) any { return v }))
}

// A difference is reported exactly if the trees differ, and comparing in the other direction reports the same
// places.
func TestWalkTellsEveryDifference(t *testing.T) {
	same := jsondiff.Rules{Same: func(a, b any) bool { return reflect.DeepEqual(a, b) }}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTree(3).Draw(t, "a"), drawTree(3).Draw(t, "b")
		places := func(a, b any) (all []jsondiff.Place) {
			same.Walk(jsondiff.At(""), a, b, func(at jsondiff.Place, _, _ any) { all = append(all, at) })
			return all
		}
		one, other := places(a, b), places(b, a)
		textA, _ := json.Marshal(a)
		textB, _ := json.Marshal(b)
		assert.Equal(t, string(textA) != string(textB), len(one) > 0)
		assert.Equal(t, one, other)
	})
}

// Order maps each place of one order to its place in the other; equal elements keep their order.
func TestOrder(t *testing.T) {
	text := func(v any) string { return fmt.Sprint(v) }
	for _, c := range []struct {
		a, b  []any
		from  []int
		moved bool
	}{
		{nil, nil, nil, false},
		{[]any{1, 2}, []any{1, 2}, []int{0, 1}, false},
		{[]any{1, 2, 3}, []any{1, 3, 2}, []int{0, 2, 1}, true},
		{[]any{1, 1, 2}, []any{2, 1, 1}, []int{2, 0, 1}, true},
		{[]any{1, 2}, []any{1, 1}, nil, false},
		{[]any{1, 2}, []any{2}, nil, false},
	} {
		from, moved := jsondiff.Order(c.a, c.b, text)
		assert.Equal(t, c.moved, moved, "%v %v", c.a, c.b)
		assert.Equal(t, c.from, from, "%v %v", c.a, c.b)
	}
}

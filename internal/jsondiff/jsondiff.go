package jsondiff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Absent stands for a value that one of the trees does not have, which differs from null.
type Absent struct{}

// Place is the position of a value in a tree.
type Place struct {
	// Path leads to the value: args.cities[3].name.
	Path string
	// Any is the path without the indexes of lists: args.cities[].name.
	Any string
}

// At returns the place of the root of a tree, under a name.
func At(name string) Place { return Place{name, name} }

// Member returns the place of a member of the object at a place.
func (p Place) Member(name string) Place { return Place{p.Path + "." + name, p.Any + "." + name} }

// Element returns the place of an element of the list at a place.
func (p Place) Element(i int) Place { return Place{p.Path + "[" + strconv.Itoa(i) + "]", p.Any + "[]"} }

// Pair says to compare the element at A of one list with the element at B of the other. A missing
// element is -1.
type Pair struct{ A, B int }

// Rules says what is compared in two trees, and how. The zero value reports every leaf, and
// compares elements with equal indexes.
type Rules struct {
	// Same reports whether two values that are not both objects or both lists are the same.
	Same func(a, b any) bool
	// Pairs returns which elements of two lists are compared, in the order in which they are
	// reported. If it returns false, the lists are reported as a whole.
	Pairs func(a, b []any) ([]Pair, bool)
	// Skip reports whether to ignore a member. depth is that of its object, 1 at the root.
	Skip func(name string, depth int) bool
	// Inline reports whether to report the members of an object at the object's own place.
	Inline func(object map[string]any) bool
	// Deepest is how deep objects and lists are walked; 0 means no limit. Deeper ones are reported
	// as a whole if Same says that they differ.
	Deepest int
}

// Walk reports the places at which two trees differ. It visits the members of an object sorted by
// name.
func (r Rules) Walk(at Place, a, b any, tell func(at Place, a, b any)) {
	walk{r, tell}.values(at, a, b, 0)
}

type walk struct {
	Rules
	tell func(at Place, a, b any)
}

func (w walk) values(at Place, a, b any, depth int) {
	if w.Deepest == 0 || depth < w.Deepest {
		switch x := a.(type) {
		case map[string]any:
			if y, both := b.(map[string]any); both {
				w.objects(at, x, y, depth+1)
				return
			}
		case []any:
			if y, both := b.([]any); both && w.lists(at, x, y, depth+1) {
				return
			}
		}
	}
	if w.Same == nil || !w.Same(a, b) {
		w.tell(at, a, b)
	}
}

func (w walk) objects(at Place, a, b map[string]any, depth int) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	inline := w.Inline != nil && w.Inline(a)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if w.Skip != nil && w.Skip(name, depth) {
			continue
		}
		to := at
		if !inline {
			to = at.Member(name)
		}
		w.values(to, member(a, name), member(b, name), depth)
	}
}

func member(object map[string]any, name string) any {
	if v, there := object[name]; there {
		return v
	}
	return Absent{}
}

// lists compares two lists by their elements, and reports whether it could.
func (w walk) lists(at Place, a, b []any, depth int) bool {
	pairs, apart := w.pairs(a, b)
	if !apart {
		return false
	}
	for _, p := range pairs {
		to := p.A
		if to < 0 {
			to = p.B
		}
		w.values(at.Element(to), element(a, p.A), element(b, p.B), depth)
	}
	return true
}

func (w walk) pairs(a, b []any) ([]Pair, bool) {
	if w.Pairs != nil {
		return w.Pairs(a, b)
	}
	return ByPlace(a, b)
}

// ByPlace pairs the elements with equal indexes of two lists of the same length.
func ByPlace(a, b []any) (pairs []Pair, apart bool) {
	if len(a) != len(b) {
		return nil, false
	}
	for i := range a {
		pairs = append(pairs, Pair{i, i})
	}
	return pairs, true
}

// Order finds out whether two lists have the same elements, by their texts, in different orders.
// from gives the index in a of each element of b. moved is false if the elements differ or are in
// the same order.
func Order(a, b []any, text func(any) string) (from []int, moved bool) {
	if len(a) != len(b) {
		return nil, false
	}
	places := map[string][]int{}
	for i, v := range a {
		said := text(v)
		places[said] = append(places[said], i)
	}
	for i, v := range b {
		said := text(v)
		at := places[said]
		if len(at) == 0 {
			return nil, false
		}
		from, places[said] = append(from, at[0]), at[1:]
		moved = moved || at[0] != i
	}
	return from, moved
}

func element(list []any, i int) any {
	if i < 0 {
		return Absent{}
	}
	return list[i]
}

// IsContainer reports whether a value is an object or a list.
func IsContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Decode returns the tree of a JSON text, with numbers in their own spelling.
func Decode(text string) (tree any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&tree)
	return tree, err == nil && !decoder.More()
}

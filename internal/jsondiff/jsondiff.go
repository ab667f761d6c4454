package jsondiff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Absent stands for what one of the trees does not have, which is not its null.
type Absent struct{}

// Place is where in a tree a value stands.
type Place struct {
	// Path leads to the value: args.cities[3].name.
	Path string
	// Any is the path to its like, whichever element of a list it is in:
	// args.cities[].name.
	Any string
}

// At is a place of that name, the root of a tree.
func At(name string) Place { return Place{name, name} }

// Member is the place of a member of the object at a place.
func (p Place) Member(name string) Place { return Place{p.Path + "." + name, p.Any + "." + name} }

// Element is the place of an element of the list at a place.
func (p Place) Element(i int) Place { return Place{p.Path + "[" + strconv.Itoa(i) + "]", p.Any + "[]"} }

// Pair says that the element at A of one list is held against that at B of another;
// the one that there is none of is -1.
type Pair struct{ A, B int }

// Rules say what of two trees is compared, and how. The zero value tells every leaf,
// and holds elements against each other by their places.
type Rules struct {
	// Same reports whether two values that are not both objects or both lists are the
	// same.
	Same func(a, b any) bool
	// Pairs says which elements of two lists are compared, in the order in which they
	// are told; false tells the lists as a whole.
	Pairs func(a, b []any) ([]Pair, bool)
	// Skip reports whether a member is left out; depth is that of its object, 1 at the
	// root.
	Skip func(name string, depth int) bool
	// Inline reports whether the members of an object are told at its own place.
	Inline func(object map[string]any) bool
	// Deepest is how deep objects and lists are walked; below that, and for zero never,
	// they are told as a whole where Same says that they differ.
	Deepest int
}

// Walk tells the places at which two trees differ, those of an object by their names.
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

// lists reports whether the lists were compared by their elements.
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

// ByPlace holds each element against the one at its place, of lists that are of one
// length.
func ByPlace(a, b []any) (pairs []Pair, apart bool) {
	if len(a) != len(b) {
		return nil, false
	}
	for i := range a {
		pairs = append(pairs, Pair{i, i})
	}
	return pairs, true
}

// Order says of two lists of the same elements, told by their text, which place in a each
// element of b comes from; false where they have not the same ones, or have them in one
// order.
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

// Decode is the tree of a JSON text, with its numbers as they are spelled.
func Decode(text string) (tree any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&tree)
	return tree, err == nil && !decoder.More()
}

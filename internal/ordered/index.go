package ordered

import "maps"

// index maps the keys of a set to their places. What a set and its copies have in common
// stands in layers, which nobody changes.
type index[K comparable] struct {
	layers []map[K]int // each for the places behind those of the one before
	own    map[K]int   // for the places behind all layers, of one set; nil is empty
}

// find gives the place of key, or -1.
func (x *index[K]) find(key K) int {
	if at, found := x.own[key]; found {
		return at
	}
	for _, layer := range x.layers {
		if at, found := layer[key]; found {
			return at
		}
	}
	return -1
}

// with is the index with a key that came last. An index of one set is changed.
func (x *index[K]) with(key K, place int) *index[K] {
	if x.own == nil { // others may have it
		x = &index[K]{x.layers, map[K]int{}}
	}
	x.own[key] = place
	return x
}

// places is how many places the layers are for.
func (x *index[K]) places() (n int) {
	for _, layer := range x.layers {
		n += len(layer)
	}
	return n
}

// frozen is the index for a set and its copy, each of which has what comes for itself. Each
// layer is more than twice as large as the next: there are few, and a key is moved from one
// to another as seldom.
func (x *index[K]) frozen() *index[K] {
	switch {
	case x.own == nil:
		return x
	case len(x.own) == 0:
		return &index[K]{layers: x.layers}
	}
	layer, rest := x.own, x.layers
	for len(rest) > 0 && len(rest[len(rest)-1]) <= 2*len(layer) {
		joined := make(map[K]int, len(layer)+len(rest[len(rest)-1]))
		maps.Copy(joined, rest[len(rest)-1])
		maps.Copy(joined, layer)
		layer, rest = joined, rest[:len(rest)-1]
	}
	return &index[K]{layers: append(rest[:len(rest):len(rest)], layer)}
}

package ordered

import "maps"

// index maps the keys of a set to their places. A set and its copies share layers, which never
// change.
type index[K comparable] struct {
	layers []map[K]int // each covers the places after those of the previous layer
	own    map[K]int   // the places after all layers; belongs to one set; nil is empty and shared
}

// find returns the place of key, or -1.
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

// with returns the index with a key added at the last place. It changes an index that belongs to
// one set.
func (x *index[K]) with(key K, place int) *index[K] {
	if x.own == nil { // other sets may share it
		x = &index[K]{x.layers, map[K]int{}}
	}
	x.own[key] = place
	return x
}

// places returns how many places the layers cover.
func (x *index[K]) places() (n int) {
	for _, layer := range x.layers {
		n += len(layer)
	}
	return n
}

// frozen returns the index for a set and its copy, each of which then adds its own keys. Each layer
// is more than twice as large as the next one, so there are few layers, and a key is rarely copied
// to another layer.
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

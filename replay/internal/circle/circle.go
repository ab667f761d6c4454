// Package circle finds who waits for himself, by way of others.
package circle

import (
	"maps"
	"slices"
)

// Find gives nodes of which each leads to the next one, and the last one to the first, and by which
// edges: of is where an edge leads to. It gives none where there is no such circle. Which one it finds
// does not depend on the order of the map.
func Find[E any](edges map[int][]E, of func(E) int) (nodes []int, by []E) {
	place := map[int]int{} // behind those on the way that come before; -1 of those that lead to none
	var closes func(n int) bool
	closes = func(n int) bool {
		switch at := place[n]; {
		case at > 0:
			nodes, by = nodes[at-1:], by[at-1:]
			return true
		case at < 0:
			return false
		}
		nodes = append(nodes, n)
		place[n] = len(nodes)
		for _, next := range edges[n] {
			if by = append(by, next); closes(of(next)) {
				return true
			}
			by = by[:len(by)-1]
		}
		nodes, place[n] = nodes[:len(nodes)-1], -1
		return false
	}
	if slices.ContainsFunc(slices.Sorted(maps.Keys(edges)), closes) {
		return nodes, by
	}
	return nil, nil
}

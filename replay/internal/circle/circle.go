// Package circle finds circles of strands that wait for one another.
package circle

import (
	"maps"
	"slices"
)

// Find finds nodes of which each has an edge to the next one, and the last one to the first. It
// returns the nodes and these edges; of is where an edge leads to. It returns nil if there is no
// such circle. Which circle it finds does not depend on the order of the map.
func Find[E any](edges map[int][]E, of func(E) int) (nodes []int, by []E) {
	place := map[int]int{} // 1 + its index in nodes; -1 of a node that leads to no circle
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

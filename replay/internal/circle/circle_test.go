package circle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/replay/internal/circle"
)

// Find finds a circle from any start that leads to it, and returns the edges that close it. If no
// edge leads back, there is no circle.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		edges map[int][]int
		nodes []int
	}{
		{map[int][]int{1: {2}, 2: {3}, 3: {1}}, []int{1, 2, 3}},
		{map[int][]int{1: {1}}, []int{1}},
		{map[int][]int{1: {2, 3}, 2: {4}, 3: {5}, 5: {3}}, []int{3, 5}},
		{map[int][]int{1: {2, 3}, 2: {4}, 3: {4}}, nil},
		{nil, nil},
	} {
		nodes, by := circle.Find(c.edges, func(to int) int { return to })
		assert.Equal(t, c.nodes, nodes)
		if len(nodes) > 0 {
			assert.Equal(t, append(nodes[1:], nodes[0]), by, "each leads to the next one")
		}
	}
}

package tally_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/tally"
)

// SIG-4: a key counts once, under the mark that it had last.
func TestCount(t *testing.T) {
	var n tally.Count
	n.Changes("a", "red") // does not count a key that was not counted before
	assert.Zero(t, n.Of("red"))
	n.Bears("a", "red")
	n.Bears("b", "red")
	n.Bears("a", "red")
	assert.Equal(t, 2, n.Of("red"))
	n.Bears("a", "blue")
	n.Changes("b", "green")
	assert.Equal(t, []int{0, 1, 1}, []int{n.Of("red"), n.Of("blue"), n.Of("green")})
}

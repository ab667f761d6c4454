package adk_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// DET-8: a state tells in which list a record is, and in which order: one that moved
// from the messages to the memories is seen, though its digest is the same.
func TestStateTellsItsListsApart(t *testing.T) {
	a, b := adk.DigestOf([]byte("a")), adk.DigestOf([]byte("b"))
	seen := map[adk.Digest]int{}
	for i, state := range []adk.StateDigest{
		{}, {Prompt: a}, {Stash: a},
		{Instructions: []adk.Digest{a}}, {Messages: []adk.Digest{a}}, {Memories: []adk.Digest{a}}, {Retrievables: []adk.Digest{a}},
		{Thoughts: []adk.Digest{a}}, {ToolCalls: []adk.Digest{a}}, {Tools: []adk.Digest{a}},
		{Messages: []adk.Digest{a, b}}, {Messages: []adk.Digest{b, a}}, {Messages: []adk.Digest{a}, Memories: []adk.Digest{b}},
		{Instructions: []adk.Digest{a}, Messages: []adk.Digest{b}}, {Memories: []adk.Digest{a, b}},
	} {
		other, known := seen[state.Digest()]
		assert.False(t, known, "states %d and %d have one digest", i, other)
		seen[state.Digest()] = i
	}
}

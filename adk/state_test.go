package adk_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// DET-8: a state tells in which list a record is, and in which order: a record that moved from the
// messages to the memories changes the state, though its digest is the same.
func TestStateTellsItsListsApart(t *testing.T) {
	a, b := adk.DigestOf([]byte("a")), adk.DigestOf([]byte("b"))
	seen := map[adk.Digest]int{}
	states := []adk.StateDigest{{}, {Prompt: a}, {Stash: a}}
	with := func(lists map[adk.CollectionName][]adk.Digest) {
		var state adk.StateDigest
		for of, list := range lists {
			*state.Of(of) = list
		}
		states = append(states, state)
	}
	for _, of := range adk.Collections() {
		with(map[adk.CollectionName][]adk.Digest{of: {a}})
	}
	with(map[adk.CollectionName][]adk.Digest{adk.Messages: {a, b}})
	with(map[adk.CollectionName][]adk.Digest{adk.Messages: {b, a}})
	with(map[adk.CollectionName][]adk.Digest{adk.Messages: {a}, adk.Memories: {b}})
	with(map[adk.CollectionName][]adk.Digest{adk.Instructions: {a}, adk.Messages: {b}})
	with(map[adk.CollectionName][]adk.Digest{adk.Memories: {a, b}})
	assert.Nil(t, states[0].Of("nobody's"))
	for i, state := range states {
		other, known := seen[state.Digest()]
		assert.False(t, known, "states %d and %d have one digest", i, other)
		seen[state.Digest()] = i
	}
}

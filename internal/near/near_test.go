package near

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNear(t *testing.T) {
	names := []string{"gate-approved", "gate-denied", "gate-timeout", "quality-gate", "hello", "stash"}
	cases := map[string][]string{
		"helo":         {"hello"},
		"HELLO":        {"hello"},
		"hlelo":        {"hello"},
		"denied":       {"gate-denied"},
		"gate-timeot":  {"gate-timeout"},
		"gate":         {"gate-denied", "gate-timeout", "quality-gate"}, // at most three, the nearest first
		"conversation": nil,
		"":             nil,
	}
	for wrong, want := range cases {
		assert.Equal(t, want, Names(wrong, names), wrong)
	}
}

func TestDidYouMean(t *testing.T) {
	assert.Empty(t, DidYouMean("xyzzy", []string{"hello"}))
	assert.Equal(t, ": did you mean run?", DidYouMean("rum", []string{"run", "show"}))
	assert.Equal(t, ": did you mean ab or ac?", DidYouMean("a", []string{"ab", "ac"}))
}

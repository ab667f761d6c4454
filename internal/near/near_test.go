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
		"gate":         {"gate-denied", "gate-timeout", "quality-gate"}, // three at most, the nearest first
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

func TestDistance(t *testing.T) {
	cases := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"verfy", "verify", 1}, {"shwo", "show", 2},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, distance(c.a, c.b), "%s, %s", c.a, c.b)
		assert.Equal(t, c.want, distance(c.b, c.a), "%s, %s", c.b, c.a)
	}
}

package review

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked runs a review in which a person types these lines, and returns what they want and what is shown.
func asked(t *testing.T, changes []Change, lines ...string) (decisions []Decision, meant bool, shown string) {
	t.Helper()
	var out strings.Builder
	d := Dialog{In: bufio.NewReader(strings.NewReader(strings.Join(lines, "\n") + "\n")), Out: &out,
		Edit: func(file string) error { return errors.New("opened " + file) }}
	decisions, meant = d.Ask(changes)
	return decisions, meant, out.String()
}

// A file is accepted if all of its changes are, and gets all of their reasons.
func TestDecisions(t *testing.T) {
	changes := []Change{{"one", []string{"a", "b"}}, {"two", []string{"b", "c"}}, {"three", []string{"d"}}}
	for name, c := range map[string]struct {
		lines []string
		want  []Decision
	}{
		"all":               {[]string{"a", "x", "a", "y", "a", "x", "y"}, []Decision{{"a", "x", ""}, {"b", "x; y", ""}, {"c", "y", ""}, {"d", "x", ""}}},
		"one reason once":   {[]string{"a", "x", "a", "x", "l", "yes"}, []Decision{{"a", "x", ""}, {"b", "x", ""}, {"c", "x", ""}, {"d", "", ""}}},
		"one is left":       {[]string{"a", "x", "l", "a", "z", "y"}, []Decision{{"a", "x", ""}, {"b", "", "change 2 in it is left"}, {"c", "", ""}, {"d", "z", ""}}},
		"some of a change":  {[]string{"s", "1", "x", "a", "y", "l", "y"}, []Decision{{"a", "x", ""}, {"b", "", "change 1 in it is left"}, {"c", "y", ""}, {"d", "", ""}}},
		"back, and changed": {[]string{"a", "x", "b", "l", "a", "y", "l", "y"}, []Decision{{"a", "", ""}, {"b", "", "change 1 in it is left"}, {"c", "y", ""}, {"d", "", ""}}},
		"back, no reason":   {[]string{"l", "a", "y", "b", "a", "", "l", "a", "z", "y"}, []Decision{{"a", "", ""}, {"b", "", ""}, {"c", "", ""}, {"d", "z", ""}}},
		"back at the first": {[]string{"b", "l", "l", "a", "z", "y"}, []Decision{{"a", "", ""}, {"b", "", ""}, {"c", "", ""}, {"d", "z", ""}}},
	} {
		decisions, meant, shown := asked(t, changes, c.lines...)
		assert.Equal(t, c.want, decisions, name)
		assert.True(t, meant, "%s: %s", name, shown)
	}
}

// If nothing is accepted there is nothing to confirm; a person who ends the review accepts nothing.
func TestNothingIsMeant(t *testing.T) {
	changes := []Change{{"one", []string{"a"}}, {"two", []string{"b"}}}
	for _, lines := range [][]string{{"l", "l"}, {"a", "x", "q"}, {"a", "x", "a", "y", "n"}, {"a", "x", "a", "y"}, {"a", "x", "a", "y", ""}, {"a", "x"}, {"a", " ", "q"}, {}} {
		_, meant, _ := asked(t, changes, lines...)
		assert.False(t, meant, "%q", lines)
	}
	decisions, meant, shown := asked(t, changes, "l", "l")
	assert.Len(t, decisions, 2)
	assert.False(t, meant)
	assert.NotContains(t, shown, "write this?")
}

// The output says which answers are possible, and sends no control sequences to a terminal.
func TestShown(t *testing.T) {
	_, _, shown := asked(t, []Change{{"one\n  more of it\n", []string{"a\x1b[2J"}}}, "?", "o", "s", "2", "l")
	assert.Contains(t, shown, "\n1 of 1: one\n  more of it\n[a]ccept, ")
	assert.Contains(t, shown, help)
	assert.Contains(t, shown, `opened a\x1b[2J`)
	assert.Contains(t, shown, `   1  a\x1b[2J`)
	assert.Contains(t, shown, `"2" names none of the numbers 1 to 1`)
	assert.NotContains(t, shown, "\x1b")
}

func TestChosen(t *testing.T) {
	files := []string{"a", "b", "c", "d"}
	for text, want := range map[string]string{"1": "a", "2-3": "bc", "4, 1": "ad", "1-4 2": "abcd", "": ""} {
		some, err := chosen(files, text)
		require.NoError(t, err, text)
		assert.Equal(t, want, strings.Join(some, ""), text)
	}
	for _, text := range []string{"0", "5", "3-2", "x", "1-", "-1", "1-9"} {
		some, err := chosen(files, text)
		assert.Error(t, err, text)
		assert.Empty(t, some)
	}
}

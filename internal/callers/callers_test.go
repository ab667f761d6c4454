package callers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/callers"
)

func inner(skip int) callers.Place { return callers.Of(skip) }

func deep(n int) callers.Place {
	if n == 0 {
		return inner(0)
	}
	return deep(n - 1)
}

// PIP-11: the innermost call comes first, and only as many calls are kept as it takes to say where it happened.
func TestPlace(t *testing.T) {
	first := func(p callers.Place) string {
		line, _, _ := strings.Cut(string(p.Text()), "\n")
		return line[strings.LastIndexByte(line, '.')+1:]
	}
	assert.Equal(t, "inner", first(inner(0)))
	assert.Equal(t, "TestPlace", first(inner(1)))
	assert.Len(t, deep(100), 32)
	assert.Empty(t, callers.Place(nil).Text())
}

// staged is what a project's own code panics with; theirs only looks like it.
type (
	staged struct{ callers.Staged }
	theirs struct{}
)

func (theirs) staged() {}

// PIP-11: for a panic that was made on purpose, no place is looked up.
func TestOfPanic(t *testing.T) {
	assert.Empty(t, callers.OfPanic(staged{}, 0))
	assert.NotEmpty(t, callers.OfPanic(theirs{}, 0))
	assert.False(t, callers.IsStaged(nil))
	line, _, _ := strings.Cut(string(callers.OfPanic("of itself", 0).Text()), "\n")
	assert.Contains(t, line, "TestOfPanic")
}

func line(skip int) uintptr { return callers.Line(skip) }

// Line returns the first of the calls of a place, wherever they were taken from.
func TestLine(t *testing.T) {
	for skip := range 2 {
		place := callers.Place{line(skip)}
		first, _, _ := strings.Cut(string(place.Text()), "\n")
		assert.Contains(t, first, []string{"line", "TestLine"}[skip])
	}
	assert.Zero(t, callers.Line(1000))
}

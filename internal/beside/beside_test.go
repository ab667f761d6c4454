package beside_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/beside"
)

// An ask that belongs to no handle is refused if any replay under way does not allow it. Each replay that refuses it
// notes what it refused, and counts only the times when no other replay was under way.
func TestRefuses(t *testing.T) {
	asks := func(of string) bool { return beside.Refuses(func() string { return of }) }
	assert.False(t, asks("model"))
	none := beside.Begin(func(string) bool { return false })
	assert.True(t, asks("model"))
	model := beside.Begin(func(of string) bool { return of == "model" })
	assert.True(t, asks("model"))
	assert.True(t, asks("index"))
	assert.Equal(t, []beside.Ask{{"index", 0}, {"model", 0}}, none.End())
	assert.False(t, asks("model"))
	assert.True(t, asks("index"))
	assert.True(t, asks("tokens"))
	assert.True(t, asks("tokens"))
	assert.Equal(t, []beside.Ask{{"index", 0}, {"tokens", 2}}, model.End())
	assert.Equal(t, []beside.Ask{{"index", 0}, {"tokens", 2}}, model.End())
	assert.False(t, asks("index"))
}

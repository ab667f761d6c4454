package strandtime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/strandtime"
)

func at(s int64) time.Time { return time.Unix(s, 0) }

// EVT-6: time does not go back within a strand, from a fork to its strand, or from a strand to
// the one that waited for it. Between other strands it may.
func TestTimesNeverGoBack(t *testing.T) {
	var s strandtime.Times
	assert.Equal(t, at(10), s.Read(0, at(10)))
	assert.Equal(t, at(10), s.Read(0, at(7)))
	assert.Equal(t, 1, s.Fork(at(10)))
	assert.Equal(t, 2, s.Fork(at(10)))
	assert.Equal(t, at(10), s.Read(1, at(8)), "a strand begins when it is forked")
	assert.Equal(t, at(30), s.Read(1, at(30)))
	assert.Equal(t, at(20), s.Read(2, at(20)), "another strand has its own time")
	assert.Equal(t, at(20), s.Latest())
	assert.Equal(t, at(11), s.Read(0, at(11)))
	s.Join(0, 1)
	assert.Equal(t, at(30), s.Read(0, at(12)), "who waited for a strand is not before it")
	s.Join(0, 2)
	assert.Equal(t, at(30), *s.Last(0))
	assert.Equal(t, at(40), s.NotBefore(2, at(40), at(21)))
	assert.Equal(t, at(41), s.NotBefore(2, at(40), at(41)))
}

package fields_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// Every bad field is named, in the order in which they are asked for.
func TestFaultsComeInOrder(t *testing.T) {
	var c fields.Check
	c.Required("id", "", "an id")
	c.Optional("note", "a\xff")
	fields.OneOf(&c, "role", "judge", "user", "assistant")
	fields.OneOf(&c, "kind", "", "image", "audio")
	assert.Zero(t, c.RequiredScore("confidence", nil))
	half, beyond := 0.5, math.Inf(1)
	c.Score("importance", &beyond)
	assert.Equal(t, half, c.RequiredScore("weight", &half))
	later := time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC)
	c.Moments(later, later.Add(-time.Second))
	c.Moment("seen", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
	assert.Equal(t, []fields.Fault{
		{Path: "id", Message: "is missing, want an id"},
		{Path: "note", Message: "is not valid UTF-8 from byte 1 on, want valid UTF-8"},
		{Path: "role", Message: `is "judge", want user or assistant`},
		{Path: "kind", Message: "is missing, want image or audio"},
		{Path: "confidence", Message: "is missing, want a number within [0,1]"},
		{Path: "importance", Message: "is +Inf, want a number within [0,1]"},
		{Path: "updatedAt", Message: "is before createdAt, want the same time or a later one"},
		{Path: "seen", Message: "is in the year 10000, want a year from 0 to 9999"},
	}, c.Faults())
}

// Times are kept in UTC, without the reading of the monotonic clock.
func TestMomentsAreKeptInUTC(t *testing.T) {
	var c fields.Check
	local := time.Date(2025, 1, 2, 3, 0, 0, 0, time.FixedZone("here", 3600))
	assert.Equal(t, time.Date(2025, 1, 2, 2, 0, 0, 0, time.UTC), c.Moment("at", local))
	assert.Nil(t, c.Faults())
}

// PRM-4: a score lies within [0,1].
func TestScores(t *testing.T) {
	for score, ok := range map[float64]bool{0: true, 1: true, -0.01: false, 1.01: false, math.Inf(-1): false, math.NaN(): false} {
		var c fields.Check
		c.Score("score", &score)
		assert.Equal(t, ok, c.Faults() == nil, "%v", score)
	}
}

package fields_test

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// Every invalid field is named, in the order in which the fields are checked.
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

// Times are kept in UTC, without their monotonic reading.
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

// RUN-4: a tree, plain data or the text of an object all give an object, and every fault says what
// would be right.
func TestWhatIsGiven(t *testing.T) {
	var c fields.Check
	assert.Equal(t, map[string]any{"a": 1.0}, c.Object("args", `{"a":1}`))
	assert.Equal(t, map[string]any{"a": 1.0}, c.Object("args", map[string]any{"a": 1}))
	c.Want(true, "name", "want a text")
	c.Failed("schema", "cannot be used: %s", nil)
	c.Plain("payload", []any{"a"})
	c.Tree("stash", map[string]any{"a": 1})
	c.Prompt("prompt", "p")
	c.Instructions("instructions", []string{"a", "b"})
	assert.Empty(t, c.Faults())

	assert.Nil(t, c.Object("args", nil))
	assert.Nil(t, c.Object("args", 7))
	assert.Nil(t, c.Object("args", []byte("[]")))
	c.Want(false, "name", "want a text")
	c.Failed("schema", "cannot be used: %s", io.EOF)
	c.Plain("payload", func() {})
	c.Tree("stash", map[string]any{"a.b": 1})
	c.Prompt("prompt", "")
	c.Prompt("prompt", "a\xff")
	c.Instructions("instructions", []string{"a", "", "a"})
	var paths []string
	for _, fault := range c.Faults() {
		paths = append(paths, fault.Path)
		assert.NotContains(t, fault.Message, "%!")
	}
	assert.Equal(t, []string{"args", "args", "args", "name", "schema", "payload", "stash", "prompt", "prompt", "instructions[1]", "instructions[2]"}, paths)
	assert.Equal(t, fields.Fault{Path: "schema", Message: "cannot be used: EOF"}, c.Faults()[4])
	assert.Equal(t, "is the text of instructions[0] again: each text once", c.Faults()[10].Message)
}

// PRM-2: both parts of an identity are restored from its JSON.
func TestReadIdentity(t *testing.T) {
	for _, identifier := range []any{"ann", int64(7)} {
		text := fields.AppendTextOrInteger([]byte(`{"identifier":`), identifier)
		read, name, err := fields.ReadIdentity(append(text, `,"representation":"Ann"}`...))
		assert.NoError(t, err)
		assert.Equal(t, identifier, read)
		assert.Equal(t, "Ann", name)
	}
	_, _, err := fields.ReadIdentity([]byte(`{"identifier":true,"representation":"Ann"}`))
	assert.EqualError(t, err, "the identifier is neither a text nor an integer")
	_, _, err = fields.ReadIdentity([]byte(`[]`))
	assert.Error(t, err)
}

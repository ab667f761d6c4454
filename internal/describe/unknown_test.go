package describe

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
)

// note is a record of a kind that nobody has words for.
type note struct{ *adk.Thought }

func (note) RecordKind() adk.RecordKind   { return "note" }
func (note) Key() string                  { return "n-1" }
func (note) AppendJSON(dst []byte) []byte { return append(dst, `{"id":"n-1"}`...) }

// A record of a new kind is named for it, and said as its JSON.
func TestRecordWithoutWords(t *testing.T) {
	n := New(state.New())
	assert.Equal(t, "note1", n.Alias(note{}))
	assert.Equal(t, `{"id":"n-1"}`, n.Content(note{}))
}

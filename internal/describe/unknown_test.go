package describe

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
)

// note is a record of a kind that describe has no words for.
type note struct{ *adk.Thought }

func (note) RecordKind() adk.RecordKind   { return "note" }
func (note) Key() string                  { return "n-1" }
func (note) AppendJSON(dst []byte) []byte { return append(dst, `{"id":"n-1"}`...) }

// An event without words of its own is described by its own line.
func TestEventWithoutWords(t *testing.T) {
	n := New(state.New())
	assert.Equal(t, "dispatch1", n.ownFields(&adk.Crossing{Kind: adk.KindDispatchStart, Name: "8f1c"}, false))
	assert.Equal(t, `status "ack", iterations 2`, n.ownFields(&adk.Crossing{Kind: adk.KindDispatchEnd, Status: adk.StatusAck, N: 2}, false))
	assert.Contains(t, n.ownFields(&adk.Crossing{Kind: adk.KindDispatchEnd, Err: context.Canceled}, false), "context.Canceled")
	assert.Empty(t, n.ownFields(&adk.Crossing{Kind: adk.KindLogEvent}, false))
}

// An operation without words of its own is described by its inputs.
func TestOperationWithoutWords(t *testing.T) {
	n := New(state.New())
	x := &adk.Crossing{Kind: adk.KindFork, Name: "left", ID: 3, Err: adk.E_CONTEXT_ENDED}
	assert.Equal(t, `name "left"`, n.ownFields(x, true))
}

// A record of a new kind is described by the name of its kind and its JSON.
func TestRecordWithoutWords(t *testing.T) {
	n := New(state.New())
	assert.Equal(t, "note1", n.Alias(note{}))
	assert.Equal(t, `{"id":"n-1"}`, n.Content(note{}))
}

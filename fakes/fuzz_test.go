package fakes_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
)

// FuzzReadConversation reads any conversation: an accepted one has an interaction, and is the
// same when it is written and read again.
func FuzzReadConversation(f *testing.F) {
	f.Add([]byte(`{"source":"x","interactions":[{"request":{"method":"POST","url":"https://a.example/v1","body":"{}"},"response":{"status":200,"contentType":"text/event-stream","body":"data: x\n\n"}}]}`))
	f.Add([]byte(`{"interactions":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		conversation, err := fakes.ReadConversation(bytes.NewReader(data))
		if err != nil {
			assert.Zero(t, conversation)
			return
		}
		require.NotEmpty(t, conversation.Interactions)
		written, err := json.Marshal(conversation)
		require.NoError(t, err)
		again, err := fakes.ReadConversation(bytes.NewReader(written))
		require.NoError(t, err)
		assert.Equal(t, conversation, again)
	})
}

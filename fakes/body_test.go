package fakes_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
)

// CAS-2: a conversation that is read from its file has the same bytes as before, also where they
// are not text.
func TestConversationKeepsBytes(t *testing.T) {
	for _, body := range []string{"", "Ærlig talt?\r\n\x00<&>", "\xff\x00\xc3", "a\xe2\x80"} {
		c := fakes.Conversation{Source: "s", Interactions: []fakes.Interaction{{
			Request:  fakes.ProviderRequest{Method: "POST", URL: "/v1", Body: body},
			Response: fakes.Reply{Status: 200, ContentType: "audio/wav", Body: body},
		}}}
		file, err := json.Marshal(c)
		require.NoError(t, err)
		var back fakes.Conversation
		require.NoError(t, json.Unmarshal(file, &back))
		assert.Equal(t, c, back, "%s", file)
	}
}

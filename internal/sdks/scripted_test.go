package sdks

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
)

// Every client understands a scripted model, whole and as a stream, over HTTP and without it.
func TestScriptedModels(t *testing.T) {
	clients := map[string]said{
		"openai": askOpenAI, "openai streams": streamOpenAI, "anthropic": askAnthropic, "anthropic streams": streamAnthropic,
		"responses": askResponses, "responses streams": streamResponses, "genai": askGoogle, "genai streams": streamGoogle,
	}
	for name, ask := range clients {
		t.Run(name, func(t *testing.T) {
			script := fakes.Converse(fakes.StreamReply("It ", "rains."),
				fakes.StreamToolCalls("", fakes.StreamedCall{ID: "call_1", Name: "weather", ArgumentFragments: []string{`{"city":`, `"Oslo"}`}}))
			p := fakes.NewProvider(script)
			t.Cleanup(p.Close)
			for place, client := range map[string]*http.Client{p.URL(): {}, "https://model.example": {Transport: fakes.NewTransport(script)}} {
				text, err := ask(t.Context(), client, place)
				require.NoError(t, err)
				assert.Contains(t, strings.ReplaceAll(text, "|", ""), "It rains.") // one client puts bars between pieces
				call, err := ask(t.Context(), client, place)
				require.NoError(t, err)
				assert.Contains(t, call, "weather")
				assert.Contains(t, strings.ReplaceAll(call, `\"`, `"`), `{"city":"Oslo"}`)
			}
		})
	}
}

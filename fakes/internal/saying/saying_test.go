package saying_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes/internal/saying"
	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// apis are the requests of each API, whole and streamed, and the reasons with which its models stop.
var apis = map[string]struct {
	url, body, kind string
	stops           [2]string // after a text, and after calls
	noIDs           bool
}{
	"completions":         {url: "/v1/chat/completions", body: `{}`, kind: "application/json", stops: [2]string{"stop", "tool_calls"}},
	"completions, events": {url: "/v1/chat/completions?v=1", body: `{"stream":true}`, kind: "text/event-stream", stops: [2]string{"stop", "tool_calls"}},
	"messages":            {url: "https://m.example/v1/messages", body: `{"stream":false}`, kind: "application/json", stops: [2]string{"end_turn", "tool_use"}},
	"messages, events":    {url: "/v1/messages", body: `{"stream":true}`, kind: "text/event-stream", stops: [2]string{"end_turn", "tool_use"}},
	"responses":           {url: "/v1/responses", body: `{}`, kind: "application/json", stops: [2]string{"completed", "completed"}},
	"responses, events":   {url: "/v1/responses", body: `{"stream":true}`, kind: "text/event-stream", stops: [2]string{"completed", "completed"}},
	"gemini":              {url: "/v1beta/models/m:generateContent", body: `{}`, kind: "application/json", stops: [2]string{"STOP", "STOP"}, noIDs: true},
	"gemini, events":      {url: "/v1beta/models/m:streamGenerateContent?alt=sse", body: `{}`, kind: "text/event-stream", stops: [2]string{"STOP", "STOP"}, noIDs: true},
	"ollama":              {url: "/api/chat", body: `{"stream":false}`, kind: "application/json", stops: [2]string{"stop", "stop"}, noIDs: true},
	"ollama, lines":       {url: "/api/chat", body: `{}`, kind: "application/x-ndjson", stops: [2]string{"stop", "stop"}, noIDs: true},
}

// pieces splits a body into the pieces that a trace holds.
func pieces(t *testing.T, b *saying.Body) (pieces []json.RawMessage) {
	t.Helper()
	add := func(member string, data string) {
		if !json.Valid([]byte(data)) {
			data = `"` + data + `"`
		}
		pieces = append(pieces, json.RawMessage(`{"`+member+`":`+data+`}`))
	}
	switch b.ContentType {
	case "text/event-stream":
		for event := range strings.SplitSeq(strings.TrimSuffix(b.Text, "\n\n"), "\n\n") {
			_, data, ok := strings.Cut("\n"+event, "\ndata: ")
			require.True(t, ok, "%s", event)
			add("data", data)
		}
	case "application/x-ndjson":
		for line := range strings.Lines(b.Text) {
			add("line", strings.TrimSuffix(line, "\n"))
		}
	default:
		add("body", b.Text)
	}
	return pieces
}

// What a model says is read back unchanged from every API's form, whole and in pieces.
func TestSaidIsHeard(t *testing.T) {
	text := saying.Answer{Text: []string{"It \"rains\" ", "<in> Ōslo.\n"}}
	calls := saying.Answer{Text: []string{"Let me see."}, Calls: []saying.Call{
		{ID: "call_1", Name: "weather", ArgumentFragments: []string{`{"city":`, `"Oslo"}`}},
		{ID: "call_2", Name: "weather", ArgumentFragments: []string{`{"city":"Rome"}`}}}}
	bare := saying.Answer{Calls: calls.Calls[:1]}
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			for of, said := range map[string]saying.Answer{"a text": text, "calls behind a text": calls, "a call": bare, "nothing": {}} {
				body, err := said.To(api.url, api.body)
				require.NoError(t, err, of)
				require.NotNil(t, body, of)
				assert.Equal(t, api.kind, body.ContentType)
				heard := modelapi.Answer{Keep: true}
				for _, piece := range pieces(t, body) {
					assert.True(t, heard.Take(piece), "%s: %s", of, piece)
				}
				var words, args []string
				for _, choice := range heard.Choices() {
					words = append(words, choice.Texts["content"])
					for _, call := range choice.Calls {
						id := call.ID
						if api.noIDs {
							id = said.Calls[len(args)].ID
						}
						args = append(args, id+" "+call.Name+call.Arguments())
					}
				}
				assert.Equal(t, strings.Join(said.Text, ""), strings.Join(words, ""), of)
				var want []string
				stop := api.stops[0]
				for _, call := range said.Calls {
					stop = api.stops[1]
					want = append(want, call.ID+" "+call.Name+strings.Join(call.ArgumentFragments, ""))
				}
				assert.Equal(t, want, args, of)
				assert.Equal(t, stop, heard.Finish, of)
			}
		})
	}
}

// Without a request for events, Gemini streams its pieces as a list.
func TestGeminiStreamsAList(t *testing.T) {
	body, err := saying.Answer{Text: []string{"a\n\ndata: ", "b"}}.To("/v1beta/models/m:streamGenerateContent", `{}`)
	require.NoError(t, err)
	var list []struct {
		Candidates []struct {
			Content struct{ Parts []struct{ Text string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body.Text), &list))
	require.Len(t, list, 2)
	assert.Equal(t, "a\n\ndata: b", list[0].Candidates[0].Content.Parts[0].Text+list[1].Candidates[0].Content.Parts[0].Text)
}

// Arguments that are not an object are kept where an API's arguments are text, and refused elsewhere.
func TestArgumentsThatAreNoObject(t *testing.T) {
	broken := saying.Answer{Calls: []saying.Call{{ID: "call_1", Name: "weather", ArgumentFragments: []string{`{"city":`}}}}
	refused := map[string]bool{"messages": true, "gemini": true, "gemini, events": true, "ollama": true, "ollama, lines": true}
	for name, api := range apis {
		body, err := broken.To(api.url, api.body)
		if refused[name] {
			assert.EqualError(t, err, `the arguments of the call call_1 of weather are no JSON object, as they have to be in this form: {"city":`, name)
			continue
		}
		assert.NoError(t, err, name)
		assert.Contains(t, body.Text, `{\"city\":`, name)
	}
	none := saying.Answer{Calls: []saying.Call{{ID: "call_1", Name: "now"}}}
	for name, api := range apis {
		body, err := none.To(api.url, api.body)
		assert.NoError(t, err, name)
		assert.NotNil(t, body, name)
	}
}

// A request to another path, or one that is not an API's request, gets no answer.
func TestUnknownAPIs(t *testing.T) {
	for url, body := range map[string]string{"/ask": `{}`, "/v1/chat/completions": "Hello", "/v1/messages/count_tokens": `{}`, "%": `{}`} {
		said, err := saying.Answer{Text: []string{"Hi."}}.To(url, body)
		assert.NoError(t, err)
		assert.Nil(t, said, url)
	}
}

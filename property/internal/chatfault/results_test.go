package chatfault_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/property/internal/chatfault"
)

// Results of calls are in another place in every form. Some forms have no ids, or say that a tool failed.
func TestResults(t *testing.T) {
	both := []chatfault.Result{{ID: "a", Tool: "look", Args: `{"n":1}`, Text: "one"}, {ID: "b", Tool: "look", Args: `{"n":2}`, Text: "two"}}
	calls := `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}},{"id":"b","function":{"name":"look","arguments":"{\"n\":2}"}}]}`
	for name, c := range map[string]struct {
		request string
		want    []chatfault.Result
	}{
		"Chat Completions": {`{"messages":[{"role":"user","content":"Hi"},` + calls + `,{"role":"tool","tool_call_id":"a","content":"one"},
			{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"t"},{"type":"text","text":"wo"}]}]}`, both},
		"over HTTP": {`{"method":"POST","path":"/v1/chat/completions","body":{"messages":[` + calls + `,{"role":"tool","tool_call_id":"b","content":"two"}]}}`, both[1:]},
		"functions": {`{"messages":[{"role":"assistant","function_call":{"name":"look","arguments":"{}"}},{"role":"function","name":"look","content":"one"}]}`,
			[]chatfault.Result{{Tool: "look", Args: "{}", Text: "one"}}},
		"Messages": {`{"messages":[{"role":"assistant","content":[{"type":"text","text":"So"},{"type":"tool_use","id":"a","name":"look","input":{"n":1}},{"type":"tool_use","id":"b","name":"look","input":{"n":2}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"two","is_error":true},{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{}}]}]}]}`,
			[]chatfault.Result{{ID: "b", Tool: "look", Args: `{"n":2}`, Text: "two", Failed: true}, {ID: "a", Tool: "look", Args: `{"n":1}`, Other: true}}},
		"Responses": {`{"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"a","name":"look","arguments":"{\"n\":1}"},{"type":"function_call","call_id":"b","name":"look","arguments":"{\"n\":2}"},
			{"type":"function_call_output","call_id":"a","output":"one"},{"type":"function_call_output","call_id":"b","output":"two"}]}`, both},
		"Gemini": {`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"look","args":{"n":1}}},{"functionCall":{"name":"see","args":{}}}]},
			{"role":"function","parts":[{"functionResponse":{"name":"see","response":{"error":"dark"}}},{"functionResponse":{"name":"look","response":{"output":"one"}}}]}]}`,
			[]chatfault.Result{{Tool: "see", Args: "{}", Text: `{"error":"dark"}`, Failed: true}, {Tool: "look", Args: `{"n":1}`, Text: `{"output":"one"}`}}},
		"Ollama": {`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"look","arguments":{"n":1}}}]},{"role":"tool","tool_name":"look","content":"one"}]}`,
			[]chatfault.Result{{Tool: "look", Args: `{"n":1}`, Text: "one"}}},
		"a result of no call": {`{"messages":[{"role":"tool","tool_call_id":"a","content":"one"}]}`, nil},
		"no conversation":     {`{"tool_calls":"none"}`, nil},
		"no JSON":             {`"tool_calls`, nil},
	} {
		assert.Equal(t, c.want, chatfault.Results(json.RawMessage(c.request)), name)
	}
}

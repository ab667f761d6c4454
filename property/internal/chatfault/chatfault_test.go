package chatfault_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
)

const (
	wantsTool = `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"function":{"arguments":"{\"a\":12}","name":"t"},"id":"1"}]}}]}`
	speaks    = `{"choices":[{"finish_reason":"stop","message":{"content":"Good day"}}]}`
	twoTools  = `{"choices":[{"message":{"tool_calls":[{"function":{"name":"t"},"id":"1"},{"function":{"name":"u"},"id":"2"}]}}]}`
)

// An answer is broken in the ways in which models break theirs, and is still a chat completion. If an answer
// has nothing that a fault changes, it cannot have that fault.
func TestBreak(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  chatfault.Fault
		of     string
		broken string // empty if there is no such fault
	}{
		{"arguments that are no JSON", chatfault.Arguments, wantsTool, `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"function":{"arguments":"{\"city\": ","name":"t"},"id":"1"}]}}]}`},
		{"no arguments", chatfault.Arguments, speaks, ""},
		{"another tool", chatfault.Tool, wantsTool, `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"function":{"arguments":"{\"a\":12}","name":"t_that_there_is_not"},"id":"1"}]}}]}`},
		{"one id for two", chatfault.Twins, twoTools, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"t"},"id":"1"},{"function":{"name":"u"},"id":"1"}]}}]}`},
		{"the same twice", chatfault.Several, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"t"},"id":"1"}]}}]}`,
			`{"choices":[{"message":{"tool_calls":[{"function":{"name":"t"},"id":"1"},{"function":{"name":"t"},"id":"1_again"}]}}]}`},
		{"several already", chatfault.Several, twoTools, ""},
		{"the same another time", chatfault.Again(2), twoTools, `{"choices":[{"message":{"tool_calls":[{"function":{"name":"t"},"id":"1_again2"},{"function":{"name":"u"},"id":"2_again2"}]}}]}`},
		{"nothing to want again", chatfault.Again(2), speaks, ""},
		{"out of tokens", chatfault.Length, speaks, `{"choices":[{"finish_reason":"length","message":{"content":"Good"}}]}`},
		{"a refusal", chatfault.Refusal, speaks, `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"I cannot help with that."}}]}`},
		{"no chat", chatfault.Refusal, `{"data":[]}`, ""},
		{"no JSON", chatfault.Refusal, `Good day`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken, ok := test.fault.Break(chatfault.Answer{Value: json.RawMessage(test.of)})
			require.Equal(t, test.broken != "", ok)
			if ok {
				assert.JSONEq(t, test.broken, string(broken.Value))
			}
		})
	}
}

// Of an answer in pieces, the pieces with the part that the fault changes are broken. The given pieces
// are not modified.
func TestBreakPieces(t *testing.T) {
	given := []adk.Piece{
		{Value: json.RawMessage(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"t","arguments":"{\"a\""}}]}}]}`)},
		{Value: json.RawMessage(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}`)},
		{Value: json.RawMessage(`{"usage":{}}`)},
	}
	broken, ok := chatfault.Arguments.Break(chatfault.Answer{Pieces: given})
	require.True(t, ok)
	assert.JSONEq(t, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"t","arguments":"{\"city\": "}}]}}]}`, string(broken.Pieces[0].Value))
	assert.JSONEq(t, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`, string(broken.Pieces[1].Value))
	assert.Equal(t, given[2], broken.Pieces[2])
	assert.Contains(t, string(given[1].Value), ":1}")
}

// Refused recognizes requests that providers refuse, whether they were recorded of an HTTP client or of Ask, and
// accepts the others.
func TestRefused(t *testing.T) {
	const (
		used   = `{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]}`
		called = `{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}`
		output = `{"type":"function_call_output","call_id":"a","output":"4 °C"}`
		wants  = `{"role":"model","parts":[{"functionCall":{"name":"t","args":{}}},{"functionCall":{"name":"t","args":{}}}]}`
		gave   = `{"functionResponse":{"name":"t","response":{}}}`
	)
	resultOf := func(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `","content":"4 °C"}` }
	for request, want := range map[string]string{
		`{"city":"Oslo"}`:     "",
		`{"messages":"none"}`: "",
		`{"messages":[{"role":"user"},{"role":"user"},{"role":"assistant"}]}`:                                                                                                                                  "",
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}]},{"role":"tool","tool_call_id":"b"},{"role":"tool","tool_call_id":"a"},{"role":"user"}]}`:                                       "",
		`{"messages":[{"role":"tool","tool_call_id":"a"},{"role":"user"}]}`:                                                                                                                                    "a result without its call, \"a\"",
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user"},{"role":"tool","tool_call_id":"a"}]}`:                                                                                     "a call without its result, \"a\"",
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}`:                                                                                                                                        "a call without its result, \"a\"",
		`{"method":"POST","path":"/v1","body":{"messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}}`:                                                                                                  "a call without its result, \"a\"",
		`{"messages":[` + used + `,{"role":"user","content":[` + resultOf("b") + `]},{"role":"user","content":[` + resultOf("a") + `,{"type":"text","text":"And?"}]},{"role":"assistant","content":"4 °C."}]}`: "",
		`{"messages":[` + used + `,{"role":"user","content":[` + resultOf("b") + `]},{"role":"assistant","content":"4 °C."},{"role":"user","content":[` + resultOf("a") + `]}]}`:                               "a call without its result, \"a\"",
		`{"messages":[` + used + `]}`:                                      "a call without its result, \"a\"",
		`{"messages":[{"role":"user","content":[` + resultOf("a") + `]}]}`: "a result without its call, \"a\"",
		`{"input":[` + called + `,{"role":"assistant","content":"Wait."},{"role":"user","content":"I do."},` + output + `]}`: "",
		`{"input":[` + called + `,{"role":"user","content":"And?"}]}`:                                                        "a call without its result, \"a\"",
		`{"input":[` + output + `]}`:                                       "a result without its call, \"a\"",
		`{"input":[` + output + `],"previous_response_id":"r1"}`:           "",
		`{"input":[` + output + `],"conversation":"c1"}`:                   "",
		`{"input":[{"type":"item_reference","id":"fc_1"},` + output + `]}`: "",
		`{"input":"the word \"function_call\""}`:                           "",
		`{"contents":[` + wants + `,{"role":"user","parts":[` + gave + `,` + gave + `]},{"role":"model","parts":[{"text":"4 °C."}]}]}`: "",
		`{"contents":[` + wants + `,{"role":"user","parts":[` + gave + `]},{"role":"model","parts":[{"text":"4 °C."}]}]}`:              "a call without its result, \"t\"",
		`{"contents":[{"role":"user","parts":[` + gave + `]}]}`:                                                                        "a result without its call, \"t\"",
	} {
		assert.Equal(t, want, chatfault.Refused(json.RawMessage(request)), request)
	}
}

package chatfault_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/modelapi"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
)

// forms are answers with the same content in every form: for each form a text, a call and two calls.
var forms = map[string]struct{ says, calls, two []string }{
	"Chat Completions": {
		says:  []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":"Good day"},"finish_reason":"stop"}]}`},
		calls: []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + toolCall("a", `{\"n\":12}`) + `]},"finish_reason":"tool_calls"}]}`},
		two:   []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + toolCall("a", `{}`) + `,` + toolCall("b", `{}`) + `]},"finish_reason":"tool_calls"}]}`},
	},
	"Chat Completions in deltas": {
		says: []string{chunk(`{"role":"assistant","content":""}`, ""), chunk(`{"content":"Good"}`, ""), chunk(`{"content":" day"}`, ""), chunk(`{}`, "stop")},
		calls: []string{chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":""}}]}`, ""), chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":"}}]}`, ""),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"12}"}}]}`, ""), chunk(`{}`, "tool_calls")},
		two: []string{chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}`, ""), chunk(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"look","arguments":"{}"}}]}`, "tool_calls")},
	},
	"Messages": {
		says:  []string{`{"type":"message","role":"assistant","content":[{"type":"text","text":"Good day"}],"stop_reason":"end_turn"}`},
		calls: []string{`{"type":"message","role":"assistant","content":[` + toolUse("a", `{"n":12}`) + `],"stop_reason":"tool_use"}`},
		two:   []string{`{"type":"message","role":"assistant","content":[` + toolUse("a", `{}`) + `,` + toolUse("b", `{}`) + `],"stop_reason":"tool_use"}`},
	},
	"Messages in events": {
		says:  slices.Concat([]string{started}, block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"Good"}`, `{"type":"text_delta","text":" day"}`), stopped("end_turn")),
		calls: slices.Concat([]string{started}, block(0, toolUse("a", `{}`), partial(`{\"n\":`), partial(`12}`)), stopped("tool_use")),
		two:   slices.Concat([]string{started}, block(0, toolUse("a", `{}`), partial("{}")), block(1, toolUse("b", `{}`), partial("{}")), stopped("tool_use")),
	},
	"Responses": {
		says:  []string{`{"object":"response","status":"completed","output":[` + spoken("Good day") + `]}`},
		calls: []string{`{"object":"response","status":"completed","output":[` + functionCall("a", `{\"n\":12}`) + `]}`},
		two:   []string{`{"object":"response","status":"completed","output":[` + functionCall("a", `{}`) + `,` + functionCall("b", `{}`) + `]}`},
	},
	"Responses in events": {
		says: []string{`{"type":"response.created","response":{"object":"response","status":"in_progress","output":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Good"}`, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":" day"}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Good day"}`, `{"type":"response.output_item.done","output_index":0,"item":` + spoken("Good day") + `}`, completed(spoken("Good day"))},
		calls: slices.Concat(item(0, "a", `{\"n\":`, `12}`), []string{completed(functionCall("a", `{\"n\":12}`))}),
		two:   slices.Concat(item(0, "a", `{}`), item(1, "b", `{}`), []string{completed(functionCall("a", `{}`), functionCall("b", `{}`))}),
	},
	"Gemini": {
		says:  []string{candidate("STOP", `{"text":"Good day"}`)},
		calls: []string{candidate("STOP", `{"functionCall":{"id":"a","name":"look","args":{"n":12}}}`)},
		two:   []string{candidate("STOP", `{"functionCall":{"id":"a","name":"look","args":{}}}`, `{"functionCall":{"id":"b","name":"look","args":{}}}`)},
	},
	"Gemini in pieces": {
		says:  []string{candidate("", `{"text":"Good"}`), candidate("STOP", `{"text":" day"}`)},
		calls: []string{candidate("", `{"functionCall":{"id":"a","name":"look","args":{"n":12}}}`), candidate("STOP")},
		two:   []string{candidate("", `{"functionCall":{"id":"a","name":"look","args":{}}}`), candidate("STOP", `{"functionCall":{"id":"b","name":"look","args":{}}}`)},
	},
}

func toolCall(id, args string) string {
	return `{"id":"` + id + `","type":"function","function":{"name":"look","arguments":"` + args + `"}}`
}

func chunk(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return `{"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}`
}

const started = `{"type":"message_start","message":{"role":"assistant","content":[]}}`

func toolUse(id, input string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"look","input":` + input + `}`
}

func partial(text string) string { return `{"type":"input_json_delta","partial_json":"` + text + `"}` }

func block(at int, start string, deltas ...string) (events []string) {
	events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, at, start))
	for _, delta := range deltas {
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, at, delta))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, at))
}

func stopped(reason string) []string {
	return []string{`{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":4}}`, `{"type":"message_stop"}`}
}

func spoken(text string) string {
	return `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
}

func functionCall(id, args string) string {
	return `{"type":"function_call","id":"fc_` + id + `","call_id":"` + id + `","name":"look","arguments":"` + args + `"}`
}

func item(at int, id string, pieces ...string) (events []string) {
	events = append(events, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, at, functionCall(id, "")))
	for _, piece := range pieces {
		events = append(events, fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":"%s"}`, at, piece))
	}
	whole := strings.Join(pieces, "")
	return append(events, fmt.Sprintf(`{"type":"response.function_call_arguments.done","output_index":%d,"arguments":"%s"}`, at, whole),
		fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, functionCall(id, whole)))
}

func completed(items ...string) string {
	return `{"type":"response.completed","response":{"object":"response","status":"completed","output":[` + strings.Join(items, ",") + `]}}`
}

func candidate(finish string, parts ...string) string {
	reason := ""
	if finish != "" {
		reason = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` + reason + `}]}`
}

// answerOf returns an answer that is a single JSON, or that comes in several pieces.
func answerOf(said []string) chatfault.Answer {
	if len(said) == 1 {
		return chatfault.Answer{Value: json.RawMessage(said[0])}
	}
	var a chatfault.Answer
	for _, piece := range said {
		a.Pieces = append(a.Pieces, adk.Piece{Value: json.RawMessage(piece)})
	}
	return a
}

// heard returns what a client reads from an answer: the text, the calls, and why it ended.
func heard(a chatfault.Answer) string {
	answer := modelapi.Answer{Keep: true}
	answer.Take(a.Value)
	for _, piece := range a.Pieces {
		answer.Take(piece.Value)
	}
	var words []string
	for _, c := range answer.Choices() {
		for _, name := range slices.Sorted(maps.Keys(c.Texts)) {
			if c.Texts[name] != "" {
				words = append(words, fmt.Sprintf("%q", c.Texts[name]))
			}
		}
		for _, call := range c.Calls {
			words = append(words, fmt.Sprintf("%s %s(%s)", call.ID, call.Name, call.Arguments()))
		}
	}
	return strings.Join(append(words, answer.Finish), ", ")
}

// whole returns the complete response at the end of an answer in the form of Responses.
func whole(t *testing.T, a chatfault.Answer) string {
	var last struct{ Response json.RawMessage }
	require.NoError(t, json.Unmarshal(a.Pieces[len(a.Pieces)-1].Value, &last))
	return heard(chatfault.Answer{Value: last.Response})
}

// Every fault exists in every form, and has the same effect in each. The exceptions: what is no text cannot
// be left open, and a refusal has a text only in forms that give one.
func TestForms(t *testing.T) {
	const objects = "Messages, Gemini, Gemini in pieces" // whose arguments are objects
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			finish := func(kind string) string {
				provider, _, _ := strings.Cut(name, " in ")
				return map[string]map[string]string{
					"Chat Completions": {"said": "stop", "called": "tool_calls", "length": "length", "refused": "stop"},
					"Messages":         {"said": "end_turn", "called": "tool_use", "length": "max_tokens", "refused": "refusal"},
					"Responses":        {"said": "completed", "called": "completed", "length": "incomplete", "refused": "completed"},
					"Gemini":           {"said": "STOP", "called": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"},
				}[provider][kind]
			}
			open, half := `a look({"city": ), `, `a look({"n"), `
			if strings.Contains(name, " in ") {
				half = `a look({"n":1), `
			}
			if slices.Contains(strings.Split(objects, ", "), name) {
				open, half = "", "a look({}), "
			}
			refused := `"I cannot help with that.", `
			if finish("refused") == "refusal" || finish("refused") == "SAFETY" {
				refused = ""
			}
			goodHalf := `"Good", `
			if strings.Contains(name, " in ") {
				goodHalf = `"Good d", `
			}
			for _, c := range []struct {
				what  string
				fault chatfault.Fault
				of    []string
				want  string // empty if there is no such fault
			}{
				{"arguments left open", chatfault.Arguments, form.calls, open + strings.Repeat(finish("called"), min(len(open), 1))},
				{"no arguments", chatfault.Arguments, form.says, ""},
				{"another tool", chatfault.Tool, form.calls, `a look_that_there_is_not({"n":12}), ` + finish("called")},
				{"one id for two", chatfault.Twins, form.two, "a look({}), a look({}), " + finish("called")},
				{"one id for the only one", chatfault.Twins, form.calls, `a look({"n":12}), a look({"n":12}), ` + finish("called")},
				{"twice", chatfault.Several, form.calls, `a look({"n":12}), a_again look({"n":12}), ` + finish("called")},
				{"several already", chatfault.Several, form.two, ""},
				{"another time", chatfault.Again(2), form.two, "a_again2 look({}), b_again2 look({}), " + finish("called")},
				{"nothing to want again", chatfault.Again(2), form.says, ""},
				{"out of tokens in a call", chatfault.Length, form.calls, half + finish("length")},
				{"out of tokens in a text", chatfault.Length, form.says, goodHalf + finish("length")},
				{"a refusal", chatfault.Refusal, form.says, refused + finish("refused")},
				{"a refusal of a call", chatfault.Refusal, form.calls, refused + finish("refused")},
			} {
				t.Run(c.what, func(t *testing.T) {
					given := answerOf(c.of)
					before := heard(given)
					broken, ok := c.fault.Break(given)
					require.Equal(t, c.want != "", ok)
					assert.Equal(t, before, heard(given), "what was given stays as it is")
					if !ok {
						return
					}
					assert.Equal(t, c.want, heard(broken))
					if name == "Responses in events" {
						assert.Equal(t, c.want, whole(t, broken), "what is told at the end is the same")
					}
				})
			}
		})
	}
}

// FuzzBreak breaks any answer. This never panics, and JSON stays JSON.
func FuzzBreak(f *testing.F) {
	for _, form := range forms {
		for _, said := range [][]string{form.says, form.calls, form.two} {
			f.Add(strings.Join(said, "\n"))
		}
	}
	f.Fuzz(func(t *testing.T, said string) {
		pieces := slices.DeleteFunc(strings.Split(said, "\n"), func(piece string) bool { return !json.Valid([]byte(piece)) })
		if len(pieces) == 0 {
			t.Skip("nothing is said")
		}
		for _, fault := range []chatfault.Fault{chatfault.Arguments, chatfault.Tool, chatfault.Twins, chatfault.Several, chatfault.Again(1), chatfault.Length, chatfault.Refusal} {
			given := answerOf(pieces)
			broken, _ := fault.Break(given)
			for _, piece := range broken.Pieces {
				require.True(t, json.Valid(piece.Value), "%s", piece.Value)
			}
			require.Equal(t, answerOf(pieces), given)
		}
		chatfault.Refused(json.RawMessage(pieces[0]))
	})
}

package redacting_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// jsonTexts are texts that contain JSON, with the result of redacting them with the paths phone and
// args.pin.
var jsonTexts = []struct{ name, text, redacted string }{
	{"an object", `{"city":"Oslo","phone":"+47 555 12 345"}`, `{"city":"Oslo","phone":"[redacted:phone:1]"}`},
	{"its spelling is kept", "{\n  \"Phone\" : \"+47 555 12 345\",\n  \"n\": 1.50 }", "{\n  \"Phone\" : \"[redacted:phone:1]\",\n  \"n\": 1.50 }"},
	{"all below it", `{"phone":{"home":["555 1234 11","555 1234 12"],"n":7,"x":1e3,"on":true,"off":false,"no":null,"":""},"a":1}`,
		`{"phone":{"home":["[redacted:phone:1]","[redacted:phone:2]"],"n":0,"x":0.0,"on":false,"off":false,"no":null,"":""},"a":1}`},
	{"a list of objects", `[{"phone":"555 1234 11"},{"phone":"555 1234 11"}]`, `[{"phone":"[redacted:phone:1]"},{"phone":"[redacted:phone:1]"}]`},
	{"words around it", "Ada's card: {\"phone\": \"555 1234 11\"} and {braces}, {\"a\": no}, {\"phone\":\"555 1234 12\"}.",
		"Ada's card: {\"phone\": \"[redacted:phone:1]\"} and {braces}, {\"a\": no}, {\"phone\":\"[redacted:phone:2]\"}."},
	{"JSON in JSON", `{"body":"{\"phone\":\"555 1234 11\",\"n\":\"{\\\"phone\\\":\\\"555 1234 12\\\"}\"}"}`,
		`{"body":"{\"phone\":\"[redacted:phone:1]\",\"n\":\"{\\\"phone\\\":\\\"[redacted:phone:2]\\\"}\"}"}`},
	{"escapes", `{"phone":"a \"long\" \\ one\u00e9"} a "long" \ oneé`, `{"phone":"[redacted:phone:1]"} [redacted:phone:1]`},
	{"a number", `{"phone": 4755512345, "b": -1}`, `{"phone": 0, "b": -1}`},
	{"a path of names", `{"args":{"pin":"12345678"},"pin":"87654321"}`, `{"args":{"pin":"[redacted:pin:1]"},"pin":"87654321"}`},
	{"what models call arguments", `{"arguments":{"pin":"12345678"}}`, `{"arguments":{"pin":"[redacted:pin:1]"}}`},
	{"cut off", `{"phone":"555 1234`, `{"phone":"[redacted:phone:1]`},
	{"cut off in a number", `{"phone":5551234`, `{"phone":0`},
	{"no JSON", `{phone: "555 1234 11"} phone "555" {"phone" "555 1234 11"} {"phone":]`, `{phone: "555 1234 11"} phone "555" {"phone" "555 1234 11"} {"phone":]`},
	{"a line break, which JSON has not", "{\"note\":\"a\nb\",\"phone\":\"555 1234 11\"}", "{\"note\":\"a\nb\",\"phone\":\"[redacted:phone:1]\"}"},
	{"a line that was cut off", "{\"note\":\"555 12\n {\"phone\":\"555 1234 11\"}", "{\"note\":\"555 12\n {\"phone\":\"[redacted:phone:1]\"}"},
	{"a line that was cut off in what is covered", "{\"phone\":\"555 12\n{\"phone\":\"555 1234 11\"} of \"Ada\"", "{\"phone\":\"[redacted:phone:1]\"phone\":\"[redacted:phone:2]\"} of \"Ada\""},
	{"a line that was cut off in a name", "{\"phone\":\"555 1234 11\",\"no\n{\"phone\":\"555 1234 12\"}", "{\"phone\":\"[redacted:phone:1]\",\"no\n{\"phone\":\"[redacted:phone:2]\"}"},
	{"a brace that is escaped", `{"a":"\u007b\"phone\":\"555 12\",\"b\":1}","b":"\{\"phone\":\"555 34\"}"}`,
		`{"a":"\u007b\"phone\":\"[redacted:phone:1]\",\"b\":1}","b":"\{\"phone\":\"[redacted:phone:2]\"}"}`},
	{"a path whose names lie apart", `{"args":{"list":[{"pin":"1"}],"pin":["12345678"]},"args":[{"pin":"87654321"}]}`,
		`{"args":{"list":[{"pin":"1"}],"pin":["[redacted:pin:1]"]},"args":[{"pin":"[redacted:pin:2]"}]}`},
	{"another name", `{"telephone":"555 1234 11","phones":["555 1234 12"]}`, `{"telephone":"555 1234 11","phones":["555 1234 12"]}`},
}

func phones(t *testing.T) *redacting.Compiled {
	rules, err := redacting.Compile(&redact.Rules{Paths: []string{"phone", "args.pin"}})
	require.NoError(t, err)
	return rules
}

// A value that a path covers, in JSON within a text, is taken out of the text. The rest of the text keeps its
// spelling.
func TestMembersInTexts(t *testing.T) {
	for _, c := range jsonTexts {
		t.Run(c.name, func(t *testing.T) {
			redacted := phones(t).Text(c.text)
			assert.Equal(t, c.redacted, redacted)
			if json.Valid([]byte(c.text)) {
				assert.True(t, json.Valid([]byte(redacted)), "what was JSON is JSON")
			}
		})
	}
}

// The same holds however a text is split into deltas, and no delta is written before it is known what is secret.
func TestMembersInDeltas(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, c := range jsonTexts {
		for range 40 {
			if !assert.Equal(t, c.redacted, inDeltas(t, c.text, draw), c.name) {
				break
			}
		}
	}
}

// inDeltas returns what is written of a text that comes in deltas, each as soon as possible.
func inDeltas(t *testing.T, text string, draw *rand.Rand) string {
	stream := redacting.NewRedactStream(redacting.NewRedactor(phones(t)))
	var written strings.Builder
	for rest, waits := text, 0; rest != "" || waits < stream.Text.Len(); {
		n := min(len(rest), draw.IntN(6))
		stream.Add(rest[:n], n == len(rest))
		rest = rest[n:]
		if to := stream.Decided(); to > waits {
			written.WriteString(stream.Between(waits, to))
			waits = to
		}
	}
	return written.String()
}

// jsonPieces are the parts from which texts with whole and broken JSON are drawn.
var jsonPieces = []string{"{", "}", "[", "]", `"`, ":", ",", "\n", `\`, " ", "phone", `"phone":`, `"args":{"pin":`, "abc1", "12345",
	`\u007b`, "u007b", `\u00`, "7b", `\"`, `{\"phone\":\"`, `\u007b\"phone\":\"`, `\{\"phone\":\"`, "true", "1", `"x":`}

// The deltas of any text are redacted like the whole text. Texts with a secret that is long enough to be looked for
// elsewhere are left out, because what was written before it was known stays.
func TestMembersInDeltasOfAnyText(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	texts, compared := 4_000, 0
	if thorough.All() {
		texts = 200_000
	}
	for range texts {
		var b strings.Builder
		for range 2 + draw.IntN(24) {
			b.WriteString(jsonPieces[draw.IntN(len(jsonPieces))])
		}
		redactor := redacting.NewRedactor(phones(t))
		whole := redacting.NewRedactStream(redactor)
		whole.Add(b.String(), true)
		if redactor.Hunts() {
			continue
		}
		compared++
		if !assert.Equal(t, whole.Between(0, whole.Text.Len()), inDeltas(t, b.String(), draw), b.String()) {
			return
		}
	}
	assert.Greater(t, compared, 1000)
}

// If a pattern's match begins before a member, the member is replaced with the match by one placeholder, whatever
// the member is. The member's value is still looked for elsewhere.
func TestPatternsOverMembers(t *testing.T) {
	rules, err := redacting.Compile(&redact.Rules{Paths: []string{"phone"}, Patterns: []redact.Pattern{{Kind: "row", Expr: `row.*"phone": "?5`}}})
	require.NoError(t, err)
	for text, want := range map[string]string{
		`a row {"phone": "555 1234 11"} of 555 1234 11`: `a [redacted:row:1]"} of [redacted:phone:2]`,
		`a row {"phone": 555123411} of Ada`:             `a [redacted:row:1]} of Ada`,
	} {
		assert.Equal(t, want, rules.Text(text))
		stream := redacting.NewRedactStream(redacting.NewRedactor(rules))
		for _, part := range strings.SplitAfter(text, " ") {
			stream.Add(part, false)
		}
		stream.End()
		assert.Equal(t, want, stream.Between(0, stream.Text.Len()))
	}
}

// Text without a { is written at once. So a story in the arguments of a model's call does not wait until the
// text ends.
func TestTextsWithoutObjectsDoNotWait(t *testing.T) {
	stream := redacting.NewRedactStream(redacting.NewRedactor(phones(t)))
	stream.Add(`{"story":"Once upon a time`, false)
	assert.Equal(t, stream.Text.Len(), stream.Decided())
	stream.Add(` there was {\"a\":1}`, false)
	assert.Equal(t, len(`{"story":"Once upon a time there was `), stream.Decided())
	stream.Add(`","phone":"555`, false)
	assert.Equal(t, stream.Text.Len()-len(`"555`), stream.Decided())
}

// A model's arguments are a text, cut across pieces, that comes before the call that uses them. The result of a tool,
// and the next request with both of them, contain them as texts as well.
func TestMembersThatModelsWrite(t *testing.T) {
	const phone, pin, given = "+47 555 12 345", "4711-0815", "+47 555 99 999"
	piece := func(i int, args string) string {
		text, err := json.Marshal(args)
		require.NoError(t, err)
		return fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"sign_up","arguments":%s}}]}}],"n":%d}`, text, i)
	}
	executor := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		pieces := adk.AskStream(ctx, "model", "sign up", func(_ context.Context, _ string, give func(json.RawMessage) error) error {
			for i, args := range []string{`{"phone":"+47 5`, `55 12 345","p`, `in":"4711-0815"}`} {
				if err := give(json.RawMessage(piece(i, args))); err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range pieces {
			if err != nil {
				return err
			}
		}
		h.Log(adk.LevelInfo, "tool", `gave {"phone": "`+given+`"}`, nil)
		return dc.Ack()
	}
	var recorded bytes.Buffer
	recorder := replay.Record(&recorded, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"phone", "args.pin"}}})
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{Executor: adk.Executor{Name: "model", Run: executor}, Storage: fakes.NoOpStorage()}, recorder)))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	require.NoError(t, recorder.Err())
	for _, secret := range []string{phone, "12 345", pin, "0815", given} {
		assert.NotContains(t, recorded.String(), secret)
	}
	assert.Contains(t, recorded.String(), `{\"phone\":\"[redacted:phone:1]`)
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
}

// If a path covers a whole value of a session, with its version, the value keeps its form, so that code that reads
// it finds the types that it expects. Other JSON that is covered is replaced as a whole, also if it only looks like
// such a value, because a secret may be in the place of the version. What the value contains is also hidden
// elsewhere.
// (SES-31)
func TestJSONThatIsCovered(t *testing.T) {
	for _, c := range []struct{ at, held, want string }{
		{"session.context.desk.customer", `{"v":2,"x":{"last":"A-17 of Ada","n":3}}`, `{\"v\":2,\"x\":{\"last\":\"[redacted:customer:1]\",\"n\":0}}`},
		{"session.context.desk.customer", `{"v":"A-17 of Ada"}`, `[redacted:customer:1]`},
		{"session.context.desk.customer", `{"v":"A-17 of Ada","x":1}`, `[redacted:customer:1]`},
		{"session.context.desk.customer", `["A-17 of Ada"]`, `[redacted:customer:1]`},
		{"session.auth.customer", `{"v":4711,"x":"A-17 of Ada"}`, `[redacted:customer:1]`},
		{"customer", `{"v":4711,"x":"A-17 of Ada"}`, `[redacted:customer:1]`},
	} {
		var recorded bytes.Buffer
		recorder := replay.Record(&recorded, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"customer"}}})
		config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if err := dc.Stash().Set(c.at, json.RawMessage(c.held)); err != nil {
				return err
			}
			h.Log(adk.LevelInfo, "found", "it is A-17 of Ada", nil)
			return dc.Ack()
		}}}
		runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder)))
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
		require.NoError(t, recorder.Err())
		assert.Contains(t, recorded.String(), `{"$json":"`+c.want+`"}`, c)
		assert.NotContains(t, recorded.String(), "A-17", c)
	}
}

// The values of a session also keep their form in the raw turn that an attempt begins with. (SES-31)
func TestSessionsOfRawTurnsStayValues(t *testing.T) {
	var recorded bytes.Buffer
	recorder := replay.Record(&recorded, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"customer"}}})
	config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return dc.Ack()
	}}}
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder)))
	raw := adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{
		"session": map[string]any{"context": map[string]any{"customer": json.RawMessage(`{"v":2,"x":"A-17 of Ada"}`)}},
	}}
	require.NoError(t, runner.Run(t.Context(), raw))
	require.NoError(t, recorder.Err())
	assert.Contains(t, recorded.String(), `{"$json":"{\"v\":2,\"x\":\"[redacted:customer:1]\"}"}`)
	assert.NotContains(t, recorded.String(), "A-17")
}

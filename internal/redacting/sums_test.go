package redacting_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// asked returns a config of a turn in which a model answers with arguments, and is asked again with the call that has
// them, named by its checksum, and with the tools it may call.
func asked(answer, tools string) adk.Config {
	said := func(ctx context.Context, request string) (json.RawMessage, error) {
		return adk.Ask(ctx, "model", json.RawMessage(request), func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(answer), nil })
	}
	return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		args, err := said(ctx, `{"tools":`+tools+`}`)
		if err != nil {
			return err
		}
		call, err := adk.NewToolCall(adk.ToolCallInit{ID: "c1", Tool: "login", Args: string(args), CreatedAt: dc.Now(), UpdatedAt: dc.Now(), CompletedAt: dc.Now(), Results: adk.Text("in")})
		if err != nil {
			return err
		}
		if err := dc.ToolCalls().Store(ctx, call); err != nil {
			return err
		}
		_, err = said(ctx, `{"content":"<untrusted_`+call.Checksum()+`>in</untrusted_`+call.Checksum()+`>"}`)
		return errors.Join(err, dc.Ack())
	}}}
}

func recordedAsked(t *testing.T, rules *redact.Rules, answer, tools string) []byte {
	var file bytes.Buffer
	config := asked(answer, tools)
	recorder := replay.Record(&file, replay.RecordOptions{Redact: rules})
	config.Probe = recorder
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	require.NoError(t, recorder.Err())
	return file.Bytes()
}

// The checksum of a call depends on what may be secret, and a short secret can be guessed from it. Where a
// text names a call by its checksum, it is replaced by the checksum of the redacted arguments, which is also what
// live code computes.
func TestChecksumsInTexts(t *testing.T) {
	const answer = `{"password":"740913"}`
	rules := redact.UsualSecrets()
	file := recordedAsked(t, rules, answer, `[]`)
	told := tracetest.Must(canonical.Checksum("login", map[string]any{"password": "740913"}))
	assert.NotContains(t, string(file), "740913")
	assert.NotContains(t, string(file), told)
	assert.Contains(t, string(recordedAsked(t, rules, `{"user":"ada"}`, `[]`)), "untrusted_", "what is none of a secret")
	report, err := replay.Verify(t.Context(), bytes.NewReader(file), replay.Live{Config: asked(answer, `[]`), Seams: []string{replay.Executor}, Redact: rules})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, report)
	verifies(t, file, "checksums")
	assert.Contains(t, string(file), fmt.Sprintf(`"redacted":%d`, placeholders(file)), "a checksum is no placeholder")
}

// The descriptions in a request, of what a model may return, contain no secret and are kept. Data is no description,
// whatever its members are called.
func TestSchemasInRequests(t *testing.T) {
	const described = `the password of the account`
	for tools, want := range map[string][2]bool{ // whether the description is kept, and whether the other text is
		`[{"parameters":{"type":"object","properties":{"password":{"type":"string","description":"` + described + `"}}}}]`:                        {true, true},
		`[{"parameters":{"type":"object","properties":{"password":{"type":"string","description":"` + described + `","default":"other text"}}}}]`: {true, false},
		`[{"parameters":{"type":"object","properties":{"password":{"type":"string","description":"` + described + `","example":"other text"}}}}]`: {true, false},
		`[{"type":"object","properties":{"password":{"value":"other text","description":"` + described + `"}}}]`:                                  {false, false},
		`[{"type":"page","properties":{"password":{"type":"` + described + `","title":"other text"}}}]`:                                           {false, false},
		`[{"type":"object","owner":"a","properties":{"password":{"type":"` + described + `","title":"other text"}}}]`:                             {false, false},
		`[{"type":"object","properties":{"password":"` + described + `","secret":"other text"}}]`:                                                 {false, false},
	} {
		file := string(recordedAsked(t, redact.UsualSecrets(), `{}`, tools))
		assert.Equal(t, want[0], bytes.Contains([]byte(file), []byte(described)), tools)
		if bytes.Contains([]byte(tools), []byte("other text")) {
			assert.Equal(t, want[1], bytes.Contains([]byte(file), []byte("other text")), tools)
		}
	}
}

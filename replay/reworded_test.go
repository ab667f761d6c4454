package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	openai "github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Twice as many secrets under a changed name, in one crossing or in many, take twice the work.
func TestSecretsUnderAnotherName(t *testing.T) {
	thorough.Long(t)
	allocs.Countable(t)
	for name, logs := range map[string]func(h *adk.Helpers, name string, secrets int){
		"in one crossing": func(h *adk.Helpers, name string, secrets int) {
			all := make([]any, secrets)
			for i := range all {
				all[i] = map[string]any{name: fmt.Sprintf("secret-%05d", i)}
			}
			h.Log(adk.LevelInfo, "event", "logged in", map[string]any{"all": all})
		},
		"in as many": func(h *adk.Helpers, name string, secrets int) {
			for i := range secrets {
				h.Log(adk.LevelInfo, "event", name, map[string]any{name: fmt.Sprintf("secret-%05d", i)})
			}
		},
	} {
		for _, rules := range []*redact.Rules{nil, {Paths: []string{"password"}}} {
			made := func(secrets int) float64 {
				agent := func(name string) adk.Config {
					return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
						logs(h, name, secrets)
						return dc.Ack()
					}}}
				}
				raw := adk.RawTurn{SystemPrompt: "Help."}
				var recorded bytes.Buffer
				recorder := replay.Record(&recorded, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"password"}}})
				runner, err := adk.NewRunner(fakes.Deterministic(agent("password"), recorder))
				require.NoError(t, err)
				require.NoError(t, runner.Run(t.Context(), raw))
				require.NoError(t, recorder.Err())
				var report *replay.Report
				count := allocs.PerRun(1, func() {
					report, err = replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: agent("pass"), Turn: raw, Seams: []string{replay.Executor}, Redact: rules})
					require.NoError(t, err)
				})
				require.NotNil(t, report.Divergence)
				assert.False(t, strings.Contains(report.String(), "secret-"), report)
				return count
			}
			few, many := made(100), made(200)
			t.Logf("%s, rules %v: %.0f and %.0f allocations", name, rules != nil, few, many)
			assert.Less(t, many, 2.5*few, name)
		}
	}
}

// Two secrets of one kind are missing. That one of them is known, and so is found wherever it
// occurs, says nothing about the other.
func TestOneSecretVouchesForNoOther(t *testing.T) {
	agent := func(words string) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			h.Log(adk.LevelInfo, "event", words, nil)
			return dc.Ack()
		}}}
	}
	byPath := &redact.Rules{Paths: []string{"password"}}
	ours := map[string]any{"password": "correct-horse"}
	raw := adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"ours": ours, "theirs": map[string]any{"password": "battery-staple"}}}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent("correct-horse, then battery-staple"), replay.Record(&recorded, replay.RecordOptions{Redact: byPath})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), raw))
	require.Contains(t, recorded.String(), `"message":"[redacted:password:1], then [redacted:password:2]"`)

	live := replay.Live{Config: agent("only battery-staple is left"), Seams: []string{replay.Executor}, Redact: byPath,
		Turn: adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"ours": ours}}}
	assert.Contains(t, refusedToRerecord(t, recorded.Bytes(), live), "in other words what had [redacted:password:2] in the recording")
}

// A secret that a model emits over several deltas leaves empty deltas behind its placeholder. An
// executor that drops empty deltas still emits the same pieces; other pieces are reported.
func TestDeltasThatRedactionEmptied(t *testing.T) {
	agent := func(joined bool) adk.Config {
		pieces := []string{"Dear ", "Grace", " Hop", "per", ", ", "hello."}
		model := tracetest.Must(openai.New(openai.Options{BaseURL: "http://model.example/v1", Model: "m", AutoAck: new(true), Transport: fakes.NewTransport(fakes.Converse(fakes.StreamReply(pieces...)))}))
		executor := model.Executor("model")
		run := executor.Run
		executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			said := pieces
			if joined {
				said = []string{strings.Join(pieces, "")}
			}
			for _, text := range said {
				if _, err := h.ReportThought("t", text, false); err != nil {
					return err
				}
			}
			return run(ctx, dc, h)
		}
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: executor}
	}
	raw := adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"customer": "Grace Hopper"}}
	rules := &redact.Rules{Paths: []string{"customer"}}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent(false), replay.Record(&recorded, replay.RecordOptions{Redact: rules})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), raw))
	require.Contains(t, recorded.String(), `"delta":"[redacted:customer:1]"`)
	require.Contains(t, recorded.String(), `{"kind":"report-message","in":3,"id":"id-3"}`)
	for joined, says := range map[bool]string{false: "", true: "said in 1 piece instead of 6, the same text"} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: agent(joined), Turn: raw, Seams: []string{replay.Stash, replay.Executor}, Redact: rules})
		require.NoError(t, err)
		if says == "" {
			assert.Nil(t, report.Divergence, report)
			continue
		}
		require.NotNil(t, report.Divergence)
		assert.Contains(t, report.String(), says)
	}
}

// New words beside a placeholder are shown as they are: they are no part of the secret, which the
// placeholder still stands for. This holds with the rules and without them, and for a placeholder
// that live code was given.
func TestNewWordsBesideAPlaceholderAreShown(t *testing.T) {
	agent := func(words string) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			card, _ := dc.Stash().Get("card", "").(string)
			mail, _ := dc.Stash().Get("mail", "").(string)
			h.Log(adk.LevelInfo, "event", strings.NewReplacer("CARD", card, "MAIL", mail).Replace(words), nil)
			return dc.Ack()
		}}}
	}
	rules := &redact.Rules{Paths: []string{"card"}, Patterns: []redact.Pattern{{Kind: "mail", Expr: `[a-z.]+@[a-z]+\.example`}}}
	raw := adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"card": "4929-1234-5678", "mail": "ada@lovelace.example"}}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent("charging CARD of MAIL"), replay.Record(&recorded, replay.RecordOptions{Redact: rules})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), raw))
	require.Contains(t, recorded.String(), `"message":"charging [redacted:card:1] of [redacted:mail:2]"`)
	for words, says := range map[string]string{
		"charging later CARD of MAIL":        `"charging later [redacted:card:1] of [redacted:mail:2]"`,
		"charging CARD at once, of MAIL":     `"charging [redacted:card:1] at once, of [redacted:mail:2]"`,
		"charging CARD of MAIL, who knows":   `"charging [redacted:card:1] of [redacted:mail:2], who knows"`,
		"charging CARD of the account MAIL":  `"charging [redacted:card:1] of the account [redacted:mail:2]"`,
		"charging CARD of the house of MAIL": `"charging [redacted:card:1] of the house of [redacted:mail:2]"`,
	} {
		for _, rules := range []*redact.Rules{rules, nil} {
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: agent(words), Seams: []string{replay.Executor}, Redact: rules})
			require.NoError(t, err)
			require.NotNil(t, report.Divergence, words)
			require.Len(t, report.Divergence.Fields, 1, words)
			assert.Equal(t, says, report.Divergence.Fields[0].Got, "rules %v", rules != nil)
		}
	}
}

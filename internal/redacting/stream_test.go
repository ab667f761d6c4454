package redacting_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A secret of eight bytes or more that a path finds while a stream is running is looked for in the rest of
// that stream, however the deltas split it, because a model that calls a tool with a login may mention it
// in the same answer.
func TestStreamIsHuntedFromTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name, secret string
		deltas       []string
		hidden       bool
	}{
		{"eight bytes", "sesame42", []string{"It is ", "sesame42", "."}, true},
		{"eight bytes, parted", "sesame42", []string{"It is sesa", "me", "42."}, true},
		{"the first delta", "open sesame", []string{"open sesame"}, true},
		{"seven bytes are in half of all words", "sesame4", []string{"It is ", "sesame4", "."}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			executor := func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				_, err := h.ReportMessage("m1", "Let me log in. ", false)
				_, failed := h.ReportToolCall("c1", adk.ToolCallReport{Tool: "login", Args: map[string]any{"password": c.secret}, Complete: true})
				err = errors.Join(err, failed)
				for i, delta := range c.deltas {
					_, failed := h.ReportMessage("m1", delta, i == len(c.deltas)-1)
					err = errors.Join(err, failed)
				}
				return errors.Join(err, dc.Ack())
			}
			var recorded bytes.Buffer
			recorder := replay.Record(&recorded, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"args.password"}}})
			config := adk.Config{Executor: adk.Executor{Name: "model", Run: executor}, Storage: fakes.NoOpStorage()}
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder)))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Log in."}))
			require.NoError(t, recorder.Err())

			read, err := trace.Read(bytes.NewReader(recorded.Bytes()))
			require.NoError(t, err)
			var said strings.Builder
			for _, line := range read.Lines() {
				if line.Kind == adk.KindReportMessage {
					said.WriteString(line.Text)
				}
			}
			want := "Let me log in. " + strings.Join(c.deltas, "")
			if c.hidden {
				want = strings.ReplaceAll(want, c.secret, "[redacted:password:1]")
				assert.NotContains(t, recorded.String(), c.secret)
			}
			assert.Equal(t, want, said.String())
		})
	}
}

// saidRedacted records a turn with this executor, and returns the trace and what is written
// of its streams.
func saidRedacted(t *testing.T, r redact.Rules, run func(dc *adk.DispatchContext, h *adk.Helpers) error) (recorded, said string) {
	t.Helper()
	var out bytes.Buffer
	recorder := replay.Record(&out, replay.RecordOptions{Redact: &r})
	executor := func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		return errors.Join(run(dc, h), dc.Ack())
	}
	config := adk.Config{Executor: adk.Executor{Name: "model", Run: executor}, Storage: fakes.NoOpStorage()}
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder)))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Say it."}))
	require.NoError(t, recorder.Err())
	read, err := trace.Read(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	var text strings.Builder
	for _, line := range read.Lines() {
		if line.Kind == adk.KindReportMessage {
			text.WriteString(line.Text)
		}
	}
	return out.String(), text.String()
}

// Two secrets that overlap are replaced as one, even if the first ends before it is known where the second
// ends.
func TestOverlappingSecretsInAStreamAreOne(t *testing.T) {
	rules := redact.Rules{Patterns: []redact.Pattern{{Kind: "short", Expr: "abc"}, {Kind: "long", Expr: "bc+d"}}}
	for _, deltas := range [][]string{{"xabc", "ccd y"}, {"xab", "cc", "cd y"}, {"xabcccd y"}} {
		_, said := saidRedacted(t, rules, func(_ *adk.DispatchContext, h *adk.Helpers) (err error) {
			for i, delta := range deltas {
				_, failed := h.ReportMessage("m", delta, i == len(deltas)-1)
				err = errors.Join(err, failed)
			}
			return err
		})
		assert.Equal(t, "x[redacted:short:1] y", said, deltas)
	}
}

// A secret that a path finds is also looked for in the spellings that texts use: quoted, and inside
// JSON.
func TestSecretsAreHuntedAsTheyAreSpelled(t *testing.T) {
	const secret = "sesame\t\"42\""
	trace, said := saidRedacted(t, redact.Rules{Paths: []string{"args.password"}}, func(_ *adk.DispatchContext, h *adk.Helpers) error {
		_, err := h.ReportToolCall("c", adk.ToolCallReport{Tool: "login", Args: map[string]any{"password": secret}, Complete: true})
		_, failed := h.ReportMessage("m", `I sent {"password":"sesame\t\"42\""}.`, true)
		return errors.Join(err, failed)
	})
	assert.Equal(t, `I sent {"password":"[redacted:password:1]"}.`, said)
	assert.NotContains(t, trace, "sesame")
}

// An event of a message also has the text so far, which contains the secret again.
func TestTheTextSoFarIsRedacted(t *testing.T) {
	trace, _ := saidRedacted(t, redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `sk-[0-9]+`}}}, func(dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(dc.EmitMessage(adk.MessageEvent{ID: "m", Delta: "It is sk-12", Full: "It is sk-12"}),
			dc.EmitMessage(adk.MessageEvent{ID: "m", Delta: "34.", Full: "It is sk-1234.", Complete: true}))
	})
	assert.NotContains(t, trace, "sk-")
	assert.NotContains(t, trace, "34.")
	assert.Contains(t, trace, "It is [redacted:key:1]")
}

package artifact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// asking is an executor that wraps a body (the tool's result if body is empty), forges tools, and asks one.
func asking(body string, install bool) adk.Executor {
	return wrapping(body, func(ctx context.Context, dc *adk.DispatchContext, forged *adk.Registry) error {
		grep, _ := forged.Get("artifact_grep")
		if install {
			if err := artifact.Install(dc, forged); err != nil {
				return err
			}
			grep, _ = dc.Tools().Get("artifact_grep")
		}
		_, err := dc.Execute(ctx, grep, `{"callId":"call-1","pattern":"^b"}`)
		return err
	})
}

// wrapping is an executor that wraps a body (the tool's result if body is empty), forges tools, and
// passes them to asks.
func wrapping(body string, asks func(ctx context.Context, dc *adk.DispatchContext, forged *adk.Registry) error) adk.Executor {
	return adk.Executor{Name: "asking", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		fetch := dc.Tools().All()[0]
		var result adk.ToolResult = adk.Text(body)
		if body == "" { // the tool's result
			fetched, err := dc.Execute(ctx, fetch, `{}`)
			if err != nil {
				return err
			}
			result = fetched
		}
		wrapped, from, err := artifact.Wrap(ctx, fetch, "call-1", result)
		if err != nil {
			return err
		}
		now := dc.Now()
		made, err := adk.NewToolCall(adk.ToolCallInit{ID: "call-1", Tool: "fetch", Args: map[string]any{}, Results: wrapped, FromArtifactTool: from, CreatedAt: now, UpdatedAt: now, CompletedAt: now})
		if err != nil {
			return err
		}
		if err := dc.ToolCalls().Store(ctx, made); err != nil {
			return err
		}
		forged, err := artifact.Forge(dc, artifact.Config{})
		if err != nil {
			return err
		}
		if err := asks(ctx, dc, forged); err != nil {
			return err
		}
		return dc.Ack()
	}}
}

// recorded runs a turn and returns its trace.
func recorded(t *testing.T, config adk.Config) string {
	t.Helper()
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}))
	require.Contains(t, trace.String(), "artifact_grep")
	return trace.String()
}

// ART-11, ART-24: a replay of today's executor forges the tools again and gets their recorded answers, also where it
// merges them for one call of the model and installs none. With the tools live too, they read the body from the trace.
func TestReplays(t *testing.T) {
	fetch, err := adk.NewTool(adk.ToolInit{Name: "fetch", Description: "Fetches.", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil }})
	require.NoError(t, err)
	config := func(body string, install bool) adk.Config {
		return adk.Config{Executor: asking(body, install), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{fetch}}
	}
	const body = "alpha\nbeta\n"
	for _, c := range []struct {
		install bool
		seams   []string
	}{{false, nil}, {true, nil}, {true, []string{"executor/*"}}, {false, []string{"executor/*"}}, {false, []string{"executor/*", "tool/artifact_*"}}, {true, []string{"executor/*", "tool/artifact_*"}}} {
		trace := recorded(t, config(body, c.install))
		report, err := replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: config(body, c.install), Seams: c.seams})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%t %q", c.install, c.seams)
		assert.Equal(t, slices.Contains(c.seams, "tool/artifact_*"), slices.Contains(report.Live, "tool/artifact_grep"), "what ran is told")
	}
	report, err := replay.Verify(t.Context(), strings.NewReader(recorded(t, config(body, true))), replay.Live{Config: config("another\n", true), Seams: []string{"executor/*"}})
	require.NoError(t, err)
	assert.NotNil(t, report.Divergence, "another body is another record, by its hash")
}

// largeBody is a log larger than what a trace may hold. The tests search it for one line.
var largeBody = strings.Repeat("nothing happened\n", 100_000) + "the pump failed\n" + strings.Repeat("nothing happened\n", 100)

// questioning is an executor that fetches the log and asks it questions with forged tools. It
// reports the answers.
func questioning(config artifact.Config, questions ...[2]string) adk.Executor {
	return adk.Executor{Name: "questioning", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		fetch, _ := dc.Tools().Get("fetch")
		log, err := dc.Execute(ctx, fetch, `{}`)
		if err != nil {
			return err
		}
		now := dc.Now()
		made, err := adk.NewToolCall(adk.ToolCallInit{ID: "call-1", Tool: "fetch", Args: map[string]any{}, Results: log, CreatedAt: now, UpdatedAt: now, CompletedAt: now})
		if err != nil {
			return err
		}
		if err := dc.ToolCalls().Store(ctx, made); err != nil {
			return err
		}
		forged, err := artifact.Forge(dc, config)
		if err != nil {
			return err
		}
		if err := artifact.Install(dc, forged); err != nil {
			return err
		}
		for _, question := range questions {
			tool, _ := dc.Tools().Get(question[0])
			answer, err := dc.Execute(ctx, tool, question[1])
			said := fmt.Sprint(answer)
			if err != nil {
				said = err.Error()
			}
			if _, err := h.ReportMessage("m1", said, false); err != nil {
				return err
			}
		}
		return dc.Ack()
	}}
}

// ART-22, ART-24: questions to a large body are crossings, also those of a user's own flavour. The trace
// holds question and answer and not the body, and a replay of today's executor and tools answers
// from the trace. A different question has no recorded answer, so the replay diverges.
func TestQuestionsToLargeBodiesCross(t *testing.T) {
	lengths := artifact.Method{Tool: "log_longest", Description: "Returns the longest line.", Run: func(ctx context.Context, a *artifact.Artifact, _ map[string]any) (any, error) {
		text, err := a.Text(ctx)
		longest := ""
		for line := range strings.Lines(text) {
			if len(line) > len(longest) {
				longest = line
			}
		}
		return map[string]any{"line": strings.TrimSpace(longest), "of": a.LineCount()}, err
	}}
	config := artifact.Config{Flavours: []artifact.Flavour{{Name: "log", Title: "Log", MIMEType: "text/plain", Ext: "log", Methods: []artifact.Method{lengths}}}}
	fetch, err := adk.NewTool(adk.ToolInit{Name: "fetch", Description: "Fetches.", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return artifact.New(artifact.Init{ID: "call-1", Flavour: config.Flavours[0], Filename: "pump.log", TrustTier: adk.TrustThirdPartyPrivate, Reader: artifact.MemoryReader([]byte(largeBody))})
		}})
	require.NoError(t, err)
	questions := [][2]string{
		{"artifact_grep", `{"callId":"call-1","pattern":"pump"}`},
		{"artifact_tail", `{"callId":"call-1","n":1}`},
		{"artifact_log_longest", `{"callId":"call-1"}`},
		{"artifact_grep", `{"callId":"call-1","pattern":"("}`},
	}
	agent := func(questions ...[2]string) adk.Config {
		return adk.Config{Executor: questioning(config, questions...), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{fetch}}
	}
	trace := recorded(t, agent(questions...))
	assert.Equal(t, 2*len(questions), strings.Count(trace, `"kind":"ask"`))
	assert.Contains(t, trace, `"answer":{"value":["the pump failed"]}`)
	assert.Less(t, len(trace), 1<<16)
	seams := []string{"executor/*", "tool/artifact_*"}
	report, err := replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: agent(questions...), Seams: seams})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)

	questions[0][1] = `{"callId":"call-1","pattern":"valve"}`
	report, err = replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: agent(questions...), Seams: seams})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Contains(t, report.String(), "valve")
}

// ART-25: redaction removes the hash of every body from the whole trace, also where a key or an id
// contains a part of it, and keeps the sizes. The trace replays, also with today's executor and
// tools, whether the body contained the secret or not.
func TestRedactedMarks(t *testing.T) {
	rules := replay.RecordOptions{Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "pin", Expr: `pin [0-9]{4}`}}}}
	for _, body := range []string{"b: pin 4711\n", "b: nothing of it\n"} {
		agent := func() adk.Config {
			fetch, err := adk.NewTool(adk.ToolInit{Name: "fetch", Description: "Fetches.", InputSchema: []byte(`{"type":"object"}`), ArtifactConstructor: artifact.JSON,
				Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
					return adk.Text(body), nil
				}})
			require.NoError(t, err)
			return adk.Config{Executor: asking("", true), Tools: []*adk.Tool{fetch},
				Storage: artifact.Spooling(fakes.NewStorage().Storage(), artifact.NewMemorySpool(), artifact.SpoolingOptions{})}
		}
		var file bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(agent(), replay.Record(&file, rules)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}))
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
		assert.NotContains(t, file.String(), hash[:16])
		assert.NotContains(t, file.String(), "4711")
		assert.Contains(t, file.String(), fmt.Sprintf(`"bytes":%d,`, len(body)))

		for _, seams := range [][]string{nil, {"executor/*"}, {"executor/*", "tool/artifact_*"}} {
			report, err := replay.Verify(t.Context(), bytes.NewReader(file.Bytes()), replay.Live{Config: agent(), Seams: seams})
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%q %s: %s", body, seams, report)
		}
	}
}

// ART-25: with redaction a question to a large body holds no hash either.
func TestRedactedQuestions(t *testing.T) {
	fetch, err := adk.NewTool(adk.ToolInit{Name: "fetch", Description: "Fetches.", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return artifact.Text(t.Context(), adk.Text(largeBody))
		}})
	require.NoError(t, err)
	agent := adk.Config{Executor: questioning(artifact.Config{}, [2]string{"artifact_grep", `{"callId":"call-1","pattern":"pump"}`}), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{fetch}}
	var file bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent, replay.Record(&file, replay.RecordOptions{Redact: &redact.Rules{Paths: []string{"password"}}})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}))
	assert.Contains(t, file.String(), `"kind":"ask"`)
	assert.NotContains(t, file.String(), fmt.Sprintf("%x", sha256.Sum256([]byte(largeBody)))[:16], "the id of what a constructor made begins with the hash")
	for _, seams := range [][]string{nil, {"executor/*", "tool/artifact_*"}} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(file.Bytes()), replay.Live{Config: agent, Seams: seams})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s: %s", seams, report)
	}
}

// ART-8, ART-24: today's constructor makes the artifact of a tool's result also where the tool itself
// is scripted, because the executor that calls the tool is live.
func TestConstructorsOfScriptedTools(t *testing.T) {
	const body = `{"b":1}`
	agent := func(constructor adk.ArtifactConstructor) adk.Config {
		fetch, err := adk.NewTool(adk.ToolInit{Name: "fetch", Description: "Fetches.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads, ArtifactConstructor: constructor,
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil }})
		require.NoError(t, err)
		return adk.Config{Executor: asking(body, true), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{fetch}}
	}
	trace := recorded(t, agent(artifact.JSON))
	for _, seams := range [][]string{{"executor/*"}, {"executor/*", "tool/artifact_*"}, {"executor/*", "tool/*"}} {
		report, err := replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: agent(artifact.JSON), Seams: seams})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s: %s", seams, report)

		report, err = replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: agent(artifact.Text), Seams: seams})
		require.NoError(t, err)
		assert.Contains(t, report.String(), "flavour", "%s", seams)
	}
}

// asks is the config of a turn that asks the artifact of one tool call ten questions.
func asks(result adk.ToolResult) adk.Config {
	executor := wrapping("", func(ctx context.Context, dc *adk.DispatchContext, forged *adk.Registry) error {
		grep, _ := forged.Get("artifact_grep")
		for n := range 10 {
			if _, err := dc.Execute(ctx, grep, map[string]any{"callId": "call-1", "pattern": fmt.Sprintf("^line %d7 ", n)}); err != nil {
				return err
			}
		}
		return nil
	})
	return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{fakes.NewTool("fetch", "Fetches.", result).Tool()}, Executor: executor}
}

// The trace of a turn with ten questions to a body contains the bytes of that body once: where the
// tool returned them, or as base64 where the body was first opened. The trace replays, also with the
// tools live.
func TestEqualBytesStandOnceInTraces(t *testing.T) {
	thorough.OneGoroutine(t)
	const size = 256 << 10
	var text strings.Builder
	for n := 0; text.Len() < size; n++ {
		fmt.Fprintf(&text, "line %d %x\n", n, sha256.Sum256([]byte{byte(n), byte(n >> 8)}))
	}
	body := text.String()[:size]
	result, err := artifact.Text(t.Context(), adk.Text(body))
	require.NoError(t, err)
	for _, c := range []struct {
		result adk.ToolResult
		once   int
	}{{result, base64.StdEncoding.EncodedLen(len(body))}, {adk.Text(body), len(body) + strings.Count(body, "\n")}} {
		trace := recorded(t, asks(c.result))
		assert.Equal(t, 10, strings.Count(trace, `"kind":"open-media","phase":"done"`))
		assert.Less(t, len(trace), c.once+16<<10)
		for _, seams := range [][]string{nil, {"executor/*"}, {"executor/*", "tool/artifact_*"}} {
			report, err := replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: asks(c.result), Seams: seams})
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s: %s", seams, report)
		}
	}
}

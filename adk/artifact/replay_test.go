package artifact_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// asking is an executor that calls a tool, wraps its result, forges, and asks.
func asking(body string, install bool) adk.Executor {
	return adk.Executor{Name: "asking", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		wrapped, from, err := artifact.Wrap(ctx, dc.Tools().All()[0], "call-1", adk.Text(body))
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
		grep, _ := forged.Get("artifact_grep")
		if install {
			if err := artifact.Install(dc, forged); err != nil {
				return err
			}
			grep, _ = dc.Tools().Get("artifact_grep")
		}
		if _, err := dc.Execute(ctx, grep, `{"callId":"call-1","pattern":"^b"}`); err != nil {
			return err
		}
		return dc.Ack()
	}}
}

// recorded is the trace of a turn.
func recorded(t *testing.T, config adk.Config) string {
	t.Helper()
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}))
	require.Contains(t, trace.String(), "artifact_grep")
	return trace.String()
}

// ART-11, ART-24: a replay of today's executor forges the tools again, and gets what they
// answered; with the tools live, they get the body that they read, from the trace.
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
	}{{false, nil}, {true, nil}, {true, []string{"executor/*"}}, {false, []string{"executor/*", "tool/artifact_*"}}, {true, []string{"executor/*", "tool/artifact_*"}}} {
		trace := recorded(t, config(body, c.install))
		report, err := replay.Verify(t.Context(), strings.NewReader(trace), replay.Live{Config: config(body, c.install), Seams: c.seams})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%t %q", c.install, c.seams)
	}
	report, err := replay.Verify(t.Context(), strings.NewReader(recorded(t, config(body, true))), replay.Live{Config: config("another\n", true), Seams: []string{"executor/*"}})
	require.NoError(t, err)
	assert.NotNil(t, report.Divergence, "another body is another record, by its hash")
}

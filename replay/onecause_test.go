package replay_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// If a client that two tools use has changed in one way, that is one cause, whichever service each
// of them asks. A different change, or a change in a line of one tool, is another cause.
func TestOneChangeOfAClientIsOneCause(t *testing.T) {
	type request struct {
		Of     string `json:"of"`
		Client string `json:"client,omitempty"`
	}
	ask := func(ctx context.Context, of, client string) (string, error) {
		return adk.Ask(ctx, of, request{of, client}, func(context.Context, request) (string, error) { return "ok", nil })
	}
	again := func(ctx context.Context, of, client string) (string, error) {
		return adk.Ask(ctx, of, request{of, client}, func(context.Context, request) (string, error) { return "ok", nil })
	}
	tool := func(name, client string, ask func(context.Context, string, string) (string, error)) *adk.Tool {
		made, err := adk.NewTool(adk.ToolInit{Name: name, Description: name, Effect: adk.EffectReads, InputSchema: []byte(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				said, err := ask(ctx, name, client)
				return adk.Text(said), err
			}})
		require.NoError(t, err)
		return made
	}
	agent := func(tools ...*adk.Tool) adk.Config {
		return adk.Config{Executor: fakes.Script{{fakes.Call("one", `{}`), fakes.Call("two", `{}`), fakes.Ack()}}.Executor("model"),
			Storage: fakes.NewStorage().Storage(), Tools: tools}
	}
	var b bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(agent(tool("one", "", ask), tool("two", "", ask)), replay.Record(&b)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	for _, c := range []struct {
		name       string
		two        *adk.Tool
		again, own int
	}{
		{"the same change", tool("two", "v2", ask), 1, 0},
		{"another value", tool("two", "v3", ask), 0, 1},
		{"another line", tool("two", "v2", again), 0, 1},
	} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(b.Bytes()), replay.Live{Config: agent(tool("one", "v2", ask), c.two), Seams: []string{replay.ToolCode}})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence, c.name)
		after := report.Divergence.After
		assert.Equal(t, []int{c.again, c.own}, []int{after.Again, after.Own}, "%s: %s", c.name, report)
		assert.Len(t, after.Apart, c.own, c.name)
	}
}

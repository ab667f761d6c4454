package artifact_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/fakes"
)

// ART-5, ART-6, FRG-12: a call whose artifact is large enough is shown by a handle, in its place. Smaller
// artifacts, texts, media lists and answers of forged tools stay as they are.
func TestHandles(t *testing.T) {
	query := call(t, "query", made(t, artifact.Text, "12345")).Init()
	query.FromArtifactTool = true
	asked, err := adk.NewToolCall(query)
	require.NoError(t, err)
	calls := []*adk.ToolCall{
		call(t, "large", made(t, artifact.JSON, "12345")), call(t, "small", made(t, artifact.Text, "1234")),
		call(t, "words", adk.Text("123456")), call(t, "list", adk.MediaList{made(t, artifact.Text, "12345")}), asked,
	}
	holding(t, calls, func(ctx context.Context, dc *adk.DispatchContext) {
		went := 0
		for range 2 {
			require.NoError(t, artifact.Handles(artifact.HandleOptions{From: 5}).Run(ctx, dc, func(context.Context) { went++ }))
		}
		assert.Equal(t, 2, went)
		shown := map[string]bool{}
		for i, c := range dc.ToolCalls().All() {
			assert.Equal(t, calls[i].ID(), c.ID())
			before, err := artifact.HandleOptions{From: 5}.Shown(calls[i])
			require.NoError(t, err)
			assert.Equal(t, c.Inline(), before.Inline(), "who counts before the dispatch knows")
			assert.Equal(t, before.Inline(), before == calls[i])
			shown[c.ID()] = !c.Inline()
		}
		assert.Equal(t, map[string]bool{"large": true, "small": false, "words": false, "list": false, "query": false}, shown)
		assert.Zero(t, dc.ToolCallCount(calls[0].Checksum()), "nothing was called")
	})
}

// ART-6: invalid options are an error, and the dispatch does not go on.
func TestHandlesRefuse(t *testing.T) {
	inTurn(t, fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) {
		err := artifact.Handles(artifact.HandleOptions{From: -1}).Run(ctx, dc, func(context.Context) { t.Error("it went on") })
		assert.EqualError(t, err, "E_INVALID_ARTIFACT_CONFIG: From: is -1, want 0 or more bytes")
		_, err = artifact.HandleOptions{From: -1}.Shown(call(t, "words", adk.Text("a")))
		assert.EqualError(t, err, "E_INVALID_ARTIFACT_CONFIG: From: is -1, want 0 or more bytes")
	})
}

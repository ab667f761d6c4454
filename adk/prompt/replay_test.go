package prompt_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// rendering is an executor that logs the prompt that it would send.
func rendering(options prompt.Options) adk.Executor {
	return adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		options := options
		options.Opener = dc
		options.Warn = func(text string) { h.Log(adk.LevelWarn, "helper-warning", text, nil) }
		p, err := prompt.Render(ctx, prompt.ViewOf(dc.Handle), options)
		if err != nil {
			return err
		}
		h.Log(adk.LevelDebug, "prompt", written(p), nil)
		return dc.Ack()
	}}
}

// ENV-1, MED-3: an executor that is live in a replay renders the recorded prompt, from the
// bytes that the trace holds.
func TestPromptsOfReplays(t *testing.T) {
	k := kit{t}
	view := everything(t)
	view.Messages = append(view.Messages, k.user("m5", "And this?", 11, k.media(adk.MediaImage, "image/png", public, adk.HazardOpaquePerceptual)))
	view.ToolCalls = append(view.ToolCalls,
		k.call("call-4", "web", k.artifact("call-4", "the body", artifact.TextFlavour, public), 12),
		k.call("call-5", "web", k.media(adk.MediaDocument, "application/pdf", own, adk.HazardExtractableInstructions), 13),
		k.call("call-6", "web", k.media(adk.MediaVideo, "video/mp4", own, adk.HazardOpaquePerceptual, func(i *adk.MediaInit) { i.Reader = noReading(t) }), 14),
		k.call("call-7", "web", k.media(adk.MediaVideo, "video/mp4", own, adk.HazardOpaquePerceptual, func(i *adk.MediaInit) { i.Reader = adk.MediaBytes(make([]byte, 2048)) }), 15))
	var seed []adk.Record
	for _, m := range view.Messages {
		seed = append(seed, m)
	}
	for _, c := range view.ToolCalls {
		seed = append(seed, c)
	}
	options := prompt.Options{Media: prompt.MediaPolicy{Mode: prompt.StashedText}}
	config := adk.Config{Executor: rendering(options), Storage: fakes.NewStorage(seed...).Storage(), TurnInput: []adk.TurnMiddleware{tracetest.Loading(adk.Messages, adk.ToolCalls)}}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "You help."}))
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: config, Seams: []string{replay.Executor}})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Contains(t, recorded.String(), "[media: a.bin, video/mp4, unknown size]")
	assert.Contains(t, recorded.String(), "[media: a.bin, video/mp4, 2.0 KB]", "which stands in the trace, though nobody read it")
}

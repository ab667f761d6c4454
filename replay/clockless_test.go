package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// greeter asks a model with a prompt that it derives from the context, and then reads the clock on
// goroutines of its own.
func greeter(prompt func(*adk.DispatchContext) string) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, asked := adk.Ask(ctx, "model", map[string]any{"prompt": prompt(dc), "from": "Oslo"}, func(context.Context, map[string]any) (string, error) { return "Hello.", nil })
		var all started
		for range 2 {
			all.Go(func() error { dc.Now(); return nil })
		}
		return errors.Join(asked, all.Wait(), dc.Ack())
	})
}

// If one reading of the clock is gone, it is reported as missing, and no later reading is taken for it.
// Other changes of the same code are reported as well, since a changed time does not explain changed words.
func TestAReadingOfTheClockLess(t *testing.T) {
	recorded := byTheMachine(t, greeter(func(dc *adk.DispatchContext) string {
		return "Be brief. Today is " + dc.Now().Format("2006-01-02") + "."
	}))
	again := func(prompt func(*adk.DispatchContext) string) string {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: greeter(prompt), Turn: adk.RawTurn{SystemPrompt: "Go."}, Seams: []string{replay.Prompt, replay.Executor}})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, replay.Missing, report.Divergence.Class, "%s", report)
		return fmt.Sprint(report, report.Divergence.After.Apart)
	}
	fewerWords := again(func(*adk.DispatchContext) string { return "Be brief." })
	assert.Contains(t, fewerWords, "request.prompt")
	assert.NotContains(t, fewerWords, "time.Now")
	anotherClock := again(func(*adk.DispatchContext) string { return "Be brief. Today is 2031-03-04." })
	assert.NotContains(t, anotherClock, "request.prompt")
	assert.Contains(t, anotherClock, "only this is missing: is time.Now used")
}

package replay

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// talker makes six asks and reports the answers. If changed is the number of an ask, it asks with
// another word there.
func talker(changed int, word string) adk.Config {
	say := func(n int) string {
		if n == changed {
			return word
		}
		return fmt.Sprint("word ", n)
	}
	return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "talker", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for n := range 6 {
			answer, err := adk.Ask(ctx, "somebody", map[string]string{"say": say(n)}, func(context.Context, map[string]string) (string, error) {
				return "answer to " + say(n), nil
			})
			if err != nil {
				return err
			}
			if _, err := h.ReportMessage(fmt.Sprint("m", n), answer, true); err != nil {
				return err
			}
		}
		return dc.Ack()
	}}}
}

// A new run kept on a tape is the same, crossing by crossing, as one written to a trace. If it
// equals the recorded run to the last crossing, the tape is the recording itself.
func TestTapesHoldWhatTracesDo(t *testing.T) {
	t.Parallel()
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(talker(-1, ""), Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Talk."}))
	held, err := trace.Read(bytes.NewReader(recorded.Bytes()))
	require.NoError(t, err)
	for changed := -1; changed < 6; changed++ {
		for _, word := range []string{"another word", "", "\xff", strings.Repeat("long ", 1000)} {
			live := LiveExecutor(talker(changed, word).Executor.Run)
			live.unredacted = true
			taped, err := rerun(t.Context(), calls.Of(held), nil, live, held.Options())
			require.NoError(t, err)
			whole, err := rerunWhole(t.Context(), calls.Of(held), nil, live, held.Options())
			require.NoError(t, err)
			assert.Equal(t, linesOf(t, whole.got.Lines), linesOf(t, taped.got.Lines), "%d: %q", changed, word)
			assert.Equal(t, changed < 0, taped.isRecorded(), "%d: %q", changed, word)
			assert.Equal(t, changed >= 0, len(taped.compare()) > 0, "%d: %q", changed, word)
		}
	}
}

// linesOf are crossings as a trace writes them.
func linesOf(t *testing.T, crossings []*adk.Crossing) string {
	var out bytes.Buffer
	w := trace.NewWriter(&out, trace.Header{})
	for n, x := range crossings {
		require.NoError(t, w.Write(x))
		require.Equal(t, n+1, x.Seq)
	}
	return out.String()
}

package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// mirrored is a turn whose tool asks three mirrors concurrently and takes the first answer.
// answers runs before a mirror answers, and told runs in a goroutine that has its answer, before
// it passes the answer on.
func mirrored(says string, answers func(mirror string), told func(asking context.Context, mirror string)) adk.Config {
	fast := adk.ToolInit{Name: "fast", Description: "Asks mirrors.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			asking, enough := context.WithCancel(ctx)
			mirrors := []string{"a", "b", "c"}
			first := make(chan string, len(mirrors))
			var all sync.WaitGroup
			defer all.Wait()
			defer enough()
			for _, mirror := range mirrors {
				all.Go(func() {
					said, err := adk.Ask(asking, mirror, "size", func(context.Context, string) (string, error) { answers(mirror); return "big", nil })
					if err == nil {
						told(asking, mirror)
						first <- mirror + says + said
					}
				})
			}
			return adk.Text(<-first), nil
		}}
	return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tracetest.Must(adk.NewTool(fast))},
		Executor: fakes.Script{{fakes.Call("fast", `{}`)}, {fakes.Ack()}}.Executor("model")}
}

// WLD-5: what a goroutine does with its answer is no crossing. If answers came together, the first
// one that user code saw need not be the first one recorded. A run in which they come in another
// order is as recorded.
func TestAnswersThatCameTogetherComeInAnyOrder(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, seen := range []string{"a", "b", "c"} { // recorded last, and seen first
		var others sync.WaitGroup
		others.Add(2)
		recorded := mirrored(" says ", func(mirror string) {
			if mirror == seen {
				others.Wait()
			}
		}, func(asking context.Context, mirror string) {
			if mirror != seen {
				others.Done()
				<-asking.Done()
			}
		})
		var trace bytes.Buffer
		runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(recorded, replay.Record(&trace))))
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
		require.Contains(t, trace.String(), seen+" says big")

		nothing := func(context.Context, string) {}
		today := func(says string) *replay.Report {
			live := replay.Live{Config: mirrored(says, func(string) { t.Error("a mirror was asked") }, nothing), Seams: []string{replay.ToolCode}}
			report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
			require.NoError(t, err)
			return report
		}
		for range 5 {
			report := today(" says ")
			assert.Nil(t, report.Divergence, report)
		}
		assert.NotNil(t, today(" said ").Divergence, "another text is another text")
	}
}

// If goroutines ask in a fixed order but behave differently in each run, the order is not the
// reason, even if one run is as recorded.
func TestGoroutinesThatDoOtherwiseEachTime(t *testing.T) {
	t.Parallel()
	runs := 0
	config := func() adk.Config {
		count := adk.ToolInit{Name: "count", Description: "Counts.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				for _, n := range []string{"one", "two"} { // each in a goroutine of its own, and one after the other
					var one sync.WaitGroup
					one.Go(func() {
						_, err := adk.Ask(ctx, "counter", n, func(context.Context, string) (string, error) { return "counted", nil })
						assert.NoError(t, err)
					})
					one.Wait()
				}
				runs++
				return adk.Text([]string{"even", "odd"}[runs%2]), nil
			}}
		return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tracetest.Must(adk.NewTool(count))},
			Executor: fakes.Script{{fakes.Call("count", `{}`)}, {fakes.Ack()}}.Executor("model")}
	}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config(), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: config(), Seams: []string{replay.ToolCode}})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence, report)
	assert.Equal(t, replay.NonDeterministic, report.Divergence.Class)
	assert.Greater(t, runs, 2)
}

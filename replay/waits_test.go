package replay_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// Sequential calls differ from concurrent ones even if they take no time: the trace says which
// strand is waited for. (DET-6, DET-7)
func TestLostParallelismIsNoticed(t *testing.T) {
	t.Parallel()
	work := func(ctx context.Context, dc *adk.DispatchContext, name string) *adk.Strand {
		return tracetest.Must(dc.Fork(ctx, name, func(_ context.Context, dc *adk.DispatchContext) error {
			return dc.Stash().Set(name, true)
		}))
	}
	ways := map[string]func(ctx context.Context, dc *adk.DispatchContext) error{
		"side by side": func(ctx context.Context, dc *adk.DispatchContext) error {
			a, b := work(ctx, dc, "a"), work(ctx, dc, "b")
			return errors.Join(a.Wait(), b.Wait(), dc.Ack())
		},
		"in a row": func(ctx context.Context, dc *adk.DispatchContext) error {
			return errors.Join(work(ctx, dc, "a").Wait(), work(ctx, dc, "b").Wait(), dc.Ack())
		},
		"the other first": func(ctx context.Context, dc *adk.DispatchContext) error {
			a, b := work(ctx, dc, "a"), work(ctx, dc, "b")
			return errors.Join(b.Wait(), a.Wait(), dc.Ack())
		},
		"of one name": func(ctx context.Context, dc *adk.DispatchContext) error {
			first, second := work(ctx, dc, "a"), work(ctx, dc, "a")
			return errors.Join(first.Wait(), second.Wait(), dc.Ack())
		},
		"of one name, the other first": func(ctx context.Context, dc *adk.DispatchContext) error {
			first, second := work(ctx, dc, "a"), work(ctx, dc, "a")
			return errors.Join(second.Wait(), first.Wait(), dc.Ack())
		},
		"nobody waits": func(ctx context.Context, dc *adk.DispatchContext) error {
			work(ctx, dc, "a")
			work(ctx, dc, "b")
			return dc.Ack()
		},
	}
	executor := func(way string) adk.Executor {
		return adk.Executor{Name: "e", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return ways[way](ctx, dc) }}
	}
	for recorded := range ways {
		for today := range ways {
			t.Run(recorded+", now "+today, func(t *testing.T) {
				var trace bytes.Buffer
				recorder := replay.Record(&trace)
				config := adk.Config{Executor: executor(recorded), Storage: fakes.NewStorage().Storage()}
				require.NoError(t, tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder))).Run(context.Background(), adk.RawTurn{SystemPrompt: "Go."}))
				report, err := replay.Verify(context.Background(), bytes.NewReader(trace.Bytes()), replay.Live{Config: adk.Config{Executor: executor(today)}, Seams: []string{replay.Executor}})
				require.NoError(t, err)
				assert.Equal(t, recorded == today, report.Divergence == nil, "%v", report.Divergence)
			})
		}
	}
}

// A trace of the first version of the format does not record waits for strands: live code that
// waits is no difference, and it has no lines about waits.
func TestFirstVersionKnowsNoWaiting(t *testing.T) {
	t.Parallel()
	file, err := fixtures.Frozen.ReadFile("frozen/v1/parallel-tools.jsonl")
	require.NoError(t, err)
	scenario, found := scenarios.Named("parallel-tools")
	require.True(t, found)
	for _, seams := range [][]string{nil, {replay.Executor}, {replay.Everything}} {
		live := replay.Live{Seams: seams, Writes: true}
		live.Config, live.Turn = scenario.Build(scenarios.Outside{Cancel: func(error) {}})
		report, err := replay.Verify(context.Background(), bytes.NewReader(file), live)
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%v", report.Divergence)
	}
	file, err = fixtures.Frozen.ReadFile("frozen/v2/parallel-tools.jsonl")
	require.NoError(t, err)
	_, err = trace.Read(bytes.NewReader(bytes.Replace(file, []byte(`"version":2`), []byte(`"version":1`), 1)))
	assertFault(t, err, trace.FaultMalformed)
	assert.ErrorContains(t, err, "wait is a kind of version 2")
}

package property_test

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
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// spoken is a test that keeps its errors and logs.
type spoken struct{ errors, logs []string }

func (*spoken) Helper() {}
func (s *spoken) Logf(format string, args ...any) {
	s.logs = append(s.logs, fmt.Sprintf(format, args...))
}
func (s *spoken) Errorf(format string, args ...any) {
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

var _ property.TB = (*testing.T)(nil)

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fixtures.Traces.ReadFile(name + ".jsonl")
	require.NoError(t, err)
	return data
}

func TestCheckHolds(t *testing.T) {
	var said spoken
	property.Check(&said, bytes.NewReader(fixture(t, "gates-aborted")))
	assert.Equal(t, spoken{}, said, "hints are not looked at")
}

// A failure says what does not hold and why it matters, and shows the crossings around
// it.
func TestCheckFails(t *testing.T) {
	recorded, err := trace.Read(bytes.NewReader(fixture(t, "late-signal")))
	require.NoError(t, err)
	for i := range recorded.Lines() {
		if x := &recorded.Lines()[i]; x.Kind == adk.KindNack {
			x.Err = nil
		}
	}
	var file bytes.Buffer
	_, err = recorded.WriteTo(&file)
	require.NoError(t, err)
	var said spoken
	property.Check(&said, &file)
	require.Len(t, said.errors, 1)
	assert.Equal(t, `first-signal-wins (SIG-1) at crossing 25, in executor/model#0: a second signal is accepted
An answer that was refused is delivered all the same, or the other way round.
    ack
    … 1 crossing
    nack with error: changed my mind`, said.errors[0])
	assert.Empty(t, said.logs)
}

func TestCheckOfAPrefix(t *testing.T) {
	lines := bytes.SplitAfter(fixture(t, "hello"), []byte("\n"))
	var said spoken
	property.Check(&said, bytes.NewReader(bytes.Join(lines[:10], nil)))
	assert.Empty(t, said.errors, "nothing is missing at the end of a prefix")
	require.Len(t, said.logs, 1)
	assert.Contains(t, said.logs[0], "checked as far as it goes: replay: line 11: truncated trace")
}

func TestCheckOfNoTrace(t *testing.T) {
	var said spoken
	property.Check(&said, strings.NewReader("hello\n"))
	require.Len(t, said.errors, 1)
	assert.Contains(t, said.errors[0], "the trace cannot be read: replay: line 1: no trace: it begins with")
}

// The crossings before a malformed line are still examined.
func TestExamineOfAMalformedTrace(t *testing.T) {
	recorded := bytes.Replace(fixture(t, "loud-listener"), []byte(`"kind":"turnEnd"`), []byte(`"kind":"end"`), 1)
	e, err := property.Examine(bytes.NewReader(recorded), trace.Options{File: "x.jsonl"})
	require.ErrorContains(t, err, "x.jsonl:32: malformed trace")
	require.NotNil(t, e)
	assert.Equal(t, 30, e.Crossings)
	assert.NoError(t, e.Cut)
	assert.Empty(t, e.Violations)
	require.Len(t, e.Hints, 1)
	assert.Equal(t, "!! contained: listener of message: the screen is gone\n", e.Where(e.Hints[0]))
}

// SIG-4: a count is a pure read that crosses no seam, so no trace can show it. This test therefore asks
// for the count at every step of a turn, and compares the answers with the stores
// in its trace.
func TestToolCallCountsEqualTheStoresSeen(t *testing.T) {
	args := map[string]any{"city": "Oslo"}
	stored := func(id string) *adk.ToolCall {
		return sure(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "weather", Args: args, Results: adk.Text("4 °C"),
			CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch}))
	}
	sum := stored("seed").Checksum()
	say := func(dc *adk.DispatchContext) {
		dc.Helpers().Log(adk.LevelDebug, "count", "", int64(dc.ToolCallCount(sum)))
	}
	kept := fakes.NewStorage(question)
	kept.Fail(fakes.Fault{Op: fakes.OpStore, Collection: adk.ToolCalls, Occurrence: 3, Err: context.DeadlineExceeded})
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	runner := sure(adk.NewRunner(fakes.Deterministic(adk.Config{
		Storage: kept.Storage(),
		TurnInput: before("seed", func(_ context.Context, tc *adk.TurnContext) error {
			_, err := tc.ToolCalls().Add(stored("seed"))
			return err
		}),
		DispatchInput: []adk.DispatchMiddleware{{Name: "count", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			say(dc)
			next(ctx)
			return nil
		}}},
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			calls := dc.ToolCalls()
			_, _ = h.ReportToolCall("reported", adk.ToolCallReport{Tool: "weather", Args: args, Complete: true})
			say(dc)
			for _, do := range []func() error{
				func() error { return calls.Store(ctx, stored("a")) },
				func() error { return calls.Store(ctx, stored("a")) },
				func() error { return calls.Mutate(ctx, stored("b")) },
				func() error { return calls.Delete(ctx, "a") },
				func() error { return calls.Store(ctx, stored("c")) }, // refused in the first iteration
			} {
				_ = do()
				say(dc)
			}
			if dc.Iteration() == 1 {
				return dc.Ack()
			}
			return nil
		}},
	}, recorder)))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Count."}))
	e, err := property.Examine(&trace)
	require.NoError(t, err)
	assert.Empty(t, e.Violations)

	count, asked := int64(1), 0 // 1 for the seed
	writes, counted := map[int]string{}, map[string]bool{}
	for x := range property.CrossingsOf(e) {
		switch {
		case (x.Kind == adk.KindStore || x.Kind == adk.KindMutate) && x.Phase == adk.Begin:
			writes[x.Op] = x.Record.Key()
		case x.Kind == adk.KindStore || x.Kind == adk.KindMutate:
			if id := writes[x.Op]; x.Err == nil && !counted[id] { // all three have the same checksum
				counted[id] = true
				count++
			}
		case x.Kind == adk.KindReportLog && x.Name == "count":
			asked++
			assert.EqualValues(t, count, x.Value, "at crossing %d", x.Seq)
		}
	}
	assert.Equal(t, 14, asked)
	assert.EqualValues(t, 4, count, "the seed, a, b and c: an id counts once")
}

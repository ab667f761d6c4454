package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// chatTrace is the trace of a turn with about n crossings. Each iteration streams a message, runs
// a tool, and stores call and message under the ids of the previous iteration, so that no state
// grows with the turn.
func chatTrace(b *testing.B, n int, input ...adk.DispatchMiddleware) []byte {
	var trace bytes.Buffer
	script := fakes.NewTool("lookup", "Looks a city up.", "4 °C")
	script.Repeat = true
	lookup := script.Tool()
	model := &chatModel{iterations: (n - crossingsAround) / crossingsOfChat, lookup: lookup}
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{lookup},
		Executor: adk.Executor{Name: "model", Run: model.answer}, DispatchInput: input,
	}, replay.Record(&trace)))
	require.NoError(b, err)
	require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "be brief"}))
	return trace.Bytes()
}

// The number of crossings of one iteration of a chatModel, and of the turn around the iterations.
const (
	crossingsOfChat = 59
	crossingsAround = 16
)

// chatModel acks after the given number of iterations.
type chatModel struct {
	iterations int
	lookup     *adk.Tool
}

func (m *chatModel) answer(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	if dc.Iteration() >= m.iterations {
		return dc.Ack()
	}
	now, stream := time.Date(2026, 1, 1, 0, 0, dc.Iteration(), 0, time.UTC), fmt.Sprint("m", dc.Iteration())
	for i := range 20 {
		if _, err := h.ReportMessage(stream, "some words ", i == 19); err != nil {
			return err
		}
	}
	args := map[string]any{"input": "Oslo", "days": 3}
	result, err := dc.Execute(ctx, m.lookup, args)
	if err != nil {
		return err
	}
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: "call", Tool: "lookup", Args: args, Results: result,
		CreatedAt: now, UpdatedAt: now, CompletedAt: now})
	if err != nil {
		return err
	}
	if err := dc.ToolCalls().Store(ctx, call); err != nil {
		return err
	}
	said, err := adk.NewMessage(adk.MessageInit{ID: "said", Role: adk.RoleAssistant, Content: "It is 4 °C in Oslo.",
		CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return err
	}
	return dc.Messages().Store(ctx, said)
}

// The cost of one crossing, in a turn with crossings of many kinds, does not depend on how many
// there are. The smallest turn that succeeds has 16 crossings.
func BenchmarkVerifyChat(b *testing.B) {
	for _, n := range []int{16, 1000, 50_000} {
		trace := chatTrace(b, n)
		file := filepath.Join(b.TempDir(), "chat.jsonl")
		require.NoError(b, os.WriteFile(file, trace, 0o600))
		b.Run(fmt.Sprintf("%d/memory", n), func(b *testing.B) {
			perSecond(b, func() int { return verifySame(b, trace) })
		})
		b.Run(fmt.Sprintf("%d/file", n), func(b *testing.B) {
			perSecond(b, func() int { return verifyFile(b, file) })
		})
	}
}

// The same with live middleware, which runs in every iteration. The replay then holds the whole
// recording, as it answers by cause.
func BenchmarkVerifyChatLive(b *testing.B) {
	pass := adk.DispatchMiddleware{Name: "pass", Run: func(ctx context.Context, _ *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		return nil
	}}
	live := replay.Live{Config: adk.Config{DispatchInput: []adk.DispatchMiddleware{pass}}, Seams: []string{replay.Middleware}}
	for _, n := range []int{16, 1000, 50_000} {
		trace := chatTrace(b, n, pass)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			perSecond(b, func() int {
				report, err := replay.Verify(b.Context(), bytes.NewReader(trace), live)
				require.NoError(b, err)
				require.Nil(b, report.Divergence)
				return report.Crossings
			})
		})
	}
}

// A folder of ten thousand small traces, as a CI job may have.
func BenchmarkVerifyManySmall(b *testing.B) {
	files := make([]string, 10_000)
	trace, folder := chatTrace(b, 16), b.TempDir()
	for i := range files {
		files[i] = filepath.Join(folder, fmt.Sprint(i, ".jsonl"))
		require.NoError(b, os.WriteFile(files[i], trace, 0o600))
	}
	perSecond(b, func() (crossings int) {
		for _, file := range files {
			crossings += verifyFile(b, file)
		}
		return crossings
	})
	b.ReportMetric(float64(len(files)*b.N)/b.Elapsed().Seconds(), "traces/s")
}

// The shares of reading alone and of writing alone.
func BenchmarkReadChat(b *testing.B) {
	recorded := chatTrace(b, 50_000)
	perSecond(b, func() (crossings int) {
		r, err := trace.NewReader(bytes.NewReader(recorded))
		require.NoError(b, err)
		for {
			if _, err = r.Next(); err != nil {
				require.Equal(b, io.EOF, err)
				return crossings
			}
			crossings++
		}
	})
}

func BenchmarkWriteChat(b *testing.B) {
	recorded, err := trace.Read(bytes.NewReader(chatTrace(b, 50_000)))
	require.NoError(b, err)
	perSecond(b, func() int {
		_, err := recorded.WriteTo(io.Discard)
		require.NoError(b, err)
		return len(recorded.Lines())
	})
}

func verifyFile(b *testing.B, file string) int {
	in, err := os.Open(file)
	require.NoError(b, err)
	defer in.Close()
	return verifyFrom(b, in)
}

// perSecond reports how many crossings run processes in a second.
func perSecond(b *testing.B, run func() (crossings int)) {
	b.ReportAllocs()
	all := 0
	for b.Loop() {
		all += run()
	}
	b.ReportMetric(float64(all)/b.Elapsed().Seconds(), "crossings/s")
}

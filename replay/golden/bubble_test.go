package golden_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// patient is an executor that waits on the machine's clock before it asks again.
func patient(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	busy := true
	began := time.Now()
	for range 2 {
		_, err := adk.Ask(ctx, "model", "well?", func(context.Context, string) (string, error) {
			if busy {
				busy = false
				return "", os.ErrDeadlineExceeded
			}
			return "yes", nil
		})
		if err != nil {
			time.Sleep(2 * time.Hour)
		}
	}
	h.Log(adk.LevelInfo, "model", fmt.Sprint("waited for ", time.Since(began)), nil)
	return dc.Ack()
}

// In a bubble, hours of sleep of live code take no time, and time begins when the recorded turn
// did. A turn that differs fails the test.
func TestInBubble(t *testing.T) {
	setUpdate(t, "false")
	file := filepath.Join(t.TempDir(), "patient.jsonl")
	out, err := os.Create(file)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		recorder := replay.Record(out)
		runner, err := adk.NewRunner(adk.Config{Executor: adk.Executor{Name: "model", Run: patient}, Storage: fakes.NewStorage().Storage(), Probe: recorder})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Help."}))
		require.NoError(t, recorder.Err())
	})
	require.NoError(t, out.Close())

	golden.InBubble(t, file, func() replay.Live { return replay.LiveExecutor(patient) })
	started := false
	golden.InBubble(t, file, func() replay.Live {
		started = true
		assert.Equal(t, time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC), time.Now().UTC(), "the turn was recorded an hour into its bubble")
		return replay.LiveExecutor(patient)
	})
	assert.True(t, started)

	for says, live := range map[string]func() replay.Live{
		"unanswered": func() replay.Live {
			return replay.LiveExecutor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, _ = adk.Ask(ctx, "somebody else", "well?", func(context.Context, string) (string, error) { return "", nil })
				return dc.Ack()
			})
		},
		"no live code ran": func() replay.Live { return replay.Live{} },
		"chooses nothing":  func() replay.Live { return replay.Live{Seams: []string{"tool-input/x"}} },
	} {
		tb := &fakeTB{name: "TestInBubble"}
		recorded, err := os.ReadFile(file)
		require.NoError(t, err)
		golden.VerifyInBubble(tb, recorded, live)
		assert.Contains(t, fmt.Sprint(tb.failed), says)
	}
}

// If live code is run a second time in a bubble, the agent is built anew: an agent that remembers
// its asks would seem nondeterministic.
func TestInBubbleASecondRunIsOfANewAgent(t *testing.T) {
	agent := func(said string) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		asked := false
		return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) (err error) {
			if !asked {
				asked = true
				_, err = adk.Ask(ctx, "pages", "", func(context.Context, string) (string, error) { return "a page", nil })
			}
			h.Log(adk.LevelInfo, "model", said, nil)
			return errors.Join(err, dc.Ack())
		}
	}
	var recorded bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		recorder := replay.Record(&recorded)
		runner, err := adk.NewRunner(adk.Config{Executor: adk.Executor{Name: "model", Run: agent("It is.")}, Storage: fakes.NewStorage().Storage(), Probe: recorder})
		require.NoError(t, err)
		require.NoError(t, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Help."}))
		require.NoError(t, recorder.Err())
	})
	tb, made := &fakeTB{name: "TestInBubble"}, 0
	synctest.Test(t, func(*testing.T) {
		golden.VerifyInBubble(tb, recorded.Bytes(), func() replay.Live {
			made++
			live := replay.LiveExecutor(agent("That is."))
			live.Twice = true
			return live
		})
	})
	assert.Contains(t, fmt.Sprint(tb.failed), "changed input")
	assert.Equal(t, 2, made)
}

// A live seam that waits in a bubble for something that never comes ends the test, which reports
// where the seam is blocked. The watcher of the replay does not advance the bubble's time.
func TestInBubbleDeadlock(t *testing.T) {
	file := os.Getenv("ADKREPLAY_TEST_DEADLOCK")
	if file != "" {
		golden.InBubble(t, file, func() replay.Live {
			return replay.LiveExecutor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				<-make(chan int)
				return dc.Ack()
			})
		})
		return
	}
	file = filepath.Join(t.TempDir(), "acked.jsonl")
	out, err := os.Create(file)
	require.NoError(t, err)
	recorder := replay.Record(out)
	runner, err := adk.NewRunner(adk.Config{Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }},
		Storage: fakes.NewStorage().Storage(), Probe: recorder})
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	require.NoError(t, out.Close())

	printed := failsAlone(t, "ADKREPLAY_TEST_DEADLOCK="+file)
	assert.Contains(t, printed, "deadlock: all goroutines in bubble are blocked")
	assert.Regexp(t, `TestInBubbleDeadlock\.func1\.1\([^\n]*\n[^\n]*/bubble_test\.go:\d+`, printed)
}

// failsAlone runs a test in its own process, with the environment variable set, and returns what
// the test prints when it fails.
func failsAlone(t *testing.T, variable string) string {
	t.Helper()
	alone := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m", "-test.v")
	alone.Env = append(os.Environ(), variable)
	printed, err := alone.CombinedOutput()
	require.Error(t, err)
	return string(printed)
}

// If live leaves something running in the bubble, as a pool of connections does, the test fails
// and says what to do. The other tests go on.
func TestInBubbleWithAPool(t *testing.T) {
	if file := os.Getenv("ADKREPLAY_TEST_POOL"); file != "" {
		t.Run("left", func(t *testing.T) {
			golden.InBubble(t, file, func() replay.Live {
				_, err := sql.Open("sqlite", ":memory:")
				require.NoError(t, err)
				return replay.LiveExecutor(acks)
			})
		})
		t.Run("closed", func(t *testing.T) {
			golden.InBubble(t, file, func() replay.Live { return replay.LiveExecutor(acks) })
			t.Log("the next one ran")
		})
		return
	}
	file := filepath.Join(t.TempDir(), "acked.jsonl")
	recordTurn(t, file, adk.Config{Executor: adk.Executor{Name: "model", Run: acks}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."})
	printed := failsAlone(t, "ADKREPLAY_TEST_POOL="+file)
	assert.Contains(t, printed, "goroutines that began in the bubble are left, as one of sql.Open is until Close")
	assert.Contains(t, printed, "the next one ran")
	assert.NotContains(t, printed, "panic")
}

func acks(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }

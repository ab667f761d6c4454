package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// noted returns a memory with this text.
func noted(id, text string) *adk.Memory {
	m, err := adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(1.0), Importance: new(1.0), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	if err != nil {
		panic(err)
	}
	return m
}

// following returns a subject whose executor stores two rows under a lock, followed by a turn on the
// same storage. If a run crashes between the rows, its deferred functions must not have run by the time
// it is checked.
func following(name string, next func(ctx context.Context, dc *adk.DispatchContext, rows int) error, check func(rows int, r turn.Run) error) turn.Subject {
	return turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
		storage := fakes.NewStorage()
		config := func(run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) adk.Config {
			return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: storage.Storage()}
		}
		raw := adk.RawTurn{SystemPrompt: "Help."}
		var lock sync.Mutex
		var unwound atomic.Bool
		return turn.Instance{Raw: raw,
			Config: config(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				lock.Lock()
				defer lock.Unlock()
				returns := false
				defer func() { unwound.Store(!returns) }()
				for _, id := range []string{"a", "b"} {
					if err := dc.Memories().Store(ctx, noted(id, id)); err != nil {
						returns = true
						return err
					}
				}
				err := dc.Ack()
				returns = true
				return err
			}),
			Next: func() (adk.Config, adk.RawTurn) {
				return config(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					return next(ctx, dc, len(storage.Memories()))
				}), raw
			},
			Check: func(r turn.Run) error {
				err := check(len(storage.Memories()), r)
				if r.Crashed && unwound.Load() {
					return errors.New("a deferred function ran before the check was done")
				}
				return err
			},
		}
	}}
}

// A crash stops a run where it is. Nothing of the run continues until the checks are done, not even
// its deferred functions, and the turn that follows finds what had been written.
func TestCrash(t *testing.T) {
	judged := 0
	halves, wholes := 0, 0
	s := following("crashes", func(_ context.Context, dc *adk.DispatchContext, rows int) error {
		if rows == 1 {
			return dc.Nack(errors.New("half of it is there"))
		}
		return dc.Ack()
	}, func(rows int, r turn.Run) error {
		judged++
		if !r.Crashed {
			return nil
		}
		if r.Next == nil {
			return errors.New("no turn followed")
		}
		status := ""
		for x := range r.Next.Crossings {
			if x.Kind == adk.KindDispatchEnd {
				status = x.Status
			}
		}
		for x := range r.Crossings {
			if x.Kind == adk.KindReturn && x.ID == 1 {
				return errors.New("it went on to its end")
			}
		}
		switch {
		case rows == 1 && status == adk.StatusNack:
			halves++
		case rows != 1 && status == adk.StatusAck:
			wholes++
		default:
			return fmt.Errorf("%d rows, and %s", rows, status)
		}
		return nil
	})
	result := explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{turn.Crash}})
	assert.Empty(t, result.Violations, result)
	assert.Positive(t, halves)
	assert.Positive(t, wholes)
	assert.Equal(t, result.Schedules, judged)
	for _, c := range result.Table.Rows {
		assert.Len(t, c.Cells, 1)
	}
}

// A violation that a check of both turns finds is reproduced like any other.
func TestCrashIsReproduced(t *testing.T) {
	s := following("loses", func(_ context.Context, dc *adk.DispatchContext, _ int) error { return dc.Ack() },
		func(rows int, _ turn.Run) error {
			if rows == 1 {
				return errors.New("half of it is there")
			}
			return nil
		})
	result := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.Crash}})
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	assert.Contains(t, b.Schedule.String(), "crash@")
	failing := &recorder{T: t}
	explore.Reproduce(failing, s, b.Schedule.String())
	require.Len(t, failing.errors, 1)
	assert.Contains(t, failing.errors[0], "half of it is there")
	assert.Contains(t, b.Where[0], "the program crashes before")
}

// If the turn that follows breaks an invariant or hangs, the violation says that it is the second turn.
func TestTheTurnThatFollowsIsJudged(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	s := following("hangs later", func(_ context.Context, dc *adk.DispatchContext, rows int) error {
		if rows == 1 {
			<-never
		}
		return dc.Ack()
	}, func(int, turn.Run) error { return nil })
	result := endsOfItself(t, s, explore.Options{Faults: []turn.FaultKind{turn.Crash}})
	require.NotEmpty(t, says(result, "deadlock: "), result)
	assert.Contains(t, says(result, "deadlock: ")[0].Text, "crash_test.go:")
}

// What is down stays down: all operations on one collection fail, and none on another.
func TestDown(t *testing.T) {
	answers := map[string]string{}
	s := executing("asks on", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		var all []string
		for n := range 3 {
			_, err := dc.Memories().Fetch(ctx)
			all = append(all, fmt.Sprintf("%d%t", n, err != nil))
		}
		err := dc.Memories().Store(ctx, noted("n", "n"))
		_, other := dc.Retrievables().Fetch(ctx)
		h.Log(adk.LevelInfo, "asked", strings.Join(append(all, fmt.Sprintf("%t %t", err != nil, other != nil)), " "), nil)
		return dc.Ack()
	})
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog {
				answers[r.Schedule.String()] = x.Text
			}
		}
		return nil
	}
	explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{turn.Down}, UsualInput: true})
	var came []string
	for schedule, text := range answers {
		came = append(came, strings.SplitN(schedule, "@", 2)[0]+": "+text)
	}
	assert.ElementsMatch(t, []string{
		"undisturbed: 0false 1false 2false false false",
		"down: 0true 1true 2true true false",
		"down: 0false 1true 2true true false",
		"down: 0false 1false 2true true false",
		"down: 0false 1false 2false true false",
		"down: 0false 1false 2false false true",
	}, came)
}

// withTool returns s with the tool added to its baseline config, so that faults can strike it.
func withTool(s turn.Subject, tool *adk.Tool) turn.Subject {
	build := s.Build
	s.Build = func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		config, raw := build(cancel)
		config.Tools = []*adk.Tool{tool}
		return config, raw
	}
	return s
}

// A lasting fault ends when it has been met twice, or it strikes only one record or one set of
// arguments. A service of the world that is down is down for everybody that asks it.
func TestLastingFaults(t *testing.T) {
	look, err := adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("4 °C"), nil
		}})
	require.NoError(t, err)
	s := executing("goes on", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		said := ""
		note := func(err error) {
			if err != nil {
				said += "x"
			} else {
				said += "."
			}
		}
		for _, id := range []string{"a", "b", "a", "b"} {
			note(dc.Memories().Mutate(ctx, noted(id, "x")))
		}
		for _, city := range []string{"Oslo", "Rome", "Oslo"} {
			_, err := dc.Execute(ctx, dc.Tools().All()[0], map[string]any{"city": city})
			note(err)
		}
		for _, of := range []string{"bank", "bank", "shop"} {
			_, err := adk.Ask(ctx, of, said, func(context.Context, string) (string, error) { return "yes", nil })
			note(err)
		}
		h.Log(adk.LevelInfo, "said", said, nil)
		return dc.Ack()
	})
	s = withTool(s, look)
	for kind, want := range map[turn.FaultKind][]string{
		turn.Flaky:   {"xx........", ".xx.......", "..xx......", "...x......", "....xx....", ".....xx...", "......x..."},
		turn.DownOne: {"x.x.......", ".x.x......", "..x.......", "...x......", "....x.x...", ".....x....", "......x..."},
		turn.AskDown: {".......xx.", "........x.", ".........x"},
	} {
		var came []string
		s.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindReportLog && len(r.Schedule.Faults) > 0 {
					came = append(came, x.Text)
				}
			}
			return nil
		}
		explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{kind}})
		slices.Sort(came)
		assert.ElementsMatch(t, want, slices.Compact(came), kind)
	}
}

// A payment that repeated failures prevented was never made, so the oracle does not say it was made twice.
func TestWhatNeverRanIsNotDoneTwice(t *testing.T) {
	pay, err := adk.NewTool(adk.ToolInit{Name: "pay", Description: "Pays.", Effect: adk.EffectWrites, InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("paid"), nil
		}})
	require.NoError(t, err)
	s := executing("pays", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		var err error
		for range 4 {
			if _, err = dc.Execute(ctx, dc.Tools().All()[0], map[string]any{"to": "Ada"}); err == nil || dc.Aborted() {
				break
			}
		}
		if err != nil {
			return err
		}
		return dc.Ack()
	})
	s = withTool(s, pay)
	kinds := []turn.FaultKind{turn.Down, turn.Flaky, turn.DownOne, turn.AskDown}
	result := explored(t, s, explore.Options{Faults: kinds})
	assert.Empty(t, says(result, "ran "), result)
}

// With many strands, random orders are tried before faults. The order in which the last strand comes
// first is found, and it is reported as decisions that anybody can run again.
func TestRandomOrders(t *testing.T) {
	var mu sync.Mutex
	s := turn.Subject{Name: "five", Open: func(context.CancelCauseFunc) turn.Instance {
		var ended []int
		return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."},
			Config: adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				for n := range 5 {
					if _, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error {
						_, err := dc.Retrievables().Fetch(ctx)
						mu.Lock()
						defer mu.Unlock()
						ended = append(ended, n)
						return err
					}); err != nil {
						return err
					}
				}
				return dc.Ack()
			}}},
			Check: func(turn.Run) error {
				mu.Lock()
				defer mu.Unlock()
				if len(ended) == 5 && ended[0] == 4 && ended[4] == 0 {
					return errors.New("the last came first, and the first last")
				}
				return nil
			}}
	}}
	result := explored(t, s, explore.Options{Schedules: 101})
	require.Len(t, result.Violations, 1, result)
	assert.NotEmpty(t, result.Violations[0].Schedule.Order)
	assert.Positive(t, result.Random)
	for workers := 1; workers <= 4; workers *= 4 {
		same := explored(t, s, explore.Options{Schedules: 101, Workers: workers})
		assert.Equal(t, result.Violations[0].Found, same.Violations[0].Found, "%d workers", workers)
	}
	again, err := explore.RunSchedule(t.Context(), s, result.Violations[0].Schedule, explore.Options{})
	require.NoError(t, err)
	assert.Len(t, again.Violations, 1)
}

// A few strands with no visible operation in common may still share a lock. A random order makes one of
// them read again while another waits to write, an order that a search of all orders would never try.
func TestOrdersOfStrandsThatShareALock(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	s := executing("reads again", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var lock sync.RWMutex
		reader, err := dc.Fork(ctx, "reader", func(ctx context.Context, dc *adk.DispatchContext) error {
			lock.RLock()
			defer lock.RUnlock()
			_, err := dc.Memories().Fetch(ctx)
			lock.RLock() // blocks behind a writer if one waits
			defer lock.RUnlock()
			return err
		})
		if err != nil {
			return err
		}
		writer, err := dc.Fork(ctx, "writer", func(ctx context.Context, dc *adk.DispatchContext) error {
			_, err := adk.Ask(ctx, "names", "a", func(context.Context, string) (string, error) { return "Ada", nil })
			lock.Lock()
			defer lock.Unlock()
			return err
		})
		if err != nil {
			return err
		}
		if err := errors.Join(reader.Wait(), writer.Wait()); err != nil {
			return err
		}
		return dc.Ack()
	})
	result := explored(t, s, explore.Options{Faults: []turn.FaultKind{}})
	assert.Len(t, says(result, "sync.RWMutex.RLock in "), 1, result)
	assert.Regexp(t, `(?m)^    strand 0 +strand 1 +strand 2$`, result.String())
	s.Scripted = true
	assert.Empty(t, explored(t, s, explore.Options{Faults: []turn.FaultKind{}}).Violations, "its strands meet nowhere else")
}

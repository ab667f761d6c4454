package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/internal/moved"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// cancelling runs goroutines. The first one that fails cancels the context of the others, as in
// golang.org/x/sync/errgroup.
type cancelling struct {
	wg     sync.WaitGroup
	once   sync.Once
	failed error
	cancel context.CancelCauseFunc
}

func untilOneFails(ctx context.Context) (*cancelling, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &cancelling{cancel: cancel}, ctx
}

func (c *cancelling) Go(do func() error) {
	c.wg.Go(func() {
		if err := do(); err != nil {
			c.once.Do(func() { c.failed = err; c.cancel(err) })
		}
	})
}

func (c *cancelling) Wait() error {
	c.wg.Wait()
	c.cancel(c.failed)
	return c.failed
}

// failing makes all asks but one block until their context ends. The remaining ask fails once all
// others have been made.
func failing(many, fails int) func(context.Context, int) (string, error) {
	var asked sync.WaitGroup
	asked.Add(many)
	return func(ctx context.Context, n int) (string, error) {
		asked.Done()
		if n == fails {
			asked.Wait()
			return "", fmt.Errorf("page %d: not found", n)
		}
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
}

// says makes an agent report the text that do returns.
func says(do func(context.Context, *adk.DispatchContext) string) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
	return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_, err := h.ReportMessage("m", do(ctx, dc), true)
		return errors.Join(err, dc.Ack())
	}
}

// limited is a rate limiter: it lets callers continue one by one, with the duration each between them.
type limited struct {
	mu   sync.Mutex
	next time.Time
	each time.Duration
}

func (l *limited) wait(ctx context.Context) error {
	if pause := l.pause(ctx, 0); pause > 0 {
		return adk.Sleep(ctx, pause)
	}
	return nil
}

// pause reserves a place and returns how long to wait for it. Between reading the clock and taking
// the lock it yields the given number of times.
func (l *limited) pause(ctx context.Context, yields int) time.Duration {
	now := adk.Now(ctx)
	for range yields {
		runtime.Gosched()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next.Before(now) {
		l.next = now
	}
	place := l.next
	l.next = l.next.Add(l.each)
	return place.Sub(now)
}

// No crossing shows what goroutines of live code do with an answer, such as cancelling the context
// of the others or waiting for a lock. A replay delivers an answer only when all goroutines have
// come to rest after the previous one. Unchanged code is therefore green. (DET-2, WLD-6)
func TestGoroutinesHearInTheRecordedOrder(t *testing.T) {
	const sameMoment = "the call says something at the same moment"
	thorough.Long(t)
	t.Parallel()
	const many = 5
	for name, agent := range map[string]func(recorded bool) adk.Config{
		"the first error ends the others": func(bool) adk.Config {
			answers := failing(many, 3)
			return executing(says(func(ctx context.Context, _ *adk.DispatchContext) string {
				all, ctx := untilOneFails(ctx)
				for i := range many {
					all.Go(func() error {
						_, err := adk.Ask(ctx, "pages", i, answers)
						return err
					})
				}
				return fmt.Sprint(all.Wait())
			}))
		},
		"and so it does where they wait": func(bool) adk.Config {
			answers := failing(1, 0)
			return executing(says(func(ctx context.Context, _ *adk.DispatchContext) string {
				all, ctx := untilOneFails(ctx)
				for range many - 1 {
					all.Go(func() error { return fmt.Errorf("woken: %w", adk.Sleep(ctx, time.Hour)) })
				}
				all.Go(func() error {
					_, err := adk.Ask(ctx, "pages", 0, answers)
					return err
				})
				return fmt.Sprint(all.Wait())
			}))
		},
		"and where tools fail": func(bool) adk.Config {
			answers := failing(many, 2)
			look := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "looks", InputSchema: []byte(`{"type":"object"}`),
				Handler: func(ctx context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
					said, err := answers(ctx, int(args["n"].(float64)))
					return adk.Text(said), err
				}}))
			return executing(says(func(ctx context.Context, dc *adk.DispatchContext) string {
				all, ctx := untilOneFails(ctx)
				for i := range many {
					all.Go(func() error {
						_, err := askedFor(ctx, dc, "look", i)
						return err
					})
				}
				return fmt.Sprint(all.Wait())
			}), look)
		},
		"the first answer wins": func(bool) adk.Config {
			return executing(says(func(ctx context.Context, _ *adk.DispatchContext) string {
				ctx, cancel := context.WithCancel(ctx)
				first := make(chan string, many)
				var all sync.WaitGroup
				for i := range many {
					all.Go(func() {
						if said, err := adk.Ask(ctx, "replica", i, func(context.Context, int) (string, error) { return fmt.Sprint("said by ", i), nil }); err == nil {
							first <- said
						}
					})
				}
				said := <-first
				cancel()
				all.Wait()
				return said
			}))
		},
		sameMoment: func(recorded bool) adk.Config {
			return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				asked, said := make(chan bool), make(chan bool)
				var all started
				all.Go(func() error {
					if !recorded {
						<-said
					}
					_, err := adk.Ask(ctx, "model", "whales", func(context.Context, string) (string, error) {
						close(asked)
						<-said
						return "all about them", nil
					})
					return err
				})
				if recorded {
					<-asked
				}
				_, err := h.ReportMessage("m", "I look.", true)
				close(said)
				return errors.Join(err, all.Wait(), dc.Ack())
			})
		},
		"one after the other": func(recorded bool) adk.Config { // otherwise one may read the clock before another, and reach the lock behind it
			limit, turns := &limited{each: time.Millisecond}, make([]chan bool, many)
			for i := range turns {
				turns[i] = make(chan bool)
			}
			return executing(says(func(ctx context.Context, _ *adk.DispatchContext) string {
				said := make([]string, many)
				var all sync.WaitGroup
				for i := range said {
					all.Go(func() {
						if recorded && i > 0 {
							<-turns[i-1]
						}
						pause := limit.pause(ctx, 100*(many-i))
						close(turns[i])
						if pause > 0 { // one that need not wait asks while others read the clock
							_ = adk.Sleep(ctx, pause)
						}
						said[i], _ = adk.Ask(ctx, "pages", i, func(context.Context, int) (string, error) { return fmt.Sprint("page ", i), nil })
					})
				}
				all.Wait()
				return fmt.Sprint(said)
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range thorough.Of(200, 12, 3) {
				recorded := byTheMachine(t, agent(true))
				for name == sameMoment && !isOfOneMoment(t, recorded) { // a busy machine took longer
					recorded = byTheMachine(t, agent(true))
				}
				d := inTime(t, recorded, replay.Live{Config: agent(false), Seams: []string{replay.Executor}, Writes: true})
				require.Nil(t, d, "%s\n%s", d, recorded)
			}
		})
	}
}

// isOfOneMoment reports whether less than a moment passed between any crossing and the next one, so
// that a replay takes them for simultaneous.
func isOfOneMoment(t *testing.T, recorded []byte) bool {
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	lines := read.Lines()
	for i := range lines[1:] {
		if lines[i+1].At.Sub(lines[i].At) >= moved.Moment {
			return false
		}
	}
	return true
}

// The ids that a call makes between rounds of goroutines are the recorded ones, however many
// crossings of the goroutines' tools the engine has reported by then.
func TestIDsBetweenRoundsOfGoroutines(t *testing.T) {
	t.Parallel()
	hold := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "hold", Description: "holds", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return adk.Text(fmt.Sprint("held ", args["n"])), nil
		}}))
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		n := 0
		for _, many := range []int{2, 1, 2} {
			_ = dc.NewID() // its use would tell which id it is
			var all started
			for range many {
				n++
				of := n
				all.Go(func() error {
					_, err := askedFor(ctx, dc, "hold", of)
					return err
				})
			}
			if err := all.Wait(); err != nil {
				return err
			}
		}
		_, err := h.ReportMessage(dc.NewID(), "held", true)
		return errors.Join(err, dc.Ack())
	}, hold)
	for range thorough.Of(100, 15, 5) {
		recorded := byTheMachine(t, agent)
		d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor, replay.ToolCode}, Writes: true})
		require.Nil(t, d, "%s\n%s", d, recorded)
	}
}

// An ask that a goroutine makes at the moment at which its call continues has no order with it. But an
// ask before the call has heard what it waited for has one: a payment before its approval is reported.
func TestAGoroutineThatDoesNotWaitIsTold(t *testing.T) {
	t.Parallel()
	agent := func(early bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all sync.WaitGroup
			pay := func() {
				all.Go(func() {
					_, _ = adk.Ask(ctx, "bank", "10 €", func(context.Context, string) (string, error) { return "paid", nil })
				})
			}
			if early {
				pay()
			}
			_, err := adk.WaitFor[bool](ctx, dc, adk.Gate{ID: "pay", Reason: "10 €"})
			if !early {
				pay()
			}
			all.Wait()
			return errors.Join(err, dc.Ack())
		})
	}
	var recorded bytes.Buffer
	recording := agent(false)
	recording.Probe = replay.Record(&recorded)
	raw := adk.RawTurn{SystemPrompt: "Go."}
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("me", true) }
	require.NoError(t, tracetest.Must(adk.NewRunner(recording)).Run(t.Context(), raw))
	require.Nil(t, inTime(t, recorded.Bytes(), replay.Live{Config: agent(false), Seams: []string{replay.Executor}}))
	for range thorough.Of(50, 8, 4) {
		d := inTime(t, recorded.Bytes(), replay.Live{Config: agent(true), Seams: []string{replay.Executor}})
		require.NotNil(t, d)
		assert.Equal(t, replay.Order, d.Class, d)
	}
}

// If the caller left while goroutines were at work, it is nondeterministic how much they had
// begun. A difference there says so; a difference in code without goroutines does not.
func TestTheCallerOfGoroutinesLeft(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]bool{"goroutines": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			agent := func(question string, asked func()) adk.Config {
				return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					asks := func() error {
						_, err := adk.Ask(ctx, "model", question, func(ctx context.Context, _ string) (string, error) {
							asked()
							<-ctx.Done()
							return "", context.Cause(ctx)
						})
						return err
					}
					if !beside {
						return asks()
					}
					var all started
					all.Go(asks)
					return all.Wait()
				})
			}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			var recorded bytes.Buffer
			recording := agent("may I?", leave)
			recording.Probe = replay.Record(&recorded)
			_ = tracetest.Must(adk.NewRunner(recording)).Run(ctx, adk.RawTurn{SystemPrompt: "Go."})
			d := inTime(t, recorded.Bytes(), replay.Live{Config: agent("may I, please?", leave), Seams: []string{replay.Executor}})
			require.NotNil(t, d)
			assert.Equal(t, beside, d.CallerLeft > 0)
			assert.Equal(t, beside, strings.Contains(d.String(), "the caller left at crossing "), d)
		})
	}
}

// It is not nondeterministic, either, that the call waits for a goroutine's ask before it asks itself.
func TestTheOrderOfAGoroutineAndItsCall(t *testing.T) {
	t.Parallel()
	agent := func(first bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			pays := func() error {
				var all started
				all.Go(func() error {
					_, err := adk.Ask(ctx, "bank", "10 €", func(context.Context, string) (string, error) { return "paid", nil })
					return err
				})
				return all.Wait()
			}
			asks := func() error {
				_, err := asksTheModel(ctx, "may I?")
				return err
			}
			if first {
				return errors.Join(pays(), asks(), dc.Ack())
			}
			return errors.Join(asks(), pays(), dc.Ack())
		})
	}
	recorded := byTheMachine(t, agent(false))
	require.Nil(t, inTime(t, recorded, replay.Live{Config: agent(false), Seams: []string{replay.Executor}}))
	d := inTime(t, recorded, replay.Live{Config: agent(true), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	assert.Equal(t, replay.Order, d.Class, d)
}

// Strands that share a limit behind a lock get the places that they had in the recorded run. This also
// holds for live code that writes, of which only the part that makes the difference is run again.
func TestStrandsShareALimit(t *testing.T) {
	t.Parallel()
	agent := func() adk.Config {
		limit := &limited{each: time.Millisecond}
		var strands []func(context.Context, *adk.DispatchContext) error
		for i := range 4 {
			strands = append(strands, func(ctx context.Context, _ *adk.DispatchContext) error {
				if err := limit.wait(ctx); err != nil {
					return err
				}
				_, err := adk.Ask(ctx, "pages", i, func(context.Context, int) (string, error) { return fmt.Sprint("page ", i), nil })
				return err
			})
		}
		return strandsOf(strands...)
	}
	for range thorough.Of(200, 10, 5) {
		recorded := byTheMachine(t, agent())
		live := func() replay.Live {
			return replay.Live{Config: agent(), Seams: []string{replay.Executor}, Twice: true, Writes: true, Turn: adk.RawTurn{SystemPrompt: "Go."}}
		}
		chosen := live()
		chosen.Again = live
		d := inTime(t, recorded, chosen)
		require.Nil(t, d, "%s\n%s", d, recorded)
	}
}

// In a bubble this costs no fake time: goroutines measure the recorded durations.
func TestGoroutinesHearInABubble(t *testing.T) {
	t.Parallel()
	run := says(func(ctx context.Context, _ *adk.DispatchContext) string {
		began, said := time.Now(), make([]time.Duration, 3)
		var all sync.WaitGroup
		for i := range said {
			all.Go(func() {
				_, _ = adk.Ask(ctx, "pages", i, func(context.Context, int) (string, error) { return "a page", nil })
				time.Sleep(time.Duration(i) * time.Hour)
				said[i] = time.Since(began)
			})
		}
		all.Wait()
		return fmt.Sprint(said)
	})
	var recorded bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		config := executing(run)
		config.Probe = replay.Record(&recorded)
		require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(context.Background(), adk.RawTurn{SystemPrompt: "Go."}))
	})
	assert.Contains(t, recorded.String(), "[0s 1h0m0s 2h0m0s]")
	synctest.Test(t, func(t *testing.T) {
		report, err := replay.Verify(context.Background(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: executing(run), Seams: []string{replay.Executor}})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s", report)
	})
}

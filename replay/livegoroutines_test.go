package replay_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// working are tools that do something while they run: look something up, wait, and note the result.
func working(names ...string) (tools []*adk.Tool) {
	for i, name := range names {
		tools = append(tools, tracetest.Must(adk.NewTool(adk.ToolInit{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				found, err := adk.Ask(ctx, "files", fmt.Sprint(name, args["n"]), func(context.Context, string) (string, error) { return "found by " + name, nil })
				err = errors.Join(err, dc.Sleep(ctx, time.Duration(7*(i+1)%5)*time.Microsecond), dc.Stash().Set("by-"+name, found))
				return adk.Text(found), err
			}})))
	}
	return tools
}

// delegating is a tool that runs an agent of its own, which uses a tool and reports that.
func delegating(name string) *adk.Tool {
	return tracetest.Must(adk.NewTool(adk.ToolInit{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: name, Source: dc, Executor: adk.Executor{Name: "below",
				Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					said, err := askedFor(ctx, dc, "read", int(args["n"].(float64)))
					_, failed := h.ReportMessage(dc.NewID(), said, true)
					return errors.Join(err, failed, dc.Ack())
				}}})
			return adk.Text(end.Status), err
		}}))
}

// askedFor runs a tool of the context, and returns its result.
func askedFor(ctx context.Context, dc *adk.DispatchContext, name string, n int) (string, error) {
	tool, known := dc.Tools().Get(name)
	if !known {
		return "", fmt.Errorf("no tool %s", name)
	}
	result, err := dc.Execute(ctx, tool, map[string]any{"n": n})
	return fmt.Sprint(result), err
}

func notes(ctx context.Context, dc *adk.DispatchContext, id, text string) error {
	return dc.Messages().Store(ctx, tracetest.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})))
}

// Concurrent operations on goroutines of live
// code come in any order, which is no difference.
func TestLiveGoroutinesComeInAnyOrder(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	names := []string{"read", "search", "list", "count"}
	for name, run := range map[string]func(context.Context, *adk.DispatchContext, *adk.Helpers, *started) error{
		"tools": func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, all *started) error {
			said := make([]string, len(names))
			for i, name := range names {
				all.Go(func() (err error) { said[i], err = askedFor(ctx, dc, name, i); return err })
			}
			err := all.Wait()
			for i, text := range said {
				err = errors.Join(err, notes(ctx, dc, fmt.Sprint("m", i), text))
			}
			return err
		},
		"tools and what they said": func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, all *started) error {
			for i, name := range names {
				all.Go(func() error {
					said, err := askedFor(ctx, dc, name, i)
					return errors.Join(err, dc.Stash().Set(fmt.Sprint("said", i), said), dc.Sleep(ctx, time.Microsecond))
				})
			}
			return nil
		},
		"sub-agents": func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, all *started) error {
			for i := range 4 {
				all.Go(func() error { _, err := askedFor(ctx, dc, "ask", i); return err })
			}
			return nil
		},
		"ids": func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, all *started) error {
			for i := range 4 {
				all.Go(func() error {
					_, err := h.ReportMessage(dc.NewID(), fmt.Sprint("part ", i), true)
					return errors.Join(err, dc.Sleep(ctx, time.Microsecond))
				})
			}
			return nil
		},
		"one tool": func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, all *started) error {
			for i := range 4 {
				all.Go(func() error { _, err := askedFor(ctx, dc, "read", i/2); return err })
			}
			return nil
		},
		"ids behind them": func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, all *started) error {
			for i, name := range names {
				all.Go(func() error { _, err := askedFor(ctx, dc, name, i); return err })
			}
			err := all.Wait()
			_, failed := adk.Ask(ctx, "history", map[string]string{"id": dc.NewID()}, func(context.Context, map[string]string) (string, error) { return "kept", nil })
			_ = dc.NewID() // only for a log
			return errors.Join(err, failed, notes(ctx, dc, dc.NewID(), "Done."))
		},
		"a stream beside a tool": func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, all *started) (err error) {
			all.Go(func() error { _, err := askedFor(ctx, dc, "search", 1); return err })
			for i := range 5 {
				_, failed := h.ReportMessage("answer", fmt.Sprint("word ", i), i == 4)
				err = errors.Join(err, failed)
			}
			return err
		},
		"a tool beside records": func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, all *started) (err error) {
			all.Go(func() error { _, err := askedFor(ctx, dc, "count", 1); return err })
			for i := range 4 {
				err = errors.Join(err, notes(ctx, dc, fmt.Sprint("m", i), "Hi."), sets(dc, fmt.Sprint("k", i)))
			}
			return err
		},
	} {
		agent := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var all started
			return errors.Join(run(ctx, dc, h, &all), all.Wait(), dc.Ack())
		}, append(working(names...), delegating("ask"))...)
		for seams, live := range map[string]replay.Live{
			"executor": {Seams: []string{replay.Executor}},
			"tools":    {Seams: []string{replay.Executor, replay.ToolCode}, Writes: true},
		} {
			t.Run(name+"/"+seams, func(t *testing.T) {
				for range thorough.Of(100, 5, 3) {
					var recorded bytes.Buffer
					recording := agent
					recording.Probe = replay.Record(&recorded)
					require.NoError(t, tracetest.Must(adk.NewRunner(recording)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
					live.Config = agent
					d := inTime(t, recorded.Bytes(), live)
					require.Nil(t, d, "%s\n%s", d, recorded.Bytes())
				}
			})
		}
	}
}

// The order in which records are made is compared: the next request to a model shows the records in that order.
func TestTheOrderOfRecordsOfGoroutinesIsTold(t *testing.T) {
	t.Parallel()
	agent := func(order ...int) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
			for _, i := range order {
				var one started
				one.Go(func() error { return notes(ctx, dc, fmt.Sprint("m", i), "Hi.") })
				err = errors.Join(err, one.Wait())
			}
			return errors.Join(err, dc.Ack())
		})
	}
	recorded := turnOf(t, agent(0, 1), adk.RawTurn{})
	for swapped, now := range map[bool]adk.Config{false: agent(0, 1), true: agent(1, 0)} {
		d := inTime(t, recorded, replay.Live{Config: now, Seams: []string{replay.Executor}})
		if swapped {
			require.NotNil(t, d)
			require.Equal(t, replay.ChangedState, d.Class, "%s", d)
			require.Contains(t, d.String(), `messages order[0]: "m1"`)
		} else {
			require.Nil(t, d, "%s", d)
		}
	}
}

// If several calls of one tool begin at once, each is matched by its own arguments.
func TestCallsThatBeginAtOnceFindTheirOwn(t *testing.T) {
	t.Parallel()
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		for i := range 3 {
			all.Go(func() error {
				said, err := askedFor(ctx, dc, "double", i)
				return errors.Join(err, dc.Stash().Set(fmt.Sprint("said", i), said))
			})
		}
		return errors.Join(all.Wait(), dc.Ack())
	}, tracetest.Must(adk.NewTool(adk.ToolInit{Name: "double", Description: "Doubles.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return adk.Text(fmt.Sprint(2 * args["n"].(float64))), nil
		}})))
	together := func() adk.Observability {
		var all sync.WaitGroup
		all.Add(3)
		return adk.Observability{ToolExecutionStart: func(adk.ToolExecutionStart) { all.Done(); all.Wait() }}
	}
	for range 10 {
		recorded := turnOf(t, agent, adk.RawTurn{Observability: together()})
		for _, live := range []replay.Live{{}, {Config: agent, Seams: []string{replay.Executor}}} {
			d := inTime(t, recorded, live)
			require.Nil(t, d, "%s\n%s", d, recorded)
		}
	}
}

// An operation that live code makes while a tool runs is matched with operations of live code. It is
// not looked for in the recorded code that stands in for the tool, which may have used the same handle.
func TestWhatLiveCodeDoesBesideATool(t *testing.T) {
	t.Parallel()
	var began, fetched chan bool
	again := false
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		all.Go(func() error {
			_, err := askedFor(ctx, dc, "waits", 1)
			if again { // else it goes unseen, as the tool's code does not run
				close(began)
			}
			return err
		})
		<-began
		_, err := dc.Messages().Fetch(ctx)
		_, alsoErr := dc.Thoughts().Fetch(ctx)
		close(fetched)
		return errors.Join(err, alsoErr, all.Wait(), dc.Ack())
	}, tracetest.Must(adk.NewTool(adk.ToolInit{Name: "waits", Description: "Waits.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			close(began)
			<-fetched
			return adk.Text("well"), nil
		}})))
	began, fetched = make(chan bool), make(chan bool)
	recorded := turnOf(t, agent, adk.RawTurn{})
	began, fetched, again = make(chan bool), make(chan bool), true
	d := inTime(t, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor}})
	require.Nil(t, d, "%s\n%s", d, recorded)
}

// between is a probe that, when the engine announces an event, lets something else begin, and
// delays the event until that is observed.
type between struct {
	adk.Observer
	event adk.Kind
	until func(*adk.Crossing) bool
	begin chan bool
	told  chan bool
}

func (b *between) Begin(s adk.Step) {
	b.Observer.Begin(s)
	if s.Kind == b.event {
		close(b.begin)
		<-b.told
	}
}

func (b *between) Tell(x *adk.Crossing) {
	b.Observer.Tell(x)
	if b.until(x) {
		close(b.told)
	}
}

// observed is a probe: it makes the observer of a run.
type observed func(adk.RunInfo) adk.Observer

func (o observed) Observe(info adk.RunInfo) adk.Observer { return o(info) }

// An operation of one goroutine may come between another goroutine's report and the event of that report.
func TestWhatComesBetweenAReportAndItsEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does  func(context.Context, *adk.DispatchContext) error
		until func(*adk.Crossing) bool
	}{
		"a step": {func(_ context.Context, dc *adk.DispatchContext) error { return sets(dc, "a") },
			func(x *adk.Crossing) bool { return x.Kind == adk.KindStash }},
		"a tool": {func(ctx context.Context, dc *adk.DispatchContext) error {
			_, err := askedFor(ctx, dc, "read", 1)
			return err
		}, func(x *adk.Crossing) bool { return x.Kind == adk.KindExecute && x.Phase == adk.Done }},
		"a wait that goes on": {func(ctx context.Context, dc *adk.DispatchContext) error { return dc.Sleep(ctx, time.Millisecond) },
			func(x *adk.Crossing) bool { return x.Kind == adk.KindSleep && x.Phase == adk.Begin }},
		"an answer": {func(ctx context.Context, _ *adk.DispatchContext) error {
			_, err := asksTheModel(ctx, "whales")
			return err
		}, func(x *adk.Crossing) bool { return x.Kind == adk.KindAsk && x.Phase == adk.Done }},
		"a piece of one": {func(ctx context.Context, _ *adk.DispatchContext) error {
			for _, err := range adk.AskStream(ctx, "model", "whales", func(_ context.Context, _ string, hand func(string) error) error {
				return errors.Join(hand("Whales"), hand(" are large."))
			}) {
				if err != nil {
					return err
				}
			}
			return nil
		}, func(x *adk.Crossing) bool { return string(x.JSON) == `" are large."` }},
	} {
		t.Run(name, func(t *testing.T) {
			begin := make(chan bool)
			agent := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				var all started
				all.Go(func() error {
					<-begin
					return c.does(ctx, dc)
				})
				_, err := h.ReportMessage("answer", "Hi.", true)
				return errors.Join(err, all.Wait(), dc.Ack())
			}, working("read")...)
			var recorded bytes.Buffer
			recording, recorder := agent, replay.Record(&recorded)
			recording.Probe = observed(func(info adk.RunInfo) adk.Observer {
				return &between{recorder.Observe(info), adk.KindMessageEvent, c.until, begin, make(chan bool)}
			})
			require.NoError(t, tracetest.Must(adk.NewRunner(recording)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
			require.Regexp(t, `"report-message".*\n.*"(stash|execute|sleep|ask)"`, recorded.String())
			for _, live := range []replay.Live{{}, {Config: agent, Seams: []string{replay.Executor}}} {
				d := inTime(t, recorded.Bytes(), live)
				require.Nil(t, d, "%s\n%s", d, recorded.Bytes())
			}
		})
	}
}

// two is an observer of a run in which a goroutine reports while another one's event is announced.
// A third goroutine moves the time before the two events are emitted, in either order.
type two struct {
	adk.Observer
	first               bool      // which event comes first
	begin, third        chan bool // closed when the first event and the second one are announced
	moved, one          chan bool // closed when the third goroutine has moved the time, and when one event is emitted
	announced, messages atomic.Int32
}

func (o *two) Begin(s adk.Step) {
	o.Observer.Begin(s)
	if s.Kind != adk.KindMessageEvent {
		return
	}
	first := o.announced.Add(1) == 1
	if first {
		close(o.begin)
	} else {
		close(o.third)
	}
	<-o.moved
	if first != o.first {
		<-o.one
	}
}

func (o *two) Tell(x *adk.Crossing) {
	o.Observer.Tell(x)
	switch {
	case x.Kind == adk.KindStash:
		close(o.moved)
	case x.Kind == adk.KindMessageEvent && o.messages.Add(1) == 1:
		close(o.one)
	}
}

// If several goroutines report at once, the events
// come in any order, at any time of their strand.
func TestEventsOfReportsAtOnce(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"as reported": true, "the other way round": false} {
		t.Run(name, func(t *testing.T) {
			begin, third := make(chan bool), make(chan bool)
			clock := fakes.NewClock()
			agent := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				var all started
				all.Go(func() error {
					<-begin
					_, err := h.ReportMessage("second", "Ho.", true)
					return err
				})
				all.Go(func() error {
					<-third
					clock.Advance(time.Second)
					return sets(dc, "a")
				})
				_, err := h.ReportMessage("first", "Hi.", true)
				return errors.Join(err, all.Wait(), dc.Ack())
			})
			var recorded bytes.Buffer
			recording, recorder := agent, replay.Record(&recorded)
			recording.Clock = clock
			recording.Probe = observed(func(info adk.RunInfo) adk.Observer {
				return &two{Observer: recorder.Observe(info), begin: begin, third: third, first: first, moved: make(chan bool), one: make(chan bool)}
			})
			require.NoError(t, tracetest.Must(adk.NewRunner(recording)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
			for _, live := range []replay.Live{{}, {Config: agent, Seams: []string{replay.Executor}}} {
				d := inTime(t, recorded.Bytes(), live)
				require.Nil(t, d, "%s\n%s", d, recorded.Bytes())
			}
		})
	}
}

// A goroutine may announce an operation that is not carried out, as the turn was aborted, and then
// end: the other goroutines of its strand continue.
func TestAGoroutineThatEndsBehindAnAnnouncement(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all started
		aborted := make(chan bool)
		all.Go(func() error {
			err := sets(dc, "a")
			<-aborted
			_, refused := adk.Dispatch(context.WithoutCancel(ctx), adk.DispatchInput{Name: "late", Source: dc, Executor: adk.Executor{Name: "below",
				Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }}})
			if refused == nil {
				err = errors.Join(err, errors.New("it was dispatched"))
			}
			return err
		})
		dc.Abort(errors.New("enough"))
		close(aborted)
		return errors.Join(all.Wait(), sets(dc, "b"))
	})
	var recorded bytes.Buffer
	recording := agent
	recording.Probe = replay.Record(&recorded)
	_ = tracetest.Must(adk.NewRunner(recording)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."})
	for range 3 {
		d := inTime(t, recorded.Bytes(), replay.Live{Config: agent, Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s\n%s", d, recorded.Bytes())
	}
}

// Goroutines run tools, of which one waits and another has finished when the user leaves. In the
// replay the user leaves at the same place, whichever tool came first.
func TestTheUserLeavesWhileGoroutinesRunTools(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	asks := func(name string, effect adk.Effect, do func(context.Context, string) (string, error)) *adk.Tool {
		return tracetest.Must(adk.NewTool(adk.ToolInit{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`), Effect: effect,
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				found, err := adk.Ask(ctx, name, "q", do)
				return adk.Text(found), err
			}}))
	}
	agent := func(waits func()) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all started
			for _, name := range []string{"run", "list"} {
				tool, _ := dc.Tools().Get(name)
				all.Go(func() error {
					_, err := dc.Execute(ctx, tool, "{}")
					if name == "list" {
						waits()
						return err
					}
					return nil
				})
			}
			return cmp.Or(all.Wait(), ctx.Err())
		}, asks("run", adk.EffectWrites, func(ctx context.Context, _ string) (string, error) {
			waits()
			<-ctx.Done()
			return "", ctx.Err()
		}), asks("list", adk.EffectReads, func(context.Context, string) (string, error) { return "a b", nil }))
	}
	for range thorough.Of(50, 8, 4) {
		ctx, leave := context.WithCancel(t.Context())
		var both atomic.Int32
		recording := agent(func() {
			if both.Add(1) == 2 {
				leave()
			}
		})
		var recorded bytes.Buffer
		recording.Probe = replay.Record(&recorded)
		require.NoError(t, tracetest.Must(adk.NewRunner(recording)).Run(ctx, adk.RawTurn{SystemPrompt: "Go."}))
		for range 12 {
			live := replay.Live{Config: agent(func() {}), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true}
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), live)
			require.NoError(t, err)
			require.Nil(t, report.Divergence, "%s\n%s", report, recorded.String())
		}
	}
}

// Tools of one name that run concurrently do the same, each for its own call. The sleep of one,
// and the time after it, is not taken for that of another, whichever begins first.
func TestToolsOfOneNameAtOnce(t *testing.T) {
	t.Parallel()
	agent := func(order ...int) adk.Config {
		running := make(chan struct{}, len(order))
		waits := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "wait", Description: "Waits.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				running <- struct{}{}
				return adk.Text(fmt.Sprint("waited ", args["n"])), dc.Sleep(ctx, 10*time.Millisecond)
			}}))
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all started
			ends := make([]time.Time, len(order))
			for _, n := range order {
				all.Go(func() error {
					_, err := askedFor(ctx, dc, "wait", n)
					ends[n] = dc.Now()
					return err
				})
				<-running
				if err := dc.Sleep(ctx, 5*time.Millisecond); err != nil { // they end apart
					return err
				}
			}
			err := all.Wait()
			return errors.Join(err, dc.Stash().Set("first", ends[0].String()), dc.Stash().Set("second", ends[1].String()), dc.Ack())
		}, waits)
	}
	for range thorough.Of(20, 5, 3) {
		recorded := inBubble(t, agent(0, 1), adk.Observability{})
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			d := inTime(t, recorded, replay.Live{Config: agent(order...), Seams: []string{replay.Executor, replay.ToolCode}})
			require.Nil(t, d, "%v: %s\n%s", order, d, recorded)
		}
	}
}

// Tools that ran concurrently in the recording, on goroutines that the code had begun, may run one
// after the other today, in any order. Tools that ran one after the other keep their order.
func TestToolsThatRanAtOnceComeInAnyOrder(t *testing.T) {
	t.Parallel()
	agent := func(atOnce bool, order ...int) adk.Config {
		running := make(chan struct{}, len(order))
		waits := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "wait", Description: "Waits.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				running <- struct{}{}
				return adk.Text(fmt.Sprint("waited ", args["n"])), dc.Sleep(ctx, 10*time.Millisecond)
			}}))
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all started
			for _, n := range order {
				do := func() error {
					_, err := askedFor(ctx, dc, "wait", n)
					return err
				}
				if atOnce {
					all.Go(do)
				} else if err := do(); err != nil {
					return err
				}
				<-running
			}
			return errors.Join(all.Wait(), dc.Ack())
		}, waits)
	}
	live := func(order ...int) replay.Live {
		return replay.Live{Config: agent(false, order...), Seams: []string{replay.Executor, replay.ToolCode}}
	}
	recorded := inBubble(t, agent(true, 1, 2, 0), adk.Observability{})
	for _, order := range [][]int{{0, 1, 2}, {1, 2, 0}, {2, 1, 0}} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), live(order...))
		require.NoError(t, err)
		require.Nil(t, report.Divergence, "%v: %s\n%s", order, report, recorded)
		assert.Equal(t, order[0] != 1, slices.Contains(report.NotCompared, "the order of what goroutines of your own do at once"), "%v", order)
	}
	d := inTime(t, inBubble(t, agent(false, 0, 1), adk.Observability{}), live(1, 0))
	require.NotNil(t, d)
	assert.Equal(t, replay.Order, d.Class, d)
}

// If goroutines of live code read the clock, and one gets the time of another, the report says
// that this is nondeterministic, and what to do. It does not if the call itself read the clock.
func TestWhoseTimeIsWhoseIsChance(t *testing.T) {
	t.Parallel()
	agent := func(atOnce bool, mine int) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var times [2]time.Time
			for n := range times {
				read := func() error { times[n] = dc.Now(); return nil }
				var all started
				if atOnce {
					all.Go(read)
				} else {
					_ = read()
				}
				if err := errors.Join(all.Wait(), dc.Sleep(ctx, 5*time.Millisecond)); err != nil {
					return err
				}
			}
			at := times[mine]
			m := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "Hello.", CreatedAt: at, UpdatedAt: at}))
			return errors.Join(dc.Messages().Store(ctx, m), dc.Ack())
		})
	}
	for _, atOnce := range []bool{true, false} {
		d := inTime(t, inBubble(t, agent(atOnce, 0), adk.Observability{}), replay.Live{Config: agent(atOnce, 1), Seams: []string{replay.Executor}})
		require.NotNil(t, d)
		assert.Equal(t, atOnce, d.ClockAtOnce, d)
		said := strings.Join(strings.Fields(d.String()), " ")
		assert.Equal(t, atOnce, strings.Contains(said, "goroutines of your own read the clock here, and whose time is whose is chance"), said)
	}
}

// In the recording the goroutines of a turn ran one after the other; in the new run one runs
// within the other. The turn is recorded anew with the times that its code observed. (DET-7)
func TestRerecordOfGoroutines(t *testing.T) {
	t.Parallel()
	agent := func(within bool) adk.Config {
		second := make(chan struct{})
		quick := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "quick", Description: "Is quick.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				if within && fmt.Sprint(args["n"]) == "0" {
					<-second
				}
				return adk.Text(fmt.Sprint("done ", args["n"])), nil
			}}))
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all started
			first := make(chan struct{})
			all.Go(func() error {
				defer close(first)
				_, err := askedFor(ctx, dc, "quick", 0)
				return err
			})
			if !within {
				<-first
			}
			all.Go(func() error {
				defer close(second)
				_, err := askedFor(ctx, dc, "quick", 1)
				return err
			})
			err := all.Wait()
			return errors.Join(err, dc.Stash().Set("end", dc.Now().String()), notes(ctx, dc, "m", "Done."), dc.Ack())
		}, quick)
	}
	for range 5 {
		recorded := byTheMachine(t, agent(false))
		live := replay.Live{Turn: adk.RawTurn{SystemPrompt: "Go on."}, Seams: []string{replay.Prompt, replay.Executor, replay.ToolCode}}
		var accepted bytes.Buffer
		live.Config = agent(true)
		_, err := replay.Rerecord(t.Context(), bytes.NewReader(recorded), &accepted, live)
		require.NoError(t, err, "%s", recorded)
		for _, within := range []bool{true, false} {
			live.Config = agent(within)
			report, err := replay.Verify(t.Context(), bytes.NewReader(accepted.Bytes()), live)
			require.NoError(t, err)
			require.Nil(t, report.Divergence, "%s\n%s\n%s", report, recorded, accepted.String())
		}
	}
}

// A turn whose goroutines read the clock less often than recorded is recorded anew. Its times do
// not go back behind what the goroutines have heard meanwhile: a trace could not hold them, and a
// record with such a time would differ in every replay. (DET-7, EVT-6)
func TestRerecordOfGoroutinesThatReadTheClockLess(t *testing.T) {
	t.Parallel()
	agent := func(often bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			quickOver := make(chan struct{})
			looks := func() {
				if often {
					adk.Now(ctx)
				}
				adk.Now(ctx)
			}
			var all started
			for _, of := range []string{"slow", "quick"} {
				all.Go(func() error {
					if of == "quick" {
						defer close(quickOver)
					}
					looks()
					_, err := adk.Ask(ctx, of, of, func(context.Context, string) (string, error) {
						if of == "slow" {
							<-quickOver
						}
						return of, nil
					})
					looks()
					return err
				})
			}
			err := all.Wait()
			return errors.Join(err, dc.Stash().Set("end", dc.Now().String()), notes(ctx, dc, "m", "Done."), dc.Ack())
		})
	}
	for range 5 {
		recorded := byTheMachine(t, agent(true))
		live := replay.Live{Config: agent(false), Turn: adk.RawTurn{SystemPrompt: "Go."}, Seams: []string{replay.Executor}}
		var accepted bytes.Buffer
		_, err := replay.Rerecord(t.Context(), bytes.NewReader(recorded), &accepted, live)
		require.NoError(t, err, "%s", recorded)
		for range 3 {
			report, err := replay.Verify(t.Context(), bytes.NewReader(accepted.Bytes()), live)
			require.NoError(t, err)
			require.Nil(t, report.Divergence, "%s\n%s\n%s", report, recorded, accepted.String())
		}
	}
}

// Operations of goroutines may be missing in the new run, since what the goroutines returned is
// now reported otherwise. This does not stop the time of what comes after them, just as the end of
// the goroutines does not: a message that is stored then has its recorded time. (DET-1, DET-7)
func TestTheTimeGoesOnBehindGoroutinesThatHaveChanged(t *testing.T) {
	t.Parallel()
	agent := func(unit string) adk.Config {
		tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "cold", Description: "Tells the weather.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				said, err := adk.Ask(ctx, "weather", args["n"], func(_ context.Context, n any) (any, error) { return n, nil })
				return adk.Text(fmt.Sprint(said, unit)), err
			}}))
		client := &http.Client{Timeout: time.Minute, Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "text/plain", Body: "good"})))}
		return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var all started
			said := make([]string, 2)
			for n := range said {
				all.Go(func() (err error) {
					said[n], err = askedFor(ctx, dc, "cold", n)
					return err
				})
			}
			err := all.Wait()
			for n, text := range said { // reported with its own words, and so another operation
				_, reported := h.ReportToolCall(fmt.Sprint("c", n), adk.ToolCallReport{Tool: "cold", Args: map[string]any{"n": n}, Results: adk.Text(text), Complete: true})
				err = errors.Join(err, reported)
			}
			resp, asked := client.Do(tracetest.Must(http.NewRequestWithContext(ctx, http.MethodGet, "https://model.example/", nil)))
			if asked != nil {
				return asked
			}
			defer resp.Body.Close() // the client's own goroutine waits for that
			shown, reported := h.ReportMessage("m", "Cold.", true)
			kept, made := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "Cold.", CreatedAt: shown.CreatedAt, UpdatedAt: shown.UpdatedAt})
			return errors.Join(err, reported, made, dc.Messages().Store(ctx, kept), dc.Ack())
		}, tool)
	}
	recorded := byTheMachine(t, agent(" °C"))
	live := replay.Live{Config: agent(" degrees"), Turn: adk.RawTurn{SystemPrompt: "Go on."}, Seams: []string{replay.Prompt, replay.Executor, replay.ToolCode}}
	report, accepted := rerecorded(t, recorded, live)
	require.NotNil(t, report.Divergence)
	assert.NotContains(t, report.String(), "createdAt", "%s", recorded)
	assert.Equal(t, keptAt(t, recorded), keptAt(t, accepted))
	sameWhenVerified(t, accepted, live)
}

// keptAt is the time of the message that a recorded turn stores.
func keptAt(t *testing.T, recorded []byte) (at time.Time) {
	for _, line := range tracetest.Must(trace.Read(bytes.NewReader(recorded))).Lines() {
		if m, ok := line.Record.(*adk.Message); ok && line.Kind == adk.KindStore {
			at = m.CreatedAt()
		}
	}
	require.NotZero(t, at)
	return at
}

package adk_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/listening"
)

// busy returns a config and a turn in which each of the fifteen events is emitted.
func busy() (adk.Config, adk.RawTurn) {
	config := newConfig()
	echo := tool("echo", done)
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if dc.Iteration() == 0 {
			must(h.ReportThought("t", "hm", true))
			must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "echo", Args: "{}"}))
			must(dc.Execute(ctx, echo, "{}"))
			return nil
		}
		must(h.ReportMessage("m", "hi", true))
		h.Log(adk.LevelInfo, "note", "text", nil)
		must(dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r"}))
		return dc.Ack()
	})
	config.TurnOutput = []adk.TurnMiddleware{turnStep("fails", func(context.Context, adk.Handle, adk.Next) error { return errBoom })}
	return config, hello
}

var busyEvents = []string{
	"turnStart", "dispatchStart", "iterationStart 0", "thought t hm complete", "toolCall c echo",
	"toolExecutionStart echo", "toolExecutionEnd echo", "iterationEnd 0", "iterationStart 1", "message m hi complete",
	"log info note text", "turnGateOpen g", "turnGateClosed g resolved settler", "dispatchEnd ack 2",
	"error E_OUTPUT_PIPELINE_ERROR turn-output fails", "turnEnd",
}

func settling(observability adk.Observability) adk.Observability {
	say := observability.TurnGateOpen
	observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		must(e.Gate.Resolve("settler", nil))
		if say != nil {
			say(e)
		}
	}
	return observability
}

// EVT-1, EVT-2: every event of both buses is emitted, and the observer learns of each event before
// its listeners.
func TestEveryEvent(t *testing.T) {
	config, raw := busy()
	log := &notes{}
	config.Probe = &recorder{tell: func(x *adk.Crossing) {
		if x.Kind.Class() == adk.ClassEvent {
			log.add("told " + x.Kind.String())
		}
	}}
	raw.Functional, raw.Observability = everyEvent(log.add)
	raw.Observability = settling(raw.Observability)
	lines := runTurn(t, config, raw)
	assert.Equal(t, busyEvents, events(lines))
	heard := log.all()
	require.Len(t, heard, 2*len(busyEvents))
	for i, line := range busyEvents {
		kind, _, _ := strings.Cut(line, " ")
		assert.Equal(t, []string{"told " + kind, line}, heard[2*i:2*i+2])
	}
}

// EVT-1: a listener of every event receives the same events as an observer, with their kinds.
func TestWhoHearsEveryEvent(t *testing.T) {
	type event struct {
		kind    adk.Kind
		payload any
	}
	var told, heard []event
	config, raw := busy()
	config.Probe = &recorder{tell: func(x *adk.Crossing) {
		if x.Kind.Class() == adk.ClassEvent {
			told = append(told, event{x.Kind, x.Payload})
		}
	}}
	raw.Functional, raw.Observability = listening.Every(func(kind adk.Kind, payload any) { heard = append(heard, event{kind, payload}) })
	for _, bus := range []reflect.Value{reflect.ValueOf(raw.Functional), reflect.ValueOf(raw.Observability)} {
		for i := range bus.NumField() {
			assert.False(t, bus.Field(i).IsNil(), "nobody hears %s", bus.Type().Field(i).Name)
		}
	}
	raw.Observability = settling(raw.Observability)
	runTurn(t, config, raw)
	require.Len(t, told, len(busyEvents))
	assert.Equal(t, told, heard)
}

// EVT-2: listeners are called in the order of registration, on the emitting goroutine, without a lock held.
func TestListenersInOrder(t *testing.T) {
	log := &notes{}
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(h.ReportMessage("m", "x", false))
		log.add("returned")
		return dc.Ack()
	})
	runner := newRunner(t, config)
	listener := func(name string) adk.Functional {
		return adk.Functional{Message: func(adk.MessageEvent) { log.add(name) }}
	}
	runner.On(listener("first"))
	runner.Once(listener("once"))
	off := runner.On(listener("gone"))
	runner.On(adk.Functional{Message: func(adk.MessageEvent) {
		log.add("registers")
		runner.On(listener("new")) // possible because no lock is held; it hears the next event
	}})
	off()
	off()
	raw := hello
	raw.Functional = listener("run's own")
	require.NoError(t, runner.Run(context.Background(), raw))
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Equal(t, []string{"first", "once", "registers", "run's own", "returned", "first", "registers", "new", "returned"}, log.all())
}

// EVT-1: a once listener is called once for each kind of event, on both buses.
func TestOncePerKind(t *testing.T) {
	config, raw := busy()
	log := &notes{}
	runner := newRunner(t, config)
	functional, observability := everyEvent(log.add)
	runner.Once(functional)
	runner.ObserveOnce(observability)
	raw.Observability = settling(adk.Observability{})
	require.NoError(t, runner.Run(context.Background(), raw))
	require.NoError(t, runner.Run(context.Background(), raw))
	assert.Equal(t, []string{
		"turnStart", "dispatchStart", "iterationStart 0", "thought t hm complete", "toolCall c echo",
		"toolExecutionStart echo", "toolExecutionEnd echo", "iterationEnd 0", "message m hi complete", "log info note text",
		"turnGateOpen g", "turnGateClosed g resolved settler", "dispatchEnd ack 2", "error E_OUTPUT_PIPELINE_ERROR turn-output fails", "turnEnd",
	}, log.all())
}

// EVT-3, EVT-4: listeners that panic at every event change nothing, disturb neither later listeners nor
// the other bus, and their panics are recorded.
func TestListenersThatPanic(t *testing.T) {
	config, raw := busy()
	raw.Observability = settling(adk.Observability{})
	quiet := runTurn(t, config, raw)

	config, raw = busy()
	log, rec := &notes{}, &recorder{}
	runner := newRunner(t, watchedBy(config, rec))
	functional, observability := everyEvent(func(string) { panic("listener") })
	runner.On(functional)
	runner.Observe(observability)
	raw.Functional, raw.Observability = everyEvent(log.add)
	raw.Observability = settling(raw.Observability)
	require.NoError(t, runner.Run(context.Background(), raw))
	assert.Equal(t, busyEvents, log.all())
	told := rec.all()
	contained := with(told, "= contained listener of ")
	assert.Len(t, contained, len(busyEvents))
	assert.Equal(t, quiet, without(told, contained...))
}

// EVT-4: the engine does the same with listeners and without.
func TestListenersChangeNothing(t *testing.T) {
	config, raw := busy()
	config.Executor = ackAt(3)
	run := func() (lines []string, reads, ids int) {
		clock, source := &handClock{}, &countingIDs{}
		config.Clock, config.IDs = clock, source
		return runTurn(t, config, raw), clock.reads, source.last
	}
	quiet, reads, ids := run()
	raw.Functional, raw.Observability = everyEvent(func(string) {})
	heard, readsHeard, idsHeard := run()
	assert.Equal(t, quiet, heard)
	assert.Equal(t, []int{reads, ids}, []int{readsHeard, idsHeard}, "no time and no id is taken for a listener")
}

// EVT-5, EVT-6: what every payload carries. Its times are the clock's.
func TestPayloads(t *testing.T) {
	config, raw := busy()
	config.Clock = &handClock{step: 1} // every reading is a nanosecond later
	var got []any
	take := func(e any) { got = append(got, e) }
	raw.Functional = adk.Functional{
		Message: func(e adk.MessageEvent) { take(e.Origin) }, Thought: func(e adk.ThoughtEvent) { take(e.Origin) },
		ToolCall: func(e adk.ToolCallEvent) { take(e.Origin) },
	}
	start := adk.Origin{TurnID: "id1", DispatchID: "id2"}
	second := start
	second.Iteration = 1
	callID := checksum("echo", "{}")
	raw.Observability = settling(adk.Observability{
		TurnStart:      func(e adk.TurnStart) { take(e.TurnID) },
		TurnEnd:        func(e adk.TurnEnd) { take(e.TurnID); assert.Positive(t, e.Duration()) },
		DispatchStart:  func(e adk.DispatchStart) { take([]string{e.TurnID, e.DispatchID}) },
		DispatchEnd:    func(e adk.DispatchEnd) { take([]string{e.TurnID, e.DispatchID}); assert.Positive(t, e.Duration()) },
		IterationStart: func(e adk.IterationStart) { take(e.Origin) },
		IterationEnd:   func(e adk.IterationEnd) { take(e.Origin); assert.Positive(t, e.Duration()) },
		TurnGateOpen: func(e adk.TurnGateOpen) {
			take(e.Origin)
			assert.Equal(t, []string{"g", "r", "id1"}, []string{e.Gate.ID(), e.Gate.Reason(), e.Gate.TurnID()})
		},
		TurnGateClosed: func(e adk.TurnGateClosed) { take(e.Origin); assert.True(t, e.SettledAt.After(noon)) },
		ToolExecutionStart: func(e adk.ToolExecutionStart) {
			take(e.Origin)
			assert.Equal(t, callID, e.CallID)
			assert.Equal(t, map[string]any{"n": 7.0}, e.Args)
		},
		ToolExecutionEnd: func(e adk.ToolExecutionEnd) {
			take(e.Origin)
			assert.Equal(t, callID, e.CallID)
			assert.Positive(t, e.Duration())
		},
		Log:   func(e adk.LogEvent) { take(e.Origin) },
		Error: func(e adk.ErrorEvent) { take([]string{e.TurnID, e.DispatchID}); assert.True(t, e.At.After(noon)) },
	})
	runTurn(t, config, raw)
	assert.Empty(t, cmp.Diff([]any{
		"id1", []string{"id1", "id2"}, start, start, start, start, start, start, second, second, second, second, second,
		[]string{"id1", "id2"}, []string{"id1", ""}, "id1",
	}, got))
}

// EVT-6: a clock that goes back causes no negative duration and no earlier time.
func TestClockThatGoesBack(t *testing.T) {
	config, raw := busy()
	config.Clock = &handClock{step: -1}
	raw.Observability = settling(adk.Observability{})
	rec := &recorder{}
	config.Probe = rec
	raw.Observability.DispatchEnd = func(e adk.DispatchEnd) { assert.Zero(t, e.Duration()) }
	raw.Observability.TurnEnd = func(e adk.TurnEnd) { assert.Zero(t, e.Duration()) }
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
	last := rec.crossings()[0].At
	for _, x := range rec.crossings() {
		assert.False(t, x.At.Before(last), x.Kind)
		last = x.At
	}
}

// EVT-9: a tool's failure emits no error event unless the executor returns it.
func TestToolFailureIsNoErrorEvent(t *testing.T) {
	bad := tool("bad", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return nil, errBoom
	})
	for name, escapes := range map[string]bool{"kept": false, "escapes": true} {
		t.Run(name, func(t *testing.T) {
			heard := &outcome{}
			lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.Execute(ctx, bad, "{}")
				if escapes {
					return err
				}
				return dc.Ack()
			}), heard.watch(hello))
			assert.Contains(t, lines, "! toolExecutionEnd bad failed")
			assert.Len(t, heard.errors, map[bool]int{true: 1}[escapes])
			if escapes {
				assert.ErrorIs(t, heard.errors[0].Error, adk.E_TOOL_DOWNSTREAM_ERROR)
				assert.ErrorIs(t, heard.errors[0].Error, errBoom)
			}
		})
	}
}

// EVT-10: Emit sends an event exactly as given, in a turn and in a dispatch.
func TestEmit(t *testing.T) {
	message := adk.MessageEvent{ID: "m", Delta: "d", Full: "not additive", UpdatedAt: noon}
	thought := adk.ThoughtEvent{ID: "t", Delta: "d"}
	call := adk.ToolCallEvent{ID: "c", Tool: "x"}
	inEach(t, func(t *testing.T, p pipeline) {
		var got []any
		raw := hello
		raw.Functional = adk.Functional{
			Message: func(e adk.MessageEvent) { got = append(got, e) }, Thought: func(e adk.ThoughtEvent) { got = append(got, e) },
			ToolCall: func(e adk.ToolCallEvent) { got = append(got, e) },
		}
		config := p.config()
		p.put(&config, "emits", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			if len(got) == 0 {
				require.NoError(t, h.EmitMessage(message))
				require.NoError(t, h.EmitThought(thought))
				require.NoError(t, h.EmitToolCall(call))
			}
			next(ctx)
			return nil
		})
		lines := runTurn(t, config, raw)
		assert.Empty(t, cmp.Diff([]any{message, thought, call}, got, cmpopts.EquateEmpty()))
		assert.Contains(t, strings.Join(lines, "|"), "emit-message(|! message m d|)emit-message")
	})
}

// EVT-2: the deltas of one stream keep their order when two strands report them and the
// listener is slow.
func TestDeltasOfTwoStrandsKeepTheirOrder(t *testing.T) {
	for name, report := range map[string]func(h *adk.Helpers){
		"message":   func(h *adk.Helpers) { must(h.ReportMessage("m", "x", false)) },
		"thought":   func(h *adk.Helpers) { must(h.ReportThought("m", "x", false)) },
		"tool call": func(h *adk.Helpers) { must(h.ReportToolCall("m", adk.ToolCallReport{Tool: "x"})) },
	} {
		t.Run(name, func(t *testing.T) {
			var heard []int // one listener at a time, or the race detector says so
			raw, config := hello, newConfig()
			config.Clock = &handClock{step: 1}
			at := func(nanos int64) { runtime.Gosched(); heard = append(heard, int(nanos)); runtime.Gosched() }
			raw.Functional = adk.Functional{
				Message:  func(e adk.MessageEvent) { at(e.UpdatedAt.UnixNano()); assert.Len(t, e.Full, len(heard)) },
				Thought:  func(e adk.ThoughtEvent) { at(e.UpdatedAt.UnixNano()); assert.Len(t, e.Full, len(heard)) },
				ToolCall: func(e adk.ToolCallEvent) { at(e.UpdatedAt.UnixNano()) },
			}
			config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				for range 4 {
					must(dc.Fork(ctx, "reports", func(context.Context, *adk.DispatchContext) error {
						for range 50 {
							report(h)
						}
						return nil
					}))
				}
				return dc.Ack()
			})
			require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
			assert.Len(t, heard, 200)
			assert.IsIncreasing(t, heard)
		})
	}
}

// EVT-2, PIP-11: a listener that ends its goroutine does not prevent the events that others reported
// meanwhile from being heard, in their order.
func TestListenerEndsTheGoroutineOfAStream(t *testing.T) {
	hearing, reported := make(chan bool), make(chan bool)
	var heard []string
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		ends := must(dc.Fork(ctx, "ends", func(_ context.Context, dc *adk.DispatchContext) error {
			_, err := dc.Helpers().ReportMessage("m", "1", false)
			return err
		}))
		<-hearing
		for _, delta := range []string{"2", "3"} {
			_, err := h.ReportMessage("m", delta, false)
			require.NoError(t, err)
		}
		close(reported)
		assert.Error(t, ends.Wait())
		_, err := h.ReportMessage("m", "4", true)
		return err
	})
	raw := hello
	raw.Functional.Message = func(e adk.MessageEvent) {
		heard = append(heard, e.Full)
		if e.Delta == "1" {
			close(hearing)
			<-reported
			runtime.Goexit()
		}
	}
	runTurn(t, config, raw)
	assert.Equal(t, []string{"1", "12", "123", "1234"}, heard)
}

// EVT-6: concurrent strands may have different times, as in a replay. The time of a strand is never
// before its fork, the end of a stream is never before its begin, and a strand that waited for
// another is never before that one's end.
func TestTimeGoesOnInEachStrand(t *testing.T) {
	clock := &handClock{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		began, said, goOn := dc.Now(), make(chan adk.MessageEvent), make(chan bool)
		clock.set(-time.Hour)
		ahead := must(dc.Fork(ctx, "ahead", func(_ context.Context, dc *adk.DispatchContext) error {
			assert.Equal(t, began, dc.Now(), "not before the fork")
			assert.Equal(t, clock.set(time.Hour), dc.Now())
			said <- must(dc.Helpers().ReportMessage("m", "Hello", false))
			<-goOn
			assert.Equal(t, clock.set(2*time.Hour), dc.Now())
			clock.set(-time.Hour) // before the waiting strand reads the clock
			return nil
		}))
		begun := <-said
		assert.Equal(t, clock.set(time.Minute), dc.Now(), "what runs beside holds nobody back")
		assert.Equal(t, began.Add(time.Hour), must(dc.Helpers().ReportMessage("m", ".", true)).CompletedAt, "not before %s", begun.CreatedAt)
		close(goOn)
		require.NoError(t, ahead.Wait())
		assert.Equal(t, began.Add(2*time.Hour), dc.Now(), "not before the strand's end")
		return dc.Ack()
	})
	config.Clock = clock
	runTurn(t, config, hello)
}

// EVT-6: an event has the time of the operation that it follows, also when another strand reads a later
// time before the event is emitted. Otherwise the next line of the event's strand would be earlier.
func TestEventsKeepToTheTimeOfTheirStrand(t *testing.T) {
	clock, rec := &handClock{}, &recorder{}
	reached, goOn := make(chan bool), make(chan bool)
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		ahead := must(dc.Fork(ctx, "ahead", func(_ context.Context, dc *adk.DispatchContext) error {
			<-goOn
			clock.set(time.Hour)
			dc.Now()
			clock.set(0)
			close(reached)
			return nil
		}))
		_, err := dc.Helpers().ReportMessage("m", "Hello", true)
		dc.Now()
		return errors.Join(err, ahead.Wait(), dc.Ack())
	})
	config.Clock, config.Probe = clock, rec
	rec.begin = func(step adk.Step) {
		if step.Kind == adk.KindMessageEvent {
			close(goOn)
			<-reached
		}
	}
	require.NoError(t, newRunner(t, config).Run(t.Context(), hello))
	last := map[int]time.Time{}
	for _, x := range rec.crossings() {
		assert.False(t, x.At.Before(last[x.Strand]), "%s at %s, behind %s", x.Kind, x.At, last[x.Strand])
		last[x.Strand] = x.At
	}
}

// EVT-1: a listener may unsubscribe itself or others while it handles an event. A listener that was
// registered when the event was emitted still hears it, once.
func TestUnsubscribingWhileHearing(t *testing.T) {
	var said []string
	offs := map[string]func(){}
	runner := newRunner(t, newConfig())
	listening := func(name string, unsubscribes ...string) {
		say := func(string) {
			said = append(said, name)
			for _, other := range unsubscribes {
				offs[other]()
			}
		}
		offs[name] = runner.Observe(adk.Observability{TurnStart: func(adk.TurnStart) { say(name) }})
	}
	listening("first", "first")
	listening("second", "first", "third")
	listening("third")
	listening("fourth")
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Equal(t, []string{"first", "second", "third", "fourth"}, said)
	said = nil
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Equal(t, []string{"second", "fourth"}, said)
}

// EVT-1: the same for functional listeners, in the middle of a stream.
func TestUnsubscribingInAStream(t *testing.T) {
	var said []string
	var off func()
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(h.ReportMessage("m", "one", false))
		must(h.ReportMessage("m", "two", true))
		return dc.Ack()
	})
	runner := newRunner(t, config)
	off = runner.On(adk.Functional{Message: func(e adk.MessageEvent) { said = append(said, "once "+e.Delta); off() }})
	runner.On(adk.Functional{Message: func(e adk.MessageEvent) { said = append(said, "always "+e.Delta) }})
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Equal(t, []string{"once one", "always one", "always two"}, said)
}

// EVT-5, EVT-8: an error event of a dispatch names the dispatch, and one of the turn names none.
func TestErrorsSayOfWhichDispatch(t *testing.T) {
	for label, inDispatch := range map[string]bool{adk.LabelTurnInput: false, adk.LabelDispatchInput: true, adk.LabelDispatchOutput: true, adk.LabelTurnOutput: false} {
		for _, p := range pipelines {
			if p.label != label {
				continue
			}
			config, heard := p.config(), &outcome{}
			p.put(&config, "fails", func(context.Context, adk.Handle, adk.Next) error { return errBoom })
			started := ""
			raw := heard.watch(hello)
			raw.Observability.DispatchStart = func(e adk.DispatchStart) { started = e.DispatchID }
			runTurn(t, config, raw)
			require.Len(t, heard.errors, 1, label)
			want := ""
			if inDispatch {
				want = started
				require.NotEmpty(t, want)
			}
			assert.Equal(t, want, heard.errors[0].DispatchID, label)
			assert.NotEmpty(t, heard.errors[0].TurnID)
		}
	}
}

package adk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// forecast is the answer that the tests ask for; City is the city that they ask about.
type forecast struct {
	City    string
	Degrees int
}

func cold(context.Context, string) (forecast, error) { return forecast{"Oslo", 4}, nil }

// asked returns the lines of the crossings that belong to asks.
func asked(told []adk.Crossing) (lines []string) {
	for _, x := range told {
		switch {
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
			lines = append(lines, words("ask", x.Name, string(x.JSON), x.Status, flag(x.Flag, "after the abort")))
		case x.Kind == adk.KindAsk:
			lines = append(lines, words("done", string(x.JSON), code(x.Err)))
		case x.Kind == adk.KindPiece:
			lines = append(lines, words("piece", string(x.JSON), flag(x.Flag, "open")))
		case x.Kind == adk.KindContained:
			lines = append(lines, words("contained", x.Name))
		}
	}
	return lines
}

// asking runs a turn whose executor calls run and acks, and returns the lines of its asks.
func asking(t *testing.T, change func(*adk.Config), run func(ctx context.Context, dc *adk.DispatchContext)) []string {
	t.Helper()
	rec := &recorder{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		run(ctx, dc)
		if dc.Aborted() {
			return context.Cause(ctx)
		}
		return dc.Ack()
	})
	config.Probe = rec
	if change != nil {
		change(&config)
	}
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	holdsInvariants(t, rec)
	return asked(rec.crossings())
}

// WLD-1, WLD-2, WLD-6: with the context of a seam call an ask is recorded with its name, request,
// effect and answer, and the caller gets the service's answer. Without such a context only the
// service is asked.
func TestAsk(t *testing.T) {
	request := map[string]string{"city": "<Oslo>"}
	tell := func(_ context.Context, asked map[string]string) (*forecast, error) {
		assert.Equal(t, request, asked)
		return &forecast{asked["city"], 4}, nil
	}
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		assert.Equal(t, &forecast{"<Oslo>", 4}, must(adk.Ask(ctx, "forecasts", request, tell)))
		below, cancel := context.WithCancel(context.WithValue(ctx, callerKey{}, "x"))
		defer cancel()
		must(adk.Ask(below, "below", "", cold, adk.AskOptions{Effect: adk.EffectReads}))
		must(adk.Ask(context.Background(), "beside", "", cold))
	})
	assert.Equal(t, []string{
		`ask forecasts {"city":"<Oslo>"}`, `done {"City":"<Oslo>","Degrees":4}`,
		`ask below "" reads`, `done {"City":"Oslo","Degrees":4}`,
	}, lines)
	_, err := adk.Ask(context.Background(), "", "", cold)
	assert.ErrorContains(t, err, "ask of nobody")
	_, err = adk.Ask(context.Background(), "two", "", cold, adk.AskOptions{Limits: adk.AskLimits{}}, adk.AskOptions{Effect: adk.EffectReads})
	assert.ErrorContains(t, err, "ask of two with 2 AskOptions: want one that says all")
	_, err = adk.Ask[string, string](context.Background(), "x", "", nil)
	assert.ErrorContains(t, err, "give a function")
	_, err = adk.Ask(nil, "x", "", cold) //nolint:staticcheck // what is tested
	assert.ErrorContains(t, err, "the context is nil")
}

// WLD-6: the key of an ask is reported to the probe, and only there: a trace has no field for it.
func TestKeyOfAnAsk(t *testing.T) {
	rec, config := &recorder{}, newConfig()
	config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		must(adk.Ask(ctx, "bank", "pay", cold, adk.AskOptions{Effect: adk.EffectWrites, Key: "k1"}))
		must(adk.Ask(ctx, "bank", "look", cold))
		return dc.Ack()
	}
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	var keys []string
	for _, x := range rec.crossings() {
		if x.Kind == adk.KindAsk && x.Phase == adk.Begin {
			keys = append(keys, x.Key)
		}
	}
	assert.Equal(t, []string{"k1", ""}, keys)
	assert.False(t, slices.ContainsFunc(adk.KindAsk.Fields(adk.Begin), func(use adk.FieldUse) bool { return use.Field == adk.FieldKey }))
}

// followers counts the goroutines that package context has started to cancel one context when another ends.
func followers() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "created by context.")
}

// WLD-1: the context of every seam carries the handle, so an ask is recorded as that seam's. Derived
// contexts follow it without a goroutine, and can be printed.
func TestHandlesInContexts(t *testing.T) {
	rec, config := &recorder{}, newConfig()
	type key struct{}
	ask := func(ctx context.Context, of string) {
		assert.True(t, adk.HasHandle(ctx), of)
		assert.Equal(t, "outer", ctx.Value(key{}), of)
		must(adk.Ask(ctx, of, "", cold))
		before := followers()
		below, cancel := context.WithCancelCause(ctx)
		assert.LessOrEqual(t, followers(), before, "no goroutine follows") // goroutines of other tests may end meanwhile
		cancel(errBoom)
		assert.ErrorIs(t, context.Cause(below), errBoom)
		assert.NoError(t, ctx.Err())
	}
	for _, p := range pipelines {
		p.put(&config, "step", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
			ask(ctx, p.label+"/step")
			next(ctx)
			return nil
		})
	}
	config.Storage.Messages = watchedMessages{config.Storage.Messages, func(ctx context.Context) { ask(ctx, "storage/messages.fetch") }}
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() == 0 {
			return nil
		}
		ask(ctx, "executor/model#1")
		assert.Contains(t, fmt.Sprintf("%v %+v %#v", ctx, ctx, ctx), ".WithSeam(executor/model#1)")
		must(dc.Messages().Fetch(ctx))
		must(dc.Execute(ctx, tool("look", func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			ask(ctx, "tool/look")
			return adk.Text("seen"), nil
		}), "{}"))
		must(dc.OnAck("commit", func(ctx context.Context, _ *adk.DispatchContext) { ask(ctx, "on-ack/commit") }))
		strand := must(dc.Fork(ctx, "beside", func(ctx context.Context, _ *adk.DispatchContext) error { ask(ctx, "strand/beside"); return nil }))
		require.NoError(t, strand.Wait())
		return dc.Ack()
	})
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.WithValue(context.Background(), key{}, "outer"), hello))
	seams, told := map[int]adk.Seam{}, map[string]int{}
	for _, x := range rec.crossings() {
		if x.Kind == adk.KindCall {
			seams[x.ID] = x.Seam
		} else if x.Kind == adk.KindAsk && x.Phase == adk.Begin {
			told[x.Name]++
			at := seams[x.Call]
			at.Iteration = max(at.Iteration, 0)
			assert.Contains(t, at.String(), x.Name)
		}
	}
	assert.Len(t, told, 9)
}

// WLD-1: looking for the handle allocates nothing, and asking without one allocates almost nothing.
func TestHandlesAllocateNothing(t *testing.T) {
	do := func(context.Context, string) (string, error) { return "", nil }
	asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		allocs.AtMost(t, 0, 100, func() { adk.HasHandle(ctx) }, "looking for the handle")
	})
	ctx := context.Background()
	allocs.AtMost(t, 1, 100, func() { _, _ = adk.Ask(ctx, "x", "", do) }, "asking without one")
}

type unread struct{ Call func() }

type unreadable float64

func (unreadable) said() {}

// behind holds a value that has a JSON form, in an interface that does not say its type.
type behind struct{ Any interface{ said() } }

// WLD-2: types that lose something in JSON are refused before the service is asked. A value that
// has no JSON form changes nothing for the caller.
func TestAskOfWhatJSONLoses(t *testing.T) {
	never := func(context.Context, string) (unread, error) { panic("was asked") }
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		_, err := adk.Ask(ctx, "x", "", never)
		assert.ErrorIs(t, err, adk.E_INVALID_ANSWER)
		assert.ErrorContains(t, err, "the answer is a adk_test.unread, which JSON does not give back: Call is a func")
		_, err = adk.Ask(ctx, "x", unread{}, func(context.Context, unread) (string, error) { panic("was asked") })
		assert.ErrorContains(t, err, "the request is a adk_test.unread")
		for _, err := range adk.AskStream(ctx, "x", "", func(context.Context, string, func(unread) error) error { panic("was asked") }) {
			assert.ErrorIs(t, err, adk.E_INVALID_ANSWER)
		}
		_, err = adk.Ask(ctx, "x", behind{unreadable(1)}, func(context.Context, behind) (string, error) { return "", nil })
		assert.NoError(t, err, "a request is not made again")
		inf, err := adk.Ask(ctx, "x", math.Inf(1), func(_ context.Context, n float64) (unreadable, error) { return unreadable(n), nil })
		assert.NoError(t, err)
		assert.True(t, math.IsInf(float64(inf), 1))
		for n, err := range adk.AskStream(ctx, "x", "", func(_ context.Context, _ string, hand func(unreadable) error) error {
			return hand(unreadable(math.NaN()))
		}) {
			assert.NoError(t, err)
			assert.True(t, math.IsNaN(float64(n)))
		}
	})
	assert.Equal(t, []string{`ask x {"Any":1}`, `done ""`, `ask x {"$unheld":"json: unsupported value: +Inf"}`, `done {"$unheld":"json: unsupported value: +Inf"}`,
		`ask x ""`, `piece {"$unheld":"json: unsupported value: NaN"}`, "done"}, lines)
}

// WLD-2: a text that is not UTF-8 reaches the caller unchanged, and is recorded as a text that the trace does
// not hold. A replay does not serve it; the error names the member that holds such a text.
func TestAskOfTextsThatJSONLoses(t *testing.T) {
	type value struct {
		Text string
		Raw  []byte
	}
	latin := value{"caf\xe9", []byte("caf\xe9")}
	ask := func(ctx context.Context) (value, error) {
		return adk.Ask(ctx, "x", latin.Text, func(context.Context, string) (value, error) { return latin, io.EOF })
	}
	stream := func(ctx context.Context) (got []string, err error) {
		for piece, failed := range adk.AskStream(ctx, "y", "", func(_ context.Context, _ string, hand func(string) error) error { return hand("\xff") }) {
			if err = failed; failed == nil {
				got = append(got, piece)
			}
		}
		return got, err
	}
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		got, err := ask(ctx)
		assert.Equal(t, latin, got)
		assert.Equal(t, io.EOF, err)
		pieces, err := stream(ctx)
		assert.Equal(t, []string{"\xff"}, pieces)
		assert.NoError(t, err)
	})
	answer, piece := `{"Text":{"$unheld":"no UTF-8: \"caf\\xe9\""},"Raw":"Y2Fm6Q=="}`, `{"$unheld":"no UTF-8: \"\\xff\""}`
	assert.Equal(t, []string{`ask x {"$unheld":"no UTF-8: \"caf\\xe9\""}`, "done " + answer + " EOF", `ask y ""`, "piece " + piece, "done"}, lines)

	asking(t, answering(map[string]*adk.Answer{"x": {Value: json.RawMessage(answer), Err: io.EOF}, "y": {Next: pieces(piece)}}), func(ctx context.Context, _ *adk.DispatchContext) {
		_, err := ask(ctx)
		assert.EqualError(t, err, "E_UNANSWERED: the recording does not hold what x answered: Text: it is no UTF-8: want a []byte, or what strings.ToValidUTF8 makes of it")
		got, err := stream(ctx)
		assert.Empty(t, got)
		assert.EqualError(t, err, "E_UNANSWERED: the recording does not hold what y answered: it is no UTF-8: want a []byte, or what strings.ToValidUTF8 makes of it")
	})
}

// WLD-2: a value in an interface is checked by its dynamic type, because JSON does not say whether a value
// was an integer, a time or bytes. The service has been asked by then.
func TestAskOfValuesThatJSONLoses(t *testing.T) {
	tell := func(_ context.Context, row []any) ([]any, error) { return row, nil }
	lost := []any{"a", int64(2)}
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		row, err := adk.Ask(ctx, "db", lost, tell)
		assert.EqualError(t, err, "E_INVALID_ANSWER: answer[1] is an any with int64 in it, which JSON gives back as float64: want a struct with fields of such types")
		assert.Nil(t, row, "as in a replay")
		row, err = adk.Ask(ctx, "db", "", func(context.Context, string) ([]any, error) { return lost, errBoom })
		assert.Same(t, errBoom, err)
		assert.Equal(t, lost, row, "beside an error it is the caller's matter")
		assert.Equal(t, []any{"a", 2.0}, must(adk.Ask(ctx, "db", []any{"a", 2.0}, tell)))
		assert.Equal(t, lost, must(adk.Ask(context.Background(), "db", lost, tell)), "nobody is told")
		var pieces []any
		for piece, err := range adk.AskStream(ctx, "rows", "", func(_ context.Context, _ string, hand func(any) error) error {
			return errors.Join(hand("a"), hand(2), hand("b"))
		}) {
			pieces = append(pieces, piece, code(err))
		}
		assert.Equal(t, []any{"a", "", nil, "E_INVALID_ANSWER"}, pieces)
	})
	assert.Equal(t, []string{`ask db ["a",2]`, "done E_INVALID_ANSWER", `ask db ""`, `done ["a",2] boom`,
		`ask db ["a",2]`, `done ["a",2]`, `ask rows ""`, `piece "a"`, "done E_INVALID_ANSWER"}, lines)
}

// WLD-3: the caller gets the service's error, and the answer with it. A panic becomes an error. An ask
// within the function of another ask is not recorded.
func TestAskThatFails(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		calls := 0
		got, err := adk.Ask(ctx, "both", "", func(context.Context, string) (forecast, error) { calls++; return forecast{"half", 0}, errBoom })
		assert.Same(t, errBoom, err)
		assert.Equal(t, "half", got.City)
		assert.Equal(t, 1, calls)
		_, err = adk.Ask(ctx, "panics", "", func(context.Context, string) (forecast, error) { panic(errBoom) })
		var panicked *adk.PanicError
		require.ErrorAs(t, err, &panicked)
		assert.ErrorIs(t, err, errBoom)
		assert.Contains(t, string(panicked.Stack()), "TestAskThatFails")
		must(adk.Ask(ctx, "outer", "", func(ctx context.Context, city string) (forecast, error) {
			assert.False(t, adk.HasHandle(ctx))
			assert.Contains(t, fmt.Sprintf("%v %#v", ctx, ctx), ".WithoutSeam")
			return adk.Ask(ctx, "inner", city, cold)
		}))
	})
	assert.Equal(t, []string{`ask both ""`, `done {"City":"half","Degrees":0} boom`, `ask panics ""`, "done panic: boom", `ask outer ""`, `done {"City":"Oslo","Degrees":4}`}, lines)
}

// WLD-3, PRM-8: the reader of a media gets a context without a handle.
func TestMediaReadersAskForThemselves(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, dc *adk.DispatchContext) {
		must(dc.OpenMedia(ctx, picture("p", func(ctx context.Context) (io.ReadCloser, error) {
			must(adk.Ask(ctx, "store", "", cold))
			return bytesOf("x")(ctx)
		})))
	})
	assert.Empty(t, lines)
}

// WLD-3, WLD-4: runtime.Goexit in an ask's function, or in a loop's body, ends the goroutine, and is recorded.
func TestAskThatExits(t *testing.T) {
	exits := map[string]func(ctx context.Context){
		"ask": func(ctx context.Context) {
			_, _ = adk.Ask(ctx, "x", "", func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil })
		},
		"body": func(ctx context.Context) {
			for range adk.AskStream(ctx, "x", "", count(3)) {
				runtime.Goexit()
			}
		},
	}
	for name, exit := range exits {
		t.Run(name, func(t *testing.T) {
			lines := runToGoexit(t, executing(func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) error { exit(ctx); return nil }), hello)
			assert.Len(t, with(lines, ")ask "), 1)
		})
	}
}

// count hands out the numbers from 1 to n, until hand returns an error.
func count(n int) func(context.Context, string, func(int) error) error {
	return func(_ context.Context, _ string, hand func(int) error) error {
		for i := range n {
			if err := hand(i + 1); err != nil {
				return err
			}
		}
		return nil
	}
}

// WLD-4: pieces are recorded before they are yielded, and the end is recorded once.
func TestAskStream(t *testing.T) {
	rec := &recorder{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		stream := adk.AskStream(ctx, "numbers", "up", func(ctx context.Context, up string, hand func(int) error) error {
			assert.Equal(t, "up", up)
			assert.False(t, adk.HasHandle(ctx))
			return errors.Join(count(2)(ctx, up, hand), errBoom)
		})
		assert.Empty(t, asked(rec.crossings()), "nothing is asked before the loop")
		seen := 0
		for n, err := range stream {
			seen++
			if seen == 3 {
				assert.ErrorIs(t, err, errBoom)
				assert.Zero(t, n)
				continue
			}
			assert.NoError(t, err)
			assert.Equal(t, seen, n)
			assert.Len(t, asked(rec.crossings()), 1+n, "it is told before")
			dc.Now()
		}
		assert.Equal(t, 3, seen)
		for _, err := range stream {
			assert.ErrorContains(t, err, "ranged over already")
		}
		_ = adk.AskStream(ctx, "nobody", "", count(1))
		return dc.Ack()
	})
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	holdsInvariants(t, rec)
	assert.Equal(t, []string{`ask numbers "up"`, "piece 1", "piece 2", "done boom"}, asked(rec.crossings()))
	var beside []int
	for n, err := range adk.AskStream(context.Background(), "numbers", "", count(3)) {
		require.NoError(t, err)
		beside = append(beside, n)
	}
	assert.Equal(t, []int{1, 2, 3}, beside)
}

// WLD-4: leaving the loop ends the ask. Nothing is yielded afterwards, whatever the asking function
// does then.
func TestAskStreamLeftEarly(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		for n := range adk.AskStream(ctx, "numbers", "", func(ctx context.Context, _ string, hand func(int) error) error {
			assert.NoError(t, hand(1))
			assert.ErrorIs(t, hand(2), adk.E_ASK_STOPPED)
			assert.ErrorIs(t, context.Cause(ctx), adk.E_ASK_STOPPED)
			assert.ErrorIs(t, hand(3), adk.E_ASK_STOPPED)
			return errBoom
		}) {
			if n == 2 {
				break
			}
		}
	})
	assert.Equal(t, []string{`ask numbers ""`, "piece 1", "piece 2", "done E_ASK_STOPPED"}, lines)
}

// WLD-4: a panic of the loop's body propagates, and is not an error of the ask.
func TestAskStreamWhoseLoopPanics(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		assert.PanicsWithValue(t, "mine", func() {
			for range adk.AskStream(ctx, "numbers", "", count(3)) {
				panic("mine")
			}
		})
		for _, err := range adk.AskStream(ctx, "panics", "", func(context.Context, string, func(int) error) error { panic("theirs") }) {
			assert.EqualError(t, err, "panic: theirs")
		}
	})
	assert.Equal(t, []string{`ask numbers ""`, "piece 1", "done E_ASK_STOPPED", `ask panics ""`, "done panic: theirs"}, lines)
}

// WLD-5, ABT-7: an abort only ends the context of an ask that is under way. An aborted turn begins
// no new ask.
func TestAskInAnAbortedTurn(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, dc *adk.DispatchContext) {
		got, err := adk.Ask(ctx, "slow", "", func(ctx context.Context, _ string) (string, error) {
			require.NoError(t, dc.Abort(errBoom))
			assert.ErrorIs(t, context.Cause(ctx), errBoom)
			return "all the same", nil
		})
		assert.NoError(t, err)
		assert.Equal(t, "all the same", got)
		_, err = adk.Ask(context.WithoutCancel(ctx), "late", "", func(context.Context, string) (string, error) { panic("was asked") })
		assert.Same(t, errBoom, err)
		for _, err := range adk.AskStream(ctx, "late", "", func(context.Context, string, func(int) error) error { panic("was asked") }) {
			assert.Same(t, errBoom, err)
		}
	})
	assert.Equal(t, []string{`ask slow ""`, `done "all the same"`, `ask late ""`, "done boom", `ask late ""`, "done boom"}, lines)
}

// WLD-5, ABT-7: an aborted turn still makes an ask that undoes something, if the caller sets AfterAbort
// and gives a context that is still alive; the trace says so. After its call has ended such an ask is
// refused like any other.
func TestAskAfterTheAbort(t *testing.T) {
	undo := func(ctx context.Context, request string) error {
		_, err := adk.Ask(ctx, "desk", request, func(ctx context.Context, _ string) (string, error) { return "undone", ctx.Err() },
			adk.AskOptions{Effect: adk.EffectWrites, AfterAbort: true})
		return err
	}
	var kept context.Context
	rec := &recorder{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		kept = context.WithoutCancel(ctx)
		assert.NoError(t, undo(kept, "before"))
		require.NoError(t, dc.Abort(errBoom))
		assert.Same(t, errBoom, undo(ctx, "ended"))
		assert.NoError(t, undo(kept, "after"))
		for piece, err := range adk.AskStream(kept, "desk", "all", func(_ context.Context, _ string, give func(int) error) error { return give(1) },
			adk.AskOptions{AfterAbort: true}) {
			assert.NoError(t, err)
			assert.Equal(t, 1, piece)
		}
		_, err := adk.Ask(kept, "desk", "other", cold, adk.AskOptions{})
		assert.Same(t, errBoom, err)
		return nil
	})
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	holdsInvariants(t, rec)
	assert.ErrorIs(t, undo(kept, "late"), adk.E_CONTEXT_ENDED)
	assert.Equal(t, []string{
		`ask desk "before" writes`, `done "undone"`,
		`ask desk "ended" writes`, "done boom",
		`ask desk "after" writes after the abort`, `done "undone"`,
		`ask desk "all" after the abort`, "piece 1", "done",
		`ask desk "other"`, "done boom",
	}, asked(rec.crossings()))
}

// WLD-5, DET-5: when a call returns, its open asks are recorded as ended; they go on without being
// recorded. A later ask is refused.
func TestAskThatOutlivesItsCall(t *testing.T) {
	var open *adk.Exchange
	var kept context.Context
	rec := &recorder{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
	config.DispatchInput = []adk.DispatchMiddleware{dispatchStep("asks", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		kept = ctx
		open = must(adk.OpenExchange(ctx, "body", func() (json.RawMessage, error) { return json.RawMessage(` { "a": 1 } `), nil }))
		open.Piece(json.RawMessage(`"head"`), false)
		next(ctx)
		return nil
	})}
	config.TurnOutput = []adk.TurnMiddleware{turnStep("late", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		open.Piece(json.RawMessage(`"more"`), false)
		open.Done(nil, nil)
		assert.NoError(t, open.Context().Err())
		_, err := adk.Ask(context.WithoutCancel(kept), "audit", "", cold)
		assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
		assert.NoError(t, adk.PassBy(kept, "audit", "the call has returned"))
		next(ctx)
		return nil
	})}
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	holdsInvariants(t, rec)
	assert.Equal(t, []string{`ask body {"a":1}`, `piece "head"`, "done E_CONTEXT_ENDED", "contained late ask", "contained passed by"}, asked(rec.crossings()))
	assert.Contains(t, rec.all(), "< dispatch-input/asks#0 ok")
}

// WLD-4: an exchange records until it is done, and a nil exchange records nothing.
func TestExchange(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		x := must(adk.OpenExchange(ctx, "socket", nil, adk.AskOptions{Effect: adk.EffectWrites}))
		assert.True(t, x.Told())
		assert.False(t, x.Answered())
		assert.False(t, adk.HasHandle(x.Context()))
		x.Touch()
		x.Piece(json.RawMessage("[1 ,2]"), false)
		x.Piece(json.RawMessage("\xff"), true)
		assert.Same(t, errBoom, x.Failure(errBoom))
		x.Done(nil, errBoom)
		x.Piece(json.RawMessage("3"), false)
		x.Done(nil, nil)
	})
	assert.Equal(t, []string{"ask socket writes", "piece [1,2]", `piece {"$unheld":"it is no JSON"} open`, "done boom"}, lines)
	none := must(adk.OpenExchange(context.Background(), "socket", func() (json.RawMessage, error) { panic("is made") }))
	require.Nil(t, none)
	none.Touch()
	none.Piece(nil, false)
	none.Refused()
	none.Asked(nil, nil)
	_, ok, err := none.Next()
	assert.NoError(t, err)
	assert.False(t, ok)
	assert.False(t, none.Final())
	assert.NoError(t, none.Broken())
	none.Done(nil, nil)
	assert.False(t, none.Told())
	assert.False(t, none.Answered())
	assert.Nil(t, none.Context())
	assert.Same(t, errBoom, none.Failure(errBoom))
	assert.NoError(t, adk.PassBy(context.Background(), "x", "y"))
}

// answering changes a config so that Outside answers in place of the services.
func answering(answers map[string]*adk.Answer) func(*adk.Config) {
	return func(c *adk.Config) {
		c.Outside = func(_ context.Context, q adk.Question) *adk.Answer { return answers[q.Of] }
	}
}

// pieces returns a function that yields the pieces of an answer.
func pieces(texts ...string) func() (adk.Piece, bool) {
	return func() (adk.Piece, bool) {
		if len(texts) == 0 {
			return adk.Piece{}, false
		}
		first := texts[0]
		texts = texts[1:]
		return adk.Piece{Value: json.RawMessage(first)}, true
	}
}

// WLD-6: Outside learns what is asked, and answers in place of the service, which is not asked.
// Where Outside returns no answer the service is asked.
func TestOutside(t *testing.T) {
	answers := map[string]*adk.Answer{
		"forecasts": {Value: json.RawMessage(`{"City":"Rome","Degrees":30}`)},
		"fails":     {Err: io.ErrUnexpectedEOF},
		"misfits":   {Value: json.RawMessage(`"text"`)},
		"unknown":   {},
		"unheld":    {Value: adk.Unheld("too long")},
		"part":      {Next: pieces(string(adk.Unheld("too long")))},
		"numbers":   {Next: pieces("1", "2")},
		"breaks":    {Next: pieces("1"), Err: io.EOF},
		"strange":   {Next: pieces(`"one"`)},
	}
	never := func(context.Context, string) (forecast, error) { panic("was asked") }
	var question adk.Question
	lines := asking(t, func(c *adk.Config) {
		answering(answers)(c)
		inner := c.Outside
		c.Outside = func(ctx context.Context, q adk.Question) *adk.Answer { question = q; return inner(ctx, q) }
	}, func(ctx context.Context, dc *adk.DispatchContext) {
		assert.Equal(t, forecast{"Rome", 30}, must(adk.Ask(ctx, "forecasts", "Oslo", never, adk.AskOptions{Effect: adk.EffectReads})))
		call, strand := dc.Where()
		assert.Equal(t, adk.Question{Of: "forecasts", Request: json.RawMessage(`"Oslo"`), Effect: adk.EffectReads, Call: call, Strand: strand, Op: question.Op}, question)
		assert.NotZero(t, question.Op)
		for of, want := range map[string]error{"fails": io.ErrUnexpectedEOF, "misfits": adk.E_INVALID_ANSWER, "unknown": adk.E_UNANSWERED, "unheld": adk.E_UNANSWERED} {
			_, err := adk.Ask(ctx, of, "", never)
			assert.ErrorIs(t, err, want)
		}
		assert.Equal(t, forecast{"Oslo", 4}, must(adk.Ask(ctx, "really", "", cold)))
		for of, want := range map[string]error{"numbers": nil, "breaks": io.EOF, "strange": adk.E_INVALID_ANSWER, "part": adk.E_UNANSWERED} {
			var last error
			for _, err := range adk.AskStream(ctx, of, "", func(context.Context, string, func(int) error) error { panic("was asked") }) {
				last = err
			}
			assert.ErrorIs(t, last, want)
		}
		assert.True(t, question.Stream)
		assert.ErrorIs(t, adk.PassBy(ctx, "sockets", "it is upgraded"), adk.E_UNANSWERED)
	})
	assert.Equal(t, []string{`ask forecasts "Oslo" reads`, `done {"City":"Rome","Degrees":30}`}, lines[:2])
	assert.Equal(t, "contained passed by", lines[len(lines)-1])
}

// WLD-6: an answer with Asked set makes the engine ask the service as well, once. The answer replaces
// the service's answer, or its panic.
func TestOutsideOfWhatIsDone(t *testing.T) {
	answers := map[string]*adk.Answer{
		"lost":   {Asked: true, Err: io.ErrUnexpectedEOF},
		"panics": {Asked: true, Value: json.RawMessage("5")},
		"breaks": {Asked: true, Next: pieces("1"), Err: io.EOF},
	}
	var done []string
	lines := asking(t, answering(answers), func(ctx context.Context, _ *adk.DispatchContext) {
		res, err := adk.Ask(ctx, "lost", "a", func(_ context.Context, what string) (int, error) { done = append(done, what); return 4, nil })
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Zero(t, res)
		assert.Equal(t, 5, must(adk.Ask(ctx, "panics", "b", func(_ context.Context, what string) (int, error) { done = append(done, what); panic("no") })))
		var got []int
		for piece, err := range adk.AskStream(ctx, "breaks", "c", func(_ context.Context, what string, yield func(int) error) error {
			done = append(done, what)
			return errors.Join(yield(7), yield(8))
		}) {
			if err == nil {
				got = append(got, piece)
			}
		}
		assert.Equal(t, []int{1}, got)
	})
	assert.Equal(t, []string{"a", "b", "c"}, done)
	assert.Len(t, lines, 7, "of the world's own answers nothing is told: %q", lines)
}

// WLD-6: a dispatch that runs without a turn uses its Outside as a turn does.
func TestOutsideOfADispatchAlone(t *testing.T) {
	raw := &adk.RawDispatch{SystemPrompt: "Plan.", Storage: (&book{}).storage()}
	raw.Outside = func(context.Context, adk.Question) *adk.Answer { return &adk.Answer{Value: json.RawMessage("4")} }
	end, err := adk.Dispatch(context.Background(), adk.DispatchInput{Name: "alone", Raw: raw, Executor: executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		assert.Equal(t, 4, must(adk.Ask(ctx, "x", "", func(context.Context, string) (int, error) { panic("was asked") })))
		return dc.Ack()
	})})
	require.NoError(t, err)
	assert.Equal(t, adk.StatusAck, end.Status)
}

// WLD-7: the probe receives the unchanged values of an ask; leaving something out is the recorder's task.
func TestAskIsToldAsItWas(t *testing.T) {
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		must(adk.Ask(ctx, "x", "sk-secret", func(_ context.Context, key string) (string, error) {
			assert.Equal(t, "sk-secret", key)
			return "for " + key, nil
		}))
	})
	assert.Equal(t, []string{`ask x "sk-secret"`, `done "for sk-secret"`}, lines)
}

// WLD-8: a limit ends the context of the ask, whose function decides when to return. The error is a timeout.
func TestAskLimits(t *testing.T) {
	wait := func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	limits := map[string]adk.AskLimits{
		"its beginning": {Headers: time.Minute, Whole: time.Hour},
		"all of it":     {Whole: time.Minute},
	}
	for what, limit := range limits {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
					began := time.Now()
					_, err := adk.Ask(ctx, "x", "", wait, adk.AskOptions{Limits: limit})
					assert.Equal(t, time.Minute, time.Since(began))
					var timeout net.Error
					require.ErrorAs(t, err, &timeout)
					assert.True(t, timeout.Timeout())
					assert.True(t, timeout.Temporary()) //nolint:staticcheck // net.Error has it
					assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
					assert.ErrorIs(t, err, context.Canceled)
					assert.ErrorContains(t, err, "1m0s is allowed for "+what)
					got, err := adk.Ask(ctx, "x", "", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "late", nil }, adk.AskOptions{Limits: limit})
					assert.NoError(t, err, "who asks decides")
					assert.Equal(t, "late", got)
				})
				assert.Equal(t, []string{`ask x ""`, "done E_ASK_TIMEOUT", `ask x ""`, `done "late"`}, lines)
			})
		})
	}
	assert.False(t, (&adk.Error{Code: adk.E_TURN_ABORTED}).Timeout())
}

// WLD-8: every byte restarts the limit of silence.
func TestAskLimitOfSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
			began, seen := time.Now(), 0
			for _, err := range adk.AskStream(ctx, "x", "", func(ctx context.Context, _ string, hand func(int) error) error {
				time.Sleep(time.Hour)
				for i := range 5 {
					assert.NoError(t, hand(i))
					time.Sleep(40 * time.Second)
				}
				<-ctx.Done()
				return ctx.Err()
			}, adk.AskOptions{Limits: adk.AskLimits{Idle: time.Minute}}) {
				seen++
				if seen == 6 {
					assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
				}
			}
			assert.Equal(t, 6, seen)
			assert.Equal(t, time.Hour+4*40*time.Second+time.Minute, time.Since(began))
		})
	})
}

// WLD-8: answers of Outside take their time on the config's clock, and limits run on the same
// clock.
func TestOutsideTakesItsTime(t *testing.T) {
	clock, passes, parks := &handClock{}, time.Minute, 0
	slow := func(c *adk.Config) {
		answering(map[string]*adk.Answer{
			"slow":  {Value: json.RawMessage(`"yes"`), After: time.Minute},
			"parts": {Next: func() (adk.Piece, bool) { return adk.Piece{Value: json.RawMessage("1"), After: time.Minute}, true }},
		})(c)
		c.Clock = clock
		c.Probe = adk.MultiProbe(c.Probe, &recorder{park: func(int, func() bool) { parks++; clock.advance(passes) }})
	}
	never := func(context.Context, string) (string, error) { panic("was asked") }
	lines := asking(t, slow, func(ctx context.Context, dc *adk.DispatchContext) {
		began := dc.Now()
		assert.Equal(t, "yes", must(adk.Ask(ctx, "slow", "", never)))
		assert.Equal(t, time.Minute, dc.Now().Sub(began))
		assert.Equal(t, 1, parks)
		_, err := adk.Ask(ctx, "slow", "", never, adk.AskOptions{Limits: adk.AskLimits{Headers: time.Second}})
		assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
		seen := 0
		for _, err := range adk.AskStream(ctx, "parts", "", count(0), adk.AskOptions{Limits: adk.AskLimits{Idle: time.Hour, Whole: 150 * time.Second}}) {
			if seen++; seen == 3 {
				assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
			}
		}
		assert.Equal(t, 3, seen)
		ended, cancel := context.WithCancelCause(ctx)
		cancel(errBoom)
		passes = 0
		_, err = adk.Ask(ended, "slow", "", never)
		assert.Same(t, errBoom, err)
	})
	assert.Len(t, lines, 10)
}

// WLD-8: a caller's deadline that passed in the recording passes again in a replay where no further ask
// followed, so that code that looks at the context sees it ended. Otherwise the replay does not wait.
func TestDeadlinesOfCallersPassAgain(t *testing.T) {
	late := func(final bool) *adk.Answer { return &adk.Answer{Err: context.DeadlineExceeded, Final: final} }
	never := func(context.Context, string) (string, error) { panic("was asked") }
	synctest.Test(t, func(t *testing.T) {
		outside := answering(map[string]*adk.Answer{"last": late(true), "next": late(false), "broken": {Err: errBoom, Final: true}})
		asking(t, outside, func(ctx context.Context, _ *adk.DispatchContext) {
			for of, ended := range map[string]bool{"next": false, "broken": false, "last": true} {
				began := time.Now()
				short, cancel := context.WithTimeout(ctx, time.Hour)
				_, err := adk.Ask(short, of, "", never)
				assert.Error(t, err)
				assert.Equal(t, ended, short.Err() != nil, of)
				for _, err := range adk.AskStream(short, of, "", count(0)) {
					assert.Error(t, err)
				}
				assert.Equal(t, ended, time.Since(began).Truncate(time.Second) == time.Hour, of)
				cancel()
			}
			_, err := adk.Ask(ctx, "last", "", never) // the caller has no deadline
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			short, cancel := context.WithTimeout(ctx, time.Hour)
			began := time.Now()
			time.AfterFunc(time.Minute, cancel)
			_, err = adk.Ask(short, "last", "", never)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Minute, time.Since(began).Truncate(time.Second), "somebody has ended it before")
		})
	})
}

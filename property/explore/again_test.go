package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/steady"
	"github.com/adkreplay/adkreplay/property/turn"
)

// DET-2: if any field of any crossing differs in the second run, the explorer notices it and shows
// both values.
func TestEveryFieldIsHeldAgain(t *testing.T) {
	for _, kind := range adk.Kinds() {
		for _, phase := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			for _, use := range kind.Fields(phase) {
				first := adk.Crossing{Kind: kind, Phase: phase, At: fakes.Epoch}
				second := first
				first = tracetest.With(first, use.Field, tracetest.Saying(t, kind, use.Field, "one")[0].Value)
				second = tracetest.With(second, use.Field, tracetest.Saying(t, kind, use.Field, "four")[0].Value)
				name := fmt.Sprintf("%s %s %s", kind, phase, use.Label)
				assert.Empty(t, sameAgain([]adk.Crossing{first}, &attempt{crossings: []adk.Crossing{first}}, nil), name)
				got := sameAgain([]adk.Crossing{first}, &attempt{crossings: []adk.Crossing{second}}, nil)
				require.Len(t, got, 1, name)
				assert.Equal(t, 1, got[0].Crossing, name)
				assert.Contains(t, got[0].Text, "\n- ", name)
				assert.Contains(t, got[0].Text, "\n+ ", name)
				assert.Contains(t, got[0].Text, "\n  "+use.Label, name)
			}
		}
	}
}

// asking returns a subject whose model runs a tool once. The tool is answer, and then receives
// what the tool returned.
func asking(name string, answer func(ctx context.Context) (adk.ToolResult, error), then func(*adk.DispatchContext, *adk.Helpers, adk.ToolResult, error)) turn.Subject {
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		asks := samples.Must(adk.NewTool(adk.ToolInit{Name: "ask", Description: "Asks.", InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				return answer(ctx)
			}}))
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			result, err := dc.Execute(ctx, asks, map[string]any{})
			then(dc, h, result, err)
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{asks}},
			adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// DET-2: a tool that answers differently in every run cannot be explored, even if nothing of its
// answer is recorded anywhere else. The report says so once.
func TestAnotherAnswerEveryTimeIsUnsteady(t *testing.T) {
	var rolls atomic.Int64
	dice := asking("dice", func(context.Context) (adk.ToolResult, error) {
		return adk.Text(fmt.Sprintf("rolled %d", rolls.Add(1))), nil
	},
		func(*adk.DispatchContext, *adk.Helpers, adk.ToolResult, error) {})
	result, err := Explore(t.Context(), dice, Options{Workers: 1, Bound: 2})
	require.NoError(t, err)
	require.Len(t, result.Violations, 1, result)
	v := result.Violations[0]
	assert.Equal(t, "undisturbed", v.Schedule.String())
	assert.Equal(t, "a run is the same every time", v.Invariant)
	assert.Regexp(t, `(?s)\n- .*\n\+ .*\n  result.*rolled \d.*rolled \d`, v.Text)
	assert.Regexp(t, `(?m)^    - `, result.String())
}

// refused dials a port of this machine on which no process listens. The port belongs to a client
// connection, so that nothing else is given it meanwhile, and it differs in every call.
func refused(ctx context.Context) (adk.ToolResult, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var dialer net.Dialer
	connection, err := dialer.DialContext(context.WithoutCancel(ctx), "tcp", client.LocalAddr().String())
	if err == nil {
		_ = connection.Close()
	}
	return adk.Text(""), err
}

// DET-2: a port that the system chose makes no difference between two runs, wherever the error that
// names the port appears: as the error itself, in logs and reports, in records, and in the digests
// of all of these.
func TestThePortsOfErrorsAreTheSystems(t *testing.T) {
	tell := func(dc *adk.DispatchContext, h *adk.Helpers, _ adk.ToolResult, err error) {
		if err == nil {
			return
		}
		h.Log(adk.LevelWarn, "tool", "it failed", map[string]any{"error": err.Error()})
		m, madeErr := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "I could not: " + err.Error(), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
		if madeErr == nil {
			madeErr = dc.Messages().Store(context.Background(), m)
		}
		if madeErr != nil {
			h.Log(adk.LevelError, "model", "the message is not stored", nil)
		}
	}
	untyped := func(ctx context.Context) (adk.ToolResult, error) {
		result, err := refused(ctx)
		return result, errors.New(err.Error())
	}
	for name, answer := range map[string]func(context.Context) (adk.ToolResult, error){"an error of package net": refused, "its text": untyped} {
		result, err := Explore(t.Context(), asking(name, answer, tell), Options{})
		require.NoError(t, err)
		assert.Empty(t, result.Violations, result)
		assert.Empty(t, turn.CheckSubject(asking(name, answer, tell)))
	}
}

// Only ports are treated as the system's choice. Another text, another host, or a port that is not
// part of an error is a difference.
func TestWhatTheSystemDidNotChoose(t *testing.T) {
	op := func(address string) error {
		return fmt.Errorf("asking: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: samples.Must(net.ResolveTCPAddr("tcp", address)), Err: errors.New("refused")})
	}
	from := func(address string) error {
		return &net.OpError{Op: "read", Net: "tcp", Source: samples.Must(net.ResolveTCPAddr("tcp", address)), Addr: samples.Must(net.ResolveTCPAddr("tcp", "203.0.113.9:443")), Err: errors.New("reset")}
	}
	for name, c := range map[string]struct {
		first, second error
		same          bool
	}{
		"a port of this machine":   {op("127.0.0.1:40001"), op("127.0.0.1:40002"), true},
		"one of the other version": {op("[::1]:40001"), op("[::1]:40002"), true},
		"one's own end":            {from("198.51.100.7:40001"), from("198.51.100.7:40002"), true},
		"another machine's port":   {op("203.0.113.9:443"), op("203.0.113.9:444"), false},
		"another machine":          {op("203.0.113.8:443"), op("203.0.113.9:443"), false},
		"in a text":                {errors.New("dial tcp [::1]:4001: refused"), errors.New("dial tcp [::1]:4002: refused"), true},
		"another machine's, too":   {errors.New("dial tcp 203.0.113.9:4001: refused"), errors.New("dial tcp 203.0.113.9:4002: refused"), false},
		"another text":             {op("127.0.0.1:40001"), errors.New("asking: dial tcp 127.0.0.1:40001: broken"), false},
		"a number":                 {errors.New("attempt 1"), errors.New("attempt 2"), false},
	} {
		run := func(err error) []adk.Crossing {
			return []adk.Crossing{{Kind: adk.KindReturn, At: fakes.Epoch, Outcome: adk.OutcomeError, Err: err}}
		}
		at, _ := steady.PartAt(run(c.first), run(c.second))
		assert.Equal(t, c.same, at < 0, name)
	}
	said := func(address string) []adk.Crossing {
		return []adk.Crossing{{Kind: adk.KindReportMessage, At: fakes.Epoch, Text: "I listen on " + address}}
	}
	at, _ := steady.PartAt(said("http://127.0.0.1:40001/orders"), said("http://127.0.0.1:40002/orders"))
	assert.Equal(t, -1, at, "a server of this machine")
	at, _ = steady.PartAt(said("203.0.113.9:40001"), said("203.0.113.9:40002"))
	assert.Equal(t, 0, at, "no error names it")
	at, _ = steady.PartAt(said("x"), append(said("x"), said("y")...))
	assert.Equal(t, 1, at, "the second goes on")
}

// An error that wraps itself, or whose methods panic, does not stop the exploration.
func TestErrorsWithoutAnEnd(t *testing.T) {
	endless := &loop{}
	endless.again = endless
	var none *loop
	c := steady.ChosenIn([]adk.Crossing{{Err: endless}, {Err: none}, {Cause: errors.Join(none, &net.OpError{Addr: samples.Must(net.ResolveTCPAddr("tcp", "127.0.0.1:40001"))})}})
	assert.Equal(t, map[string]bool{"40001": true}, c.Ports)
}

type loop struct{ again error }

func (l *loop) Error() string { return "round" }
func (l *loop) Unwrap() error { return l.again }

// DET-2: NaN counts as equal to itself, in whatever data it occurs.
func TestNotANumberIsSteady(t *testing.T) {
	odd := map[string]any{"nan": math.NaN(), "inf": []float64{math.Inf(1), math.Inf(-1)}, "in": []any{math.NaN(), float32(math.NaN())}}
	s := turn.Subject{Name: "nan", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			h.Log(adk.LevelInfo, "odd", "look", odd)
			return errors.Join(dc.Stash().Set("odd", odd), dc.Ack())
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help.", Stash: odd}
	}}
	result, err := Explore(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, result.Violations, result)
	assert.Empty(t, turn.CheckSubject(s))
}

// A second run during which the budget ends proves nothing about the code: it may have been cut short.
func TestSecondRunThatIsBrokenOff(t *testing.T) {
	var late atomic.Bool
	runs := 0
	now := func() time.Time {
		if late.Load() {
			return fakes.Epoch.Add(time.Hour)
		}
		return fakes.Epoch
	}
	result, err := Explore(t.Context(), turn.Subject{Name: "asks", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		runs++
		run := runs
		return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for i := 0; i < 3 || run >= 4 && i < 5; i++ {
				if run >= 4 {
					late.Store(true)
				}
				if _, err := adk.Ask(ctx, "model", i, func(context.Context, int) (string, error) { return "x", nil }); err != nil {
					return err
				}
			}
			return dc.Ack()
		}}}, adk.RawTurn{SystemPrompt: "Help."}
	}}, Options{Workers: 1, Budget: time.Minute, Now: now})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, runs, 4)
	assert.Empty(t, result.Violations, result)
	assert.Contains(t, fmt.Sprint(result.NotCovered), "the budget of 1m0s was used up")
}

// DET-2: once its context has ended, a select on the context and on a semaphore takes either case at
// random. Code with such a select breaks nothing: the report has a hint that names the cause, no violation.
func TestAnyCaseOfASelectIsNoAccusation(t *testing.T) {
	places := turn.Subject{Name: "places", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			free := make(chan bool, 1)
			for range 8 {
				select {
				case free <- true:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				_ = dc.NewID()
				<-free
			}
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	result, err := Explore(t.Context(), places, Options{})
	require.NoError(t, err)
	assert.Empty(t, result.Violations, result)
	require.NotEmpty(t, result.Hints, "it is told, as what it is")
	for _, h := range result.Hints {
		assert.Equal(t, unsteadyRun, h.Invariant)
		assert.Contains(t, h.Text, "a select that waits for that too takes any of its cases")
	}
}

// If a goroutine of user code is held back until its turn is over, it does not change the data from
// which the run is judged.
func TestWhatIsTakenInBehindATurn(t *testing.T) {
	a := newAttempt()
	a.reset(candidate{}, nil, true, false)
	late := adk.Step{Kind: adk.KindNow, Phase: adk.Whole}
	run := a.present.Load()
	run.unlessOver(func() { a.take(1, late) })
	run.seal()
	run.unlessOver(func() { a.take(2, late) })
	assert.Len(t, a.steps, 2, "up to crossing 1")
}

// The names of advice that are treated specially here are names of advice that exists.
func TestAdviceThatIsToldApartIsGiven(t *testing.T) {
	var given []string
	for _, one := range property.AllAdvice() {
		given = append(given, one.Name)
	}
	assert.Subset(t, given, append([]string{plainGoroutines, unclosedAnswer}, ofThePast...))
}

// DET-2: user code that draws ids itself makes a different turn in each run. The report says what to do
// about it, and has no second entry that only follows from it.
func TestIDsThatAreDrawn(t *testing.T) {
	var n atomic.Int64
	result := exploredAll(t, executor("locks", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		token := fmt.Sprint("token-", n.Add(1))
		lock := func(ctx context.Context, late bool) error {
			_, err := adk.Ask(ctx, "redis", token, func(context.Context, string) (bool, error) { return true, nil }, adk.AskOptions{Effect: adk.EffectWrites, AfterAbort: late})
			return err
		}
		if err := lock(ctx, false); err != nil {
			return err
		}
		return errors.Join(lock(context.WithoutCancel(ctx), true), dc.Ack())
	}))
	require.Len(t, result.Violations, 1, result)
	assert.Equal(t, unsteadyRun, result.Violations[0].Invariant)
	assert.Contains(t, result.Violations[0].Text, "adk.NewID(ctx)")
	assert.Contains(t, result.Violations[0].Text, "adk.Ask")
}

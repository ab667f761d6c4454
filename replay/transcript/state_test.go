package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// stateOf is the state of a fixture after crossing n.
func stateOf(t testing.TB, f tracetest.Fixture, n int) *transcript.State {
	t.Helper()
	state, err := transcript.At(bytes.NewReader(f.Bytes), n)
	require.NoError(t, err, "%s at %d", f.Name, n)
	return state
}

func named(t testing.TB, name string) tracetest.Fixture {
	for _, f := range tracetest.AllFixtures(t) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no fixture %s", name)
	return tracetest.Fixture{}
}

// The states of some turns are golden files, so that a person can read them.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int
	}{
		{"planner", 23}, {"parallel-tools", 60}, {"gate-approved", 23}, {"stash", 30}, {"streamed-reply", 24}, {"hydration", 52},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := stateOf(t, named(t, c.name), c.at)
			goldie.New(t, goldie.WithFixtureDir("testdata/states"), goldie.WithNameSuffix(".txt")).Assert(t, c.name, []byte(state.String()))
		})
	}
}

// A state shows what user code sees at that
// crossing, through the contexts of the run (DET-8).
func TestStateIsWhatUserCodeSees(t *testing.T) {
	var trace bytes.Buffer
	told := &tracetest.Crossings{}
	type state struct {
		at       int
		messages []*adk.Message
		calls    []*adk.ToolCall
		stash    map[string]any
	}
	var seen []state
	see := fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		seen = append(seen, state{len(told.All), dc.Messages().All(), dc.ToolCalls().All(), dc.Stash().All()})
		return nil
	})
	v := livetest.WeatherVersion(fakes.Script{{see, fakes.Call("weather", `{"city":"Oslo"}`), see}, {see, fakes.Say("It is 4 °C."), see, fakes.Ack(), see}})
	v.Raw.Stash = map[string]any{"user": map[string]any{"name": "Ada"}}
	runner, err := adk.NewRunner(fakes.Deterministic(v.Config, told, replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), v.Raw))
	require.Len(t, seen, 5)
	for _, s := range seen {
		state, err := transcript.At(bytes.NewReader(trace.Bytes()), s.at)
		require.NoError(t, err)
		require.Len(t, state.Dispatches, 1)
		dispatch := state.Dispatches[0]
		assert.Equal(t, recordsJSON(t, s.messages), recordsJSON(t, dispatch.Messages), "messages at %d", s.at)
		assert.Equal(t, recordsJSON(t, s.calls), recordsJSON(t, dispatch.ToolCalls), "tool calls at %d", s.at)
		assert.Equal(t, s.stash, map[string]any(dispatch.Stash))
		assert.Equal(t, "executor/model", strings.TrimRight(state.Calls[len(state.Calls)-1].Seam, "#01"), "user code is in the last open call")
	}
}

func recordsJSON[T adk.Record](t *testing.T, all []T) string {
	text, err := json.Marshal(append([]T{}, all...))
	require.NoError(t, err)
	return string(text)
}

// At every crossing of every fixture, the calls and gates that the crossings opened are open; none
// is open at the end; and a prefix has the same state as the whole trace.
func TestStateAtEveryCrossing(t *testing.T) {
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		open := 0
		lines := bytes.SplitAfter(f.Bytes, []byte("\n"))
		for i, line := range f.Trace.Lines() {
			switch line.Kind {
			case adk.KindCall:
				open++
			case adk.KindReturn:
				open--
			}
			if i%7 != 0 && i != len(f.Trace.Lines())-1 {
				continue
			}
			state := stateOf(t, f, i+1)
			assert.Len(t, state.Calls, open)
			assert.Equal(t, line.At.Sub(f.Trace.Lines()[0].At), state.At)
			assert.True(t, json.Valid(tracetest.Must(json.Marshal(state))))
			prefix, err := transcript.At(bytes.NewReader(tracetest.Join(lines[:i+2])), i+1)
			assert.Equal(t, trace.FaultTruncated, faultOf(err), "a prefix is no whole trace")
			assert.Equal(t, i+1, prefix.Crossings)
			prefix.Crossings = state.Crossings
			assert.Equal(t, string(tracetest.Must(json.Marshal(state))), string(tracetest.Must(json.Marshal(prefix))))
		}
		assert.Zero(t, open)
	})
}

func faultOf(err error) trace.Fault {
	if format, ok := errors.AsType[*trace.FormatError](err); ok {
		return format.Fault
	}
	return ""
}

// A gate is open from the crossing that begins the wait to the crossing that ends it.
func TestStateOfAGate(t *testing.T) {
	f := named(t, "gate-approved")
	waits := 0
	for i, line := range f.Trace.Lines() {
		if line.Kind != adk.KindWaitFor {
			continue
		}
		waits++
		gates := stateOf(t, f, i+1).Gates
		if line.Phase == adk.Done {
			assert.Empty(t, gates)
			continue
		}
		require.Len(t, gates, 1)
		assert.Equal(t, transcript.OpenGate{ID: line.Name, Reason: line.Text, Seam: "tool/delete", Since: i + 1}, gates[0])
	}
	assert.Equal(t, 2, waits)
}

func TestStateOfNoCrossing(t *testing.T) {
	f := named(t, "hello")
	for _, n := range []int{-1, 0, 32} {
		state, err := transcript.At(bytes.NewReader(f.Bytes), n)
		assert.Nil(t, state)
		assert.ErrorIs(t, err, transcript.ErrNoCrossing)
		assert.EqualError(t, err, fmt.Sprintf("replay: there is no such crossing as %d: the trace has 31 crossings, numbered from 1", n))
	}
	_, err := transcript.At(bytes.NewReader(tracetest.Join(bytes.SplitAfter(f.Bytes, []byte("\n"))[:4])), 9)
	assert.ErrorIs(t, err, transcript.ErrNoCrossing)
	assert.ErrorContains(t, err, "the trace has 3 crossings, numbered from 1")
	assert.Equal(t, trace.FaultTruncated, faultOf(err))
	_, err = transcript.At(strings.NewReader("hello\n"), 1)
	assert.Equal(t, trace.FaultForeign, faultOf(err))
}

// A crossing that is shown alone has all of its content: records in full, however often they
// occurred before.
func TestReadShown(t *testing.T) {
	f := named(t, "hello")
	var shown []*transcript.Expanded
	for x, err := range transcript.Expand(bytes.NewReader(f.Bytes)) {
		require.NoError(t, err)
		shown = append(shown, x)
	}
	require.Len(t, shown, len(f.Trace.Lines()))
	for i, x := range shown {
		assert.Equal(t, i+1, x.Crossing)
		assert.Equal(t, f.Trace.Lines()[i].Kind.String(), x.Kind)
		if x.Fields != nil {
			assert.True(t, json.Valid(x.Fields), "%s", x.Fields)
		}
	}
	assert.Equal(t, "turn-input/hydrate", shown[7].Seam)
	assert.Equal(t, `add m1 user "Hello, I am Ada." to messages`, shown[7].Line)
	assert.Contains(t, string(shown[7].Fields), `"content":"Hello, I am Ada."`)
	for range transcript.Expand(bytes.NewReader(f.Bytes)) {
		break // a caller may stop early
	}
}

func TestReadShownOfAPrefix(t *testing.T) {
	f := named(t, "hello")
	n, last := 0, error(nil)
	for x, err := range transcript.Expand(bytes.NewReader(tracetest.Join(bytes.SplitAfter(f.Bytes, []byte("\n"))[:6]))) {
		if last = err; x != nil {
			n++
		}
	}
	assert.Equal(t, 5, n)
	assert.Equal(t, trace.FaultTruncated, faultOf(last))
}

// A part of a transcript has the same lines as the whole, with each record in full where it first
// occurs in the part.
func TestTranscriptOfAPart(t *testing.T) {
	f := named(t, "hello")
	part := func(first, last int) string {
		var text bytes.Buffer
		require.NoError(t, transcript.WriteRange(&text, bytes.NewReader(f.Bytes), first, last))
		return text.String()
	}
	var whole bytes.Buffer
	require.NoError(t, transcript.Write(&whole, bytes.NewReader(f.Bytes)))
	assert.Equal(t, whole.String(), part(1, len(f.Trace.Lines())))
	assert.Equal(t, "    add m1 user \"Hello, I am Ada.\" to messages\n    next\n", part(8, 10))
	assert.Empty(t, part(10, 9))
	err := transcript.WriteRange(io.Discard, bytes.NewReader(f.Bytes), 32, 40)
	assert.ErrorIs(t, err, transcript.ErrNoCrossing)
}

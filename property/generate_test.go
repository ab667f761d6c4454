package property

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/replay"
)

// Every generated turn makes the same trace twice, replays without divergence
// and keeps all invariants (DET-2).
func TestTurns(t *testing.T) { checkTurns(t, Turns(Knobs{}), flawless) }

func TestLegalTurns(t *testing.T) {
	checkTurns(t, Turns(Knobs{Legal: true, NoGoexit: true}), flawless)
}

// So do those whose strands run in any order.
func TestTurnsInAnyOrder(t *testing.T) { checkTurns(t, inAnyOrder(Turns(Knobs{})), flawless) }

// inAnyOrder lets the strands of turns run in any order.
func inAnyOrder(turns *rapid.Generator[Turn]) *rapid.Generator[Turn] {
	return rapid.Custom(func(t *rapid.T) Turn {
		turn := turns.Draw(t, "turn")
		for choice := range 30 {
			if strand := rapid.IntRange(-1, 3).Draw(t, "strand"); strand >= 0 {
				turn.Order = append(turn.Order, Decision{choice + 1, strand})
			}
		}
		return turn
	})
}

func FuzzTurns(f *testing.F) {
	for seed := range 4 {
		f.Add(bytes.Repeat([]byte{byte(37*seed + 11), byte(seed), 0xa5, byte(91 * seed)}, 4<<10))
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		turn := Turns(Knobs{Operations: 4, Iterations: 2}).Draw(t, "turn")
		if text := flawless(turn); text != "" {
			t.Fatalf("%s\n%#v", text, turn)
		}
	}))
}

// classes are what generated turns have to reach, told by their crossings.
var classes = []struct {
	name string
	is   func(x *adk.Crossing) bool
}{
	{"ack", endedAs(adk.StatusAck)},
	{"nack", endedAs(adk.StatusNack)},
	{"aborted", endedAs(adk.StatusAborted)},
	{"short-circuit", failed(adk.E_PIPELINE_SHORT_CIRCUITED)},
	{"input failure", failed(adk.E_INPUT_PIPELINE_ERROR)},
	{"output failure", failed(adk.E_OUTPUT_PIPELINE_ERROR)},
	{"dispatch pipeline failure", failed(adk.E_DISPATCH_PIPELINE_ERROR)},
	{"executor failure", failed(adk.E_LLM_EXECUTION_EXECUTOR_ERROR)},
	{"nacked", failed(adk.E_LLM_EXECUTION_NACKED)},
	{"flush failure", failed(adk.E_PERSISTENCE_FLUSH_ERROR)},
	{"tool failure", answered(adk.E_TOOL_DOWNSTREAM_ERROR)},
	{"bad arguments", answered(adk.E_INVALID_TOOL_ARGS)},
	{"sealed", answered(adk.E_LLM_EXECUTION_STREAM_SEALED)},
	{"bad stash path", answered(adk.E_INVALID_STASH_PATH)},
	{"second signal", answered(adk.E_LLM_EXECUTION_ALREADY_SIGNALLED)},
	{"clash", answered(adk.E_TOOL_ALREADY_REGISTERED)},
	{"panic", func(x *adk.Crossing) bool { return x.Kind == adk.KindReturn && x.Outcome == adk.OutcomePanic }},
	{"goexit", func(x *adk.Crossing) bool { return x.Kind == adk.KindReturn && x.Outcome == adk.OutcomeGoexit }},
	{"strand", func(x *adk.Crossing) bool { return x.Kind == adk.KindFork && x.Err == nil }},
	{"gate resolved", closed(adk.GateResolved)},
	{"gate rejected", closed(adk.GateRejected)},
	{"gate aborted", closed(adk.GateAborted)},
	{"gate timeout", closed(adk.GateTimeout)},
	{"gate refused", func(x *adk.Crossing) bool {
		return x.Kind == adk.KindSettle && errors.Is(x.Err, adk.E_INVALID_TURN_GATE_RESOLUTION)
	}},
	{"cancelled", func(x *adk.Crossing) bool { return x.Kind == adk.KindCancel && x.Key == "outside" }},
	{"dispatch called alone", func(x *adk.Crossing) bool {
		return x.Kind == adk.KindCall && x.Call == 0 && x.Seam.Label == adk.LabelDispatch
	}},
	{"nested dispatch", func(x *adk.Crossing) bool { return x.Kind == adk.KindCall && x.Seams != nil }},
	{"second next", contained("second next")},
	{"late operation", contained("late s")},
	{"loud listener", contained("listener")},
	{"read of a nack", readAs("signalled=true acked=false nacked=true")},
	{"read of a tool call's count", readAs(1)},
	{"on-ack handler", func(x *adk.Crossing) bool { return x.Kind == adk.KindCall && x.Seam.Label == adk.LabelOnAck }},
	{"two iterations", func(x *adk.Crossing) bool { return x.Kind == adk.KindIterationStart && x.N == 1 }},
	{"three iterations", func(x *adk.Crossing) bool { return x.Kind == adk.KindIterationStart && x.N == 2 }},
}

func readAs(answer any) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool {
		return x.Kind == adk.KindReportLog && x.Name == "read" && x.Value == answer
	}
}

func endedAs(status string) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind == adk.KindDispatchEnd && x.Status == status }
}

func failed(code adk.Code) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool {
		var e *adk.Error
		return x.Kind == adk.KindErrorEvent && errors.As(x.Err, &e) && e.Code == code
	}
}

func answered(code adk.Code) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassOperation && errors.Is(x.Err, code) }
}

func closed(result string) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateClosed && x.Status == result }
}

func contained(what string) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind == adk.KindContained && strings.HasPrefix(x.Name, what) }
}

// What generated turns reach is no accident: of a thousand, every class has
// some.
func TestTurnsReachEverything(t *testing.T) {
	turns := Turns(Knobs{})
	reached := map[string]int{}
	refused := map[adk.Code]int{}
	lines, operations := 0, 0
	for seed := range 1000 {
		turn := turns.Example(seed)
		trace, answer, err := turn.Trace()
		require.NoError(t, err)
		if answer != nil {
			want := adk.E_INVALID_TURN_CONTEXT
			if turn.Alone != nil {
				want = adk.E_INVALID_LLM_EXECUTION_CONTEXT
			}
			require.ErrorIs(t, answer, want)
			refused[want]++
			continue
		}
		read, err := replay.ReadTrace(bytes.NewReader(trace))
		require.NoError(t, err)
		lines += len(read.Lines)
		operations += turn.Operations()
		for _, class := range classes {
			if slices.ContainsFunc(read.Lines, func(l replay.Line) bool { return class.is(&l.Crossing) }) {
				reached[class.name]++
			}
		}
	}
	t.Logf("refused: %v; crossings: %d and operations: %d in the mean", refused, lines/1000, operations/1000)
	assert.Len(t, refused, 2)
	for _, class := range classes {
		t.Logf("%4d %s", reached[class.name], class.name)
		assert.GreaterOrEqual(t, reached[class.name], 5, class.name)
	}
}

package property

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// big is a generated turn of at least so many operations that keeps is true of.
func big(t testing.TB, operations int, keeps func(Turn) bool) Turn {
	t.Helper()
	turns := Turns(Knobs{Operations: 24, Iterations: 4, NoGoexit: true})
	for seed := range 5000 {
		if turn := turns.Example(seed); turn.Operations() >= operations && keeps(turn) {
			return turn
		}
	}
	t.Fatalf("of 5000 turns there is none of %d operations", operations)
	return Turn{}
}

// shows is a predicate on the trace of a turn.
func shows(is func(lines []replay.Line) bool) func(Turn) bool {
	return func(turn Turn) bool {
		trace, refused, err := turn.Trace()
		if err != nil || refused != nil {
			return false
		}
		read, err := replay.ReadTrace(bytes.NewReader(trace))
		return err == nil && is(read.Lines)
	}
}

// anyLine is a predicate on one crossing of a trace.
func anyLine(is func(*adk.Crossing) bool) func([]replay.Line) bool {
	return func(lines []replay.Line) bool {
		return slices.ContainsFunc(lines, func(l replay.Line) bool { return is(&l.Crossing) })
	}
}

// lostToNack is a failure as one meets it: a record was stored by a tool, the
// dispatch nacked behind it, and a strand was under way.
func lostToNack(lines []replay.Line) bool {
	stored := slices.IndexFunc(lines, func(l replay.Line) bool { return l.Kind == adk.KindStore && l.Phase == adk.Done && l.Err == nil })
	strand := slices.IndexFunc(lines, func(l replay.Line) bool { return l.Kind == adk.KindFork && l.Err == nil })
	nack := slices.IndexFunc(lines, func(l replay.Line) bool { return l.Kind == adk.KindDispatchEnd && l.Status == adk.StatusNack })
	return stored >= 0 && strand >= 0 && nack > stored && nack > strand
}

// A failing turn of sixty operations comes down to at most eight.
func TestShrink(t *testing.T) {
	keeps := shows(lostToNack)
	turn := big(t, 60, keeps)
	small, stats := Shrink(turn, keeps)
	assert.True(t, keeps(small))
	assert.LessOrEqual(t, small.Operations(), 4, "%#v", small)
	assert.Equal(t, stats.To, small.Size())
	t.Logf("%d operations to %d; %+v\n%#v", turn.Operations(), small.Operations(), stats, small)

	again, _ := Shrink(turn, keeps)
	assert.Equal(t, small.GoString(), again.GoString(), "shrinking is deterministic")
	same, _ := Shrink(small, keeps)
	assert.Equal(t, small.GoString(), same.GoString(), "what is smallest stays")
}

// Nothing that can be left out is left, whatever is kept (1-minimal).
func TestShrinkIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom(classes).Draw(t, "class")
		keeps := shows(anyLine(class.is))
		turn := Turns(Knobs{}).Draw(t, "turn")
		if !keeps(turn) {
			return
		}
		small, _ := Shrink(turn, keeps)
		require.True(t, keeps(small))
		for i := range Pieces(small) {
			if less := Without(small, i, i+1); keeps(less) {
				t.Fatalf("%s is kept without piece %d:\n%#v\n%#v", class.name, i, small, less)
			}
		}
		if small.Operations() > 3 {
			t.Logf("%s: %d operations: %#v", class.name, small.Operations(), small)
		}
	})
}

// A failure that needs two strands to take turns keeps what is unusual in their
// order, and nothing else.
func TestShrinkKeepsTheOrder(t *testing.T) {
	store := func(id string) Op { return Op{Kind: "store", Of: adk.Messages, Record: RecordOf(message(id, id))} }
	pad := Op{Kind: "now"}
	turn := Turn{Prompt: "p", Scripts: []Script{{Seam: "executor/model#0", Body: Body{Ops: []Op{
		pad, pad,
		{Kind: "fork", Name: "a", Do: &Body{Ops: []Op{pad, pad, store("a1"), store("a2")}}},
		{Kind: "fork", Name: "b", Do: &Body{Ops: []Op{pad, pad, store("b1"), pad}}},
		{Kind: "ack"},
	}}}}, Order: []Decision{{5, 2}, {6, 2}, {7, 2}, {8, 1}, {9, 1}, {10, 1}}}
	between := shows(func(lines []replay.Line) bool {
		var stored string
		for _, l := range lines {
			if l.Kind == adk.KindStore && l.Phase == adk.Begin {
				stored += l.Record.Key() + " "
			}
		}
		return stored == "a1 b1 a2 "
	})
	require.False(t, between(turn))
	for choice := 4; !between(turn); choice++ {
		require.Less(t, choice, 20, "no order has the one between the others")
		turn.Order = []Decision{{choice, 2}}
	}
	small, stats := Shrink(turn, between)
	t.Logf("%+v\n%#v", stats, small)
	assert.Len(t, small.Order, 1)
	assert.Equal(t, 5, small.Operations())
}

func TestShrinkGivesBackWhatDoesNotFail(t *testing.T) {
	turn := everything()
	same, stats := Shrink(turn, func(Turn) bool { return false })
	assert.Equal(t, turn.GoString(), same.GoString())
	assert.Zero(t, stats.Kept)
	assert.Positive(t, stats.Tried)
}

// What is kept can be the name of a flaw: here of a config that makes no turn, as
// two of its middlewares have one name (RUN-3).
func TestKeepsFlaw(t *testing.T) {
	turn := everything()
	turn.TurnOutput = []string{"out", "other", "out"}
	keeps := KeepsFlaw(Unrecorded)
	assert.False(t, keeps(everything()))
	require.True(t, keeps(turn))
	small, _ := Shrink(turn, keeps)
	assert.Equal(t, Turn{Prompt: "p", TurnOutput: []string{"out", "out"}}, small)
}

// The turn that is shrunk is not changed, and every piece is found.
func TestWithout(t *testing.T) {
	turn := everything()
	before := turn.GoString()
	assert.Equal(t, before, CopyOf(turn).GoString())
	for i := range Pieces(turn) {
		less := Without(turn, i, i+1)
		assert.NotEqual(t, before, less.GoString(), "piece %d", i)
		_, refused, err := less.Trace()
		require.NoError(t, errors.Join(refused, err), "piece %d", i)
	}
	assert.Zero(t, Pieces(Without(turn, 0, Pieces(turn))))
	assert.Equal(t, before, turn.GoString())
}

func BenchmarkShrink(b *testing.B) {
	keeps := shows(lostToNack)
	turn := big(b, 60, keeps)
	b.ReportAllocs()
	for b.Loop() {
		_, stats := Shrink(turn, keeps)
		b.ReportMetric(float64(stats.Tried), "tried/op")
	}
}

func BenchmarkTurns(b *testing.B) {
	turns := Turns(Knobs{})
	var drawn []Turn
	for seed := range 200 {
		drawn = append(drawn, turns.Example(seed))
	}
	b.Run("check", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if flaws := CheckTurn(drawn[i%len(drawn)]); len(flaws) > 0 {
				b.Fatal(flaws)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
	b.Run("run", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_ = drawn[i%len(drawn)].Run()
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
	b.Run("predict", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_ = Predict(drawn[i%len(drawn)])
		}
	})
}

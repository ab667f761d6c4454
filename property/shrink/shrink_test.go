package shrink_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/model"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// big returns a generated turn with at least this many operations for which keeps is true.
func big(t testing.TB, operations int, keeps func(turn.Turn) bool) turn.Turn {
	t.Helper()
	turns := gen.Turns(gen.Knobs{Operations: 24, Iterations: 4, NoGoexit: true})
	for seed := range 5000 {
		if turn := turns.Example(seed); turn.Operations() >= operations && keeps(turn) {
			return turn
		}
	}
	t.Fatalf("of 5000 turns there is none of %d operations", operations)
	return turn.Turn{}
}

// lostToNack describes a typical failure: a tool stored a record, the dispatch nacked after that, and a
// strand was running.
func lostToNack(lines []trace.Line) bool {
	stored := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindStore && l.Phase == adk.Done && l.Err == nil })
	strand := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindFork && l.Err == nil })
	nack := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindDispatchEnd && l.Status == adk.StatusNack })
	return stored >= 0 && strand >= 0 && nack > stored && nack > strand
}

// A failing turn of sixty operations is shrunk to at most eight.
func TestShrink(t *testing.T) {
	keeps := turntest.Shows(lostToNack)
	turn := big(t, 60, keeps)
	small, stats := shrink.Shrink(turn, keeps)
	assert.True(t, keeps(small))
	assert.LessOrEqual(t, small.Operations(), 4, "%#v", small)
	assert.Equal(t, stats.To, small.Size())
	t.Logf("%d operations to %d; %+v\n%#v", turn.Operations(), small.Operations(), stats, small)

	again, _ := shrink.Shrink(turn, keeps)
	assert.Equal(t, small.GoString(), again.GoString(), "shrinking is deterministic")
	same, _ := shrink.Shrink(small, keeps)
	assert.Equal(t, small.GoString(), same.GoString(), "what is smallest stays")
}

// The shrunk turn is 1-minimal: no further piece can be left out, whatever property is kept.
func TestShrinkIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom(turntest.Classes).Draw(t, "class")
		keeps := turntest.Shows(turntest.AnyLine(class.Is))
		turn := gen.Turns(gen.Knobs{}).Draw(t, "turn")
		if !keeps(turn) {
			return
		}
		small, _ := shrink.Shrink(turn, keeps)
		require.True(t, keeps(small))
		for i := range shrink.Pieces(small) {
			if less := shrink.Without(small, i, i+1); keeps(less) {
				t.Fatalf("%s is kept without piece %d:\n%#v\n%#v", class.Name, i, small, less)
			}
		}
		if small.Operations() > 3 {
			t.Logf("%s: %d operations: %#v", class.Name, small.Operations(), small)
		}
	})
}

// If a failure needs two strands to take turns, the unusual decisions of their order are kept, and nothing
// else.
func TestShrinkKeepsTheOrder(t *testing.T) {
	store := func(id string) turn.Op {
		return turn.Op{Kind: "store", Of: adk.Messages, Record: turn.RecordOf(turntest.Message(id, id))}
	}
	pad := turn.Op{Kind: "now"}
	one := turn.Turn{Prompt: "p", Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
		pad, pad,
		{Kind: "fork", Name: "a", Do: &turn.Body{Ops: []turn.Op{pad, pad, store("a1"), store("a2")}}},
		{Kind: "fork", Name: "b", Do: &turn.Body{Ops: []turn.Op{pad, pad, store("b1"), pad}}},
		{Kind: "ack"},
	}}}}, Order: []turn.Decision{{Choice: 5, Strand: 2}, {Choice: 6, Strand: 2}, {Choice: 7, Strand: 2}, {Choice: 8, Strand: 1}, {Choice: 9, Strand: 1}, {Choice: 10, Strand: 1}}}
	between := turntest.Shows(func(lines []trace.Line) bool {
		var stored string
		for _, l := range lines {
			if l.Kind == adk.KindStore && l.Phase == adk.Begin {
				stored += l.Record.Key() + " "
			}
		}
		return stored == "a1 b1 a2 "
	})
	require.False(t, between(one))
	for choice := 4; !between(one); choice++ {
		require.Less(t, choice, 20, "no order has the one between the others")
		one.Order = []turn.Decision{{Choice: choice, Strand: 2}}
	}
	small, stats := shrink.Shrink(one, between)
	t.Logf("%+v\n%#v", stats, small)
	assert.Len(t, small.Order, 1)
	assert.Equal(t, 5, small.Operations())
}

func TestShrinkGivesBackWhatDoesNotFail(t *testing.T) {
	one := turntest.Everything()
	same, stats := shrink.Shrink(one, func(turn.Turn) bool { return false })
	assert.Equal(t, one.GoString(), same.GoString())
	assert.Zero(t, stats.Kept)
	assert.Positive(t, stats.Tried)
}

// The property to keep can be the name of a finding. Here, a config makes no turn because two of its
// middlewares have the same name (RUN-3).
func TestKeepsFlaw(t *testing.T) {
	one := turntest.Everything()
	one.TurnOutput = []string{"out", "other", "out"}
	keeps := shrink.KeepsFinding(turn.Unrecorded)
	assert.False(t, keeps(turntest.Everything()))
	require.True(t, keeps(one))
	small, _ := shrink.Shrink(one, keeps)
	assert.Equal(t, turn.Turn{Prompt: "p", TurnOutput: []string{"out", "out"}}, small)
}

// Shrinking does not change the turn it is given, and it finds every piece.
func TestWithout(t *testing.T) {
	turn := turntest.Everything()
	before := turn.GoString()
	assert.Equal(t, before, shrink.CopyOf(turn).GoString())
	for i := range shrink.Pieces(turn) {
		less := shrink.Without(turn, i, i+1)
		assert.NotEqual(t, before, less.GoString(), "piece %d", i)
		_, refused, err := less.Trace()
		require.NoError(t, errors.Join(refused, err), "piece %d", i)
	}
	assert.Zero(t, shrink.Pieces(shrink.Without(turn, 0, shrink.Pieces(turn))))
	assert.Equal(t, before, turn.GoString())
}

func BenchmarkShrink(b *testing.B) {
	keeps := turntest.Shows(lostToNack)
	turn := big(b, 60, keeps)
	b.ReportAllocs()
	for b.Loop() {
		_, stats := shrink.Shrink(turn, keeps)
		b.ReportMetric(float64(stats.Tried), "tried/op")
	}
}

func BenchmarkTurns(b *testing.B) {
	turns := gen.Turns(gen.Knobs{})
	var drawn []turn.Turn
	for seed := range 200 {
		drawn = append(drawn, turns.Example(seed))
	}
	b.Run("check", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if findings := turn.CheckTurn(drawn[i%len(drawn)]); len(findings) > 0 {
				b.Fatal(findings)
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
			_ = model.Predict(drawn[i%len(drawn)])
		}
	})
}

package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// No control sequence of a hostile text reaches the terminal (design: "a viewer treats every
// string as hostile").
func TestDiffIsSafe(t *testing.T) {
	hostile := "\x1b[2J\u202e\u2066\u200b\u0085\u2028\r\n\t\x7f\xff\u00ad"
	for _, turn := range tracetest.AllTurns {
		plain, poisoned := tracetest.TraceOf(turn.Run(t)), turn.Run(t)
		for _, x := range poisoned {
			tracetest.Poison(x, hostile)
		}
		d := diff.Traces(plain, tracetest.TraceOf(poisoned), diff.Options{Encoding: hostile})
		assert.False(t, d.Same())
		tracetest.RequirePrintable(t, d.String())
		d.Header = []compare.FieldDiff{{Field: "executor", Want: hostile, Got: hostile}}
		d.A.Status = hostile
		tracetest.RequirePrintable(t, d.String())
	}
}

// A diff accepts any crossings: none at all, or such as no engine emits, in any order. It loses
// none of them.
func TestDiffTakesAnything(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, turn := range tracetest.AllTurns {
		whole := turn.Run(t)
		for range 10 {
			told := slices.Clone(whole)
			random.Shuffle(len(told), func(i, j int) {
				if random.IntN(3) == 0 {
					told[i], told[j] = told[j], told[i]
				}
			})
			told = told[:random.IntN(len(told)+1)]
			a, b := tracetest.TraceOf(whole), tracetest.TraceOf(told)
			d := diff.Traces(a, b, diff.Options{Encoding: "by length"})
			c := d.Crossings
			both := c.Equal + c.Follow + c.Changed
			require.Equal(t, len(a.Lines()), both+c.OnlyA, turn.Name)
			require.Equal(t, len(b.Lines()), both+c.OnlyB, turn.Name)
			require.True(t, diff.Traces(b, b, diff.Options{Encoding: "by length"}).Same(), turn.Name)
		}
	}
}

// However deeply calls are nested, the stack is not exhausted.
func TestDiffOfDeepCalls(t *testing.T) {
	t.Parallel()
	deep := func(depth int) *trace.Trace {
		told := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
		for id := 2; id <= depth; id++ {
			told = append(told, &adk.Crossing{Kind: adk.KindCall, ID: id, Call: id - 1, Seam: adk.Seam{Label: adk.LabelTool, Name: fmt.Sprint(id % 7)}})
		}
		return tracetest.TraceOf(told)
	}
	d := diff.Traces(deep(8_000), deep(8_001), diff.Options{Encoding: "by length"})
	assert.Equal(t, diff.Counts{Equal: 8_000, OnlyB: 1}, d.Crossings)
}

// A diff reports every field that differs, except for those that
// Diff documents as no difference by themselves: numbers of calls,
// values computed from other crossings, and ids, which it lists.
func TestEveryFieldIsToldByDiff(t *testing.T) {
	tracetest.EachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		before, after := tracetest.Saying(t, x.Kind, use.Field, "first"), tracetest.Saying(t, x.Kind, use.Field, "second")
		for i := range before {
			a := tracetest.ReadTrace(t, tracetest.WriteTrace(t, tracetest.With(x, use.Field, before[i].Value)))
			b := tracetest.ReadTrace(t, tracetest.WriteTrace(t, tracetest.With(x, use.Field, after[i].Value)))
			d := diff.Traces(a, b, diff.Options{Encoding: "by length", Times: true})
			told := !d.Same() || len(d.Renamed) > 0
			assert.True(t, told || use.Field == adk.FieldID || diff.IsDerived(use), before[i].Where)
		}
	})
}

package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// traceOf is what was told, as a trace.
func traceOf(told []*adk.Crossing) *Trace {
	t := &Trace{}
	for _, x := range told {
		t.Lines = append(t.Lines, Line{Crossing: *x})
	}
	return t
}

// Nothing of a hostile text reaches the terminal (design: "a viewer treats
// every string as hostile").
func TestDiffIsSafe(t *testing.T) {
	hostile := "\x1b[2J\u202e\u2066\u200b\u0085\u2028\r\n\t\x7f\xff\u00ad"
	for _, turn := range sampleTurns {
		plain, poisoned := traceOf(turn.run(t)), turn.run(t)
		for _, x := range poisoned {
			poison(x, hostile)
		}
		d := Diff(plain, traceOf(poisoned), DiffOptions{Encoding: hostile})
		assert.False(t, d.Same())
		requirePrintable(t, d.String())
		d.Header = []FieldDiff{{Field: "executor", Want: hostile, Got: hostile}}
		d.A.Status = hostile
		requirePrintable(t, d.String())
	}
}

// Diff takes any crossings: none, those that no engine tells, in any order; and
// loses none of them.
func TestDiffTakesAnything(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, turn := range sampleTurns {
		whole := turn.run(t)
		for range 10 {
			told := slices.Clone(whole)
			random.Shuffle(len(told), func(i, j int) {
				if random.IntN(3) == 0 {
					told[i], told[j] = told[j], told[i]
				}
			})
			told = told[:random.IntN(len(told)+1)]
			a, b := traceOf(whole), traceOf(told)
			d := Diff(a, b, DiffOptions{Encoding: "by length"})
			c := d.Crossings
			both := c.Equal + c.Follow + c.Changed
			require.Equal(t, len(a.Lines), both+c.OnlyA, turn.name)
			require.Equal(t, len(b.Lines), both+c.OnlyB, turn.name)
			require.True(t, Diff(b, b, DiffOptions{Encoding: "by length"}).Same(), turn.name)
		}
	}
}

// However deep calls are within calls, the stack is not exhausted.
func TestDiffOfDeepCalls(t *testing.T) {
	t.Parallel()
	deep := func(depth int) *Trace {
		told := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
		for id := 2; id <= depth; id++ {
			told = append(told, &adk.Crossing{Kind: adk.KindCall, ID: id, Call: id - 1, Seam: adk.Seam{Label: adk.LabelTool, Name: fmt.Sprint(id % 7)}})
		}
		return traceOf(told)
	}
	d := Diff(deep(8_000), deep(8_001), DiffOptions{Encoding: "by length"})
	assert.Equal(t, DiffCounts{Equal: 8_000, OnlyB: 1}, d.Crossings)
}

// A diff tells of every field that says something else, but for what it takes for
// no difference by itself (Diff): numbers of calls, what is computed of other
// crossings, and ids, which it lists.
func TestEveryFieldIsToldByDiff(t *testing.T) {
	eachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		before, after := saying(t, x.Kind, use.Field, "first"), saying(t, x.Kind, use.Field, "second")
		for i := range before {
			a := readTrace(t, writeTrace(t, with(x, use.Field, before[i].value)))
			b := readTrace(t, writeTrace(t, with(x, use.Field, after[i].value)))
			d := Diff(a, b, DiffOptions{Encoding: "by length", Times: true})
			told := !d.Same() || len(d.Renamed) > 0
			assert.True(t, told || use.Field == adk.FieldID || derivedFields[x.Kind] == use.Field, before[i].where)
		}
	})
}

package wire_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// DET-4: every field of a crossing has a row, and each row is about the field that it is
// listed for.
func TestEveryFieldHasARow(t *testing.T) {
	for f := adk.Field(1); f.String() != "unknown"; f++ {
		require.Less(t, int(f), len(wire.FieldRows), f)
		row := wire.FieldRows[f]
		for _, v := range tracetest.Saying(t, adk.KindEmitMessage, f, "first") {
			x := tracetest.With(adk.Crossing{Kind: adk.KindEmitMessage}, f, v.Value)
			assert.True(t, row.Same(wire.Comparer{Sentinels: wire.OnlyCommon}, &x, &x), "%s %s", f, v.Where)
			assert.False(t, row.Same(wire.Comparer{Sentinels: wire.OnlyCommon}, &x, &adk.Crossing{}), "%s %s", f, v.Where)
			row.Zero(&x)
			empty := adk.Crossing{Kind: adk.KindEmitMessage}
			if f == adk.FieldOutcome {
				empty.Outcome = adk.OutcomeOK
			}
			assert.Equal(t, empty, x, "%s %s", f, v.Where)
		}
	}
	assert.Equal(t, "unknown", adk.Field(len(wire.FieldRows)).String())
}

// DET-4: if any field of any crossing has another value, or none, it is written and read unchanged, and the
// comparison names that field and no other.
func TestEveryFieldIsWrittenReadAndCompared(t *testing.T) {
	tracetest.EachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		before, after := tracetest.Saying(t, x.Kind, use.Field, "first"), tracetest.Saying(t, x.Kind, use.Field, "second")
		for i := range before {
			want, got, none := tracetest.With(x, use.Field, before[i].Value), tracetest.With(x, use.Field, after[i].Value), x
			wire.FieldRows[use.Field].Zero(&none)
			read := tracetest.ReadTrace(t, tracetest.WriteTrace(t, want, got, none, want))
			for j, was := range []adk.Crossing{want, got, none, want} {
				assert.Empty(t, compare.Common(&was, &read.Lines()[j].Crossing), before[i].Where)
			}
			for _, other := range []*adk.Crossing{&got, &none, &read.Lines()[1].Crossing, &read.Lines()[2].Crossing} {
				diffs := compare.Common(&want, other)
				require.Len(t, diffs, 1, before[i].Where)
				assert.Equal(t, use.Label, diffs[0].Field, before[i].Where)
				assert.NotEqual(t, diffs[0].Want, diffs[0].Got, before[i].Where)
				assert.Equal(t, use.Input, diffs[0].Input, before[i].Where)
			}
		}
	})
}

// DET-4: a trace that is held in memory returns the same value for any field of any crossing as a reader that
// reads line by line, however often it is asked.
func TestEveryFieldIsHeld(t *testing.T) {
	for _, kind := range adk.Kinds() {
		for _, phase := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			assert.Less(t, len(kind.Fields(phase)), 15, "the bits for the fields of %s", kind)
		}
	}
	tracetest.EachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		before, after := tracetest.Saying(t, x.Kind, use.Field, "first"), tracetest.Saying(t, x.Kind, use.Field, "second")
		for i := range before {
			data := tracetest.WriteTrace(t, tracetest.With(x, use.Field, before[i].Value), x, tracetest.With(x, use.Field, after[i].Value))
			read := tracetest.ReadTrace(t, data)
			reader, err := trace.NewReader(bytes.NewReader(data), read.Options())
			require.NoError(t, err)
			var lines []*trace.Line
			for line, err := reader.Next(); err == nil; line, err = reader.Next() {
				lines = append(lines, line)
			}
			for range 2 {
				n := 0
				for at, held := range read.All() {
					line := lines[at]
					assert.Empty(t, compare.Common(&line.Crossing, &held.Crossing), before[i].Where)
					assert.Equal(t, []any{line.Seq, line.At, line.Texts, line.Schema, line.JSON, line.Extra, fmt.Sprintf("%T %T", line.Value, line.Args)},
						[]any{held.Seq, held.At, held.Texts, held.Schema, held.JSON, held.Extra, fmt.Sprintf("%T %T", held.Value, held.Args)}, before[i].Where)
					n++
				}
				assert.Equal(t, len(lines), n)
			}
			assert.Len(t, read.Lines(), len(lines))
			tracetest.RequireSameAgain(t, read, data)
		}
	})
}

// DET-4: a field whose row says that it has one line never contains a line break, so that a reader need
// not look for one.
func TestFieldsOfOneLineHaveNoBreak(t *testing.T) {
	tracetest.EachUse(t, func(t *testing.T, x adk.Crossing, use adk.FieldUse) {
		row := wire.FieldRows[use.Field]
		if !row.OneLine {
			return // such a field is searched for line breaks
		}
		for _, word := range []string{"a\nb", "\n"} {
			for _, said := range tracetest.Saying(t, x.Kind, use.Field, word) {
				x := tracetest.With(x, use.Field, said.Value)
				e := wire.NewEncoder(wire.OnlyCommon)
				e.Begin(nil)
				if err := row.Append(e, use.Label, &x); err == nil {
					assert.NotContains(t, string(e.Out), "\n", said.Where)
				}
				e.Free()
			}
		}
	})
}

// An event whose time no trace can represent is opaque as a whole. A record in it does not count as written, and
// is written where it occurs next.
func TestAnEventThatCannotBeWrittenNumbersNoRecord(t *testing.T) {
	media := tracetest.Saying(t, adk.KindReturn, adk.FieldRecord, "first")[1].Value.(*adk.Media)
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t,
		adk.Crossing{Kind: adk.KindEmitToolCall, Phase: adk.Begin, At: tracetest.TestStart, Payload: adk.ToolCallEvent{Results: media, CompletedAt: late}},
		adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, Outcome: adk.OutcomeOK, Result: media}))
	assert.Contains(t, fmt.Sprint(read.Lines()[0].Payload), "ToolCallEvent")
	assert.Equal(t, media.Digest(), read.Lines()[1].Result.(*adk.Media).Digest())
}

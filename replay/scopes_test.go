package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// scopeNumbers are the numbers by which a line says what it belongs to.
var scopeNumbers = map[string]func(*adk.Crossing) *int{
	"in":     func(x *adk.Crossing) *int { return &x.Call },
	"strand": func(x *adk.Crossing) *int { return &x.Strand },
	"op":     func(x *adk.Crossing) *int { return &x.Op },
	"id":     func(x *adk.Crossing) *int { return &x.ID },
	"wakes":  func(x *adk.Crossing) *int { return &x.N },
}

// misnumbered changes every such number of every line of a trace: to nearby values, to the first
// one, and to one that does not exist.
func misnumbered(f tracetest.Fixture, yield func(name string, edited func() *trace.Trace)) {
	for i := range f.Trace.Lines() {
		for _, field := range slices.Sorted(maps.Keys(scopeNumbers)) {
			number := scopeNumbers[field]
			was := *number(&f.Trace.Lines()[i].Crossing)
			for _, value := range []int{was - 1, was + 1, 0, 1, 2, 99} {
				yield(fmt.Sprintf("%s line %d %s %d", f.Name, i+2, field, value), func() *trace.Trace {
					lines := slices.Clone(f.Trace.Lines())
					*number(&lines[i].Crossing) = value
					return tracetest.Sealed(f, lines)
				})
			}
		}
	}
}

// A line with a wrong number ends the replay, which does not wait for a crossing that is never
// made. A normal run tries a sample; with the variable of the engine's mutants, all numbers are
// tried.
func TestMisnumberedLinesEndTheReplay(t *testing.T) {
	t.Parallel()
	every, of := tracetest.AllMutants(), thorough.Of[uint32](256, 1024, 4096)
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		if !thorough.Takes(f.Name, 4) {
			return
		}
		tried := 0
		misnumbered(f, func(name string, edited func() *trace.Trace) {
			if !every && tried > 0 && crc32.ChecksumIEEE([]byte(name))%of != 0 {
				return
			}
			var file bytes.Buffer
			if _, err := edited().WriteTo(&file); err != nil {
				return // cannot be written to a file
			}
			tried++
			ctx, cancel := context.WithTimeout(t.Context(), patience.Long)
			defer cancel()
			_, _ = replay.Verify(ctx, bytes.NewReader(file.Bytes()), replay.Live{})
			require.NoError(t, ctx.Err(), "%s: the replay did not end", name)
		})
		require.NotZero(t, tried)
	})
}

// A line that claims to fork its own strand ends
// the replay as well, and is not followed forever.
func TestAStrandThatForksItselfEndsTheReplay(t *testing.T) {
	t.Parallel()
	f := tracetest.FixtureNamed(t, "sub-agents-side-by-side")
	lines := slices.Clone(f.Trace.Lines())
	at := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindFork })
	lines[at].Strand = lines[at].ID
	var file bytes.Buffer
	_, err := tracetest.Sealed(f, lines).WriteTo(&file)
	require.NoError(t, err)
	d := inTime(t, file.Bytes(), replay.Live{})
	require.NotNil(t, d)
	require.Equal(t, replay.Missing, d.Class)
}

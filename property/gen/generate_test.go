package gen_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Every generated turn makes the same trace twice, replays without divergence and satisfies all
// invariants (DET-2).
func TestTurns(t *testing.T) { turntest.CheckTurns(t, gen.Turns(gen.Knobs{}), turntest.Flawless) }

func TestLegalTurns(t *testing.T) {
	turntest.CheckTurns(t, gen.Turns(gen.Knobs{Legal: true, NoGoexit: true}), turntest.Flawless)
}

// The same holds for turns whose strands run in any order.
func TestTurnsInAnyOrder(t *testing.T) {
	turntest.CheckTurns(t, turntest.InAnyOrder(gen.Turns(gen.Knobs{})), turntest.Flawless)
}

func FuzzTurns(f *testing.F) {
	for seed := range 4 {
		f.Add(bytes.Repeat([]byte{byte(37*seed + 11), byte(seed), 0xa5, byte(91 * seed)}, 4<<10))
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		turn := gen.Turns(gen.Knobs{Operations: 4, Iterations: 2}).Draw(t, "turn")
		if text := turntest.Flawless(turn); text != "" {
			t.Fatalf("%s\n%#v", text, turn)
		}
	}))
}

// Generated turns reach every class of turns: among a thousand, each class has
// some.
func TestTurnsReachEverything(t *testing.T) {
	thorough.Long(t)
	turns := gen.Turns(gen.Knobs{})
	reached := map[string]int{}
	refused := map[adk.Code]int{}
	lines, operations := 0, 0
	for seed := range 1000 {
		turn := turns.Example(seed)
		recorded, answer, err := turn.Trace()
		require.NoError(t, err)
		if answer != nil {
			want := adk.E_INVALID_TURN_CONTEXT
			if turn.Standalone != nil {
				want = adk.E_INVALID_LLM_EXECUTION_CONTEXT
			}
			require.ErrorIs(t, answer, want)
			refused[want]++
			continue
		}
		read, err := trace.Read(bytes.NewReader(recorded))
		require.NoError(t, err)
		lines += len(read.Lines())
		operations += turn.Operations()
		for _, class := range turntest.Classes {
			if slices.ContainsFunc(read.Lines(), func(l trace.Line) bool { return class.Is(&l.Crossing) }) {
				reached[class.Name]++
			}
		}
	}
	t.Logf("refused: %v; crossings: %d and operations: %d in the mean", refused, lines/1000, operations/1000)
	assert.Len(t, refused, 2)
	for _, class := range turntest.Classes {
		t.Logf("%4d %s", reached[class.Name], class.Name)
		assert.GreaterOrEqual(t, reached[class.Name], 5, class.Name)
	}
}

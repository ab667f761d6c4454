package explore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// An order of strands that goes wrong is shown side by side, from where it is not the
// usual one.
func TestStrandsBesideEachOther(t *testing.T) {
	s := replying("last wins", func(ctx context.Context, dc *adk.DispatchContext) error {
		var strands []*adk.Strand
		for n := range 2 {
			one, err := dc.Fork(ctx, "writer", func(ctx context.Context, dc *adk.DispatchContext) error {
				return dc.Messages().Mutate(ctx, spoken("m", adk.RoleUser, string(rune('a'+n))))
			})
			if err != nil {
				return err
			}
			strands = append(strands, one)
		}
		return errors.Join(strands[0].Wait(), strands[1].Wait(), dc.Ack())
	})
	s.Check = func(r turn.Run) error {
		last := ""
		for x := range r.Crossings {
			if m, is := x.Record.(*adk.Message); is && x.Kind == adk.KindMutate {
				last = m.Content().String()
			}
		}
		if last == "a" {
			return errors.New("the first has the last word")
		}
		return nil
	}
	result, err := Explore(t.Context(), s, Options{Faults: []turn.FaultKind{}})
	require.NoError(t, err)
	require.Len(t, result.Violations, 1, result)
	assert.Equal(t, `strand 0           strand 1           strand 2
fork writer
wait writer
                                      mutate messages m
                   mutate messages m
wait writer
ack
`, result.Violations[0].Strands)
	assert.Contains(t, result.Violations[0].String(), "    strand 0           strand 1           strand 2\n")
}

// Strands that are too many for a column each have one together, which fits as well.
func TestManyStrandsBesideEachOther(t *testing.T) {
	rows := []*adk.Crossing{{Kind: adk.KindFork, Name: strings.Repeat("wide ", 20)}, {Kind: adk.KindAck, Strand: 4}}
	assert.Equal(t, "strand 0:  fork "+strings.Repeat("wide ", 10)+"w…\nstrand 4:  ack\n", columns(rows, []int{0, 1, 2, 3, 4}))
	for line := range strings.SplitSeq(columns(rows, []int{0, 1, 2, 4}), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), reportColumns-len(setIn))
	}
}

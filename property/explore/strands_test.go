package explore

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// An order of strands that goes wrong is shown side by side with the usual order, from where the two
// differ.
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
			if m, ok := x.Record.(*adk.Message); ok && x.Kind == adk.KindMutate {
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

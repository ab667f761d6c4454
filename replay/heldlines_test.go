package replay_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// forking is a turn that forks a hundred strands in each of its iterations.
var forking = large.Shape{Name: "strands", Turn: func(crossings int) adk.Config {
	const width, ofOne = 100, 5
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() >= crossings/width/ofOne {
			return dc.Ack()
		}
		for i := range width {
			if _, err := dc.Fork(ctx, fmt.Sprintf("strand %d", i), func(_ context.Context, dc *adk.DispatchContext) error {
				dc.Now()
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}}

// A line is released as soon as it has been replayed, whatever it says: a turn with a million
// asks, or that many strands one after the other, takes no more memory than one with a hundred.
func TestPlayedLinesAreLeft(t *testing.T) {
	thorough.Long(t)
	for _, shape := range slices.Concat(large.Shapes, []large.Shape{forking}) {
		t.Run(shape.Name, func(t *testing.T) {
			held, err := replay.HeldLines(t.Context(), shape.Trace(4_000))
			require.NoError(t, err)
			assert.Less(t, held, 100, "of 4,000 lines")
		})
	}
}

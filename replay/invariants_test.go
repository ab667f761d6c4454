package replay_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// The turns that cover what a fold has to know hold all invariants: failures, aborts,
// write-behind, strands, listeners that report, handles that have ended.
func TestSampleTurnsHoldTheInvariants(t *testing.T) {
	tracetest.SampleTurns(t, func(name string, info adk.RunInfo, told []*adk.Crossing) {
		assert.Empty(t, property.Violations(info, slices.Values(told)), name)
	})
}

// So do turns whose strands ran freely, on the machine's clock.
func TestFreeStrandsHoldTheInvariants(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		for range 20 {
			read, err := trace.Read(bytes.NewReader(recordFreely(t, cancelled)))
			require.NoError(t, err)
			var told []*adk.Crossing
			for i := range read.Lines() {
				told = append(told, &read.Lines()[i].Crossing)
			}
			assert.Empty(t, property.Violations(read.Info, slices.Values(told)))
		}
	}
}

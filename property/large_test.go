package property_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property"
)

func examinedWhole(t testing.TB, recorded []byte) *property.Examination {
	e, err := property.Examine(bytes.NewReader(recorded))
	require.NoError(t, err)
	require.Empty(t, e.Violations)
	return e
}

// An examination reads crossings when it needs them. It holds only the bytes of the file, and its
// findings.
func TestExaminingHoldsTheFile(t *testing.T) {
	thorough.Long(t)
	for _, shape := range large.Shapes {
		recorded := shape.Trace(2_000)
		held := allocs.Held(func() *property.Examination { return examinedWhole(t, recorded) })
		assert.Less(t, held, 4*int64(len(recorded)), "%s: %d bytes", shape.Name, len(recorded))
	}
}

// Examining twice as many crossings costs twice as much, including the text of all hints.
func TestExaminingIsLinear(t *testing.T) {
	allocs.Countable(t)
	for _, shape := range large.Shapes {
		cost := func(crossings int) float64 {
			recorded := shape.Trace(crossings)
			return float64(allocs.Bytes(func() {
				e := examinedWhole(t, recorded)
				for _, h := range e.Hints {
					_ = e.Where(h)
				}
			}))
		}
		assert.Less(t, cost(2_000)/cost(1_000), 2.4, shape.Name)
	}
}

// BenchmarkExamine doubles the number of crossings; ns/crossing should stay the same.
func BenchmarkExamine(b *testing.B) {
	for _, shape := range large.Shapes {
		for _, crossings := range []int{10_000, 20_000, 40_000} {
			recorded := shape.Trace(crossings)
			b.Run(fmt.Sprintf("%s/%d", shape.Name, crossings), func(b *testing.B) {
				for b.Loop() {
					for e, i := examinedWhole(b, recorded), 0; i < len(e.Hints); i++ {
						_ = e.Where(e.Hints[i])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*crossings), "ns/crossing")
			})
		}
	}
}

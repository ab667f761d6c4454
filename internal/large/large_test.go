package large_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// A heavy turn has as many megabytes as asked for. If its trace stored something only once, or in a shorter form,
// it would be lighter, and the table of costs would be wrong.
func TestHeavyTurnsWeighWhatTheySay(t *testing.T) {
	if !thorough.All() {
		t.Skip("it writes 50 MB of traces: make thorough does")
	}
	for _, shape := range large.Heavy {
		t.Run(shape.Name, func(t *testing.T) {
			if shape.Name == "depth" {
				t.Skip("it is as deep as a trace may be, and as heavy as that, however little it says")
			}
			const megabytes = 3
			assert.InDelta(t, megabytes, float64(len(shape.Trace(megabytes)))/1e6, 0.35*megabytes)
		})
	}
}

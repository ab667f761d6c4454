package replay

import (
	"testing"

	"github.com/adkreplay/adkreplay/adk"
)

// SampleTurns runs each of the sample turns and gives what crossed, for the tests
// that have to stand outside of the package.
func SampleTurns(t testing.TB, yield func(name string, info adk.RunInfo, told []*adk.Crossing)) {
	t.Helper()
	for _, turn := range sampleTurns {
		probe := turn.observe(t)
		yield(turn.name, probe.info, probe.told)
	}
}

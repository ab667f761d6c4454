package explore_test

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/scenarios"
)

// A run uses the buffers of the run before it again, because garbage is what reduces the number of
// schedules per second.
func TestASchedulesGarbage(t *testing.T) {
	allocs.Countable(t)
	const alone = "ADKREPLAY_ALONE" // in a process of its own: what other tests have left behind costs too
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestASchedulesGarbage$")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	s, ok := scenarios.Named("hello")
	require.True(t, ok)
	synctest.Test(t, func(t *testing.T) { // time stands still while a goroutine runs, so no stack is dumped for a run that is only slow
		schedules := 0
		allocations := allocs.PerRun(2, func() {
			result, err := explore.Explore(t.Context(), scripted(s), explore.Options{Bound: 2, Workers: 1, Free: -1})
			require.NoError(t, err)
			schedules = result.Schedules
		})
		assert.Less(t, allocations/float64(schedules), 118.0)
	})
}

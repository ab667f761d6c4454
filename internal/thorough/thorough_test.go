package thorough_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// usual returns usual, or few with -short.
func usual[T any](usual, few T) T {
	if testing.Short() {
		return few
	}
	return usual
}

func TestOf(t *testing.T) {
	for setting, want := range map[string]int{thorough.Everything: 3, thorough.Usual: usual(2, 1), "": 1} {
		t.Setenv(thorough.Variable, setting)
		assert.Equal(t, want, thorough.Of(3, 2, 1), setting)
		assert.Equal(t, setting == thorough.Everything, thorough.All(), setting)
	}
}

func TestTakes(t *testing.T) {
	for setting, want := range map[string]int{thorough.Everything: 1000, thorough.Usual: usual(1000, 250), "": 250} {
		t.Setenv(thorough.Variable, setting)
		n := 0
		for i := range 1000 {
			if thorough.Takes(strconv.Itoa(i), 4) {
				n++
			}
		}
		assert.InDelta(t, want, n, 50, setting)
	}
}

// With -short, measurements on one goroutine are left out, unless everything is asked for. Long tests are left
// out of the plain suite only.
func TestWhatIsSkipped(t *testing.T) {
	ran := func(setting string, skip func(testing.TB)) (ran bool) {
		t.Run("measure "+setting, func(t *testing.T) {
			t.Setenv(thorough.Variable, setting)
			skip(t)
			ran = true
		})
		return ran
	}
	assert.True(t, ran(thorough.Everything, thorough.OneGoroutine))
	assert.Equal(t, !testing.Short(), ran(thorough.Usual, thorough.OneGoroutine))
	assert.Equal(t, !testing.Short(), ran("", thorough.OneGoroutine))
	assert.True(t, ran(thorough.Everything, thorough.Long))
	assert.True(t, ran(thorough.Usual, thorough.Long))
	assert.False(t, ran("", thorough.Long))
}

package thorough_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/thorough"
)

func TestOf(t *testing.T) {
	t.Setenv(thorough.Variable, "all")
	assert.True(t, thorough.All())
	assert.Equal(t, 3, thorough.Of(3, 2, 1))
	t.Setenv(thorough.Variable, "")
	assert.False(t, thorough.All())
	want := 2
	if testing.Short() {
		want = 1
	}
	assert.Equal(t, want, thorough.Of(3, 2, 1))
}

func TestTakes(t *testing.T) {
	taken := func() (n int) {
		for i := range 1000 {
			if thorough.Takes(strconv.Itoa(i), 4) {
				n++
			}
		}
		return n
	}
	t.Setenv(thorough.Variable, "all")
	assert.Equal(t, 1000, taken())
	t.Setenv(thorough.Variable, "")
	if testing.Short() {
		assert.InDelta(t, 250, taken(), 50)
	} else {
		assert.Equal(t, 1000, taken())
	}
}

// With -short what is on one goroutine is left out, unless all is asked for.
func TestOneGoroutine(t *testing.T) {
	ran := func(setting string) (ran bool) {
		t.Run("all "+setting, func(t *testing.T) {
			t.Setenv(thorough.Variable, setting)
			thorough.OneGoroutine(t)
			ran = true
		})
		return ran
	}
	assert.True(t, ran("all"))
	assert.Equal(t, !testing.Short(), ran(""))
}

package thorough_test

import (
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

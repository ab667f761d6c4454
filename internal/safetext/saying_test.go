package safetext_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// What happens where no time passes is not said to be 0s into the turn.
func TestInto(t *testing.T) {
	for passed, want := range map[time.Duration]string{0: "as the turn began", 20 * time.Millisecond: "20ms into the turn", -time.Second: "-1s into the turn"} {
		assert.Equal(t, want, safetext.Into(passed))
	}
}

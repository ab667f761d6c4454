package corpus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What is expected is changed by a person with a reason: not in CI, whatever the
// reason, and not without one.
func TestNewAcceptanceRefuses(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ ci, reason, says string }{
		{"", "Politeness.", ""},
		{"false", "Politeness.", ""},
		{"0", "Politeness.", ""},
		{"true", "Politeness.", "nothing is accepted where the environment variable CI is set"},
		{"woodpecker", "Politeness.", "nothing is accepted where the environment variable CI is set"},
		{"true", "", "nothing is accepted where the environment variable CI is set"},
		{"", "", "needs a reason"},
		{"", " \n\t", "needs a reason"},
	} {
		a, err := NewAcceptance(c.reason, day, func(name string) string { return map[string]string{"CI": c.ci}[name] })
		if c.says == "" {
			assert.NoError(t, err, "%+v", c)
			assert.NotNil(t, a)
			continue
		}
		assert.ErrorContains(t, err, c.says, "%+v", c)
		assert.Nil(t, a)
	}
}

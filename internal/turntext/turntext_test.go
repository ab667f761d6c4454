package turntext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/turntext"
)

// Two traces differ at the first line that is different or missing.
func TestFirstDifference(t *testing.T) {
	for name, c := range map[string]struct {
		a, b     string
		n        int
		inA, inB string
	}{
		"the same":        {"a\nb\n", "a\nb\n", 0, "", ""},
		"another line":    {"a\nb\nc\n", "a\nx\nc\n", 2, "b", "x"},
		"a line is gone":  {"a\nb\n", "a\n", 2, "b", ""},
		"a line is added": {"a\n", "a\nb\n", 2, "", "b"},
		"only its end":    {"a", "a\n", 2, "", ""},
	} {
		n, inA, inB := turntext.FirstDifference([]byte(c.a), []byte(c.b))
		assert.Equal(t, []any{c.n, c.inA, c.inB}, []any{n, inA, inB}, name)
	}
}

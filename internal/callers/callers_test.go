package callers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/callers"
)

func inner(skip int) callers.Place { return callers.Of(skip) }

func deep(n int) callers.Place {
	if n == 0 {
		return inner(0)
	}
	return deep(n - 1)
}

// PIP-11: the innermost call comes first, and no more are kept than say where it happened.
func TestPlace(t *testing.T) {
	first := func(p callers.Place) string {
		line, _, _ := strings.Cut(string(p.Text()), "\n")
		return line[strings.LastIndexByte(line, '.')+1:]
	}
	assert.Equal(t, "inner", first(inner(0)))
	assert.Equal(t, "TestPlace", first(inner(1)))
	assert.Len(t, deep(100), 32)
	assert.Empty(t, callers.Place(nil).Text())
}

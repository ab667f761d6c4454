package safetext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Of many names only the first are listed, with the number of the others.
func TestNames(t *testing.T) {
	for want, all := range map[string][]string{"": nil, "a": {"a"}, "a, b": {"a", "b"}, "a, b and 1 more": {"a", "b", "c"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		assert.Equal(t, want, safetext.Names(all, 2))
	}
}

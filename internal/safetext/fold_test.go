package safetext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

func TestFolded(t *testing.T) {
	for _, c := range [][2]string{
		{"short", "short"},
		{"one two three four five six", "one two three four\n    five six"},
		{"  one two three four five six", "  one two three four\n      five six"},
		{"averyveryverylongwordindeed and more", "averyveryverylongwordindeed\n    and more"},
		{"next: adkreplay show a/long/path --at 5", "next: adkreplay show a/long/path --at 5"},
		{"é é é é é é é é é é é", "é é é é é é é é é é\n    é"},
	} {
		assert.Equal(t, c[1], safetext.Folded(c[0], 20))
		assert.Equal(t, c[0], safetext.Folded(c[0], 0))
	}
}

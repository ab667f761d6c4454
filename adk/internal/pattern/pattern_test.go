package pattern_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/internal/pattern"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// Usual patterns compile. A pattern that would take hundreds of megabytes is refused.
func TestCompile(t *testing.T) {
	for _, expr := range []string{``, `(?i)error: .*`, `\d{4}-\d{2}`, `.{0,1000}`, `(\w+\s?){1,50}`, `\p{Greek}+|\pL{20}`, `[^\x00-\x7f]`, strings.Repeat("(?i)", 2500)} {
		re, size, err := pattern.Compile(expr)
		require.NoError(t, err, expr)
		assert.Equal(t, []any{expr, size}, []any{re.String(), pattern.Size(re)})
	}
	for _, expr := range []string{`(`, `(?=a)`, strings.Repeat("x{1000}", 1000), strings.Repeat(`\pL`, 3333), strings.Repeat("x", 10_000), strings.Repeat("x{999,}", 100), strings.Repeat("(?i)", 2501), `((x{100}){10}){11}`} {
		var err error
		taken := allocs.Bytes(func() { _, _, err = pattern.Compile(expr) })
		assert.Error(t, err, "%.20s", expr)
		assert.Less(t, taken, uint64(48<<20), "%.20s", expr)
	}
	assert.Greater(t, pattern.Size(regexp.MustCompilePOSIX(`(ab){500}**`)), 1000)
}

package streamre_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/streamre"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// exprs are built from these parts, and texts from the letters in them.
var (
	atoms   = []string{"a", "b", "é", ".", "[ab]", "[^a]", `\b`, `\w`, "^", "$", "(?i:A)", "(?s:.)", "(?m:^)", "(?m:$)"}
	repeats = []string{"", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}"}
	letters = []string{"a", "b", "A", "é", " ", "\n", "\xff"}
)

func drawExpr(draw *rand.Rand, depth int) (expr string) {
	for range 1 + draw.IntN(3) {
		atom := atoms[draw.IntN(len(atoms))]
		if depth > 0 && draw.IntN(3) == 0 {
			atom = "(" + drawExpr(draw, depth-1) + ")"
		}
		expr += atom + repeats[draw.IntN(len(repeats))]
	}
	if draw.IntN(4) == 0 {
		expr += "|" + atoms[draw.IntN(5)]
	}
	return expr
}

func drawText(draw *rand.Rand) (text string) {
	for range draw.IntN(14) {
		text += letters[draw.IntN(len(letters))]
	}
	return text
}

// On a whole text, the matcher finds the same as package regexp. In pieces it finds the same, wherever the text
// is cut. A match that was reported is not taken back, and no match begins before the position that is
// reported as open.
func TestMatchesAreThoseOfRegexp(t *testing.T) {
	thorough.Long(t)
	draw := rand.New(rand.NewPCG(3, 4))
	compiled, found := 0, 0
	for range 20_000 {
		expr := drawExpr(draw, 2)
		p, err := streamre.Compile("x", expr)
		if err != nil { // it matches the empty text, or repeats a repetition
			continue
		}
		compiled++
		twin := regexp.MustCompile(expr)
		text := drawText(draw)
		var want []streamre.Span
		for _, at := range twin.FindAllStringIndex(text, -1) {
			want = append(want, streamre.Span{From: at[0], To: at[1], Kind: "x"})
		}
		found += len(want)
		require.Equal(t, want, streamre.NewMatcher(p, 0).Whole(text), "%q in %q", expr, text)
		require.Equal(t, len(want) > 0, p.MayBeIn(text), "%q in %q", expr, text)

		m := streamre.NewMatcher(p, 0)
		var spans []streamre.Span
		for end := 0; end < len(text); {
			_, width := utf8.DecodeRuneInString(text[end:])
			if end += width; draw.IntN(2) == 0 {
				continue
			}
			spans = m.Run(spans, text[:end], end)
			require.True(t, len(spans) <= len(want) && slices.Equal(want[:len(spans)], spans), "%q in %q, cut at %d: %v, want %v", expr, text, end, spans, want)
			if len(spans) < len(want) {
				require.LessOrEqual(t, min(m.Open(), end), want[len(spans)].From, "%q in %q, cut at %d", expr, text, end)
			}
		}
		require.Equal(t, want, m.End(text, m.Run(spans, text, len(text))), "%q in %q, in pieces", expr, text)
	}
	assert.Greater(t, compiled, 5_000)
	assert.Greater(t, found, 5_000)
}

// A pattern that matches everywhere, and a kind that cannot be the name of a placeholder, are
// refused.
func TestCompileRefuses(t *testing.T) {
	for _, expr := range []string{"", "a*", "a|", `\b`, "(?m:^)$", "(a?)*"} {
		_, err := streamre.Compile("x", expr)
		assert.ErrorContains(t, err, "empty text", expr)
	}
	for _, kind := range []string{"", "API key", "é"} {
		_, err := streamre.Compile(kind, "a")
		assert.ErrorContains(t, err, "lowercase letters", kind)
	}
	_, err := streamre.Compile("x", "(")
	assert.ErrorContains(t, err, "missing closing")
}

package safetext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/tracetest"
)

func TestCutAround(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	for name, c := range map[string]struct{ a, b, wantA, wantB string }{
		"short":                 {"a tent", "a tarp", `"a tent"`, `"a tarp"`},
		"nothing":               {"", "x", `""`, `"x"`},
		"at the end":            {long + "tent", long + "tarp", `(981 chars)…"1234567890123456789t` + `ent"`, `(981 chars)…"1234567890123456789t` + `arp"`},
		"at the beginning":      {"tent" + long, "tarp" + long, `"tent01234567890123456789"…(980 chars)`, `"tarp01234567890123456789"…(980 chars)`},
		"in the middle":         {long + "A" + long, long + "BC" + long, `(980 chars)…"01234567890123456789A01234567890123456789"…(980 chars)`, `(980 chars)…"01234567890123456789BC01234567890123456789"…(980 chars)`},
		"taken away":            {"ab" + long, long, `"ab01234567890123456789"…(980 chars)`, `"01234567890123456789"…(980 chars)`},
		"several lines":         {"one\ntwo\nthree\n", "one\n2\nthree\n", `"one\ntwo\nthree\n"`, `"one\n2\nthree\n"`},
		"runes with one byte":   {strings.Repeat("ä", 50) + "ä", strings.Repeat("ä", 50) + "ö", `(30 chars)…"` + strings.Repeat("ä", 21) + `"`, `(30 chars)…"` + strings.Repeat("ä", 20) + `ö"`},
		"runes that end alike":  {"\u00e4" + long, "\u0124" + long, `"ä01234567890123456789"…(980 chars)`, `"Ĥ01234567890123456789"…(980 chars)`},
		"what no terminal gets": {"\x1b[2J\xff\u202e", "\x00", `"\x1b[2J\xff\u202e"`, `"\x00"`},
		"not worth leaving out": {strings.Repeat("x", 39) + "a", strings.Repeat("x", 39) + "b", `"` + strings.Repeat("x", 39) + `a"`, `"` + strings.Repeat("x", 39) + `b"`},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := safetext.CutAround(c.a, c.b, 20)
			assert.Equal(t, c.wantA, a)
			assert.Equal(t, c.wantB, b)
		})
	}
}

// A change that is itself long is cut in its middle.
func TestCutAroundALongChange(t *testing.T) {
	a, b := safetext.CutAround(strings.Repeat("a", 100<<10), strings.Repeat("b", 50<<10), 20)
	side := func(c string) string { return `"` + strings.Repeat(c, 80) + `"` }
	assert.Equal(t, side("a")+"…(102240 chars)…"+side("a"), a)
	assert.Equal(t, side("b")+"…(51040 chars)…"+side("b"), b)
}

// For any texts, the result is printable, bounded, the same for both sides in either order, and different
// if the texts are.
func TestCutAroundAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := strings.Repeat(tracetest.DrawText(t, "head"), rapid.IntRange(0, 200).Draw(t, "times"))
		tail := strings.Repeat(tracetest.DrawText(t, "tail"), rapid.IntRange(0, 200).Draw(t, "times"))
		want, got := shared+tracetest.DrawText(t, "want")+tail, shared+tracetest.DrawText(t, "got")+tail
		width := rapid.IntRange(0, 30).Draw(t, "width")
		a, b := safetext.CutAround(want, got, width)
		again, other := safetext.CutAround(got, want, width)
		if a != other || b != again {
			t.Fatalf("%q and %q one way, %q and %q the other", a, b, other, again)
		}
		for _, text := range []string{a, b} {
			if !utf8.ValidString(text) {
				t.Fatalf("no UTF-8: %q", text)
			}
			for _, r := range text {
				if !tracetest.Printable(r) {
					t.Fatalf("%U in %q", r, text)
				}
			}
			if len(text) > 20*(2*safetext.ChangeKept*max(width, safetext.WorthHiding)+2*width+100) {
				t.Fatalf("%d bytes", len(text))
			}
		}
		if want != got && len(want)+len(got) < 100 && a == b {
			t.Fatalf("%q and %q are both %q", want, got, a)
		}
	})
}

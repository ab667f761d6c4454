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

// For long texts, the excerpt shows what differs, from the word before it on. JSON is not escaped.
func TestExcerpts(t *testing.T) {
	long := strings.Repeat("word ", 50)
	for name, c := range map[string]struct{ a, b, wantA, wantB string }{
		"short":           {"a tent", "a tarp", `"a tent"`, `"a tarp"`},
		"JSON":            {`{"a":1}`, `{"a":2}`, "`{\"a\":1}`", "`{\"a\":2}`"},
		"JSON of escapes": {"{\"a\":\x01}", `{"a":2}`, "`{\"a\":\\x01}`", "`{\"a\":2}`"},
		"in the middle":   {long + "Be brief. " + long, long + "Be kind. " + long, `…"word word word word Be brief. word"…`, `…"word word word word Be kind. word word"…`},
		"at the end":      {long, long + "more", `…"word word word word "`, `…"word word word word more"`},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := safetext.Excerpts(c.a, c.b, 44)
			assert.Equal(t, c.wantA, a)
			assert.Equal(t, c.wantB, b)
		})
	}
}

// A shortened text ends at a word, and shortened JSON after a mark. A text that fits is not changed.
func TestShortened(t *testing.T) {
	assert.Equal(t, "one two", safetext.Shortened("one two", 7))
	assert.Equal(t, "one two…", safetext.Shortened("one two three", 10))
	assert.Equal(t, "one two…", safetext.Shortened("one two three", 8))
	assert.Equal(t, `{"messages":3,"…`, safetext.Shortened(`{"messages":3,"sha256":"5f42"}`, 20))
	assert.Equal(t, "aaaaaaa…", safetext.Shortened(strings.Repeat("a", 20), 8))
}

// A line is wrapped at spaces, and a long word gets a line of its own.
func TestWrapped(t *testing.T) {
	assert.Equal(t, "one two\n  three\n  averylongword\n  x", safetext.Wrapped("one two three averylongword x", 8, "  "))
}

// Two lines keep their beginnings, and the place where they differ.
func TestBeside(t *testing.T) {
	long := strings.Repeat("word ", 30)
	a, b := safetext.Beside("run "+long+"brief", "run "+long+"kind", 40)
	assert.Equal(t, []string{"run … word word word word brief", "run … word word word word kind"}, []string{a, b})
	a, b = safetext.Beside("", "run "+long, 20)
	assert.Equal(t, []string{"", "run word word word…"}, []string{a, b})
	a, b = safetext.Beside("ask "+long+"… end (1425 bytes)", "ask "+long+"… end (1325 bytes)", 20)
	assert.Equal(t, []string{"ask word word word…", "ask word word word…"}, []string{a, b}, "they differ in what was cut out")
	assert.Equal(t, "one two…", safetext.Shortened("one two … three four", 12), "one sign is enough")
}

// For any texts, the result is valid, printable and no wider than asked for.
func TestExcerptsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := strings.Repeat(tracetest.DrawText(t, "head"), rapid.IntRange(0, 50).Draw(t, "times"))
		want, got := head+tracetest.DrawText(t, "want"), head+tracetest.DrawText(t, "got")
		width := rapid.IntRange(30, 80).Draw(t, "width")
		a, b := safetext.Excerpts(want, got, width)
		for _, text := range []string{a, b} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !tracetest.Printable(r) }) {
				t.Fatalf("%q is not fit to print", text)
			}
			if n := utf8.RuneCountInString(text); n > width {
				t.Fatalf("%d characters of %d: %s", n, width, text)
			}
		}
	})
}

// What two long lines have in common is cut, and what differs in them never is.
func TestDiffering(t *testing.T) {
	long := strings.Repeat("word ", 40)
	a, b := safetext.Differing("run "+long+`"old" `+long, "run "+long+`"new and newer" `+long, 60)
	assert.Equal(t, `run word word word… word word word word "old" word word word…`, a)
	assert.Equal(t, `run word word word… word word word word "new and newer" word word word…`, b)
	a, b = safetext.Differing("short", "long", 60)
	assert.Equal(t, []string{"short", "long"}, []string{a, b})
	a, b = safetext.Differing(long, long, 20)
	assert.Equal(t, []string{"word word word word…", "word word word word…"}, []string{a, b})
	ü := strings.Repeat("ü", 100)
	a, b = safetext.Differing(ü+"ä"+ü, ü+"ö"+ü, 60)
	assert.True(t, utf8.ValidString(a+b), "%s %s", a, b)
	assert.Contains(t, a, "ä")
	assert.Contains(t, b, "ö")
}

package safetext_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

func TestFolded(t *testing.T) {
	for _, c := range [][2]string{
		{"short", "short"},
		{"one two three four five six", "one two three four\n    five six"},
		{"  one two three four five six", "  one two three four\n      five six"},
		{"averyveryverylongwordindeed and more", "averyveryverylongwordindeed\n    and more"},
		{"next: adkreplay show a/long/path --at 5", "next: adkreplay show a/long/path --at 5"},
		{"one {a,b,c,d,e,f,g,h,i,j,k}", "one {a,b,c,d,e,f,g,\n    h,i,j,k}"},
		{"{aaaaaaaaaaaaaaaaaaaaaaaaaaa,b", "{aaaaaaaaaaaaaaaaaaaaaaaaaaa,\n    b"},
		{"  s1│  one two three four", "  s1│  one two three\n  s1│      four"},
		{"-   one two three four", "-   one two three\n-       four"},
		{"+   s1│  one two three", "+   s1│  one two\n+   s1│      three"},
		{"- one two three four five", "- one two three four\n    five"}, // of a list
		{"one two, three│ four five", "one two, three│ four\n    five"},
		{"             one two three", "             one two three"},
		{"do: run it with this one \\\n  and with this path --flag\n  one two three four five", "do: run it with this one \\\n  and with this path --flag\n  one two three four\n      five"},
		{"é é é é é é é é é é é", "é é é é é é é é é é\n    é"},
		{"e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301", "e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301 e\u0301\n    e\u0301"},
		{"run \"请帮我预订最便宜的航班\"", "run \"请帮我预订最便\n    宜的航班\""}, // each of these characters takes two columns
		{"run \"请帮我预订最便宜。航班\"", "run \"请帮我预订最便\n    宜。航班\""},
		{"run \"请帮我预订最便。航班\"", "run \"请帮我预订最\n    便。航班\""}, // no line begins with punctuation that ends a sentence
		{`a "01234567890"…"2345"`, "a \"01234567890\"\n    …\"2345\""},
	} {
		assert.Equal(t, c[1], safetext.Folded(c[0], 20))
		assert.Equal(t, c[0], safetext.Folded(c[0], 0))
	}
}

func TestLinesAreFoldedAsTheyCome(t *testing.T) {
	var out strings.Builder
	w := safetext.NewFolder(&out, 20)
	for _, part := range []string{"one two ", "three four five six\n\n  se", "ven\neight"} {
		n, err := io.WriteString(w, part)
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	assert.Equal(t, "one two three four\n    five six\n\n  seven\n", out.String(), "a line is written when it ends")
	assert.Same(t, &out, safetext.NewFolder(&out, 0), "nothing is folded")
	_, err := safetext.NewFolder(broken{}, 20).Write([]byte("one\n"))
	assert.ErrorIs(t, err, io.ErrShortWrite)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// A fold never begins a line with a word that a CI system would take for a command.
func TestNoOrderIsFoldedToTheBeginning(t *testing.T) {
	for _, text := range []string{
		"one two three ::error::four five   ::warning::six seven,::notice::eight ##[error]nine 请帮我预订::error::最便宜",
		"::error::one two three", "a ::b ::c ::d ::e ::f ::g ::h ::i ::j ::k ::l ::m", "{a,b,c,::d,::e,::f,::g,::h,::i}" + strings.Repeat(" ::j", 30),
	} {
		for columns := 10; columns < 100; columns++ {
			for i, line := range strings.Split(safetext.Folded("- "+text, columns), "\n") {
				line = strings.TrimLeft(line, " ")
				assert.False(t, i > 0 && (strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##[")), "%d: %s", columns, line)
			}
		}
	}
	assert.Equal(t, "one two\n    three ::four\n    five", safetext.Folded("one two three ::four five", 18))
}

// Head cuts a text to a number of columns as a terminal shows them, and never within a character.
func TestHead(t *testing.T) {
	assert.Equal(t, "one", safetext.Head("one two", 3))
	assert.Equal(t, "one two", safetext.Head("one two", 7))
	assert.Equal(t, "界", safetext.Head("界界", 3))
	assert.Empty(t, safetext.Head("one", -1))
}

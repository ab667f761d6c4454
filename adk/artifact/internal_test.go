package artifact

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws"
)

// A case-insensitive pattern is searched for by the text that every match contains, as a case-sensitive one is.
func TestNeededBy(t *testing.T) {
	for pattern, want := range map[string]string{
		"error [0-9]+": "error ", "(?i)error [0-9]+": "error ", "(?i)Kiosk-17": "-17", "(?i)asKed": "ed", "(?i)straße": "tra",
		"(?i)İ": "", "(?i)s": "", "(?i)a|b": "", "(?i)(warn)+": "warn", "x*": "", "(": "", "a\nb": "",
	} {
		assert.Equal(t, want, string(neededBy(pattern).text), "%s", pattern)
	}
}

// ART-12: grep finds exactly the lines that the pattern matches when it is given each line alone.
func TestGrepFindsEachLine(t *testing.T) {
	letters := []string{"a", "A", "i", "I", "İ", "ı", "k", "K", "\u212a", "s", "S", "ſ", "ß", "ẞ", "x", "X", "1", " ", "\n", "\xff", "\r", strings.Repeat("A", 600)}
	patterns := []string{"(?i)ax", "(?i)a1x", "(?i)skx", "(?i)xs", "(?i)i", "(?i)İ", "(?i)ß", "(?i)^x", "(?i)x$", "(?i)k", "ax", "(?i)(ai)+x", "(?i)a.x", "(?i)1", "(?i) x"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 40).Draw(t, "text"), "")
		pattern := regexp.MustCompile(rapid.SampledFrom(patterns).Draw(t, "pattern"))
		want := []string{}
		for line := range strings.SplitSeq(text, "\n") {
			if line = validText([]byte(line)); text != "" && pattern.MatchString(line) {
				want = append(want, line)
			}
		}
		found, err := grep(t.Context(), memoryBody(text), pattern)
		require.NoError(t, err)
		assert.Equal(t, want, found, "%s in %q", pattern, text)
	})
}

// SPL-2: when syncing fails after the new entry was written, Write fails and the key has the old or the new body.
func TestDirectoryThatDoesNotSettle(t *testing.T) {
	spool, err := NewDirSpool(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, spool.Close()) })
	_, err = spool.Write(t.Context(), "key", strings.NewReader("old"))
	require.NoError(t, err)
	broken := errors.New("the disk is full")
	spool.settle = func() error { return broken }
	_, err = spool.Write(t.Context(), "key", strings.NewReader("new"))
	assert.ErrorIs(t, err, broken)
	reader, found, err := spool.Read(t.Context(), "key")
	require.NoError(t, err)
	require.True(t, found)
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	body, err := io.ReadAll(stream)
	require.NoError(t, errors.Join(err, stream.Close()))
	assert.Contains(t, []string{"old", "new"}, string(body))
}

// A recorded answer may be anything. One that is too large to read is refused.
func TestRecordedAnswersThatAreTooMuch(t *testing.T) {
	long := `{"` + strings.Repeat("x", maxAnswer+1) + `\n":0}`
	_, err := canonical(long)
	assert.Error(t, err)
	_, err = rendered(encoding(long))
	assert.Error(t, err)
	_, err = raws(encoding(long), nil)
	assert.Error(t, err)
}

// ART-22, ART-24: a trace may hold an answer of another type than its question has. The error then says
// whose answer it is, which type it has and which type it needs, and no value is returned.
func TestRecordedAnswersThatDoNotFit(t *testing.T) {
	const whose = `artifact "a": the answer to head`
	from := func(text string) any { return recordedAnswer{encoding(text), whose} }
	texts := func(answer any) (any, error) { return listOf[string](answer, nil) }
	links := func(answer any) (any, error) { return listOf[Link](answer, nil) }
	items := func(answer any) (any, error) { return raws(answer, nil) }
	whole := func(answer any) (any, error) { return valueOf[int](answer, nil) }
	text := func(answer any) (any, error) { return valueOf[string](answer, nil) }
	tree := func(answer any) (any, error) { return objectOf(answer, nil) }
	for _, c := range []struct {
		read   func(answer any) (any, error)
		answer any
		want   string
	}{
		{texts, from(`"a"`), "want a list, found a text"}, {texts, from(`null`), "want a list, found null"}, {texts, none{whose}, "want a list, found null"},
		{texts, from(`["a",1]`), "item 1: want a text, found a number"}, {texts, from(`[null]`), "item 0: want a text, found null"},
		{links, from(`[[]]`), "item 0: want an object, found a list"}, {links, from(`[{"url":1}]`), "item 0: url: want a text, found a number"},
		{items, from(`{"a":1}`), "want a list, found an object"},
		{whole, from(`"3"`), "want a whole number that is not too large, found a text"}, {whole, from(`1.5`), "want a whole number that is not too large, found a number"},
		{whole, none{whose}, "want a whole number that is not too large, found null"},
		{text, from(`true`), "want a text, found true or false"}, {text, from(`null`), "want a text, found null"},
		{tree, from(`[]`), "want an object, found a list"}, {tree, none{whose}, "want an object, found null"},
	} {
		value, err := c.read(c.answer)
		assert.ErrorIs(t, err, adk.E_INVALID_ANSWER)
		assert.EqualError(t, err, "E_INVALID_ANSWER: "+whose+" does not fit: "+c.want)
		assert.Zero(t, value)
	}
	lines, err := listOf[string](from(`["a","\n"]`), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "\n"}, lines)
	n, err := valueOf[int](from(`3`), nil)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
}

// The size of an answer that is a list of structs is counted in its final encoding.
func TestAnswersAreCountedAsTheyAreWritten(t *testing.T) {
	text := strings.Repeat("<", maxAnswer/4)
	answer, err := encoded([]struct{ Text string }{{text}})
	require.NoError(t, err)
	assert.Len(t, answer, len(`[{"Text":""}]`)+len(text))
}

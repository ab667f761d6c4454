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

	_ "github.com/adkreplay/adkreplay/internal/draws"
)

// A pattern in any case is looked for by what it needs, as one in one case is.
func TestNeededBy(t *testing.T) {
	for pattern, want := range map[string]string{
		"error [0-9]+": "error ", "(?i)error [0-9]+": "error ", "(?i)Kiosk-17": "-17", "(?i)asKed": "ed", "(?i)straße": "tra",
		"(?i)İ": "", "(?i)s": "", "(?i)a|b": "", "(?i)(warn)+": "warn", "x*": "", "(": "", "a\nb": "",
	} {
		assert.Equal(t, want, string(neededBy(pattern).text), "%s", pattern)
	}
}

// ART-12: the lines that are found are those that the pattern matches, each alone.
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

// SPL-2: where a disk fails behind the new entry, the write fails, and the key has a body.
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

// An answer that was recorded may be anything: one that is too much to read is refused.
func TestRecordedAnswersThatAreTooMuch(t *testing.T) {
	long := `{"` + strings.Repeat("x", maxAnswer+1) + `\n":0}`
	_, err := canonical(long)
	assert.Error(t, err)
	_, err = rendered(encoding(long))
	assert.Error(t, err)
	_, err = raws(encoding(long), nil)
	assert.Error(t, err)
	_, err = raws(encoding(`{"a":1}`), nil)
	assert.EqualError(t, err, "the answer is no list")
}

// What a list of structs says is counted as it is written in the end.
func TestAnswersAreCountedAsTheyAreWritten(t *testing.T) {
	text := strings.Repeat("<", maxAnswer/4)
	answer, err := encoded([]struct{ Text string }{{text}})
	require.NoError(t, err)
	assert.Len(t, answer, len(`[{"Text":""}]`)+len(text))
}

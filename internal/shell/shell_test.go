package shell

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"hello": "hello", "a/b-1.jsonl": "a/b-1.jsonl", "cancel@7,panic@12": "cancel@7,panic@12",
		"": "''", "a b": "'a b'", "$x": "'$x'", "~": "'~'", "a=b": "'a=b'", "^TestA$": "'^TestA$'", "it's": `'it'\''s'`, "ü": "'ü'", "a\nb": `"$(printf 'a\012b')"`,
		"a\xff%": `"$(printf 'a\377\045')"`, "\u202e\"'ü": `"$(printf '\342\200\256\042\047ü')"`,
	} {
		assert.Equal(t, want, Quote(word))
	}
}

// A real shell gives back the word that was quoted.
func TestQuoteInAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh on this machine")
	}
	for _, word := range []string{"", "plain", "it's", `"a" \ $b`, "a\nb", "a\n::error::b", "\xff\\n%s'\" \x1b[2J\u0085ü", "*", "&|;<>()`!#", "--flag=x", "ü"} {
		out, err := exec.Command(sh, "-c", "printf %s "+Quote(word)).Output()
		require.NoError(t, err)
		assert.Equal(t, word, string(out))
	}
}

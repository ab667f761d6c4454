package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/allocs"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// The scanner accepts and compacts the same texts as encoding/json, except for invalid UTF-8.
func TestAgreesWithTheStandardLibrary(t *testing.T) {
	tokens := []string{"{", "}", "[", "]", ",", ":", `"`, `"a"`, `"of many bytes"`, `\u00e9`, `\n`, `\x`, "1", "-", ".5", "e+3", "true", "nul", " ", "\t", "\x01", "é", "\xff", "1234567", "12345678"}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 14).Draw(t, "text"), ""))
		compact, values := jsonscan.Compact(text)
		counted, err := jsonscan.Count(text)
		if !json.Valid(text) || !utf8.Valid(text) {
			assert.Error(t, err, "%q", text)
			assert.Nil(t, compact, "%q", text)
			assert.False(t, jsonscan.IsCompact(text), "%q", text)
			return
		}
		require.NoError(t, err, "%q", text)
		var want bytes.Buffer
		require.NoError(t, json.Compact(&want, text))
		assert.Equal(t, want.String(), string(compact))
		assert.Equal(t, want.String() == string(text), jsonscan.IsCompact(text))
		assert.Equal(t, counted, values)
	})
}

// A character that is not plain is found in a string of any length, wherever it is and
// whatever follows it.
func TestStringsOfAnyLength(t *testing.T) {
	for name, found := range map[string]bool{`\n`: true, `\u00e9`: true, "é": true, "\x7f": true, `\`: false, "\x1f": false, "\n": false, "\x00": false, "\xff": false, "\xc3": false} {
		for before := range 72 {
			for after := range 20 {
				text := []byte(`"` + strings.Repeat("a", before) + name + strings.Repeat("é", after/2) + strings.Repeat("z", after%2) + `"`)
				values, err := jsonscan.Count(text)
				assert.Equal(t, found, err == nil, "%q", text)
				if found {
					assert.Equal(t, 1, values)
				}
			}
		}
	}
}

func TestValuesAreCounted(t *testing.T) {
	values, err := jsonscan.Count([]byte(` {"a": [1, {}, [], "x"], "b": null}`))
	require.NoError(t, err)
	assert.Equal(t, 7, values)
	_, err = jsonscan.Count([]byte("1 2"))
	assert.EqualError(t, err, "column 3: want nothing more, found '2'")
	_, err = jsonscan.Count([]byte("\"\xff\""))
	assert.ErrorContains(t, err, "UTF-8")
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	values, err = jsonscan.Count(deep(jsonscan.MaxDepth + 1))
	require.NoError(t, err)
	assert.Equal(t, jsonscan.MaxDepth+1, values)
	_, err = jsonscan.Count(deep(jsonscan.MaxDepth + 2))
	assert.ErrorContains(t, err, "nested more than")
}

// Scanning a text allocates nothing.
func TestScanningAllocatesNothing(t *testing.T) {
	text := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("How is the weather? ", 200) + `"}]}`)
	allocs.AtMost(t, 0, 20, func() { jsonscan.IsCompact(text) }, "a text")
}

// BenchmarkScan compares the cost of scanning a request with that of the standard library, which reports less.
func BenchmarkScan(b *testing.B) {
	text := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("How is the weather? ", 200) + `"}]}`)
	for name, scan := range map[string]func([]byte) bool{"jsonscan": jsonscan.IsCompact, "json.Valid": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				require.True(b, scan(text))
			}
		})
	}
}

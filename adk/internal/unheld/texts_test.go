package unheld_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/internal/unheld"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// inText marshals itself as text, and inJSON as JSON.
type (
	inText string
	inJSON string
	beside struct{ Beside string }
)

func (t inText) MarshalText() ([]byte, error) { return []byte("<" + t + ">"), nil }
func (t inJSON) MarshalJSON() ([]byte, error) { return []byte(`"\ufffd` + t + `"`), nil }

// WLD-2: a text that is not UTF-8 is written as an unheld value with its bytes, and never as another text. All other
// values are written as by encoding/json, except that the characters of HTML are not escaped.
func TestJSON(t *testing.T) {
	is := func(text string) string { return `{"$unheld":"no UTF-8: \"` + text + `\""}` }
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"UTF-8":                  {"<café> \ufffd & \\ufffd", "\"<café> \ufffd & \\\\ufffd\""},
		"a text":                 {"caf\xe9", is(`caf\\xe9`)},
		"half a rune":            {"caf\xc3", is(`caf\\xc3`)},
		"bytes":                  {[]byte("caf\xe9"), `"Y2Fm6Q=="`},
		"two that look alike":    {[]string{"a\xe8", "b", "a\xe9"}, `[` + is(`a\\xe8`) + `,"b",` + is(`a\\xe9`) + `]`},
		"beside U+FFFD":          {[]string{"a\ufffd", "a\xe9"}, "[\"a\ufffd\"," + is(`a\\xe9`) + "]"},
		"by the order of names":  {map[string]string{"b": "\x82", "a": "\x81"}, `{"a":` + is(`\\x81`) + `,"b":` + is(`\\x82`) + `}`},
		"in an interface":        {map[string]any{"a": []any{1, "\x81"}}, `{"a":[1,` + is(`\\x81`) + `]}`},
		"in a struct in another": {&struct{ beside }{beside{"\x81"}}, `{"Beside":` + is(`\\x81`) + `}`},
		"quoted twice": {struct {
			N string `json:",string"`
		}{"\x81"}, `{"N":` + is(`\\x81`) + `}`},
		"what writes itself as a text":   {[]inText{"a", "\x81"}, `["<a>",` + is(`<\\x81>`) + `]`},
		"what writes itself as JSON":     {inJSON("a"), `"\ufffda"`},
		"what writes itself, and a text": {[]any{inJSON(""), "a\xe9"}, `["\ufffd",` + is(`a\\xe9`) + `]`},
		"nothing":                        {(*string)(nil), "null"},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := unheld.JSON(c.value)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(line))
			assert.Equal(t, c.want, string(unheld.Line(line, nil)))
		})
	}
	_, err := unheld.JSON(func() {})
	assert.Error(t, err)
}

// WLD-2: different values are written differently also where a long text, or a name, is not written in full.
func TestJSONOfWhatIsNotTold(t *testing.T) {
	differ := func(one, other any) string {
		said, err := unheld.JSON(one)
		require.NoError(t, err)
		else_, err := unheld.JSON(other)
		require.NoError(t, err)
		assert.NotEqual(t, string(said), string(else_))
		assert.True(t, unheld.Is(said))
		assert.True(t, json.Valid(said))
		return string(said)
	}
	long := strings.Repeat("\xe9", 1<<20)
	assert.Less(t, len(differ(long+"a", long+"b")), 1<<15)
	assert.Regexp(t, `^{"\$unheld":"the name is no UTF-8: \\"a\\\\xe8\\", in 19 bytes with the SHA-256 [0-9a-f]{64}"}$`,
		differ(map[string]int{"a\xe8": 1, "b": 2}, map[string]int{"a\xe8": 1, "b": 3}))
	differ(map[string]int{"a\xe8": 1}, map[string]int{"a\xe9": 1})
}

// A value whose texts are all UTF-8 allocates no more than its JSON does.
func TestJSONAllocatesNothingMore(t *testing.T) {
	var value any = map[string]string{"a": "café"}
	plain := allocs.PerRun(100, func() { _, _ = unescaped.Marshal(value) })

	allocs.AtMost(t, plain, 100, func() { _, _ = unheld.JSON(value) }, "a value of UTF-8")
}

// WLD-2: Within names the part that is not held, and says why.
func TestWithin(t *testing.T) {
	for line, want := range map[string]string{
		`"$unheld"`: "", `{"a":"{\"$unheld\":1}"}`: "", `{"$unheld":1}`: "", `{"$unheld":"a","b":1}`: "",
		`{"$unheld":"NaN"}`: "NaN",
		`{"b":{"$unheld":"2"},"a":[1,{"c":{"$unheld":"1"}}]}`: "a[1].c: 1",
		`[{"$unheld":"no UTF-8: \"\\xe9\""}]`:                 "[0]: it is no UTF-8: want a []byte, or what strings.ToValidUTF8 makes of it",
	} {
		assert.Equal(t, want, unheld.Within(json.RawMessage(line)), line)
	}
	assert.Empty(t, unheld.Within(nil))
}

package jsontree_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

const deep = 100

// ART-16: keys keep their order, at every depth. Of a repeated key the last value counts, at the
// place of the first. Numbers are written as ECMAScript does, or with their own digits where no
// float64 holds them.
func TestParseAndWrite(t *testing.T) {
	for text, want := range map[string]string{
		` {"b":1, "a":{"z":[],"y":{}}} `:                                                  `{"b":1,"a":{"z":[],"y":{}}}`,
		`{"a":1,"b":2,"a":3}`:                                                             `{"a":3,"b":2}`,
		`[1.0, 1e2, 1.50, -0, 0.1, 1e21, 1E-7, 12345678901234567890]`:                     `[1,100,1.5,0,0.1,1e+21,1e-7,12345678901234567000]`,
		`[9007199254740993, 0.1000000000000000055511151231257827, 1e400, -1e400, 1e-400]`: `[9007199254740993,0.1000000000000000055511151231257827,1e400,-1e400,1e-400]`,
		`"\u00e9\ud83d\ude00\ud800\n\/"`:                                                  `"é😀�\n/"`,
		`[null,true,false,""]`:                                                            `[null,true,false,""]`,
	} {
		tree, err := jsontree.Parse(text, deep)
		if assert.NoError(t, err, text) {
			// A float64 cannot hold 12345678901234567890.
			assert.Equal(t, strings.Replace(want, "12345678901234567000", "12345678901234567890", 1), jsontree.Text(tree), text)
		}
	}
	tree, err := jsontree.Parse(`{"a":[1,{"b":[]}],"c":{}}`, deep)
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}", jsontree.Indented(tree))
	var many []string
	for i := range 40 {
		many = append(many, string(jsontree.Append(nil, strings.Repeat("k", i+1)))+":0")
	}
	tree, err = jsontree.Parse("{"+strings.Join(many, ",")+`,"kkk":1}`, deep)
	require.NoError(t, err)
	assert.Equal(t, 40, tree.(*jsontree.Object).Len())
	value, found := tree.(*jsontree.Object).Get("kkk")
	assert.Equal(t, []any{1.0, true}, []any{value, found})
}

// ART-15: text that is not strict JSON is refused, with a line and a column.
func TestParseFaults(t *testing.T) {
	for text, place := range map[string]string{
		``: "line 1, column 1", `{`: "line 1, column 2", "[1,\n 2,]": "line 2, column 4", `{"a":1,}`: "line 1, column 8",
		`{a:1}`: "line 1, column 2", `'a'`: "line 1, column 1", `01`: "line 1, column 2", `1.`: "line 1, column 3",
		`.5`: "line 1, column 1", `+1`: "line 1, column 1", `NaN`: "line 1, column 1", "\"é\n\"": "line 1, column 3",
		`"\x41"`: "line 1, column 3", `"\u12"`: "line 1, column 6", `nulls`: "line 1, column 1", `1 2`: "line 1, column 3",
		"\ufeff1": "line 1, column 1", "\xff": "line 1, column 1", `[1 /* x */]`: "line 1, column 4", `{"a" 1}`: "line 1, column 6",
		"\x00": "line 1, column 1", "1\x00": "line 1, column 2", `"abc`: "line 1, column 5", `"\`: "line 1, column 3", `1e`: "line 1, column 3",
	} {
		_, err := jsontree.Parse(text, deep)
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error()+":", place+":", text)
		}
	}
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	_, err := jsontree.Parse(nested(deep), deep)
	assert.NoError(t, err)
	_, err = jsontree.Parse(nested(deep+1), deep)
	assert.ErrorContains(t, err, "nested more than 100 deep")
	_, err = jsontree.ParseJSON5(strings.Repeat("{a:", 100_000), deep)
	assert.ErrorContains(t, err, "nested more than 100 deep")
}

// ART-15: all of JSON5 can be parsed.
func TestParseJSON5(t *testing.T) {
	for text, want := range map[string]string{
		"{a:1,'b':2,\"c\":3,}": `{"a":1,"b":2,"c":3}`, "[1,]": `[1]`, "// c\n[1/*x*/,2]// end": `[1,2]`,
		"{\\u0061b:1,$_:2,ñ9:3,\u2160:4}": `{"ab":1,"$_":2,"ñ9":3,"Ⅰ":4}`, `'\x41\'"\v\0\q'`: `"A'\"\u000b\u0000q"`,
		"'a\\\nb\\\r\nc\\\u2028d'": `"abcd"`, "'\u2028\t'": "\"\u2028\\t\"", "\ufeff\u00a0\v1": `1`,
		"[.5,5.,+1,-.5,5.e2,0x1F,-0XfF]": `[0.5,5,1,-0.5,500,31,-255]`, "[Infinity,-Infinity,+NaN]": `[null,null,null]`,
		"{null:null,Infinity:1,true:2}": `{"null":null,"Infinity":1,"true":2}`, "0x20000000000001": "9007199254740993",
		`{"__proto__":1}`: `{"__proto__":1}`,
	} {
		tree, err := jsontree.ParseJSON5(text, deep)
		if assert.NoError(t, err, text) {
			assert.Equal(t, want, jsontree.Text(tree), text)
		}
	}
	for _, text := range []string{
		"", "/*", "[1,,2]", "{,}", "{a}", "{1a:1}", "{a b:1}", `{\x61:1}`, `'\1'`, `'\01'`, `'\x4'`, "'a\nb'", "01", "0x", ".", "+", "--1", "1/", "'a", "Infinit", "{\\u0020:1}", "0x" + strings.Repeat("f", 257), "nul",
	} {
		_, err := jsontree.ParseJSON5(text, deep)
		assert.Error(t, err, text)
	}
}

// ART-16: values are compared by their exact value, to the last digit.
func TestEqual(t *testing.T) {
	parse := func(text string) any {
		tree, err := jsontree.Parse(text, deep)
		require.NoError(t, err)
		return tree
	}
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true}, {`1`, `1.0`, true}, {`1`, `"1"`, false}, {`null`, `false`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`9007199254740993`, `9007199254740993.0`, true}, {`9007199254740993`, `90071992547409930e-1`, true},
		{`1e400`, `10e399`, true}, {`1e400`, `1e401`, false}, {`0`, `-0`, true}, {`[1]`, `[1,2]`, false}, {`{"a":1}`, `{"b":1}`, false}, {`[]`, `{}`, false}, {`{}`, `null`, false},
	} {
		a, b := parse(c.a), parse(c.b)
		assert.Equal(t, c.equal, jsontree.Equal(a, b), "%s %s", c.a, c.b)
		assert.Equal(t, c.equal, jsontree.Equal(b, a), "%s %s", c.b, c.a)
		assert.Equal(t, c.equal, jsontree.Key(a) == jsontree.Key(b), "%s %s", c.a, c.b)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{`9007199254740993`, `9007199254740992`, 1}, {`-9007199254740993`, `-9007199254740992`, -1}, {`1e400`, `1e401`, -1}, {`-1e400`, `1`, -1}, {`1e-400`, `0`, 1}, {`2`, `10`, -1},
		{`1e99999999999999999999`, `1e400`, 1}, {`1e-99999999999999999999`, `1e-400`, -1}} {
		assert.Equal(t, c.want, jsontree.CompareNumbers(parse(c.a), parse(c.b)), "%s %s", c.a, c.b)
		assert.Equal(t, -c.want, jsontree.CompareNumbers(parse(c.b), parse(c.a)), "%s %s", c.b, c.a)
	}
	assert.True(t, jsontree.Equal(math.NaN(), math.NaN()))
}

// Plain Go data become trees, with sorted keys.
func TestPlain(t *testing.T) {
	for _, n := range []int64{9007199254740993, -9007199254740993, 1 << 62, math.MaxInt64, math.MinInt64} {
		number, ok := jsontree.Plain(n)
		assert.True(t, ok)
		read, err := jsontree.Parse(strconv.FormatInt(n, 10), deep)
		require.NoError(t, err)
		assert.Equal(t, read, number)
	}
	tree, ok := jsontree.Plain(map[string]any{"b": []string{"x"}, "a": []any{1, int64(2), nil, map[string]any{}}})
	require.True(t, ok)
	assert.Equal(t, `{"a":[1,2,null,{}],"b":["x"]}`, jsontree.Text(tree))
	for _, v := range []any{struct{}{}, []any{make(chan int)}, map[string]any{"a": 'x'}} {
		_, ok = jsontree.Plain(v)
		assert.False(t, ok)
	}
}

// ART-15: every strict document parses to the same tree as JSON5 and as strict JSON, and as in the
// standard library.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,"x\u00e9",null,true]}`, `[9007199254740993]`, "{a:'b',}", "/**/0x1", `"\ud800\udc00"`, "\"\u2028\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		strict, err := jsontree.Parse(text, deep)
		loose, looseErr := jsontree.ParseJSON5(text, deep)
		if err != nil {
			var v any
			if json.Unmarshal([]byte(text), &v) == nil && utf8.ValidString(text) && !strings.Contains(err.Error(), "nested") {
				t.Fatalf("refuses what the standard library reads: %v", err)
			}
			return
		}
		if looseErr != nil || !jsontree.Equal(strict, loose) {
			t.Fatalf("as JSON5: %v, %v", loose, looseErr)
		}
		again, err := jsontree.Parse(jsontree.Text(strict), deep)
		if err != nil || !jsontree.Equal(strict, again) || jsontree.Key(strict) != jsontree.Key(again) {
			t.Fatalf("read again: %v, %v", again, err)
		}
	})
}

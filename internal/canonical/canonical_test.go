package canonical

import (
	_ "embed"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

//go:embed testdata/vectors.json
var vectors []byte

// TOL-4: these are the texts that an ECMAScript engine writes.
func TestVectors(t *testing.T) {
	var pairs []struct{ Input, Want string }
	require.NoError(t, json.Unmarshal(vectors, &pairs))
	require.Greater(t, len(pairs), 600)
	for _, pair := range pairs {
		var v any
		require.NoError(t, json.Unmarshal([]byte(pair.Input), &v), pair.Input)
		got, err := Marshal(v)
		require.NoError(t, err)
		assert.Equal(t, pair.Want, string(got), "of %s", pair.Input)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	got, err := Marshal(v)
	require.NoError(t, err)
	return string(got)
}

// A text is plain if nothing in it has to be escaped or replaced, whatever its bytes are and wherever they
// stand.
func TestIsPlain(t *testing.T) {
	for _, length := range []int{1, 7, 8, 9, 16, 21} {
		for place := range length {
			for b := range 256 {
				text := []byte("a ~ plain text as any")[:length]
				text[place] = byte(b)
				plain := b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\'
				assert.Equal(t, plain, IsPlain(string(text)), "byte %#x at %d of %d", b, place, length)
			}
		}
	}
	assert.True(t, IsPlain(""))
}

// TOL-4: any byte, wherever it stands in a text, is written as JSON requires, and the rest of the text
// does not change.
func TestAppendStringAnywhere(t *testing.T) {
	const rest = "a text, and a \n line"
	for b := range 256 {
		for place := range len(rest) {
			text := rest[:place] + string([]byte{byte(b)}) + rest[place:]
			written := string(AppendString([]byte("before "), text))
			require.Equal(t, "before ", written[:7])
			var read string
			require.NoError(t, json.Unmarshal([]byte(written[7:]), &read), "byte %#x at %d", b, place)
			require.Equal(t, strings.ToValidUTF8(text, "\uFFFD"), read, "byte %#x at %d", b, place)
		}
	}
}

// TOL-4: a number that JSON cannot represent is written as null.
func TestNumbersOutsideJSON(t *testing.T) {
	assert.Equal(t, "[null,null,null]", text(t, []any{math.NaN(), math.Inf(1), math.Inf(-1)}))
	assert.Equal(t, "null", text(t, json.Number("1e999")))
}

type named struct {
	B string         `json:"b"`
	A map[string]int `json:"a,omitempty"`
}

type colour string

func TestOtherTypes(t *testing.T) {
	five, nowhere := 5, (*int)(nil)
	moment := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, v := range map[string]any{
		`[1,2,3,4]`:                       []any{int8(1), uint64(2), float32(3), uintptr(4)},
		`18446744073709552000`:            uint64(math.MaxUint64),
		`["a","b"]`:                       []string{"a", "b"},
		`[1,2]`:                           [2]int{1, 2},
		`{"a":[1],"b":[]}`:                map[string][]int{"b": nil, "a": {1}},
		`{"x":"red"}`:                     map[colour]colour{"x": "red"},
		`{"1":true}`:                      map[int]bool{1: true},
		`5`:                               &five,
		`null`:                            nowhere,
		`{"b":"<&>"}`:                     named{B: "<&>"},
		`{"a":{"x":1},"b":""}`:            &named{A: map[string]int{"x": 1}},
		`"2024-01-02T03:04:05Z"`:          moment,
		`["2024-01-02T03:04:05Z"]`:        []*time.Time{&moment},
		`{"a":1,"b":2}`:                   json.RawMessage(`{ "b": 2, "a": 1 }`),
		`"AQI="`:                          []byte{1, 2},
		`1.5`:                             json.Number("1.5"),
		"\"\uFFFD\uFFFDa\"":               "\xff\xfea",
		`{"a":{},"b":[]}`:                 map[string]any{"a": map[string]any(nil), "b": []any(nil)},
		"{\"\U0001F600\":1,\"\uFB33\":2}": map[string]any{"\uFB33": 2, "\U0001F600": 1},
	} {
		assert.Equal(t, want, text(t, v), "%T", v)
	}
}

func TestWhatJSONCannotHold(t *testing.T) {
	itself := map[string]any{}
	itself["again"] = []any{itself}
	var loop any
	loop = &loop
	for want, v := range map[string]any{
		"a.b[1]: is a func(), which JSON cannot hold":    map[string]any{"a": map[string]any{"b": []any{1, func() {}}}},
		"[0]: is a chan int, which JSON cannot hold":     []chan int{make(chan int)},
		"nested more than 1000 deep, or contains itself": itself,
		"is nested more than 1000":                       loop,
		"two keys that are the same text":                map[string]any{"\xff": 1, "\xfe": 2},
		"x: is a complex128 that encoding/json cannot":   map[string]any{"x": 1i},
		"is a json.Number that is not a number":          json.Number("1x"),
	} {
		_, err := Marshal(v)
		assert.ErrorContains(t, err, want)
		_, normalErr := Normalize(v)
		assert.ErrorContains(t, normalErr, want)
	}
}

func TestParseObject(t *testing.T) {
	got, err := ParseObject([]byte(` {"a": [1, -0, {"b": null}]} `))
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(map[string]any{"a": []any{1.0, 0.0, map[string]any{"b": nil}}}, got))

	// TOL-4: everything else than a single object is refused.
	for _, text := range []string{``, `null`, `[]`, `1`, `"{}"`, `true`, `{} {}`, `{}x`, `{"a":}`, `{a:1}`} {
		_, err := ParseObject([]byte(text))
		assert.Error(t, err, text)
	}
}

// TOL-4: the checksum of the original for the same call, computed with node:
// createHash('sha256').update('{"args":{"a":[1,"é"],"b":null},"tool":"search"}')
func TestChecksum(t *testing.T) {
	got, err := Checksum("search", map[string]any{"b": nil, "a": []any{1, "é"}})
	require.NoError(t, err)
	assert.Equal(t, "9afcbe379a7484a91217f6d9cb2eca92b113f987e3d44c7795b9605bf13b80dd", got)

	empty, err := Checksum("t", map[string]any{})
	require.NoError(t, err)
	none, err := Checksum("t", nil)
	require.NoError(t, err)
	assert.Equal(t, empty, none)

	_, err = Checksum("t", map[string]any{"f": func() {}})
	assert.ErrorContains(t, err, "f: is a func()")
}

func jsonData() *rapid.Generator[any] {
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.Float64().AsAny(), rapid.Int().AsAny(), rapid.SliceOfN(rapid.String(), 0, 3).AsAny(),
		rapid.MapOfN(rapid.String(), rapid.Int64(), 0, 3).AsAny())
	level := scalar
	for range 3 {
		below := level
		level = rapid.OneOf(scalar, rapid.SliceOfN(below, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), below, 0, 4).AsAny())
	}
	return level
}

// TOL-4: normalizing changes no text, and reading the text again gives the same value.
func TestNormalizeIsWhatTheTextSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := jsonData().Draw(t, "v")
		want, err := Marshal(v)
		require.NoError(t, err)
		pure, err := Normalize(v)
		require.NoError(t, err)
		got, err := Marshal(pure)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))

		var back any
		require.NoError(t, json.Unmarshal(got, &back))
		require.Empty(t, cmp.Diff(pure, back))
	})
}

// The common path is used for every call of every tool, so it must not use reflection.
func BenchmarkChecksum(b *testing.B) {
	args := map[string]any{"query": "weather in Vienna", "limit": 5.0, "deep": map[string]any{"a": []any{"x", 1.5}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Checksum("search", args); err != nil {
			b.Fatal(err)
		}
	}
}

package plain

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

// stamp is a value with a mark and a JSON form of its own.
type stamp struct{ N int }

func (s *stamp) PlainTag() string             { return "stamp" }
func (s *stamp) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]int{"n": s.N}) }

func stamps(tag string, raw []byte) (any, error) {
	if tag != "stamp" {
		return nil, errors.New("is an unknown mark")
	}
	s := new(stamp)
	return s, json.Unmarshal(raw, s)
}

var moment = time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)

// Plain data keeps its kind of number. Each value is listed with the line that it is written as.
var lines = []struct {
	v    any
	line string
}{
	{nil, `null`},
	{true, `true`},
	{"a<b>\u2028\n", "\"a<b>\u2028\\n\""},
	{"\xff", `{"$string":"/w=="}`},
	{5, `5`},
	{5.0, `5.0`},
	{math.Copysign(0, -1), `-0.0`},
	{1e21, `1e+21`},
	{math.NaN(), `{"$float64":"NaN"}`},
	{math.Inf(-1), `{"$float64":"-Inf"}`},
	{int64(5), `{"$int64":"5"}`},
	{uint8(5), `{"$uint8":"5"}`},
	{uint64(math.MaxUint64), `{"$uint64":"18446744073709551615"}`},
	{float32(1.5), `{"$float32":"1.5"}`},
	{float32(math.Inf(1)), `{"$float32":"+Inf"}`},
	{[]byte{1, 2}, `{"$bytes":"AQI="}`},
	{moment, `{"$time":"2024-01-02T03:04:05.000000006Z"}`},
	{1500 * time.Millisecond, `{"$duration":"1.5s"}`},
	{json.RawMessage(`{"a": 1}`), `{"$json":"{\"a\": 1}"}`},
	{[]any{1, 1.0, nil}, `[1,1.0,null]`},
	{map[string]any{"b": 1, "a": []any{}}, `{"a":[],"b":1}`},
	{map[string]any{"$b": 1}, `{"$map":{"$b":1}}`},
	{map[string]any{"\xff": 1, "a": 2}, `{"$map":[["a",2],[{"$string":"/w=="},1]]}`},
	{[]string{"a"}, `{"$[]string":["a"]}`},
	{[]string{}, `{"$[]string":[]}`},
	{[]string(nil), `{"$nil":"[]string"}`},
	{[]any(nil), `{"$nil":"[]any"}`},
	{[]byte(nil), `{"$nil":"bytes"}`},
	{map[string]any(nil), `{"$nil":"map[string]any"}`},
	{map[string]int{"a": 1, "$": 2}, `{"$map[string]int":{"$":2,"a":1}}`},
	{map[string]string{"\xff": "x"}, `{"$map[string]string":[[{"$string":"/w=="},"x"]]}`},
	{[]float32{1, 0.5, float32(math.NaN())}, `{"$[]float32":[1,0.5,"NaN"]}`},
	{[]map[string]any{nil, {"$a": uint8(1)}}, `{"$[]map[string]any":[null,{"$a":{"$uint8":"1"}}]}`},
	{map[string][]time.Duration{"a": {time.Second}, "b": nil}, `{"$map[string][]duration":{"a":["1s"],"b":null}}`},
	{[][]byte{nil, {}, {1}}, `{"$[]bytes":[null,"","AQ=="]}`},
	{&stamp{7}, `{"$stamp":{"n":7}}`},
	{[]any{&stamp{7}, Opaque{"chan int"}}, `[{"$stamp":{"n":7}},{"$opaque":"chan int"}]`},
}

var exactly = cmp.Options{cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}), cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })}

func TestLines(t *testing.T) {
	for _, c := range lines {
		line := AppendJSON(nil, c.v)
		require.Equal(t, c.line, string(line))
		require.True(t, json.Valid(line), c.line)
		back, err := Parse(line, stamps)
		require.NoError(t, err, c.line)
		require.Empty(t, cmp.Diff(c.v, back, exactly), c.line)
		require.True(t, Equal(c.v, back), c.line)
	}
	for i, a := range lines {
		for j, b := range lines {
			require.Equal(t, i == j, Equal(a.v, b.v), "%s and %s", a.line, b.line)
		}
	}
}

type named []string

func TestOpaque(t *testing.T) {
	v := map[string]any{
		"ok": 1,
		"a":  []any{1, struct{ X int }{1}, named{"x"}},
		"b":  map[string]any{"c": func() {}},
		"d":  []any{(*stamp)(nil), []named{}, [2]int{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"e":  []time.Time{moment, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	assert.Equal(t, []string{"a[1]", "a[2]", "b.c", "d[0]", "d[1]", "d[2]", "d[3]", "e"}, OpaquePaths(v))
	assert.NotEmpty(t, OpaquePaths(v))
	assert.Equal(t, []string{""}, OpaquePaths(func() {}))
	for _, c := range lines[:len(lines)-1] {
		assert.Empty(t, OpaquePaths(c.v), c.line)
	}

	line := AppendJSON(nil, v)
	back, err := Parse(line, nil)
	require.NoError(t, err)
	assert.Equal(t, string(line), string(AppendJSON(nil, back)))
	assert.Equal(t, Opaque{"plain.named"}, back.(map[string]any)["a"].([]any)[2])
}

// A value that contains itself does not cause endless recursion when it is written or copied.
func TestWhatContainsItself(t *testing.T) {
	itself := map[string]any{"n": 1}
	itself["left"], itself["right"] = itself, []any{itself}
	assert.Equal(t, `{"left":{"$opaque":"map[string]interface {}"},"n":1,"right":[{"$opaque":"map[string]interface {}"}]}`,
		string(AppendJSON(nil, itself)))

	copied := Copy(itself).(map[string]any)
	copied["left"].(map[string]any)["n"] = 2
	assert.Equal(t, 2, copied["n"])
	assert.Equal(t, 1, itself["n"])

	typed := []map[string]any{{}}
	typed[0]["again"] = []map[string]any{typed[0]}
	line := AppendJSON(nil, typed)
	assert.Equal(t, `{"$[]map[string]any":[{"again":{"$opaque":"[]map[string]interface {}"}}]}`, string(line))

	var deep any
	for range 3000 {
		deep = []any{deep}
	}
	back, err := Parse(AppendJSON(nil, deep), nil)
	require.NoError(t, err)
	assert.True(t, Equal(deep, back))
}

// A value that inherits its mark from an embedded value is opaque, since it would be read back as that value.
func TestEmbeddedMarkIsOpaque(t *testing.T) {
	type inner struct{ *stamp }
	for _, v := range []any{struct{ *stamp }{&stamp{1}}, &struct{ stamp }{}, struct{ inner }{}, struct{ Marked }{&stamp{1}}} {
		assert.NotEmpty(t, OpaquePaths(v), "%T", v)
		assert.True(t, strings.HasPrefix(string(AppendJSON(nil, v)), `{"$opaque":`), "%T", v)
	}
	assert.Empty(t, OpaquePaths(&stamp{1}))
}

// STA-3: maps and slices of every type are copied, other values are shared.
func TestCopy(t *testing.T) {
	shared := &stamp{1}
	v := map[string]any{
		"list": []any{1, map[string]any{"x": 1}}, "names": named{"a"}, "table": map[string][]int{"a": {1}},
		"nil": []string(nil), "bytes": []byte{1}, "shared": shared, "mixed": []map[string]any{{"x": nil}, nil},
	}
	copied := Copy(v).(map[string]any)
	require.Empty(t, cmp.Diff(v, copied))
	assert.Same(t, shared, copied["shared"])

	copied["list"].([]any)[1].(map[string]any)["x"] = 2
	copied["names"].(named)[0] = "b"
	copied["table"].(map[string][]int)["a"][0] = 2
	copied["bytes"].([]byte)[0] = 2
	copied["mixed"].([]map[string]any)[0]["x"] = 2
	assert.Equal(t, 1, v["list"].([]any)[1].(map[string]any)["x"])
	assert.Equal(t, named{"a"}, v["names"])
	assert.Equal(t, 1, v["table"].(map[string][]int)["a"][0])
	assert.Equal(t, []byte{1}, v["bytes"])
	assert.Nil(t, v["mixed"].([]map[string]any)[0]["x"])
}

// hostile are texts that are not plain data, with the text of the error.
var hostile = map[string]string{
	``:                               "not valid JSON",
	"\"\xff\"":                       "not valid UTF-8",
	`[1`:                             "not valid JSON",
	`1e999`:                          "beyond float64",
	`99999999999999999999`:           "beyond int",
	`{"$stranger":1}`:                "$stranger: is an unknown mark",
	`{"$int64":"5","a":1}`:           "$int64: is not the only key",
	`{"a":1,"$int64":"5"}`:           "beside others",
	`{"$int64":5.5}`:                 "is not of the type int64",
	`{"$int64":{}}`:                  "is not of the type int64",
	`{"$uint8":"256"}`:               "is not of the type uint8",
	`{"$bytes":"?"}`:                 "is not base64",
	`{"$time":"noon"}`:               "is not of the type time.Time",
	`{"$[]string":["a",1]}`:          "[1]: is not a string",
	`{"$[]string":5}`:                "is not an array",
	`{"$[]stranger":[]}`:             "is no plain type",
	`{"$any":1}`:                     "is no type of a value",
	`{"$nil":"int"}`:                 "int has no nil",
	`{"$nil":"[][][][][][][][]int"}`: "nested more than",
	`{"$map":[["a"]]}`:               "pairs",
	`{"$map":[[]]}`:                  "pairs",
	`{"$map":null}`:                  "is null",
	`{"a":1,"a":2}`:                  `"a" is there twice`,
	`{"$opaque":[]}`:                 "is not a string",
	strings.Repeat("[", 1000) + strings.Repeat("]", 1000): "nested more than 500",
}

// A 64-bit int is written back as it was, wherever it is read.
func TestWideInt(t *testing.T) {
	const text = `{"card":4929123456781234,"list":[-9223372036854775808,{"$int64":"5000000000"}]}`
	v, err := Parse([]byte(text), nil)
	require.NoError(t, err)
	assert.Equal(t, text, string(AppendJSON(nil, v)))
	assert.Empty(t, Fault(v))
	assert.True(t, Equal(v, Copy(v)))
	number, err := json.Marshal(wide(5_000_000_000))
	require.NoError(t, err)
	assert.Equal(t, string(number), string(AppendJSON(nil, wide(5_000_000_000))))
}

func TestParseRefuses(t *testing.T) {
	for text, want := range hostile {
		_, err := Parse([]byte(text), nil)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := Parse([]byte(`{"$other":{}}`), stamps)
	assert.ErrorContains(t, err, "$other")
}

func values() *rapid.Generator[any] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"$", "$int64", "\xff\xfe", "a"}))
	scalar := rapid.OneOf(rapid.Just[any](nil), text.AsAny(), rapid.Int().AsAny(), rapid.Float64().AsAny(),
		rapid.Bool().AsAny(), rapid.Uint8().AsAny(), rapid.Int64().AsAny(), rapid.Uint64().AsAny(), rapid.Float32().AsAny(),
		rapid.SliceOf(rapid.Byte()).AsAny(), rapid.SliceOf(rapid.Float64()).AsAny(), rapid.MapOf(text, rapid.Int32()).AsAny(),
		rapid.SliceOf(text).AsAny(), rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }).AsAny(),
		rapid.Map(rapid.Int64Range(0, 1e10), func(n int64) time.Time { return time.Unix(n, n%1e9).UTC() }).AsAny(),
		rapid.SampledFrom([]any{[]any(nil), []string(nil), map[string]any(nil), math.NaN(), &stamp{3}, Opaque{"x.Y"}}))
	level := scalar
	for range 3 {
		below := level
		level = rapid.OneOf(scalar, rapid.SliceOfN(below, 0, 3).AsAny(), rapid.MapOfN(text, below, 0, 3).AsAny(),
			rapid.SliceOfN(rapid.MapOfN(text, below, 0, 2), 0, 2).AsAny())
	}
	return level
}

// Equal reports, without writing them, whether two values are written alike.
func TestEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := values().Draw(t, "a")
		b := rapid.OneOf(rapid.Just(Copy(a)), values()).Draw(t, "b")
		require.Equal(t, string(AppendJSON(nil, a)) == string(AppendJSON(nil, b)), Equal(a, b))
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "v")
		line := AppendJSON(nil, v)
		require.NotContains(t, string(line), "\n")
		back, err := Parse(line, stamps)
		require.NoError(t, err, string(line))
		require.Empty(t, cmp.Diff(v, back, exactly), string(line))
		require.Empty(t, cmp.Diff(v, Copy(v), exactly))
		require.Equal(t, string(line), string(AppendJSON(nil, back)))
	})
}

func FuzzParse(f *testing.F) {
	for _, c := range lines {
		f.Add([]byte(c.line))
	}
	for text := range hostile {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data, nil)
		if err != nil {
			return
		}
		back, err := Parse(AppendJSON(nil, v), nil)
		require.NoError(t, err)
		require.True(t, Equal(v, back))
	})
}

// PRM-6: what is not plain data is reported by its places, without its value.
func TestFault(t *testing.T) {
	f := func() {}
	assert.Empty(t, Fault(map[string]any{"a": 1}))
	assert.Equal(t, "is of the type func()", Fault(f))
	assert.Equal(t, "is not plain data at a, b[0]", Fault(map[string]any{"a": f, "b": []any{f}}))
	assert.Equal(t, "is not plain data at [0], [1], [2], [3], [4] and others", Fault([]any{f, f, f, f, f, f}))
}

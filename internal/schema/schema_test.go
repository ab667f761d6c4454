package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

func mustSchema(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	require.NoError(t, err)
	return s
}

func mustJSON(t testing.TB, raw string) any {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal([]byte(raw), &value))
	return value
}

// TOL-2: every fault is reported, by path and keyword, sorted, and without the value.
func TestSchemaNamesEveryFault(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, want string }{
		"several":       {`{"type":"object","required":["city","zip"],"properties":{"n":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a","b"]}}}}`, `{"n":"secret","tags":["a","c","d"]}`, "/city: required; /n: type, want integer; /tags/1: enum; /tags/2: enum; /zip: required"},
		"root":          {`{"type":"string"}`, `4`, "(root): type, want string"},
		"types":         {`{"type":["integer","null"]}`, `"x"`, "(root): type, want integer or null"},
		"extra":         {`{"additionalProperties":false,"properties":{"a":true}}`, `{"a":1,"z":2,"b":3}`, "/b: additionalProperties; /z: additionalProperties"},
		"extra schema":  {`{"additionalProperties":{"type":"integer"}}`, `{"b":"x"}`, "/b: type, want integer"},
		"unevaluated":   {`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`, `{"a":1,"b":2}`, "/b: unevaluatedProperties"},
		"pattern keys":  {`{"patternProperties":{"^x":{"minimum":3}}}`, `{"x1":2,"y":1}`, "/x1: minimum"},
		"ref":           {`{"$defs":{"p":{"required":["q"]}},"properties":{"p":{"$ref":"#/$defs/p"}}}`, `{"p":{}}`, "/p/q: required"},
		"recursion":     {`{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}}`, `{"next":{"next":{"v":"x"}}}`, "/next/next/v: type, want integer"},
		"allOf":         {`{"allOf":[{"required":["a"]},{"required":["a","b"]}]}`, `{}`, "/a: required; /b: required"},
		"anyOf":         {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, "/a: anyOf"},
		"oneOf":         {`{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `1`, "(root): oneOf"},
		"not":           {`{"not":{"type":"integer"}}`, `1`, "(root): not"},
		"if":            {`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "/b: required"},
		"prefix":        {`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `["x",1]`, "/0: type, want integer; /1: type, want string"},
		"contains":      {`{"contains":{"type":"integer"},"minItems":2}`, `["x"]`, "(root): contains; (root): minItems"},
		"unique":        {`{"uniqueItems":true}`, `[1,1.0]`, "(root): uniqueItems"},
		"names":         {`{"propertyNames":{"maxLength":2}}`, `{"long":1}`, "/long: propertyNames"},
		"dependent":     {`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"required":["c"]}}}`, `{"a":1}`, "/b: dependentRequired; /c: required"},
		"strings":       {`{"pattern":"^x","minLength":4}`, `"abc"`, "(root): minLength; (root): pattern"},
		"escapes":       {`{"additionalProperties":false}`, `{"a/b~c":1,"\u001b[2J":1}`, "/a~1b~0c: additionalProperties; /\uFFFD[2J: additionalProperties"},
		"draft-07":      {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],"additionalItems":false}`, `["x",1]`, "/0: type, want integer; /1: not"},
		"beyond a walk": {`{"unevaluatedItems":false}`, `[1]`, "(root): schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := mustSchema(t, c.schema).Check(mustJSON(t, c.value))
			assert.Equal(t, strings.ReplaceAll(c.want, "(root)", ""), strings.ReplaceAll(FaultsText(faults), "(root)", ""))
		})
	}
}

// TOL-2: defaults are filled in on a copy, where the schema certainly applies.
func TestSchemaFillsDefaults(t *testing.T) {
	s := mustSchema(t, `{"$defs":{"unit":{"default":"C"}},"required":["r"],
		"properties":{
			"n":{"type":"integer","default":5}, "r":{"default":1}, "unit":{"$ref":"#/$defs/unit"},
			"list":{"items":{"properties":{"x":{"default":[1]}}}},
			"absent":{"properties":{"y":{"default":2}}}},
		"allOf":[{"properties":{"more":{"default":null}}}], "anyOf":[{"properties":{"never":{"default":0}}}]}`)
	given := mustJSON(t, `{"r":0,"list":[{},{"x":9}]}`)
	before := mustJSON(t, `{"r":0,"list":[{},{"x":9}]}`)
	got, faults := s.Check(given)
	require.Empty(t, faults)
	want := mustJSON(t, `{"r":0,"n":5,"unit":"C","more":null,"list":[{"x":[1]},{"x":9}]}`)
	assert.Empty(t, cmp.Diff(want, got))
	assert.Empty(t, cmp.Diff(before, given), "the value was changed")
}

// TOL-2: numbers keep their Go type and are checked as numbers.
func TestSchemaTakesEveryNumber(t *testing.T) {
	s := mustSchema(t, `{"items":{"type":"integer","minimum":1}}`)
	given := []any{1, int64(2), uint8(3), 4.0, json.Number("5"), json.Number("9007199254740993")}
	got, faults := s.Check(given)
	require.Empty(t, faults)
	assert.Equal(t, given, got)
	_, faults = s.Check([]any{json.Number("0"), json.Number("1.5"), "1"})
	assert.Equal(t, "/0: minimum; /1: type, want integer; /2: type, want integer", FaultsText(faults))
}

// TOL-2: multipleOf uses the numbers as they are written in decimal, wherever the keyword is, and
// defaults are checked as well.
func TestMultiplesAreOfDecimals(t *testing.T) {
	price := mustSchema(t, `{"type":"object","properties":{"price":{"type":"number","multipleOf":0.01,"default":19.99}}}`)
	for value, fits := range map[any]bool{19.99: true, 0.07: true, 1.1: true, 19.995: false, 3: true, float32(0.1): true, "1": false, json.Number("4.35"): true} {
		_, faults := price.Check(map[string]any{"price": value})
		assert.Equal(t, fits, len(faults) == 0, "%v: %s", value, FaultsText(faults))
	}
	_, faults := price.Check(map[string]any{"price": 0.001})
	assert.Equal(t, "/price: multipleOf", FaultsText(faults))
	for value, even := range map[any]bool{json.Number("9007199254740993"): false, json.Number("9007199254740994"): true, uint64(1<<63 + 1): false, 1e300: true} {
		_, faults := mustSchema(t, `{"multipleOf":2}`).Check(value)
		assert.Equal(t, even, len(faults) == 0, value)
		_, faults = mustSchema(t, `{"not":{"multipleOf":2}}`).Check(value)
		assert.Equal(t, even, len(faults) != 0, "not %v", value)
	}
	_, err := Compile(json.RawMessage(`{"multipleOf":0.01,"default":0.001}`))
	assert.ErrorContains(t, err, "a default breaks it")
}

// TOL-2: a hostile value is a fault, and never causes a panic.
func TestSchemaBearsHostileValues(t *testing.T) {
	cycle := map[string]any{}
	cycle["again"] = cycle
	deep := any(1)
	for range 100_000 {
		deep = []any{deep}
	}
	s := mustSchema(t, `{"properties":{"again":{"$ref":"#"}},"items":{"$ref":"#"},"enum":[[1],{"a":1}]}`)
	for _, value := range []any{
		cycle, deep, make(chan int), func() {}, struct{ A int }{}, map[int]any{1: 2}, []any{func() {}}, json.Number("no"), json.Number("1e999"),
	} {
		_, faults := s.Check(value)
		assert.NotEmpty(t, faults)
	}
}

// TOL-1: a schema that cannot be checked safely is refused.
func TestCompileSchemaRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"no json": `{`, "more": `{} {}`, "array": `[]`, "null": `null`, "number": `4`, "bad type": `{"type":4}`,
		"null inside": `{"properties":{"a":null}}`, "bad pattern": `{"pattern":"("}`, "multiple of nothing": `{"multipleOf":0}`, "bad key pattern": `{"patternProperties":{"(":true}}`,
		"self": `{"$ref":"#"}`, "cycle": `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
		"remote": `{"$ref":"https://example.com/x"}`, "dangling": `{"$ref":"#/$defs/none"}`, "dynamic": `{"$dynamicRef":"#a","$dynamicAnchor":"a"}`,
		"nested id": `{"properties":{"a":{"$id":"https://example.com/a"}}}`, "draft": `{"$schema":"http://json-schema.org/draft-04/schema#"}`,
		"doubling": doublingSchema(40),
		"default":  `{"properties":{"a":{"type":"integer","default":"x"}}}`,
		"deep":     strings.Repeat(`{"not":`, 200) + `true` + strings.Repeat(`}`, 200),
	} {
		_, err := Compile(json.RawMessage(raw))
		assert.Error(t, err, name)
	}
}

// doublingSchema returns n definitions, each of which refers to the next one twice.
func doublingSchema(n int) string {
	defs := map[string]any{fmt.Sprint(n): true}
	for i := range n {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/%d", i+1)}
		defs[fmt.Sprint(i)] = map[string]any{"allOf": []any{next, next}}
	}
	raw, _ := json.Marshal(map[string]any{"$ref": "#/$defs/0", "$defs": defs})
	return string(raw)
}

// schemaDraw draws schemas with the keywords that the walk follows.
func schemaDraw(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		sub := func(label string) any { return schemaDraw(depth-1).Draw(t, label) }
		leaves := map[string]func() any{
			"type": func() any {
				return rapid.SampledFrom([]string{"object", "array", "string", "integer", "number", "null", "boolean"}).Draw(t, "type")
			},
			"enum":          func() any { return []any{1, "a", nil, []any{}} },
			"const":         func() any { return rapid.SampledFrom([]any{1, "a", nil}).Draw(t, "const") },
			"minimum":       func() any { return rapid.IntRange(-1, 2).Draw(t, "minimum") },
			"maxLength":     func() any { return 1 },
			"pattern":       func() any { return "^a" },
			"minItems":      func() any { return 1 },
			"uniqueItems":   func() any { return true },
			"maxProperties": func() any { return 1 },
			"required":      func() any { return []string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "required")} },
		}
		inner := map[string]func() any{
			"properties":           func() any { return map[string]any{"a": sub("a"), "b": sub("b")} },
			"patternProperties":    func() any { return map[string]any{"^a": sub("^a")} },
			"additionalProperties": func() any { return sub("additional") },
			"propertyNames":        func() any { return sub("names") },
			"items":                func() any { return sub("items") },
			"prefixItems":          func() any { return []any{sub("prefix")} },
			"contains":             func() any { return sub("contains") },
			"allOf":                func() any { return []any{sub("allOf0"), sub("allOf1")} },
			"anyOf":                func() any { return []any{sub("anyOf0"), sub("anyOf1")} },
			"oneOf":                func() any { return []any{sub("oneOf0"), sub("oneOf1")} },
			"not":                  func() any { return sub("not") },
			"if":                   func() any { return sub("if") },
			"then":                 func() any { return sub("then") },
			"else":                 func() any { return sub("else") },
			"dependentRequired":    func() any { return map[string]any{"a": []string{"b"}} },
			"dependentSchemas":     func() any { return map[string]any{"a": sub("dependent")} },
		}
		if depth > 0 {
			maps.Copy(leaves, inner)
		} else if rapid.IntRange(0, 5).Draw(t, "bool") == 0 {
			return rapid.Bool().Draw(t, "schema")
		}
		drawn := map[string]any{}
		keywords := slices.Sorted(maps.Keys(leaves))
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom(keywords), 0, 3, rapid.ID).Draw(t, "keywords") {
			drawn[keyword] = leaves[keyword]()
		}
		return drawn
	})
}

// valueDraw draws values to which such schemas apply.
func valueDraw(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		switch {
		case depth > 0 && kind >= 4:
			object := map[string]any{}
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 0, 3, rapid.ID).Draw(t, "names") {
				object[name] = valueDraw(depth-1).Draw(t, name)
			}
			return object
		case depth > 0 && kind >= 2:
			return rapid.SliceOfN(valueDraw(depth-1), 0, 3).Draw(t, "list")
		}
		return rapid.SampledFrom([]any{0.0, 1.0, 1.5, 2, "a", "b", "ab", "", nil, true}).Draw(t, "leaf")
	})
}

// TOL-2: the walk finds a fault exactly if the library refuses the value.
func TestWalkAgreesWithLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(schemaDraw(2).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		value := Numbers(plainCopy(valueDraw(2).Draw(t, "value"), "", 0, new([]Fault)))
		faults := schemaWalk{}.value(s.root, value, "")
		if s.accepts(value) != (len(faults) == 0) {
			t.Fatalf("%s\n%v\nlibrary accepts: %v, faults: %v", raw, value, s.accepts(value), faults)
		}
	})
}

// TOL-2: the quick check accepts nothing that the library refuses.
func TestQuickSchemaAgreesWithLibrary(t *testing.T) {
	kinds := rapid.SampledFrom([]string{"object", "array", "string", "integer", "number", "boolean"})
	rapid.Check(t, func(t *rapid.T) {
		drawn, ok := schemaDraw(2).Draw(t, "schema").(map[string]any)
		if !ok {
			return
		}
		drawn["type"] = kinds.Draw(t, "type")
		raw, err := json.Marshal(drawn)
		require.NoError(t, err)
		s, err := Compile(raw)
		require.NoError(t, err)
		value := plainCopy(valueDraw(2).Draw(t, "value"), "", 0, new([]Fault))
		if s.quick != nil && s.quick.accepts(value) {
			require.True(t, s.accepts(value), "%s\n%v", raw, value)
		}
	})
}

// TOL-2: a schema with the usual keywords is checked without the library, and accepts the same
// values; for example, a bound applies to fractions too.
func TestQuickSchema(t *testing.T) {
	const usual = `{"type":"object","required":["city"],"additionalProperties":false,"properties":{
		"city":{"type":"string","description":"where"},"days":{"type":"integer","minimum":1,"maximum":9},"share":{"type":"number","minimum":0.25,"maximum":1},
		"units":{"type":"string","enum":["metric","imperial"]},"on":{"type":"boolean","default":true},"tags":{"type":"array","items":{"type":"string"}}}}`
	s := mustSchema(t, usual)
	require.NotNil(t, s.quick)
	for value, fits := range map[string]bool{
		`{"city":"Oslo","days":3,"share":0.5,"units":"metric","on":false,"tags":["a"]}`: true,
		`{"city":"Oslo"}`: true, `{}`: false, `[]`: false, `null`: false, `{"city":1}`: false, `{"city":"Oslo","x":1}`: false,
		`{"city":"Oslo","days":0}`: false, `{"city":"Oslo","days":10}`: false, `{"city":"Oslo","days":1.5}`: false,
		`{"city":"Oslo","units":"other"}`: false, `{"city":"Oslo","tags":[1]}`: false, `{"city":"Oslo","share":"0.5"}`: false,
		`{"city":"Oslo","share":1}`: true, `{"city":"Oslo","share":1.5}`: false, `{"city":"Oslo","share":0.25}`: true, `{"city":"Oslo","share":0.2}`: false,
	} {
		plain := Numbers(mustJSON(t, value))
		assert.Equal(t, fits, s.quick.accepts(plain), value)
		assert.Equal(t, fits, s.accepts(plain), value)
	}
	for _, other := range []string{
		`true`, `{}`, `{"type":["string","null"]}`, `{"type":"string","pattern":"a"}`, `{"type":"integer","enum":[1]}`, `{"type":"string","enum":["a",1]}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"type":"array","items":{"not":{}}}`,
	} {
		assert.Nil(t, mustSchema(t, other).quick, other)
	}
}

// FuzzSchemaCheck checks any value against any schema. This never panics (TOL-2), and gives the
// same result twice (DET-3).
func FuzzSchemaCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","default":1}}}`, `{"a":"x"}`)
	f.Add(`{"$defs":{"n":{"items":{"$ref":"#/$defs/n"}}},"$ref":"#/$defs/n"}`, `[[[]]]`)
	f.Fuzz(func(t *testing.T, rawSchema, rawValue string) {
		s, err := Compile(json.RawMessage(rawSchema))
		if err != nil {
			return
		}
		value, err := decodeJSON([]byte(rawValue))
		if err != nil {
			return
		}
		first, faults := s.Check(value)
		second, again := s.Check(value)
		assert.Equal(t, faults, again)
		assert.Equal(t, first, second)
	})
}

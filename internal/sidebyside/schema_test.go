package sidebyside

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	other "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/schema"
)

// The tests in this file compare the results of package schema with those of another library, which works in a
// different way, and with the test suite of JSON Schema.

// otherSchema compiles a schema with the other library. The draft is 2020-12 unless the schema names
// another.
func otherSchema(raw []byte) (*other.Schema, error) {
	tree, err := other.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	compiler := other.NewCompiler()
	compiler.DefaultDraft(other.Draft2020)
	if err := compiler.AddResource("mem:///schema", tree); err != nil {
		return nil, err
	}
	return compiler.Compile("mem:///schema")
}

// otherFault is a fault that the other library reports.
type otherFault struct {
	path, keyword string
}

// isToldBy reports whether a fault of package schema is this fault, or contains its place: package schema does
// not look into a member that must not exist, nor into an item that no other keyword looks at.
func (f otherFault) isToldBy(ours schema.Fault) bool {
	if ours.Path == f.path && (ours.Keyword == f.keyword || f.keyword == "minContains" && ours.Keyword == "contains") {
		return true
	}
	switch ours.Keyword {
	case "additionalProperties", "unevaluatedProperties", "schema", "not":
		return strings.HasPrefix(f.path, ours.Path)
	}
	return false
}

// otherFaults returns the faults that the other library found.
func otherFaults(err error) (found []otherFault) {
	refused, ok := errors.AsType[*other.ValidationError](err)
	if !ok {
		return nil
	}
	at := ""
	for _, name := range refused.InstanceLocation {
		at += "/" + escaped(name)
	}
	members := func(keyword string, names ...string) {
		for _, name := range names {
			found = append(found, otherFault{at + "/" + escaped(name), keyword})
		}
	}
	switch k := refused.ErrorKind.(type) {
	case *kind.Required:
		members("required", k.Missing...)
	case *kind.DependentRequired:
		members("dependentRequired", k.Missing...)
	case *kind.AdditionalProperties:
		members("additionalProperties", k.Properties...)
	case *kind.PropertyNames:
		members("propertyNames", k.Property)
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range refused.Causes {
			found = append(found, otherFaults(cause)...)
		}
	case *kind.FalseSchema, *kind.Not:
		found = append(found, otherFault{at, "not"})
	default:
		found = append(found, otherFault{at, k.KeywordPath()[0]})
	}
	return found
}

func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// drawnSchema draws a schema with any keywords.
func drawnSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "bool") == 0 {
		return rapid.IntRange(0, 3).Draw(t, "which") > 0
	}
	sub := func() any { return drawnSchema(t, depth-1) }
	small := func() any { return rapid.IntRange(0, 2).Draw(t, "small") }
	number := func() any { return rapid.SampledFrom([]any{-1, 0, 0.5, 1, 2, 0.1, 1e2}).Draw(t, "number") }
	key := func() string { return rapid.SampledFrom(drawnKeys).Draw(t, "key") }
	keywords := map[string]func() any{
		"type": func() any {
			return rapid.SampledFrom([]any{"object", "array", "string", "integer", "number", "null", "boolean", []any{"object", "null"}, []any{"integer", "string"}}).Draw(t, "type")
		},
		"enum":              func() any { return []any{drawnValue(t, 1), drawnValue(t, 1)} },
		"const":             func() any { return drawnValue(t, 1) },
		"minimum":           number,
		"maximum":           number,
		"exclusiveMinimum":  number,
		"exclusiveMaximum":  number,
		"multipleOf":        func() any { return rapid.SampledFrom([]any{1, 0.5, 0.1, 3}).Draw(t, "multiple") },
		"minLength":         small,
		"maxLength":         small,
		"pattern":           func() any { return rapid.SampledFrom([]string{"^a", "b$", `\d`, "é", "a|b"}).Draw(t, "pattern") },
		"minItems":          small,
		"maxItems":          small,
		"uniqueItems":       func() any { return true },
		"minProperties":     small,
		"maxProperties":     small,
		"required":          func() any { return []string{key()} },
		"dependentRequired": func() any { return map[string]any{key(): []string{key()}} },
		"$ref":              func() any { return rapid.SampledFrom([]string{"#/$defs/a", "#/$defs/b"}).Draw(t, "ref") },
	}
	if depth > 0 {
		maps.Copy(keywords, map[string]func() any{
			"properties":            func() any { return map[string]any{key(): sub(), key(): sub()} },
			"patternProperties":     func() any { return map[string]any{"^a": sub()} },
			"additionalProperties":  sub,
			"unevaluatedProperties": sub,
			"propertyNames":         sub,
			"items":                 sub,
			"prefixItems":           func() any { return []any{sub()} },
			"unevaluatedItems":      sub,
			"contains":              sub,
			"minContains":           small,
			"maxContains":           small,
			"allOf":                 func() any { return []any{sub(), sub()} },
			"anyOf":                 func() any { return []any{sub(), sub()} },
			"oneOf":                 func() any { return []any{sub(), sub()} },
			"not":                   sub,
			"if":                    sub,
			"then":                  sub,
			"else":                  sub,
			"dependentSchemas":      func() any { return map[string]any{key(): sub()} },
		})
	}
	drawn := map[string]any{}
	for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(keywords))), 0, 4, rapid.ID).Draw(t, "keywords") {
		drawn[keyword] = keywords[keyword]()
	}
	return drawn
}

var drawnKeys = []string{"a", "b", "ab", "a/b~c", "é", ""}

func drawnValue(t *rapid.T, depth int) any {
	switch k := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case depth > 0 && k >= 4:
		object := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(drawnKeys), 0, 3, rapid.ID).Draw(t, "names") {
			object[name] = drawnValue(t, depth-1)
		}
		return object
	case depth > 0 && k >= 2:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawnValue(t, depth-1))
		}
		return list
	}
	return rapid.SampledFrom([]any{0, 1, 1.5, 0.3, -2, 100, json.Number("1.0"), json.Number("1e2"), json.Number("9007199254740993"), "a", "b", "ab", "é", "", "12", nil, true, false}).Draw(t, "leaf")
}

// TOL-2: the other library has the same verdict on every value, and reports no fault that package schema does not
// report. Package schema reports more, because it continues after a wrong type.
func TestFaultsAreThoseOfAnotherLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawnSchema(t, 2)
		if object, ok := tree.(map[string]any); ok {
			object["$defs"] = map[string]any{"a": drawnSchema(t, 0), "b": drawnSchema(t, 0)}
		}
		raw, err := json.Marshal(tree)
		require.NoError(t, err)
		if bytes.Contains(raw, []byte(`"unevaluatedItems"`)) && bytes.Contains(raw, []byte(`"multipleOf"`)) {
			return // together with unevaluatedItems, the other library divides as floats do
		}
		value, err := json.Marshal(drawnValue(t, 3))
		require.NoError(t, err)
		theirs, err := otherSchema(raw)
		require.NoError(t, err, "%s", raw)
		ours, err := schema.Compile(raw)
		if err != nil {
			require.ErrorContains(t, err, "leads back to itself", "%s", raw) // the other library reports this only for a value
			return
		}
		plain, err := other.UnmarshalJSON(bytes.NewReader(value))
		require.NoError(t, err)
		got, refused := ours.CheckJSON(value), theirs.Validate(plain)
		require.Equal(t, refused != nil, len(got) > 0, "%s of %s: %v, and %v", raw, value, got, refused)
		for _, want := range otherFaults(refused) {
			require.Truef(t, slices.ContainsFunc(got, want.isToldBy), "%s of %s: %v does not tell %v", raw, value, got, want)
		}
	})
}

// ofSuite is one schema of the JSON Schema test suite, with the values to check.
type ofSuite struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// suite reads the test suite for a draft from the module of the library whose verdict package schema uses.
func suite(t *testing.T, draft string) (all []ofSuite) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema", "testdata", draft, "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var some []ofSuite
		require.NoError(t, json.Unmarshal(data, &some))
		all = append(all, some...)
	}
	return all
}

// refusals are the reasons why package schema refuses a schema of the suite: it is not self-contained, or its
// default does not fit, which would be a mistake in a tool.
var refusals = []string{"a nested $id and a $dynamicRef", "leads to nothing within the schema", "not a valid JSON Schema: validating"}

// TOL-2: each case of the JSON Schema test suite gets the suite's verdict, or its schema is refused for one of
// the known reasons.
func TestTheSuiteOfJSONSchema(t *testing.T) {
	for draft, want := range map[string]struct {
		uri   string
		cases int
	}{
		"draft2020-12": {"https://json-schema.org/draft/2020-12/schema", 977},
		"draft7":       {"http://json-schema.org/draft-07/schema#", 847},
	} {
		cases := 0
		for _, one := range suite(t, draft) {
			ours, err := schema.Compile(ofDraft(t, one.Schema, want.uri))
			if err != nil {
				about := func(reason string) bool { return strings.Contains(err.Error(), reason) }
				assert.True(t, slices.ContainsFunc(refusals, about), "%s: %s: %v", draft, one.Description, err)
				continue
			}
			for _, c := range one.Tests {
				cases++
				faults := ours.CheckJSON(c.Data)
				assert.Equal(t, c.Valid, len(faults) == 0, "%s: %s: %s: %v", draft, one.Description, c.Description, faults)
			}
		}
		assert.Equal(t, want.cases, cases, draft)
	}
}

// ofDraft returns a schema that names its draft, if it can.
func ofDraft(t *testing.T, raw json.RawMessage, uri string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object["$schema"] != nil {
		return raw
	}
	object["$schema"] = json.RawMessage(`"` + uri + `"`)
	said, err := json.Marshal(object)
	require.NoError(t, err)
	return said
}

package schema

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// closedSchemas caches the closed schemas that are still in use, as weak pointers, by the texts
// that they were compiled from. The same tool appears in every trace of a folder, and is made anew
// for each run of an exploration; compiling its schema is most of its cost.
var closedSchemas sync.Map

// CompileClosed closes a tool's schema and compiles it. It also returns the closed schema as JSON
// with sorted keys, which must not be changed.
func CompileClosed(raw json.RawMessage) (*Schema, json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil, errors.New("want a JSON Schema")
	}
	text := string(raw)
	if held, ok := closedSchemas.Load(text); ok {
		if s := held.(weak.Pointer[Schema]).Value(); s != nil {
			return s, s.closed, nil
		}
	}
	compiled, effective, err := compileClosed(raw)
	if err != nil {
		return nil, nil, err
	}
	compiled.closed = effective
	held := weak.Make(compiled)
	closedSchemas.Store(text, held)
	runtime.AddCleanup(compiled, func(text string) { closedSchemas.CompareAndDelete(text, held) }, text)
	return compiled, effective, nil
}

func compileClosed(raw json.RawMessage) (*Schema, json.RawMessage, error) {
	tree, err := decodeJSON(raw)
	if err != nil {
		return nil, nil, err
	}
	root, ok := tree.(map[string]any)
	if !ok || root["type"] != "object" {
		return nil, nil, errors.New(`want a schema with "type": "object"`)
	}
	closeSchema(root)
	effective, err := unescaped.Marshal(root)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := Compile(effective)
	return compiled, effective, err
}

// The keywords that closeSchema examines.
var (
	// saysOfOtherKeys are the keywords that apply to keys that properties does not list.
	saysOfOtherKeys = []string{"additionalProperties", "patternProperties", "unevaluatedProperties"}
	// describeInPlace are the keywords whose schemas may describe further properties of the same
	// object.
	describeInPlace = []string{
		"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies",
	}
)

// closeSchema makes every object schema that lists properties, and says nothing about other keys,
// refuse other keys: a key that a model made up must not be ignored silently. It follows keywords
// for parts of a value (properties, items), but not those that combine schemas ($defs, allOf,
// anyOf, …), because two closed parts of an allOf would refuse each other's keys. Closing a schema
// twice changes nothing.
func closeSchema(node any) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			closeSchema(one)
		}
	case map[string]any:
		closeObjectSchema(node)
		for _, keyword := range []string{"items", "prefixItems", "additionalProperties", "additionalItems"} {
			closeSchema(node[keyword])
		}
		for _, keyword := range []string{"properties", "patternProperties"} {
			if named, ok := node[keyword].(map[string]any); ok {
				for _, one := range named {
					closeSchema(one)
				}
			}
		}
	}
}

func closeObjectSchema(node map[string]any) {
	has := func(keyword string) bool { _, ok := node[keyword]; return ok }
	switch {
	case !has("properties") || slices.ContainsFunc(saysOfOtherKeys, has):
	case slices.ContainsFunc(describeInPlace, has):
		node["unevaluatedProperties"] = false
	default:
		node["additionalProperties"] = false
	}
}

// CompileValue compiles the schema of a value of any type, after closing it as for tools.
func CompileValue(raw json.RawMessage) (*Schema, error) {
	tree, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	closeSchema(tree)
	closed, err := unescaped.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return Compile(closed)
}

// CheckJSON returns every fault of a JSON text, sorted by path.
func (s *Schema) CheckJSON(raw json.RawMessage) []Fault {
	value, err := decodeJSON(raw)
	if err != nil {
		return []Fault{{Keyword: err.Error()}}
	}
	_, faults := s.Check(value)
	return faults
}

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

// closedSchemas are the closed schemas that somebody still holds, as weak pointers by the
// text each was compiled of. One tool stands in every trace of a folder, and is made anew
// for each run of an exploration: its schema is most of what it costs.
var closedSchemas sync.Map

// CompileClosed compiles a tool's schema after closing it, and gives the
// closed schema as JSON with sorted keys too, which nobody may change.
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

// Keywords that closeSchema goes by.
var (
	// saysOfOtherKeys decide about keys that properties does not list.
	saysOfOtherKeys = []string{"additionalProperties", "patternProperties", "unevaluatedProperties"}
	// describeInPlace may describe more properties of the same object.
	describeInPlace = []string{
		"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies",
	}
)

// closeSchema makes every object that lists its properties, and says nothing of
// other keys, refuse those: a key that a model made up must not vanish in
// silence. It follows what describes a part of a value (properties, items) and
// leaves alone what is combined with other schemas ($defs, allOf, anyOf, …):
// two closed halves of an allOf would refuse each other's keys. Closing twice
// changes nothing.
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

// CompileValue compiles the schema of a value of any type, closed as those of tools are.
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

// CheckJSON gives every fault of a JSON text, sorted by path.
func (s *Schema) CheckJSON(raw json.RawMessage) []Fault {
	value, err := decodeJSON(raw)
	if err != nil {
		return []Fault{{Keyword: err.Error()}}
	}
	_, faults := s.Check(value)
	return faults
}

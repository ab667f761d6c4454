package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema that is ready to check values (TOL-2, GAT-3). It is immutable and safe
// for concurrent use.
//
// The library decides about a value. But the library stops at the first fault, in the order of a
// map, and prints the value. Therefore, if it refuses, a walk of this package reports every fault
// by path and keyword (DET-3, ERR-3). The library also divides floats for multipleOf. Therefore the
// walk decides about schemas with that keyword, unless they have unevaluatedItems, which the walk
// does not know.
type Schema struct {
	root     *schemaNode
	resolved *jsonschema.Resolved
	quick    *quickSchema // nil if only the library can decide
	draft7   bool
	walked   bool            // the walk decides
	closed   json.RawMessage // the schema that was compiled, if CompileClosed made it
}

// Fault is one thing that is wrong with a value: the place, as a JSON pointer, the keyword and, for
// some keywords, what would be right. It never contains the value.
type Fault struct {
	Path    string
	Keyword string
	Want    string
}

// String formats the fault for a message: "/n: type, want integer".
func (f Fault) String() string {
	text := f.Path + ": " + f.Keyword
	if f.Path == "" {
		text = "(root): " + f.Keyword
	}
	if f.Want != "" {
		text += ", want " + f.Want
	}
	return text
}

// FaultsText joins faults into one line.
func FaultsText(faults []Fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

// sortFaults sorts faults by path and removes duplicates, which occur if two parts of an allOf have
// the same requirement.
func sortFaults(faults []Fault) []Fault {
	slices.SortFunc(faults, func(a, b Fault) int {
		return strings.Compare(a.Path+"\x00"+a.Keyword+"\x00"+a.Want, b.Path+"\x00"+b.Keyword+"\x00"+b.Want)
	})
	return slices.Compact(faults)
}

// schemaDrafts are the values of $schema that are supported.
var schemaDrafts = []string{
	"", "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
}

// Compile reads a JSON Schema (draft 2020-12, or draft-07 if $schema says so). It refuses schemas
// that cannot be checked safely: schemas that are not self-contained (a $ref that does not begin
// with #, a nested $id, a $dynamicRef), that lead back to themselves without a step into the value,
// that apply more than maxInPlace schemas to one value, that are deeper than maxJSONDepth, or whose
// defaults violate them.
func Compile(raw json.RawMessage) (_ *Schema, err error) {
	// The library panics on some malformed schemas.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a valid JSON Schema: %s", fmt.Sprint(r))
		}
	}()
	tree, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	switch tree.(type) {
	case map[string]any, bool:
	default: // such as null, which the decoding below would take for {}
		return nil, errors.New("not a JSON Schema: want an object, true or false")
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	if !slices.Contains(schemaDrafts, parsed.Schema) {
		return nil, fmt.Errorf("$schema %q is neither draft 2020-12 nor draft-07", Clip(parsed.Schema))
	}
	s := &Schema{draft7: strings.Contains(parsed.Schema, "draft-07")}
	if s.root, err = linkSchema(&parsed); err != nil {
		return nil, err
	}
	s.walked = s.root.walkDecides()
	s.quick = quickSchemaOf(&parsed)
	s.resolved, err = parsed.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: !s.walked})
	if err == nil && s.walked {
		err = s.checkDefaults()
	}
	if err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	return s, nil
}

// checkDefaults returns an error if a default violates the schema. The library checks this for
// schemas that it decides about.
func (s *Schema) checkDefaults() error {
	for _, node := range s.root.index {
		if node.Default == nil {
			continue
		}
		value, err := decodeJSON(node.Default)
		if err != nil || !(schemaWalk{draft7: s.draft7}).holds(node, Numbers(value)) {
			return errors.New("a default breaks it")
		}
	}
	return nil
}

// Check returns a copy of value with the schema's defaults filled in, or every fault of that copy,
// sorted by path. It never changes value, and converts nothing in it: "1" is not a number (TOL-2).
//
// A default fills an absent property that is not required. It is taken as it is, without the
// defaults inside it. Defaults are only looked for in places where the schema certainly applies:
// properties, items, allOf and $ref, but not anyOf, oneOf, not or if.
func (s *Schema) Check(value any) (withDefaults any, faults []Fault) {
	copied := plainCopy(value, "", 0, &faults)
	if len(faults) > 0 {
		return nil, sortFaults(faults)
	}
	s.fill(s.root, copied)
	if s.quick != nil && s.quick.accepts(copied) {
		return copied, nil
	}
	comparable := Numbers(copied)
	if !s.walked && s.accepts(comparable) {
		return copied, nil
	}
	walk := schemaWalk{draft7: s.draft7}
	faults = walk.value(s.root, comparable, "")
	switch {
	case len(faults) > 0:
	case s.walked:
		return copied, nil
	default:
		// The library refuses for a reason that the walk does not know, such as unevaluatedItems. A
		// fault without a place is better than none.
		faults = []Fault{{Keyword: "schema"}}
	}
	return nil, sortFaults(faults)
}

// accepts returns the library's verdict. A panic in the library counts as a refusal.
func (s *Schema) accepts(value any) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return s.resolved.Validate(value) == nil
}

// fill applies the defaults of node to value, in place.
func (s *Schema) fill(node *schemaNode, value any) {
	if node.ref != nil {
		s.fill(node.ref, value)
		if s.draft7 {
			return
		}
	}
	for _, part := range node.AllOf {
		s.fill(node.sub(part), value)
	}
	switch value := value.(type) {
	case map[string]any:
		s.fillObject(node, value)
	case []any:
		for i, item := range value {
			if sub := node.item(i, s.draft7); sub != nil {
				s.fill(sub, item)
			}
		}
	}
}

func (s *Schema) fillObject(node *schemaNode, object map[string]any) {
	for _, name := range node.names {
		sub := node.sub(node.Properties[name])
		if held, ok := object[name]; ok {
			s.fill(sub, held)
			continue
		}
		if def := sub.defaultValue(); def != nil && !slices.Contains(node.Required, name) {
			// Decoded anew each time, so that no two calls share a map.
			if filled, err := decodeJSON(def); err == nil {
				object[name] = Numbers(filled)
			}
		}
	}
}

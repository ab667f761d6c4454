package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema, ready to check values (TOL-2, GAT-3). It is
// immutable and safe for concurrent use.
//
// The verdict on a value is the library's. The library stops at the first fault
// it meets in map order, and prints the value; so where it refuses, a walk of
// our own tells every fault by its path and keyword (DET-3, ERR-3). The library
// divides floats for multipleOf, so of a schema that has it the verdict is the walk's,
// unless it has unevaluatedItems, which the walk does not know.
type Schema struct {
	root     *schemaNode
	resolved *jsonschema.Resolved
	quick    *quickSchema // nil where only the library can say
	draft7   bool
	walked   bool            // the verdict is the walk's
	closed   json.RawMessage // what it was compiled of, where CompileClosed made it
}

// Fault is one thing wrong with a value: where, as a JSON pointer, by which
// keyword, and for some keywords what would be right. It never holds the value.
type Fault struct {
	Path    string
	Keyword string
	Want    string
}

// String is the fault as a message has it: "/n: type, want integer".
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

// sortFaults orders faults by path and drops those told twice, as when two
// parts of an allOf ask for the same.
func sortFaults(faults []Fault) []Fault {
	slices.SortFunc(faults, func(a, b Fault) int {
		return strings.Compare(a.Path+"\x00"+a.Keyword+"\x00"+a.Want, b.Path+"\x00"+b.Keyword+"\x00"+b.Want)
	})
	return slices.Compact(faults)
}

// schemaDrafts are the values of $schema that can be checked.
var schemaDrafts = []string{
	"", "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
}

// Compile reads a JSON Schema (draft 2020-12, or draft-07 where $schema
// says so). It refuses what cannot be checked without trouble: a schema that is
// not self-contained (a $ref that does not begin with #, a nested $id, a
// $dynamicRef), one that leads back to itself without a step into the value or
// applies more than maxInPlace schemas to one value, one deeper than
// maxJSONDepth, and one whose defaults break it.
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
	default: // null among them, which the decoding below would take for {}
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

// checkDefaults is the error of a default that breaks its schema, as the library has it
// of those that it decides about.
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

// Check gives a copy of value with the schema's defaults filled in, and every
// fault of that copy, sorted by path. The value is never changed, and nothing
// in it is converted: "1" is no number (TOL-2). With faults, there is no copy.
//
// A default fills an absent property that is not required; it is taken as it
// stands, without the defaults inside it. It is looked for where the schema
// holds for certain: properties, items, allOf and $ref, but not in anyOf,
// oneOf, not or if.
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
		// The library refuses for a reason that the walk does not know, such as
		// unevaluatedItems. Failing without a place beats passing.
		faults = []Fault{{Keyword: "schema"}}
	}
	return nil, sortFaults(faults)
}

// accepts is the library's verdict; a panic of its counts as a refusal.
func (s *Schema) accepts(value any) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return s.resolved.Validate(value) == nil
}

// fill applies the defaults that hold at node to value, in place.
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

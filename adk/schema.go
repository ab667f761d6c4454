package adk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schema is a JSON Schema, ready to check values (TOL-2, GAT-3). It is
// immutable and safe for concurrent use.
//
// The verdict on a value is the library's. The library stops at the first fault
// it meets in map order, and prints the value; so where it refuses, a walk of
// our own tells every fault by its path and keyword (DET-3, ERR-3).
type schema struct {
	root     *schemaNode
	resolved *jsonschema.Resolved
	quick    *quickSchema // nil where only the library can say
	draft7   bool
}

// fault is one thing wrong with a value: where, as a JSON pointer, by which
// keyword, and for some keywords what would be right. It never holds the value.
type fault struct {
	path    string
	keyword string
	want    string
}

// String is the fault as a message has it: "/n: type, want integer".
func (f fault) String() string {
	text := f.path + ": " + f.keyword
	if f.path == "" {
		text = "(root): " + f.keyword
	}
	if f.want != "" {
		text += ", want " + f.want
	}
	return text
}

// faultsText joins faults into one line.
func faultsText(faults []fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

// exported are faults as an Error lists them.
func exported(faults []fault) []Fault {
	all := make([]Fault, len(faults))
	for i, f := range faults {
		all[i] = Fault{Path: f.path, Keyword: f.keyword, Message: f.String()}
	}
	return all
}

// sortFaults orders faults by path and drops those told twice, as when two
// parts of an allOf ask for the same.
func sortFaults(faults []fault) []fault {
	slices.SortFunc(faults, func(a, b fault) int {
		return strings.Compare(a.path+"\x00"+a.keyword+"\x00"+a.want, b.path+"\x00"+b.keyword+"\x00"+b.want)
	})
	return slices.Compact(faults)
}

// schemaDrafts are the values of $schema that can be checked.
var schemaDrafts = []string{
	"", "https://json-schema.org/draft/2020-12/schema",
	"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
}

// compileSchema reads a JSON Schema (draft 2020-12, or draft-07 where $schema
// says so). It refuses what cannot be checked without trouble: a schema that is
// not self-contained (a $ref that does not begin with #, a nested $id, a
// $dynamicRef), one that leads back to itself without a step into the value or
// applies more than maxInPlace schemas to one value, one deeper than
// maxJSONDepth, and one whose defaults break it.
func compileSchema(raw json.RawMessage) (_ *schema, err error) {
	// The library panics on some malformed schemas.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a valid JSON Schema: %s", PanicText(r))
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
		return nil, fmt.Errorf("$schema %q is neither draft 2020-12 nor draft-07", clipText(parsed.Schema))
	}
	s := &schema{draft7: strings.Contains(parsed.Schema, "draft-07")}
	if s.root, err = linkSchema(&parsed); err != nil {
		return nil, err
	}
	s.quick = quickSchemaOf(&parsed)
	s.resolved, err = parsed.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	return s, nil
}

// check gives a copy of value with the schema's defaults filled in, and every
// fault of that copy, sorted by path. The value is never changed, and nothing
// in it is converted: "1" is no number (TOL-2). With faults, there is no copy.
//
// A default fills an absent property that is not required; it is taken as it
// stands, without the defaults inside it. It is looked for where the schema
// holds for certain: properties, items, allOf and $ref, but not in anyOf,
// oneOf, not or if.
func (s *schema) check(value any) (withDefaults any, faults []fault) {
	copied := plainCopy(value, "", 0, &faults)
	if len(faults) > 0 {
		return nil, sortFaults(faults)
	}
	s.fill(s.root, copied)
	if s.quick != nil && s.quick.accepts(copied) {
		return copied, nil
	}
	comparable := plainNumbers(copied)
	if s.accepts(comparable) {
		return copied, nil
	}
	walk := schemaWalk{draft7: s.draft7}
	faults = walk.value(s.root, comparable, "")
	if len(faults) == 0 {
		// The library refuses for a reason that the walk does not know, such as
		// unevaluatedItems. Failing without a place beats passing.
		faults = []fault{{keyword: "schema"}}
	}
	return nil, sortFaults(faults)
}

// accepts is the library's verdict; a panic of its counts as a refusal.
func (s *schema) accepts(value any) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return s.resolved.Validate(value) == nil
}

// fill applies the defaults that hold at node to value, in place.
func (s *schema) fill(node *schemaNode, value any) {
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

func (s *schema) fillObject(node *schemaNode, object map[string]any) {
	for _, name := range node.names {
		sub := node.sub(node.Properties[name])
		if held, ok := object[name]; ok {
			s.fill(sub, held)
			continue
		}
		if def := sub.defaultValue(); def != nil && !slices.Contains(node.Required, name) {
			// Decoded anew each time, so that no two calls share a map.
			if filled, err := decodeJSON(def); err == nil {
				object[name] = plainNumbers(filled)
			}
		}
	}
}

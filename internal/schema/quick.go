package schema

import (
	"math"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// quickSchema is a schema that uses only the few keywords that most tools use, in a form that can
// accept a value without reflection. It accepts only what the library would accept, and leaves all
// other verdicts to the library.
type quickSchema struct {
	kind       string   // the keyword type
	words      []string // the enum of a string; nil for none
	min, max   float64  // the limits of a number or an integer
	required   []string
	properties map[string]*quickSchema
	closed     bool // additionalProperties is false
	items      *quickSchema
}

// quickSchemaOf returns nil for a schema with any other keyword.
func quickSchemaOf(s *jsonschema.Schema) *quickSchema {
	if s == nil || !hasQuickKeywords(*s) {
		return nil
	}
	q := &quickSchema{kind: s.Type, min: math.Inf(-1), max: math.Inf(1), required: s.Required, closed: s.AdditionalProperties != nil}
	if s.Minimum != nil {
		q.min = *s.Minimum
	}
	if s.Maximum != nil {
		q.max = *s.Maximum
	}
	if s.Enum != nil && !q.takeWords(s.Enum) || s.Items != nil && !q.takeItems(s.Items) || !q.takeProperties(s.Properties) {
		return nil
	}
	return q
}

// hasQuickKeywords reports whether a schema has exactly one type, and only keywords that
// quickSchemaOf knows or that accept everything. All other fields of the library's schema, also
// those that later versions add, must be zero.
func hasQuickKeywords(s jsonschema.Schema) bool {
	if s.Type == "" || s.AdditionalProperties != nil && !reflect.DeepEqual(*s.AdditionalProperties, jsonschema.Schema{Not: &jsonschema.Schema{}}) {
		return false
	}
	s.Type, s.Enum, s.Minimum, s.Maximum, s.Items = "", nil, nil, nil, nil
	s.Properties, s.Required, s.AdditionalProperties = nil, nil, nil
	s.Schema, s.Title, s.Description, s.Default, s.Examples = "", "", "", nil, nil
	return reflect.ValueOf(s).IsZero()
}

func (q *quickSchema) takeWords(enum []any) bool {
	q.words = []string{}
	for _, one := range enum {
		word, ok := one.(string)
		if !ok {
			return false
		}
		q.words = append(q.words, word)
	}
	return q.kind == "string"
}

func (q *quickSchema) takeItems(items *jsonschema.Schema) bool {
	q.items = quickSchemaOf(items)
	return q.items != nil
}

func (q *quickSchema) takeProperties(all map[string]*jsonschema.Schema) bool {
	q.properties = make(map[string]*quickSchema, len(all))
	for name, one := range all {
		if q.properties[name] = quickSchemaOf(one); q.properties[name] == nil {
			return false
		}
	}
	return true
}

// accepts reports whether a plain value is certainly valid.
func (q *quickSchema) accepts(value any) bool {
	switch value := value.(type) {
	case bool:
		return q.kind == "boolean"
	case string:
		return q.kind == "string" && (q.words == nil || slices.Contains(q.words, value))
	case float64:
		whole := value == math.Trunc(value) && math.Abs(value) < 1<<53
		return (q.kind == "number" || q.kind == "integer" && whole) && value >= q.min && value <= q.max
	case []any:
		return q.kind == "array" && (q.items == nil || !slices.ContainsFunc(value, func(one any) bool { return !q.items.accepts(one) }))
	case map[string]any:
		return q.kind == "object" && q.acceptsObject(value)
	}
	return false
}

func (q *quickSchema) acceptsObject(object map[string]any) bool {
	for _, name := range q.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, held := range object {
		property := q.properties[name]
		if property == nil && q.closed || property != nil && !property.accepts(held) {
			return false
		}
	}
	return true
}

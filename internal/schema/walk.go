package schema

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/adkreplay/adkreplay/internal/jsonpointer"
)

// schemaNode is one schema in a tree of schemas, with additional data for the walk.
type schemaNode struct {
	*jsonschema.Schema
	// ref is the schema that $ref refers to, or nil.
	ref *schemaNode
	// leaves are the keywords without schemas inside them. They are built when a value is first
	// refused, which never happens to most schemas.
	leaves func() []schemaLeaf
	// patterns are the keys of patternProperties, compiled.
	patterns map[string]*regexp.Regexp
	// names are the keys of properties, sorted.
	names []string
	// index finds the node of a schema in the whole tree.
	index map[*jsonschema.Schema]*schemaNode
}

// schemaLeaf is one keyword by itself.
type schemaLeaf struct {
	keyword, want string
	accepts       func(value any) bool
}

// walkDecides reports whether the library cannot decide about a schema and the walk can. The walk
// knows all keywords except unevaluatedItems.
func (n *schemaNode) walkDecides() bool {
	decides := false
	for s := range n.index {
		if s.UnevaluatedItems != nil {
			return false
		}
		decides = decides || s.MultipleOf != nil
	}
	return decides
}

func (n *schemaNode) sub(s *jsonschema.Schema) *schemaNode { return n.index[s] }

// defaultValue returns the default of the node, or of the node that it refers to.
func (n *schemaNode) defaultValue() []byte {
	if n.Default == nil && n.ref != nil {
		return n.ref.defaultValue()
	}
	return n.Default
}

// item returns the schema of the i-th item of an array, or nil.
func (n *schemaNode) item(i int, draft7 bool) *schemaNode {
	prefix, rest := n.PrefixItems, n.Items
	if draft7 {
		if prefix = n.ItemsArray; prefix != nil {
			rest = n.AdditionalItems
		}
	}
	if i < len(prefix) {
		return n.sub(prefix[i])
	}
	if rest == nil {
		return nil
	}
	return n.sub(rest)
}

// subschema is a schema inside another one: its place, and whether it applies to the same value (as
// in allOf) or to a part of it (as in items).
type subschema struct {
	pointer string
	schema  *jsonschema.Schema
	inPlace bool
}

// subschemas lists the schemas directly inside s, in a fixed order.
func subschemas(s *jsonschema.Schema) []subschema {
	var subs []subschema
	one := func(keyword string, inPlace bool, inner *jsonschema.Schema) {
		if inner != nil {
			subs = append(subs, subschema{"/" + keyword, inner, inPlace})
		}
	}
	list := func(keyword string, inPlace bool, inner []*jsonschema.Schema) {
		for i, one := range inner {
			subs = append(subs, subschema{"/" + keyword + "/" + strconv.Itoa(i), one, inPlace})
		}
	}
	named := func(keyword string, inPlace bool, inner map[string]*jsonschema.Schema) {
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			subs = append(subs, subschema{"/" + keyword + "/" + jsonpointer.Escape(name), inner[name], inPlace})
		}
	}
	list("allOf", true, s.AllOf)
	list("anyOf", true, s.AnyOf)
	list("oneOf", true, s.OneOf)
	one("not", true, s.Not)
	one("if", true, s.If)
	one("then", true, s.Then)
	one("else", true, s.Else)
	named("dependentSchemas", true, s.DependentSchemas)
	named("dependencies", true, s.DependencySchemas)
	named("$defs", false, s.Defs)
	named("definitions", false, s.Definitions)
	named("properties", false, s.Properties)
	named("patternProperties", false, s.PatternProperties)
	one("additionalProperties", false, s.AdditionalProperties)
	one("propertyNames", false, s.PropertyNames)
	one("unevaluatedProperties", false, s.UnevaluatedProperties)
	list("prefixItems", false, s.PrefixItems)
	one("items", false, s.Items)
	list("items", false, s.ItemsArray)
	one("additionalItems", false, s.AdditionalItems)
	one("contains", false, s.Contains)
	one("unevaluatedItems", false, s.UnevaluatedItems)
	one("contentSchema", false, s.ContentSchema)
	return subs
}

// linkSchema builds the nodes of a tree of schemas and resolves their references.
func linkSchema(root *jsonschema.Schema) (*schemaNode, error) {
	index := map[*jsonschema.Schema]*schemaNode{}
	targets := map[string]*schemaNode{}
	var grow func(s *jsonschema.Schema, pointer string) error
	grow = func(s *jsonschema.Schema, pointer string) error {
		if s == nil {
			return fmt.Errorf("no schema at %s", Clip(pointer))
		}
		if s.DynamicRef != "" || s.ID != "" && s != root {
			return fmt.Errorf("%s: a nested $id and a $dynamicRef cannot be checked; use $ref within the schema", Clip(pointer))
		}
		node, err := newSchemaNode(s, index)
		if err != nil {
			return fmt.Errorf("#%s: %w", Clip(pointer), err)
		}
		index[s], targets[pointer] = node, node
		if s.Anchor != "" {
			targets[s.Anchor] = node
		}
		if s.DynamicAnchor != "" {
			targets[s.DynamicAnchor] = node
		}
		for _, sub := range subschemas(s) {
			if err := grow(sub.schema, pointer+sub.pointer); err != nil {
				return err
			}
		}
		return nil
	}
	if err := grow(root, ""); err != nil {
		return nil, err
	}
	if err := resolveSchemaRefs(targets); err != nil {
		return nil, err
	}
	counts := map[*schemaNode]int{}
	for _, pointer := range slices.Sorted(maps.Keys(targets)) {
		switch n := countInPlace(targets[pointer], counts); {
		case n == 0:
			return nil, fmt.Errorf("#%s leads back to itself without a step into the value", Clip(pointer))
		case n > maxInPlace:
			return nil, fmt.Errorf("#%s applies more than %d schemas to one value", Clip(pointer), maxInPlace)
		}
	}
	return index[root], nil
}

func resolveSchemaRefs(targets map[string]*schemaNode) error {
	for _, pointer := range slices.Sorted(maps.Keys(targets)) {
		node := targets[pointer]
		if node.Ref == "" {
			continue
		}
		fragment, local := strings.CutPrefix(node.Ref, "#")
		name, err := url.PathUnescape(fragment)
		if !local || err != nil || targets[name] == nil {
			return fmt.Errorf("$ref %q leads to nothing within the schema", Clip(node.Ref))
		}
		node.ref = targets[name]
	}
	return nil
}

// maxInPlace is how many schemas may apply to one value through $ref, allOf and similar keywords. A
// few references, each used twice by the next one, would otherwise take almost for ever.
const maxInPlace = 10_000

// countInPlace counts the schemas that node applies to one value, including itself, but no more
// than maxInPlace+1. It returns 0 if node leads back to itself. A count of 0 in counts marks a node
// that is being counted.
func countInPlace(node *schemaNode, counts map[*schemaNode]int) int {
	if n, seen := counts[node]; seen {
		return n
	}
	counts[node] = 0
	var parts []*schemaNode
	if node.ref != nil {
		parts = append(parts, node.ref)
	}
	for _, sub := range subschemas(node.Schema) {
		if sub.inPlace {
			parts = append(parts, node.sub(sub.schema))
		}
	}
	total := 1
	for _, part := range parts {
		n := countInPlace(part, counts)
		if n == 0 {
			return 0
		}
		total = min(total+n, maxInPlace+1)
	}
	counts[node] = total
	return total
}

func newSchemaNode(s *jsonschema.Schema, index map[*jsonschema.Schema]*schemaNode) (*schemaNode, error) {
	if s.MultipleOf != nil && *s.MultipleOf <= 0 {
		return nil, errors.New("multipleOf: want a number above 0")
	}
	node := &schemaNode{Schema: s, index: index, patterns: map[string]*regexp.Regexp{}, names: slices.Sorted(maps.Keys(s.Properties))}
	for pattern := range s.PatternProperties {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, errors.New("patternProperties: not a regular expression")
		}
		node.patterns[pattern] = compiled
	}
	node.leaves = sync.OnceValue(func() []schemaLeaf { return schemaLeaves(s) })
	return node, nil
}

// leafSchema is a keyword, and a schema with only that keyword.
type leafSchema struct {
	keyword, want string
	alone         *jsonschema.Schema
}

// schemaLeaves splits a schema into schemas with one leaf keyword each. The library has accepted
// the keywords together, so it accepts each.
func schemaLeaves(s *jsonschema.Schema) []schemaLeaf {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	all := []struct {
		leafSchema
		present bool
	}{
		{leafSchema{"type", strings.Join(types, " or "), &jsonschema.Schema{Type: s.Type, Types: s.Types}}, s.Type != "" || s.Types != nil},
		{leafSchema{"enum", "", &jsonschema.Schema{Enum: s.Enum}}, s.Enum != nil},
		{leafSchema{"const", "", &jsonschema.Schema{Const: s.Const}}, s.Const != nil},
		{leafSchema{"multipleOf", "", nil}, s.MultipleOf != nil},
		{leafSchema{"minimum", "", &jsonschema.Schema{Minimum: s.Minimum}}, s.Minimum != nil},
		{leafSchema{"maximum", "", &jsonschema.Schema{Maximum: s.Maximum}}, s.Maximum != nil},
		{leafSchema{"exclusiveMinimum", "", &jsonschema.Schema{ExclusiveMinimum: s.ExclusiveMinimum}}, s.ExclusiveMinimum != nil},
		{leafSchema{"exclusiveMaximum", "", &jsonschema.Schema{ExclusiveMaximum: s.ExclusiveMaximum}}, s.ExclusiveMaximum != nil},
		{leafSchema{"minLength", "", &jsonschema.Schema{MinLength: s.MinLength}}, s.MinLength != nil},
		{leafSchema{"maxLength", "", &jsonschema.Schema{MaxLength: s.MaxLength}}, s.MaxLength != nil},
		{leafSchema{"pattern", "", &jsonschema.Schema{Pattern: s.Pattern}}, s.Pattern != ""},
		{leafSchema{"minItems", "", &jsonschema.Schema{MinItems: s.MinItems}}, s.MinItems != nil},
		{leafSchema{"maxItems", "", &jsonschema.Schema{MaxItems: s.MaxItems}}, s.MaxItems != nil},
		{leafSchema{"uniqueItems", "", &jsonschema.Schema{UniqueItems: true}}, s.UniqueItems},
		{leafSchema{"minProperties", "", &jsonschema.Schema{MinProperties: s.MinProperties}}, s.MinProperties != nil},
		{leafSchema{"maxProperties", "", &jsonschema.Schema{MaxProperties: s.MaxProperties}}, s.MaxProperties != nil},
	}
	var present []schemaLeaf
	for _, leaf := range all {
		if !leaf.present {
			continue
		}
		if leaf.keyword == "multipleOf" {
			present = append(present, schemaLeaf{leaf.keyword, leaf.want, multiplesOf(*s.MultipleOf)})
			continue
		}
		if resolved, err := leaf.alone.Resolve(nil); err == nil {
			present = append(present, schemaLeaf{leaf.keyword, leaf.want, func(value any) bool { return resolved.Validate(value) == nil }})
		}
	}
	return present
}

// multiplesOf returns a function that accepts multiples of divisor, and values that are not
// numbers. It calculates with the numbers in decimals: 19.99 is a multiple of 0.01, but not in a
// division of floats.
func multiplesOf(divisor float64) func(value any) bool {
	of := decimal(reflect.ValueOf(divisor))
	return func(value any) bool {
		n := decimal(reflect.ValueOf(value))
		return n == nil || n.Quo(n, of).IsInt()
	}
}

// decimal returns the shortest decimal that represents a number, exactly, or nil if v is not a
// number.
func decimal(v reflect.Value) *big.Rat {
	r := new(big.Rat)
	switch {
	case v.CanInt():
		return r.SetInt64(v.Int())
	case v.CanUint():
		return r.SetUint64(v.Uint())
	case v.CanFloat():
		r, _ = r.SetString(strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
		return r
	}
	return nil
}

// schemaWalk reports every fault of a value that the library has refused.
type schemaWalk struct {
	draft7 bool
}

// value returns the faults of value against node.
func (w schemaWalk) value(node *schemaNode, value any, path string) []Fault {
	var faults []Fault
	if node.ref != nil {
		faults = w.value(node.ref, value, path)
		if w.draft7 {
			return faults // draft-07 ignores the keywords next to a $ref
		}
	}
	for _, leaf := range node.leaves() {
		if !leaf.accepts(value) {
			faults = append(faults, Fault{path, leaf.keyword, leaf.want})
		}
	}
	faults = append(faults, w.logic(node, value, path)...)
	switch value := value.(type) {
	case map[string]any:
		faults = append(faults, w.object(node, value, path)...)
	case []any:
		faults = append(faults, w.array(node, value, path)...)
	}
	return faults
}

func (w schemaWalk) holds(node *schemaNode, value any) bool {
	return len(w.value(node, value, "")) == 0
}

// logic returns the faults of the keywords that combine schemas. If it is unclear which one of
// several schemas should have applied, the keyword itself is the fault.
func (w schemaWalk) logic(node *schemaNode, value any, path string) []Fault {
	var faults []Fault
	for _, part := range node.AllOf {
		faults = append(faults, w.value(node.sub(part), value, path)...)
	}
	if node.AnyOf != nil && w.countHolding(node, node.AnyOf, value) == 0 {
		faults = append(faults, Fault{Path: path, Keyword: "anyOf"})
	}
	if node.OneOf != nil && w.countHolding(node, node.OneOf, value) != 1 {
		faults = append(faults, Fault{Path: path, Keyword: "oneOf"})
	}
	if node.Not != nil && w.holds(node.sub(node.Not), value) {
		faults = append(faults, Fault{Path: path, Keyword: "not"})
	}
	if branch := w.branch(node, value); branch != nil {
		faults = append(faults, w.value(branch, value, path)...)
	}
	return faults
}

func (w schemaWalk) countHolding(node *schemaNode, parts []*jsonschema.Schema, value any) int {
	n := 0
	for _, part := range parts {
		if w.holds(node.sub(part), value) {
			n++
		}
	}
	return n
}

// branch returns the schema of then or else that if selects, or nil.
func (w schemaWalk) branch(node *schemaNode, value any) *schemaNode {
	switch {
	case node.If == nil:
		return nil
	case w.holds(node.sub(node.If), value):
		return node.index[node.Then]
	}
	return node.index[node.Else]
}

func (w schemaWalk) array(node *schemaNode, list []any, path string) []Fault {
	var faults []Fault
	for i, item := range list {
		if sub := node.item(i, w.draft7); sub != nil {
			faults = append(faults, w.value(sub, item, joinPointer(path, strconv.Itoa(i)))...)
		}
	}
	if node.Contains == nil {
		return faults
	}
	found := 0
	for _, item := range list {
		if w.holds(node.sub(node.Contains), item) {
			found++
		}
	}
	if found == 0 && (node.MinContains == nil || *node.MinContains > 0) {
		faults = append(faults, Fault{Path: path, Keyword: "contains"})
	} else if node.MinContains != nil && found < *node.MinContains {
		faults = append(faults, Fault{Path: path, Keyword: "minContains"})
	}
	if node.MaxContains != nil && found > *node.MaxContains {
		faults = append(faults, Fault{Path: path, Keyword: "maxContains"})
	}
	return faults
}

func (w schemaWalk) object(node *schemaNode, object map[string]any, path string) []Fault {
	faults := missingKeys(object, node.Required, "required", path)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		faults = append(faults, w.member(node, object, name, path)...)
	}
	required, schemas := node.DependentRequired, node.DependentSchemas
	if w.draft7 {
		required, schemas = node.DependencyStrings, node.DependencySchemas
	}
	for name, needs := range required {
		if _, ok := object[name]; ok {
			faults = append(faults, missingKeys(object, needs, "dependentRequired", path)...)
		}
	}
	for name, sub := range schemas {
		if _, ok := object[name]; ok {
			faults = append(faults, w.value(node.sub(sub), object, path)...)
		}
	}
	return faults
}

func missingKeys(object map[string]any, needs []string, keyword, path string) []Fault {
	var faults []Fault
	for _, name := range needs {
		if _, ok := object[name]; !ok {
			faults = append(faults, Fault{Path: joinPointer(path, name), Keyword: keyword})
		}
	}
	return faults
}

// member returns the faults of one key of an object and of its value.
func (w schemaWalk) member(node *schemaNode, object map[string]any, name, path string) []Fault {
	var faults []Fault
	at, held := joinPointer(path, name), object[name]
	if node.PropertyNames != nil && !w.holds(node.sub(node.PropertyNames), name) {
		faults = append(faults, Fault{Path: at, Keyword: "propertyNames"})
	}
	direct := node.describing(name)
	for _, sub := range direct {
		faults = append(faults, w.value(sub, held, at)...)
	}
	switch {
	case len(direct) > 0:
	case node.AdditionalProperties != nil:
		faults = append(faults, w.extra(node.sub(node.AdditionalProperties), held, at, "additionalProperties")...)
	case node.UnevaluatedProperties != nil && !w.evaluated(node, object, name):
		faults = append(faults, w.extra(node.sub(node.UnevaluatedProperties), held, at, "unevaluatedProperties")...)
	}
	return faults
}

// describing returns the schemas that properties and patternProperties have for a key.
func (n *schemaNode) describing(name string) []*schemaNode {
	var subs []*schemaNode
	if sub := n.Properties[name]; sub != nil {
		subs = append(subs, n.sub(sub))
	}
	for _, pattern := range slices.Sorted(maps.Keys(n.patterns)) {
		if n.patterns[pattern].MatchString(name) {
			subs = append(subs, n.sub(n.PatternProperties[pattern]))
		}
	}
	return subs
}

// extra returns the faults of a key that is not listed: the keyword, if it refuses any value, and
// otherwise what is wrong with the value.
func (w schemaWalk) extra(node *schemaNode, held any, path, keyword string) []Fault {
	if refusesAll(node.Schema) {
		return []Fault{{Path: path, Keyword: keyword}}
	}
	return w.value(node, held, path)
}

// refusesAll reports whether s is the library's representation of the schema false.
func refusesAll(s *jsonschema.Schema) bool {
	return s.Not != nil && len(subschemas(s.Not)) == 0 && len(schemaLeaves(s.Not)) == 0 && s.Not.Ref == ""
}

// evaluated reports whether a schema that applies to the same object as node describes the key. It
// affects only the message, and no verdict.
func (w schemaWalk) evaluated(node *schemaNode, object map[string]any, name string) bool {
	for _, beside := range w.applied(node, object) {
		if len(beside.describing(name)) > 0 || beside.AdditionalProperties != nil ||
			beside.UnevaluatedProperties != nil || w.evaluated(beside, object, name) {
			return true
		}
	}
	return false
}

// applied lists the schemas that apply in place to an object and accept it.
func (w schemaWalk) applied(node *schemaNode, object map[string]any) []*schemaNode {
	var candidates []*schemaNode
	if node.ref != nil {
		candidates = append(candidates, node.ref)
	}
	for _, parts := range [][]*jsonschema.Schema{node.AllOf, node.AnyOf, node.OneOf, {node.If}} {
		for _, part := range parts {
			candidates = append(candidates, node.index[part])
		}
	}
	candidates = append(candidates, w.branch(node, object))
	for name, sub := range node.DependentSchemas {
		if _, ok := object[name]; ok {
			candidates = append(candidates, node.sub(sub))
		}
	}
	return slices.DeleteFunc(candidates, func(c *schemaNode) bool { return c == nil || !w.holds(c, object) })
}

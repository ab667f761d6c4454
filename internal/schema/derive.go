package schema

import (
	"encoding"
	"encoding/json"
	"log/slog"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Of returns the schema of a Go type according to its JSON tags and jsonschema tags, for people who
// write JSON that is decoded into a T. It does not allow null where only Go's encoder writes null.
func Of[T any]() (json.RawMessage, error) { return derive[T](false) }

// OfValue returns the schema of the JSON that Go writes for a T. It is like Of, but allows null for
// nil maps and nil bytes.
func OfValue[T any]() (json.RawMessage, error) { return derive[T](true) }

// derive lets the library derive the schema. The library looks at the structure of types, and not
// at how they are written. Therefore it is given schemas for types that write themselves, or are
// written in a special way. Recursive types, which the library refuses, are put into $defs.
func derive[T any](isValue bool) (json.RawMessage, error) {
	d := derivation{isValue: isValue, root: reflect.TypeFor[T](), told: jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{}},
		open: map[reflect.Type]bool{}, done: map[reflect.Type]bool{}}
	d.visit(d.root)
	derived, err := jsonschema.For[T](&d.told)
	if err != nil {
		return nil, err
	}
	defs := map[string]*jsonschema.Schema{}
	for _, t := range d.holders {
		body, err := jsonschema.ForType(unnamed(t), &d.told)
		if err != nil {
			return nil, err
		}
		if isValue && t.Kind() == reflect.Map {
			body = orNull(body)
		}
		settle(body)
		ref := strings.TrimPrefix(d.told.TypeSchemas[t].Comment, refMark)
		defs[ref], defs[ref+refOrNull] = body, orNull(body)
		if t == d.root {
			derived = body.CloneSchemas() // the schema of a tool must begin with its type
		}
	}
	settle(derived)
	if len(defs) > 0 {
		derived.Defs = defs
	}
	return json.Marshal(derived)
}

// orNull returns a schema that also accepts null.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	if s.Type != "" {
		s.Type, s.Types = "", []string{"null", s.Type}
	}
	return s
}

// derivation collects the schemas that the library is given.
type derivation struct {
	isValue bool
	root    reflect.Type
	told    jsonschema.ForOptions
	open    map[reflect.Type]bool // types that are being visited, from the root on
	done    map[reflect.Type]bool // types that have been visited
	holders []reflect.Type        // recursive types
}

func (d *derivation) tell(t reflect.Type, s *jsonschema.Schema) { d.told.TypeSchemas[t] = s }

// visit visits a type and all types that it consists of.
func (d *derivation) visit(t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case d.told.TypeSchemas[t] != nil, d.done[t], t.Kind() == reflect.Interface, slices.Contains(known, t):
		return
	case d.open[t]:
		d.holders = append(d.holders, t)
		d.tell(t, &jsonschema.Schema{Comment: refMark + strconv.Itoa(len(d.holders))})
		return
	}
	if s := d.written(t); s != nil {
		d.tell(t, s)
		return
	}
	d.open[t] = true
	d.parts(t)
	delete(d.open, t)
	d.done[t] = true
}

// parts visits the parts of a type.
func (d *derivation) parts(t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		for _, field := range fieldsOf(t) {
			d.visit(field.Type)
		}
	case reflect.Slice, reflect.Array:
		d.visit(t.Elem())
	case reflect.Map:
		d.visit(t.Elem())
		d.mapOf(t)
	}
}

// mapOf adds the schema of a map that the library refuses, or that may be null.
func (d *derivation) mapOf(t reflect.Type) {
	hasNumbers := t.Key().Kind() >= reflect.Int && t.Key().Kind() <= reflect.Uintptr && !does(t.Key(), asText)
	values, err := jsonschema.ForType(t.Elem(), &d.told)
	if err != nil || d.told.TypeSchemas[t] != nil || !d.isValue && !hasNumbers {
		return // the library reports what is wrong
	}
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: values}
	if d.isValue {
		s = orNull(s)
	}
	d.tell(t, s)
}

// fieldsOf returns the fields of a struct that may be in JSON, including those of embedded structs.
func fieldsOf(t reflect.Type) (fields []reflect.StructField) {
	for _, field := range reflect.VisibleFields(t) {
		shown, _ := t.FieldByName(field.Name)
		if !field.Anonymous && field.IsExported() && field.Tag.Get("json") != "-" && slices.Equal(shown.Index, field.Index) {
			fields = append(fields, field)
		}
	}
	return fields
}

// unnamed returns an unnamed type with the same structure, because the library looks up named
// types.
func unnamed(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(t.Elem())
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), t.Elem())
	case reflect.Map:
		return reflect.MapOf(t.Key(), t.Elem())
	}
	return reflect.StructOf(fieldsOf(t))
}

var (
	// known are types that write themselves, and that the library knows.
	known = []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[slog.Level](), reflect.TypeFor[big.Rat](), reflect.TypeFor[big.Float]()}

	asJSON = []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()}
	asText = []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
)

// does reports whether a type, or a pointer to it, implements one of the interfaces.
func does(t reflect.Type, interfaces []reflect.Type) bool {
	return slices.ContainsFunc(interfaces, func(i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) })
}

// written returns the schema of a type that is not written according to its structure, or nil for
// other types. The root type of a tool's arguments is always treated as an object.
func (d *derivation) written(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t == d.root && t.Kind() == reflect.Struct && !d.isValue:
		return nil
	case does(t, asJSON):
		return &jsonschema.Schema{Comment: anyMark}
	case does(t, asText):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !does(t.Elem(), asJSON) && !does(t.Elem(), asText):
		if d.isValue {
			return &jsonschema.Schema{Types: []string{"null", "string"}}
		}
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	}
	return nil
}

// Marks stand for schemas without a type. With such a schema behind a pointer, the library would
// say that the value is null. A mark is in the comment of a schema, which tags cannot set.
const (
	anyMark = "adkreplay: any"
	refMark = "adkreplay: "
	// refOrNull is the suffix of the names of types that may be null.
	refOrNull = "-or-null"
)

// settle replaces marks by the schemas that they stand for.
func settle(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	ref, isMark := strings.CutPrefix(s.Comment, refMark)
	switch {
	case s.Comment == anyMark:
		*s = jsonschema.Schema{Description: s.Description}
	case isMark && slices.Contains(s.Types, "null"):
		*s = jsonschema.Schema{Description: s.Description, Ref: "#/$defs/" + ref + refOrNull}
	case isMark:
		*s = jsonschema.Schema{Description: s.Description, Ref: "#/$defs/" + ref}
	}
	settle(s.Items)
	settle(s.AdditionalProperties)
	for _, one := range s.Properties {
		settle(one)
	}
}

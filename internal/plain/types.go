package plain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// maxTypeDepth is how deep a type may be nested. The runtime keeps every type that is ever created,
// so a hostile trace must not create them without limit.
const maxTypeDepth = 6

// wide is an int of a 64-bit program in a 32-bit one. It is written in the form of an int, so that
// data recorded by the former is written unchanged by the latter.
type wide int64

// scalarTypes maps the words for types in a trace to these types.
var scalarTypes = map[string]reflect.Type{
	"any":      reflect.TypeFor[any](),
	"bool":     reflect.TypeFor[bool](),
	"string":   reflect.TypeFor[string](),
	"int":      reflect.TypeFor[int](),
	"int8":     reflect.TypeFor[int8](),
	"int16":    reflect.TypeFor[int16](),
	"int32":    reflect.TypeFor[int32](),
	"int64":    reflect.TypeFor[int64](),
	"uint":     reflect.TypeFor[uint](),
	"uint8":    reflect.TypeFor[uint8](),
	"uint16":   reflect.TypeFor[uint16](),
	"uint32":   reflect.TypeFor[uint32](),
	"uint64":   reflect.TypeFor[uint64](),
	"uintptr":  reflect.TypeFor[uintptr](),
	"float32":  reflect.TypeFor[float32](),
	"float64":  reflect.TypeFor[float64](),
	"bytes":    bytesType,
	"json":     jsonType,
	"time":     timeType,
	"duration": durationType,
}

var (
	bytesType    = reflect.TypeFor[[]byte]()
	jsonType     = reflect.TypeFor[json.RawMessage]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	listType     = reflect.TypeFor[[]any]()
	objectType   = reflect.TypeFor[map[string]any]()
)

// scalarNames is the inverse of scalarTypes.
var scalarNames = func() map[reflect.Type]string {
	names := make(map[reflect.Type]string, len(scalarTypes))
	for name, t := range scalarTypes {
		names[t] = name
	}
	return names
}()

// typeName returns the word for a plain type, such as "map[string][]int", and false for every other
// type.
func typeName(t reflect.Type) (string, bool) { return typeNameAt(t, 0) }

func typeNameAt(t reflect.Type, depth int) (string, bool) {
	if name, ok := scalarNames[t]; ok {
		return name, true
	}
	if t.Name() != "" || depth >= maxTypeDepth {
		return "", false
	}
	prefix := ""
	switch {
	case t.Kind() == reflect.Slice:
		prefix = slicePrefix
	case t.Kind() == reflect.Map && t.Key() == scalarTypes["string"]:
		prefix = mapPrefix
	default:
		return "", false
	}
	element, ok := typeNameAt(t.Elem(), depth+1)
	return prefix + element, ok
}

const (
	slicePrefix = "[]"
	mapPrefix   = "map[string]"
)

// typeOf returns the plain type with a word.
func typeOf(name string) (reflect.Type, error) { return typeOfAt(name, 0) }

func typeOfAt(name string, depth int) (reflect.Type, error) {
	if t, ok := scalarTypes[name]; ok {
		return t, nil
	}
	if depth >= maxTypeDepth {
		return nil, fmt.Errorf("a type is nested more than %d deep", maxTypeDepth)
	}
	if rest, ok := strings.CutPrefix(name, slicePrefix); ok {
		element, err := typeOfAt(rest, depth+1)
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(element), nil
	}
	if rest, ok := strings.CutPrefix(name, mapPrefix); ok {
		element, err := typeOfAt(rest, depth+1)
		if err != nil {
			return nil, err
		}
		return reflect.MapOf(scalarTypes["string"], element), nil
	}
	return nil, fmt.Errorf("%.40q is no plain type", name)
}

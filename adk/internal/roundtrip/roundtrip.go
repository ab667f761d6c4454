// Package roundtrip decides for a Go type whether JSON can hold its values, and whether JSON gives
// them back: whether encoding/json reads what it wrote of a value as an equal value.
package roundtrip

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Fault says why JSON does not give the values of a type back, naming the member, as in
// "choices[].logProbs is a channel". It returns "" if JSON does. It looks only at the type, so the
// answer is the same for all values: a float may still be NaN, and what an any holds comes back as
// one of JSON's own types.
func Fault(t reflect.Type) string { return faultOf(question{t, true}) }

// Unheld says why JSON cannot hold all values of a type, in the same form as Fault. The values are
// not read back, so a type that only marshals itself is held, and so is a value in an interface.
func Unheld(t reflect.Type) string { return faultOf(question{t, false}) }

// FaultOfAsk says what is wrong with the types of a request, which must be held, and of its answer,
// which must be given back. It returns "" if nothing is.
func FaultOfAsk(asked, answered reflect.Type) string {
	var all []string
	if fault := Unheld(asked); fault != "" {
		all = append(all, fmt.Sprintf("the request is a %s, which JSON does not hold: %s", asked, fault))
	}
	if fault := Fault(answered); fault != "" {
		all = append(all, fmt.Sprintf("the answer is a %s, which JSON does not give back: %s", answered, fault))
	}
	return strings.Join(all, "; ")
}

// question is a type and what is asked of it: whether JSON gives its values back or, if back is
// false, whether JSON holds them.
type question struct {
	of   reflect.Type
	back bool
}

func faultOf(q question) string {
	if known, ok := faults.Load(q); ok {
		return known.(string)
	}
	w := walk{back: q.back, seen: map[reflect.Type]bool{}}
	fault := w.fault(q.of, "")
	faults.Store(q, fault)
	return fault
}

// faults caches the answers: a program has few types, and asks often.
var faults sync.Map

// walk visits each type once.
type walk struct {
	back bool
	seen map[reflect.Type]bool
}

// fault returns what is wrong with the type at a path, or with a type below it.
func (w *walk) fault(t reflect.Type, path string) string {
	if t == nil {
		return says(path, "has no type")
	}
	if w.seen[t] {
		return ""
	}
	w.seen[t] = true
	if writes, reads := hasForm(t); writes && (reads || !w.back || readsSample(t)) {
		return ""
	} else if writes {
		return says(path, fmt.Sprintf("is a %s, which writes its JSON itself and cannot read it", t))
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return says(path, fmt.Sprintf("is a %s, which JSON does not have", t.Kind()))
	case reflect.Interface:
		if w.back && t.NumMethod() > 0 {
			return says(path, fmt.Sprintf("is a %s: JSON does not say of which type its value was", t))
		}
	case reflect.Pointer:
		return w.fault(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		return w.fault(t.Elem(), path+"[]")
	case reflect.Map:
		return w.mapFault(t, path)
	case reflect.Struct:
		return w.structFault(t, path)
	}
	return ""
}

func (w *walk) mapFault(t reflect.Type, path string) string {
	switch key := t.Key(); {
	case key.Kind() == reflect.String, key.Kind() >= reflect.Int && key.Kind() <= reflect.Uintptr:
	case key.Implements(textWriter) && reflect.PointerTo(key).Implements(textReader):
	default:
		return says(path, fmt.Sprintf("has keys of type %s, which JSON does not have", key))
	}
	return w.fault(t.Elem(), path+"[]")
}

func (w *walk) structFault(t reflect.Type, path string) string {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Type.Size() == 0 || field.Name == "_" {
			continue // it holds nothing
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+field.Name, ".")
		switch {
		case name == "-" && field.Tag.Get("json") == "-":
			return says(at, "is left out of the JSON")
		case field.Anonymous && isStruct(field.Type) && (field.IsExported() || field.Type.Kind() == reflect.Struct):
			at = path // its members are promoted
		case !field.IsExported():
			return says(at, "is not exported, and so not in the JSON")
		}
		if fault := w.fault(field.Type, at); fault != "" {
			return fault
		}
	}
	return ""
}

func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

var (
	jsonWriter = reflect.TypeFor[json.Marshaler]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textWriter = reflect.TypeFor[encoding.TextMarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// hasForm reports whether values of the type marshal and unmarshal themselves.
func hasForm(t reflect.Type) (writes, reads bool) {
	p := reflect.PointerTo(t)
	writes = t.Implements(jsonWriter) || t.Implements(textWriter)
	reads = t.Implements(jsonReader) || t.Implements(textReader) || p.Implements(jsonReader) || p.Implements(textReader)
	return writes, reads
}

func says(path, what string) string { return strings.TrimPrefix(path+" "+what, " ") }

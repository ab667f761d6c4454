// Package plain writes and reads plain data: the values in stashes and in the payloads of gates,
// thoughts and log lines. Plain data survives a trace with its exact Go types, including the kinds
// of its numbers.
//
// Plain data are nil, booleans, strings, every kind of integer and float, bytes, raw JSON, times,
// durations, []any, map[string]any, slices and maps of these with string keys whose types have no
// name of their own, and values with a mark (Marked). Everything else is opaque: only its type is
// written.
//
// Five kinds of values are written as in JSON: null, true, "text", 5 (an int), 5.0 (a float64); so
// are []any and map[string]any. Any other value is an object with one key that begins with a
// dollar: {"$uint8":"5"}, {"$[]string":["a"]}, {"$time":"2024-01-02T03:04:05Z"}, {"$nil":"[]any"},
// {"$opaque":"*os.File"}. A map[string]any that could be mistaken for one of these is written as
// {"$map":{…}}.
package plain

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"
)

// maxDepth is how deep plain data may be nested. Deeper data is written as opaque and refused when
// read.
const maxDepth = 500

// Marked is a value that writes itself. It is written as {"$tag": JSON}, and Parse calls its
// resolver to get the value back. The JSON must be one line, and the same for equal values. A tag
// must not be one of this package's own words (a type, nil, string, map, opaque). A type that
// embeds a marked type is opaque, and so is a value whose JSON cannot be written.
type Marked interface {
	// PlainTag returns the mark, without the dollar.
	PlainTag() string
	// MarshalJSON returns the JSON of the value.
	MarshalJSON() ([]byte, error)
}

// Opaque stands for a value that was not plain when it was written. It is written just as that
// value was.
type Opaque struct {
	// Type is the Go type of the value, as %T prints it.
	Type string
}

// OpaqueType returns the type of the original value, which JSON could not hold.
func (o Opaque) OpaqueType() string { return o.Type }

// Equal reports whether a and b are written in the same way: whether they are equal plain data of
// the same types, or opaque values of one type.
func Equal(a, b any) bool {
	if equal, known := equalUnwritten(a, b); known {
		return equal
	}
	return bytes.Equal(AppendJSON(nil, a), AppendJSON(nil, b))
}

// equalUnwritten compares, without encoding them, two values of the most common types, or two
// objects of such values. Most data is of this form. known reports whether it could.
func equalUnwritten(a, b any) (equal, known bool) {
	a1, isObject := a.(map[string]any)
	b1, alike := b.(map[string]any)
	if !isObject || !alike || a1 == nil || b1 == nil {
		return equalScalars(a, b)
	}
	if len(a1) != len(b1) {
		return false, true
	}
	for key, one := range a1 {
		other, there := b1[key]
		if !there {
			return false, true
		}
		if equal, known := equalScalars(one, other); !equal || !known {
			return false, known
		}
	}
	return true, true
}

func equalScalars(a, b any) (equal, known bool) {
	switch a := a.(type) {
	case nil:
		return b == nil, b == nil
	case string:
		b, ok := b.(string)
		return a == b, ok
	case int:
		b, ok := b.(int)
		return a == b, ok
	case bool:
		b, ok := b.(bool)
		return a == b, ok
	case float64:
		b, ok := b.(float64)
		return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b, ok
	}
	return false, false
}

// OpaquePaths returns the path of every value within v that is not plain, in the form a.b[2], in
// the order in which they are written. The empty path is v itself.
func OpaquePaths(v any) []string {
	e := encoder{asked: true}
	e.value(v)
	return e.opaques
}

// Fault describes where a value is not plain data. It returns "" for plain data.
func Fault(v any) string {
	paths := OpaquePaths(v)
	switch {
	case len(paths) == 0:
		return ""
	case paths[0] == "":
		return fmt.Sprintf("is of the type %T", v)
	}
	const most = 5
	more := ""
	if len(paths) > most {
		paths, more = paths[:most], " and others"
	}
	return "is not plain data at " + strings.Join(paths, ", ") + more
}

// Copy returns v with every map and slice in it copied, of whatever type, and everything else
// shared (contract STA-3). The copy of a map or slice that contains itself contains itself, too.
func Copy(v any) any {
	var c copier
	return c.value(v)
}

// copier remembers the maps and slices that it is inside of, so that it can copy cycles.
type copier struct{ open []copying }

type copying struct {
	at   ref
	copy any
}

// ref identifies a map or slice by the address of its data and its length.
type ref struct {
	at  unsafe.Pointer
	len int
}

func refOf(v reflect.Value) ref { return ref{v.UnsafePointer(), v.Len()} }

func (c *copier) value(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int, float64:
		return v
	case map[string]any:
		if v == nil {
			return v
		}
		return c.object(v)
	case []any:
		if v == nil {
			return v
		}
		return c.list(v)
	case []byte:
		return bytes.Clone(v)
	}
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Map, reflect.Slice:
		return c.typed(value).Interface()
	}
	return v
}

func (c *copier) find(at ref) (any, bool) {
	for _, open := range c.open {
		if open.at == at {
			return open.copy, true
		}
	}
	return nil, false
}

func (c *copier) enter(at ref, copy any) { c.open = append(c.open, copying{at, copy}) }

func (c *copier) leave() { c.open = c.open[:len(c.open)-1] }

func (c *copier) object(object map[string]any) any {
	at := refOf(reflect.ValueOf(object))
	if copied, found := c.find(at); found {
		return copied
	}
	copied := make(map[string]any, len(object))
	c.enter(at, copied)
	for key, v := range object {
		copied[key] = c.value(v)
	}
	c.leave()
	return copied
}

func (c *copier) list(list []any) any {
	at := ref{unsafe.Pointer(unsafe.SliceData(list)), len(list)}
	if copied, found := c.find(at); found {
		return copied
	}
	copied := make([]any, len(list))
	c.enter(at, copied)
	for i, v := range list {
		copied[i] = c.value(v)
	}
	c.leave()
	return copied
}

// typed copies a map or slice of any other type.
func (c *copier) typed(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	if found, ok := c.find(refOf(v)); ok && reflect.TypeOf(found) == v.Type() {
		return reflect.ValueOf(found)
	}
	if v.Kind() == reflect.Map {
		return c.typedMap(v)
	}
	copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(copied, v)
	if !holdsMore(v.Type().Elem()) {
		return copied
	}
	c.enter(refOf(v), copied.Interface())
	for i := range v.Len() {
		copied.Index(i).Set(c.member(v.Index(i)))
	}
	c.leave()
	return copied
}

func (c *copier) typedMap(v reflect.Value) reflect.Value {
	copied := reflect.MakeMapWithSize(v.Type(), v.Len())
	c.enter(refOf(v), copied.Interface())
	for entries := v.MapRange(); entries.Next(); {
		copied.SetMapIndex(entries.Key(), c.member(entries.Value()))
	}
	c.leave()
	return copied
}

// member copies an element of a typed map or slice, which keeps its type.
func (c *copier) member(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return c.typed(v)
	case reflect.Interface:
		if !v.IsNil() {
			return reflect.ValueOf(c.value(v.Interface()))
		}
	}
	return v
}

// holdsMore reports whether values of a type may contain maps or slices that must be copied too.
func holdsMore(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return false
}

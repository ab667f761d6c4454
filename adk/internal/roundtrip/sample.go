package roundtrip

import (
	"encoding/json"
	"reflect"
)

// readsSample reports whether a type that marshals itself, but does not unmarshal itself, writes
// JSON that encoding/json reads back. Many types have such a method to leave members out or to keep
// an older spelling. readsSample decides by a sample with every member set.
func readsSample(t reflect.Type) (equal bool) {
	defer func() {
		if recover() != nil { // the type's own code could not handle the sample
			equal = false
		}
	}()
	sample := reflect.New(t)
	if !fill(sample.Elem(), deepest) {
		return false
	}
	text, err := json.Marshal(sample.Elem().Interface())
	if err != nil {
		return false
	}
	back := reflect.New(t)
	return json.Unmarshal(text, back.Interface()) == nil && reflect.DeepEqual(sample.Interface(), back.Interface())
}

// deepest is how deep a sample of a recursive type goes.
const deepest = 4

// fill sets everything that a value can hold, and reports whether it could. A type that unmarshals
// itself, such as a time, is left as it is.
func fill(v reflect.Value, depth int) bool {
	if raw, ok := v.Addr().Interface().(*json.RawMessage); ok {
		*raw = json.RawMessage("1")
		return true
	}
	if _, reads := hasForm(v.Type()); reads || depth == 0 {
		return true
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(0.5)
	case v.Kind() == reflect.Interface && v.NumMethod() == 0:
		v.Set(reflect.ValueOf("x"))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), depth-1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), depth-1)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		whole := fill(key, depth-1) && fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
		return whole
	default:
		return fillMembers(v, depth)
	}
	return true
}

func fillMembers(v reflect.Value, depth int) bool {
	whole := v.Kind() == reflect.Array || v.Kind() == reflect.Struct
	for i := 0; whole && v.Kind() == reflect.Array && i < v.Len(); i++ {
		whole = fill(v.Index(i), depth-1)
	}
	for i := 0; whole && v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		field := v.Type().Field(i)
		whole = field.Type.Size() == 0 || field.IsExported() && fill(v.Field(i), depth-1)
	}
	return whole
}

package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// FormOf returns the form of the errors of a user's type E, which may be a pointer to a struct. Of
// a struct it keeps the exported fields: texts unchanged and other values as JSON, except for zero
// values and values that JSON cannot hold. Of any other type it keeps the whole value. A field of
// type error is not kept; on rebuilding, it is set to the error that the original wrapped.
func FormOf[E error]() ErrorForm {
	of := reflect.TypeFor[E]()
	form := formOf(
		func(e E) map[string]string { return partsOf(reflect.ValueOf(e)) },
		func(with map[string]string, cause error) error {
			whole := reflect.New(of).Elem()
			if of.Kind() == reflect.Pointer {
				whole.Set(reflect.New(of.Elem()))
			}
			fill(reflect.Indirect(whole), with, cause)
			return whole.Interface().(error)
		})
	form.wrong = whyNothingIsKept(of)
	return form
}

// whyNothingIsKept returns why the values of a type cannot be rebuilt, or nil if they can.
func whyNothingIsKept(of reflect.Type) error {
	whole := of
	if of.Kind() == reflect.Pointer {
		whole = of.Elem()
	}
	switch {
	case of.Kind() == reflect.Interface:
		return fmt.Errorf("is an interface, %s: want the type of the errors themselves", of)
	case whole.Kind() != reflect.Struct || whole.NumField() == 0:
		return nil
	}
	for i := range whole.NumField() {
		if whole.Field(i).IsExported() {
			return nil
		}
	}
	return fmt.Errorf("is a type without an exported field, %s, which nobody but its package can make again: "+
		"answer with a sentinel of your own, or with a member that says what its code was", of)
}

// theWhole is the name of the text of a value that is not a struct.
const theWhole = "value"

var anError = reflect.TypeFor[error]()

func partsOf(v reflect.Value) map[string]string {
	v = reflect.Indirect(v)
	with := map[string]string{}
	if v.Kind() != reflect.Struct {
		with[theWhole] = partText(v)
		return with
	}
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && field.Type != anError && !v.Field(i).IsZero() {
			with[field.Name] = partText(v.Field(i))
		}
	}
	return with
}

// partText returns a value as a text, or "" if JSON cannot hold the value.
func partText(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return ""
	}
	return string(data)
}

// fill sets v from the parts of an error. A part that does not fit is skipped; the rebuilt error
// then does not split into the same parts, and forms.built rejects it.
func fill(v reflect.Value, with map[string]string, cause error) {
	if v.Kind() != reflect.Struct {
		fillPart(v, with[theWhole])
		return
	}
	for i := range v.NumField() {
		switch field := v.Type().Field(i); {
		case !field.IsExported():
		case field.Type == anError && cause != nil:
			v.Field(i).Set(reflect.ValueOf(cause))
		default:
			fillPart(v.Field(i), with[field.Name])
		}
	}
}

func fillPart(v reflect.Value, text string) {
	switch {
	case text == "":
	case v.Kind() == reflect.String:
		v.SetString(text)
	default:
		_ = json.Unmarshal([]byte(text), v.Addr().Interface())
	}
}

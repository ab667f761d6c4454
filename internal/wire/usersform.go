package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// FormOf is the form of the errors of a user's type E, or of a pointer to a struct: of a
// struct its exported fields, texts as they are and the others as JSON, but for zero ones
// and what JSON does not hold; of any other type the whole of it. A field that is an error
// is what the error wraps, and given back as that.
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

// whyNothingIsKept is why the values of a type cannot be made again; nil where they can.
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

// theWhole is the name of the text of what is no struct.
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

// partText is a value as a text; empty for what JSON does not hold.
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

// fill gives v the parts of an error. What does not fit is left as it is: the error then
// does not give the same again.
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

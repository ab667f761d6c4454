// Package jsonfault says what is wrong with JSON that somebody wrote, in terms of JSON: the reader
// of a file does not know the Go types that the file is decoded into.
package jsonfault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Of rewords an error of encoding/json. The result contains no value of the JSON, and wraps no
// other error.
func Of(err error) error {
	var other *json.UnmarshalTypeError
	var clock *time.ParseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		found, _, _ := strings.Cut(other.Value, " ") // a number's value follows
		return fmt.Errorf("%swant %s, found %s", member(other.Field), wanted(other.Type), words[found])
	case errors.As(err, &clock), strings.HasPrefix(err.Error(), "Time.UnmarshalJSON: "):
		return errors.New("want times as in 2025-01-01T00:00:00Z")
	case errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return errors.New("the JSON breaks off")
	}
	if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no member %.64s", unknown)
	}
	return err
}

// words maps encoding/json's names for what it found to those of error messages.
var words = map[string]string{"object": "an object", "array": "a list", "string": "a text", "number": "a number", "bool": "true or false", "null": "null"}

// wanted returns what a type is in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Struct, reflect.Map:
		return words["object"]
	case reflect.Slice, reflect.Array:
		return words["array"]
	case reflect.String:
		return words["string"]
	case reflect.Bool:
		return words["bool"]
	case reflect.Float32, reflect.Float64:
		return words["number"] + " that is not too large"
	}
	return "a whole number that is not too large"
}

// member returns a path of fields in the form of JSON. The path may contain embedded structs, which
// are not members in JSON; they begin with an upper-case letter.
func member(path string) string {
	if path == "" {
		return ""
	}
	fields := strings.Split(path, ".")
	last := len(fields) - 1
	var names []string
	for i, field := range fields {
		if i == last || field == "" || !unicode.IsUpper(rune(field[0])) {
			names = append(names, small(field))
		}
	}
	return strings.Join(names, ".") + ": "
}

// small returns the JSON name of a field without a tag: id for ID, mimeType for MIMEType.
func small(name string) string {
	head := len(name) - len(strings.TrimLeftFunc(name, unicode.IsUpper))
	if head > 1 && head < len(name) {
		head--
	}
	return strings.ToLower(name[:head]) + name[head:]
}

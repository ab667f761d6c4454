package canonical

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Normalize returns a deep copy of v as pure JSON data: nil, bool, string, float64, []any and
// map[string]any. The result has the same canonical text as v. Normalize fails whenever Append
// fails.
func Normalize(v any) (any, error) { return normalize(v, 0) }

func normalize(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		return validText(v), nil
	case []any:
		return normalizeArray(v, depth)
	case map[string]any:
		return normalizeObject(v, depth)
	}
	if number, ok := asNumber(v); ok {
		return normalizeNumber(number), nil
	}
	pure, err := simpler(v)
	if err != nil {
		return nil, err
	}
	return normalize(pure, depth)
}

// tidy is normalize, in place, for data that encoding/json has just decoded. Nothing else refers to
// the data, its text is valid and its numbers are finite; only the depth and -0 are left to handle.
func tidy(v any, depth int) error {
	switch v := v.(type) {
	case []any:
		if depth >= maxDepth {
			return errTooDeep
		}
		for i, held := range v {
			if isZero(held) {
				v[i] = 0.0
			} else if err := tidy(held, depth+1); err != nil {
				return atIndex(i, err)
			}
		}
	case map[string]any:
		if depth >= maxDepth {
			return errTooDeep
		}
		for key, held := range v {
			if isZero(held) {
				v[key] = 0.0
			} else if err := tidy(held, depth+1); err != nil {
				return atKey(key, err)
			}
		}
	}
	return nil
}

// isZero reports whether v is 0 or -0.
func isZero(v any) bool {
	f, ok := v.(float64)
	return ok && f == 0
}

// normalizeNumber returns what reading the canonical text of f would give.
func normalizeNumber(f float64) any {
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		return nil
	case f == 0: // -0 too
		return float64(0)
	default:
		return f
	}
}

func normalizeArray(list []any, depth int) (any, error) {
	if depth >= maxDepth {
		return nil, errTooDeep
	}
	pure := make([]any, len(list))
	for i, v := range list {
		var err error
		if pure[i], err = normalize(v, depth+1); err != nil {
			return nil, atIndex(i, err)
		}
	}
	return pure, nil
}

func normalizeObject(object map[string]any, depth int) (map[string]any, error) {
	if depth >= maxDepth {
		return nil, errTooDeep
	}
	pure := make(map[string]any, len(object))
	for key, v := range object {
		value, err := normalize(v, depth+1)
		if err != nil {
			return nil, atKey(key, err)
		}
		pure[validText(key)] = value
	}
	if len(pure) < len(object) {
		return nil, errSameKey
	}
	return pure, nil
}

// validText replaces every invalid byte, as AppendString does.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var text strings.Builder
	for _, r := range s {
		text.WriteRune(r)
	}
	return text.String()
}

func appendOther(dst []byte, v any, depth int) ([]byte, error) {
	pure, err := simpler(v)
	if err != nil {
		return nil, err
	}
	return appendValue(dst, pure, depth)
}

// simpler converts a value of a type that the common path does not know to one that it knows. It
// converts only one level; the members stay as they are.
func simpler(v any) (any, error) {
	if number, ok := v.(json.Number); ok {
		return parseNumber(number)
	}
	if gone, ok := v.(interface{ OpaqueType() string }); ok { // it stands for a value that JSON could not hold
		return nil, fmt.Errorf("is a %s, which JSON cannot hold", gone.OpaqueType())
	}
	value := reflect.ValueOf(v)
	if writesItself(v) {
		return throughJSON(v)
	}
	switch kind := value.Kind(); {
	case kind == reflect.Bool:
		return value.Bool(), nil
	case kind == reflect.String:
		return value.String(), nil
	case value.CanInt():
		return value.Int(), nil
	case value.CanUint():
		return value.Uint(), nil
	case value.CanFloat():
		return value.Float(), nil
	case kind == reflect.Pointer:
		return pointedAt(value)
	case kind == reflect.Array, kind == reflect.Slice && value.Type().Elem().Kind() != reflect.Uint8:
		return members(value), nil
	case kind == reflect.Map && value.Type().Key().Kind() == reflect.String && !textKeys(value.Type()):
		return properties(value), nil
	case kind == reflect.Func, kind == reflect.Chan, kind == reflect.UnsafePointer:
		return nil, fmt.Errorf("is a %s, which JSON cannot hold", value.Type())
	}
	return throughJSON(v)
}

func parseNumber(number json.Number) (any, error) {
	f, err := strconv.ParseFloat(number.String(), 64)
	// Beyond the range, f is an infinity, which is what ECMAScript reads.
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errors.New("is a json.Number that is not a number")
	}
	return f, nil
}

func writesItself(v any) bool {
	switch v.(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return false
}

func textKeys(t reflect.Type) bool {
	return t.Key().Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// pointedAt follows a chain of pointers, which may be a cycle.
func pointedAt(value reflect.Value) (any, error) {
	for range maxDepth {
		if value.IsNil() {
			return nil, nil
		}
		value = value.Elem()
		if value.Kind() == reflect.Interface && !value.IsNil() {
			value = value.Elem()
		}
		if value.Kind() != reflect.Pointer || writesItself(value.Interface()) {
			return value.Interface(), nil
		}
	}
	return nil, errTooDeep
}

func members(value reflect.Value) []any {
	list := make([]any, value.Len())
	for i := range list {
		list[i] = value.Index(i).Interface()
	}
	return list
}

func properties(value reflect.Value) map[string]any {
	object := make(map[string]any, value.Len())
	for entries := value.MapRange(); entries.Next(); {
		object[entries.Key().String()] = entries.Value().Interface()
	}
	return object
}

// throughJSON converts structs, bytes and values with a method of their own to what encoding/json
// writes for them.
func throughJSON(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("is a %T that encoding/json cannot write: %w", v, err)
	}
	var pure any
	if err := json.Unmarshal(text, &pure); err != nil {
		return nil, fmt.Errorf("is a %T whose JSON cannot be read back: %w", v, err)
	}
	return pure, nil
}

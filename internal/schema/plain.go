package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsonpointer"
)

// maxJSONDepth is how deep a schema or a value may be nested. That is far deeper than models or
// people write, and far less than a stack can hold.
const maxJSONDepth = 128

// Copy returns a deep copy of a value in maps and slices as in decoded JSON; its leaves keep their
// Go types. The error names each place that JSON cannot represent, or that is nested too deep, but
// never the value.
func Copy(value any) (any, error) {
	var faults []Fault
	copied := plainCopy(value, "", 0, &faults)
	if len(faults) > 0 {
		return nil, errors.New(FaultsText(sortFaults(faults)))
	}
	return copied, nil
}

// CopyObject is like Copy, for an object; nil stays nil.
func CopyObject(object map[string]any) (map[string]any, error) {
	if object == nil {
		return nil, nil
	}
	copied, err := Copy(object)
	if err != nil {
		return nil, err
	}
	return copied.(map[string]any), nil
}

// Decode decodes arguments that a schema has accepted into a struct, by way of JSON.
func Decode(args map[string]any, into any) error {
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("the arguments have no JSON form: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the arguments fit the schema but not %T: %w", into, err)
	}
	return nil
}

// plainCopy copies a value deeply into maps and slices as in decoded JSON; its leaves keep their Go
// types. A value that JSON cannot represent, or that is nested too deep, is a fault.
func plainCopy(value any, path string, depth int, faults *[]Fault) any {
	if depth > maxJSONDepth {
		*faults = append(*faults, Fault{Path: path, Keyword: "depth", Want: "at most " + strconv.Itoa(maxJSONDepth)})
		return nil
	}
	// The types that decoded JSON has need no reflection.
	switch value := value.(type) {
	case nil, bool, string:
		return value
	case float64:
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			return value
		}
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, held := range value {
			object[name] = plainCopyAt(held, path, name, depth, faults)
		}
		return object
	}
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		object := make(map[string]any, v.Len())
		for key, held := range v.Seq2() {
			name := key.String()
			object[name] = plainCopyAt(held.Interface(), path, name, depth, faults)
		}
		return object
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plainCopyAt(v.Index(i).Interface(), path, strconv.Itoa(i), depth, faults)
		}
		return list
	case isPlainLeaf(v):
		return value
	}
	*faults = append(*faults, Fault{Path: path, Keyword: "json", Want: "a JSON value"})
	return nil
}

// plainCopyAt is plainCopy for a member of a container. It computes the path only if it may be
// needed, since most members are leaves that JSON can represent.
func plainCopyAt(held any, path, key string, depth int, faults *[]Fault) any {
	switch held.(type) {
	case nil, bool, string:
		if depth < maxJSONDepth {
			return held
		}
	}
	return plainCopy(held, joinPointer(path, key), depth+1, faults)
}

// isPlainLeaf reports whether JSON can represent a value that is not a container.
func isPlainLeaf(v reflect.Value) bool {
	switch {
	case v.CanInt() || v.CanUint() || v.Kind() == reflect.Bool:
		return true
	case v.CanFloat():
		return !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0)
	case v.Kind() == reflect.String:
		number, ok := v.Interface().(json.Number)
		return !ok || plainNumber(number) != nil
	}
	return false
}

// Numbers returns a plain value with each json.Number converted to a Go number, because only these
// are numbers to the library.
func Numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		return plainNumber(value)
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, held := range value {
			object[name] = Numbers(held)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, held := range value {
			list[i] = Numbers(held)
		}
		return list
	}
	return value
}

// plainNumber converts a number to a finite float64, as encoding/json does, or to an int64 or
// uint64 if it is an integer that a float64 may not represent exactly. It returns nil if no such
// type can hold the number.
func plainNumber(number json.Number) any {
	const exact = 1 << 53
	if i, err := number.Int64(); err == nil && (i > exact || i < -exact) {
		return i
	}
	if u, err := strconv.ParseUint(number.String(), 10, 64); err == nil && u > exact {
		return u
	}
	f, err := number.Float64()
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return f
}

// decodeJSON reads one JSON value, and keeps the spelling of numbers.
func decodeJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: more follows after the value")
	}
	if jsonDepth(value) > maxJSONDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxJSONDepth)
	}
	return value, nil
}

// jsonDepth returns how many containers surround the innermost value.
func jsonDepth(value any) int {
	deepest := -1
	switch value := value.(type) {
	case map[string]any:
		for _, held := range value {
			deepest = max(deepest, jsonDepth(held))
		}
	case []any:
		for _, held := range value {
			deepest = max(deepest, jsonDepth(held))
		}
	}
	return deepest + 1
}

// joinPointer appends a key to a JSON pointer. Since keys may come from a model, unprintable
// characters are replaced and long keys are clipped, so that a message stays a readable line.
func joinPointer(path, key string) string {
	return path + "/" + jsonpointer.Escape(Clip(key))
}

// Clip returns a text in a form that a message may quote.
func Clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

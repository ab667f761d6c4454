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

// maxJSONDepth bounds how deep a schema or a value may nest. It is far above
// what a model or a person writes and far below what a stack bears.
const maxJSONDepth = 128

// Copy is a deep copy of a value in maps and slices as JSON knows them; its leaves
// keep their Go type. The error names each place that JSON has no form for, or that
// nests too deep, and never the value.
func Copy(value any) (any, error) {
	var faults []Fault
	copied := plainCopy(value, "", 0, &faults)
	if len(faults) > 0 {
		return nil, errors.New(FaultsText(sortFaults(faults)))
	}
	return copied, nil
}

// CopyObject is Copy for an object; nil stays nil.
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

// Decode puts arguments that a schema has passed into a struct by way of JSON.
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

// plainCopy copies a value deeply into maps and slices as JSON knows them; its
// leaves keep their Go type. What JSON has no form for, and what nests too deep,
// is a fault.
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

// plainCopyAt is plainCopy for a member of a container. The path to it is made
// only where it can be wanted: most members are leaves that JSON has.
func plainCopyAt(held any, path, key string, depth int, faults *[]Fault) any {
	switch held.(type) {
	case nil, bool, string:
		if depth < maxJSONDepth {
			return held
		}
	}
	return plainCopy(held, joinPointer(path, key), depth+1, faults)
}

// isPlainLeaf reports whether JSON has a form for a value that is no container.
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

// Numbers gives a plain value with each json.Number as a Go number, which
// is what the library takes for a number.
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

// plainNumber is the number as encoding/json has it, a finite float64, but an
// int64 or a uint64 where it is an integer beyond those a float64 holds exactly;
// nil if there is no such number.
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

// decodeJSON reads one JSON value, keeping each number as it is written.
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

// jsonDepth is how many containers lie around the innermost value.
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

// joinPointer adds a key of a value to a JSON pointer. Keys come from a model:
// what is not printable is replaced and what is long is clipped, so that a
// message stays a line that can be read.
func joinPointer(path, key string) string {
	return path + "/" + jsonpointer.Escape(Clip(key))
}

// Clip is text as a message may quote it.
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

package unheld

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// noText begins the reason for a string that is not UTF-8, which JSON cannot hold.
const noText = "no UTF-8: "

// longest is how many bytes of such a string are quoted.
const longest = 4 << 10

// replaced is what encoding/json writes for each byte that is not UTF-8. encoding/json writes this
// escape for nothing else; only values that marshal themselves may contain it too.
var replaced = []byte(`\ufffd`)

// JSON marshals a value and keeps strings as they are. encoding/json would change a string that is
// not UTF-8; in its place stands an object (Because) that has the string in Go's escapes. If the
// name of an object's member is not UTF-8, the object stands for the whole value.
func JSON(value any) (json.RawMessage, error) {
	line, err := unescaped.Marshal(value)
	if err != nil {
		return line, err
	}
	if found := textsOf(value, line); len(found) > 0 {
		return found.told(line), nil
	}
	return line, nil
}

// Holds reports whether the JSON that encoding/json made of a value holds its strings unchanged,
// that is whether all of them are UTF-8.
func Holds(line json.RawMessage, value any) bool { return len(textsOf(value, line)) == 0 }

// textsOf returns the strings in a value that are not UTF-8; line is what encoding/json made of the
// value.
func textsOf(value any, line []byte) texts {
	if !bytes.Contains(line, replaced) {
		return nil
	}
	found := texts{} // stays empty if only a MarshalJSON method wrote the escape
	found.in(reflect.ValueOf(value))
	return found
}

// texts holds the strings of a value that are not UTF-8, in order, keyed by the JSON that
// encoding/json makes of them: different strings may have the same JSON.
type texts map[string][]string

func (t texts) add(text string, quoted bool) {
	if utf8.ValidString(text) {
		return
	}
	said := jsonOf(text)
	if quoted {
		said = jsonOf(said)
	}
	t[said] = append(t[said], text)
}

func jsonOf(text string) string {
	said, _ := unescaped.Marshal(text) // marshalling a string never fails
	return string(said)
}

// take removes and returns the next string whose JSON is said.
func (t texts) take(said []byte) (text string, ok bool) {
	of := t[string(said)]
	if len(of) == 0 {
		return "", false
	}
	t[string(said)] = of[1:]
	return of[0], true
}

// in walks a value in the order in which encoding/json writes it. encoding/json has written the
// value before, so the value has no cycles.
func (t texts) in(v reflect.Value) {
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return
	}
	if text, own := ownForm(v); own {
		t.add(text, false)
		return
	}
	switch v.Kind() {
	case reflect.String:
		t.add(v.String(), false)
	case reflect.Pointer, reflect.Interface:
		t.in(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			t.in(v.Index(i))
		}
	case reflect.Map:
		t.inMap(v)
	case reflect.Struct:
		for i := range v.NumField() {
			_, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if field := v.Field(i); field.Kind() == reflect.String && slices.Contains(strings.Split(options, ","), "string") {
				t.add(field.String(), true)
			} else {
				t.in(field)
			}
		}
	}
}

func (t texts) inMap(v reflect.Value) {
	type entry struct {
		name  string
		value reflect.Value
	}
	var all []entry
	for key, value := range v.Seq2() {
		name, own := ownForm(key)
		if key.Kind() == reflect.String && !own {
			name = key.String()
		}
		all = append(all, entry{name, value})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, one := range all {
		t.add(one.name, false)
		t.in(one.value)
	}
}

// ownForm reports whether a value marshals itself. If it does so as text, ownForm returns that
// text, because encoding/json puts it into JSON like any other string. JSON from a Marshaler is not
// examined.
func ownForm(v reflect.Value) (text string, own bool) {
	if v.CanAddr() && v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	if !v.CanInterface() {
		return "", false
	}
	switch of := v.Interface().(type) {
	case json.Marshaler:
		return "", true
	case encoding.TextMarshaler:
		said, _ := of.MarshalText() // encoding/json has already called it without an error
		return string(said), true
	}
	return "", false
}

// told returns the JSON of the value with the objects in the places of the strings.
func (t texts) told(line []byte) json.RawMessage {
	var out []byte
	for from := 0; ; {
		begin := bytes.IndexByte(line[from:], '"')
		if begin < 0 {
			return append(out, line[from:]...)
		}
		begin += from
		end := begin + 1
		for ; line[end] != '"'; end++ {
			if line[end] == '\\' {
				end++
			}
		}
		end++
		out = append(out, line[from:begin]...)
		text, ok := t.take(line[begin:end])
		switch {
		case !ok:
			out = append(out, line[begin:end]...)
		case end < len(line) && line[end] == ':':
			return Because(fmt.Sprintf("the name is %s, in %d bytes with the SHA-256 %x", saidOf(text), len(line), sha256.Sum256(line)))
		default:
			out = append(out, Because(saidOf(text))...)
		}
		from = end
	}
}

func saidOf(text string) string {
	if len(text) <= longest {
		return fmt.Sprintf("%s%q", noText, text)
	}
	return fmt.Sprintf("%s%q and more, %d bytes with the SHA-256 %x", noText, text[:longest], len(text), sha256.Sum256([]byte(text)))
}

// Within says which part of a line is not held, with the path to it, and why. It returns "" if all
// of it is held.
func Within(line json.RawMessage) string {
	if !bytes.Contains(line, []byte(`{"`+member+`":`)) {
		return ""
	}
	var tree any
	if json.Unmarshal(line, &tree) != nil {
		return ""
	}
	path, why := within(tree)
	if strings.Contains(why, noText) { // the reason may be long
		why = "it is no UTF-8: want a []byte, or what strings.ToValidUTF8 makes of it"
	}
	if path == "" {
		return why
	}
	return strings.TrimPrefix(path, ".") + ": " + why
}

func within(tree any) (path, why string) {
	switch tree := tree.(type) {
	case []any:
		for i, value := range tree {
			if path, why = within(value); why != "" {
				return fmt.Sprintf("[%d]%s", i, path), why
			}
		}
	case map[string]any:
		if why, ok := tree[member].(string); ok && len(tree) == 1 {
			return "", why
		}
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			if path, why = within(tree[name]); why != "" {
				return "." + name + path, why
			}
		}
	}
	return "", ""
}

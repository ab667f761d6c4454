package plain

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// AppendJSON appends v as one line of JSON. Equal data gives the same bytes on every machine. It
// never fails; what is not plain, contains itself or is nested too deep becomes opaque.
func AppendJSON(dst []byte, v any) []byte {
	e := encoder{out: dst}
	e.value(v)
	return e.out
}

// AppendTree appends v as AppendJSON does, but writes each json.Number in its own spelling. It is
// for trees that were decoded from JSON.
func AppendTree(dst []byte, v any) []byte {
	e := encoder{out: dst, spelled: true}
	e.value(v)
	return e.out
}

// AppendSaid appends v as AppendJSON does, but for people to read: raw JSON is written as JSON, and
// not as a string in which each quote is escaped. The types cannot be read back from it.
func AppendSaid(dst []byte, v any) []byte {
	e := encoder{out: dst, said: true}
	e.value(v)
	return e.out
}

// encoder writes plain data.
type encoder struct {
	out  []byte
	said bool // for people
	// spelled says to write a json.Number in its own spelling.
	spelled bool
	// open are the maps and slices being written, from the outermost inwards.
	open []ref
	// failed says that a value in a place of a fixed type could not be written. The surrounding
	// value that has its type written is then opaque as a whole.
	failed bool
	// asked says to collect the paths of opaque values in opaques. path is the current path.
	asked   bool
	opaques []string
	path    []string
}

// value writes v together with its type.
func (e *encoder) value(v any) {
	switch v := v.(type) {
	case nil:
		e.raw("null")
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case string:
		e.text(v)
	case int:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case wide:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case float64:
		e.float(v)
	case Opaque:
		e.opaqueType(v.Type)
	case Marked:
		e.marked(v)
	case json.Number:
		if !e.spelled {
			e.typed(reflect.ValueOf(v))
			return
		}
		e.raw(v.String())
	default:
		e.typed(reflect.ValueOf(v))
	}
}

func (e *encoder) raw(text string) { e.out = append(e.out, text...) }

// text writes a string, in base64 if JSON cannot hold it.
func (e *encoder) text(s string) {
	if utf8.ValidString(s) {
		e.out = canonical.AppendString(e.out, s)
		return
	}
	e.tag("string")
	e.base64([]byte(s))
	e.raw("}")
}

// tag begins an object with one key. The caller writes the value and the closing brace.
func (e *encoder) tag(name string) {
	e.out = append(canonical.AppendString(append(e.out, '{'), "$"+name), ':')
}

func (e *encoder) base64(data []byte) {
	e.raw(`"`)
	e.out = base64.StdEncoding.AppendEncode(e.out, data)
	e.raw(`"`)
}

// float writes a float64 so that it cannot be mistaken for an int.
func (e *encoder) float(f float64) {
	if word := notFinite(f); word != "" {
		e.tag("float64")
		e.raw(strconv.Quote(word) + "}")
		return
	}
	e.number(f, 64)
}

// number writes a finite float of the given size, always with a point or an exponent.
func (e *encoder) number(f float64, bits int) {
	start := len(e.out)
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		e.out = strconv.AppendFloat(e.out, f, 'e', -1, bits)
		return
	}
	e.out = strconv.AppendFloat(e.out, f, 'f', -1, bits)
	if !slices.Contains(e.out[start:], '.') {
		e.raw(".0")
	}
}

// notFinite names a float that is not a JSON number, and returns "" for others.
func notFinite(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return ""
}

func (e *encoder) marked(v Marked) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer && value.IsNil() || borrowsMark(value.Type()) {
		e.opaqueType(value.Type().String())
		return
	}
	text, err := v.MarshalJSON()
	if err != nil {
		e.opaqueType(value.Type().String())
		return
	}
	e.tag(v.PlainTag())
	e.out = append(append(e.out, text...), '}')
}

// borrowsMark reports whether a type embeds a marked type. Its mark may then be the embedded
// type's, and reading it would give that type.
func borrowsMark(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if field := t.Field(i); field.Anonymous && (field.Type.Implements(markedType) || reflect.PointerTo(field.Type).Implements(markedType)) {
			return true
		}
	}
	return false
}

var markedType = reflect.TypeFor[Marked]()

func (e *encoder) opaqueType(name string) {
	if e.asked {
		e.opaques = append(e.opaques, strings.TrimPrefix(strings.Join(e.path, ""), "."))
	}
	e.tag("opaque")
	e.out = append(canonical.AppendString(e.out, name), '}')
}

// typed writes a value of any but the most common types.
func (e *encoder) typed(v reflect.Value) {
	name, ok := typeName(v.Type())
	if !ok || e.refused(v) {
		e.opaqueType(v.Type().String())
		return
	}
	start, known, failed := len(e.out), len(e.opaques), e.failed
	e.failed = false
	e.named(name, v)
	if e.failed {
		e.out, e.opaques = e.out[:start], e.opaques[:known]
		e.opaqueType(v.Type().String())
	}
	e.failed = failed
}

// named writes a value of a plain type that has a word.
func (e *encoder) named(name string, v reflect.Value) {
	switch isContainer := v.Kind() == reflect.Slice || v.Kind() == reflect.Map; {
	case isContainer && v.IsNil():
		e.tag("nil")
		e.out = append(canonical.AppendString(e.out, name), '}')
	case v.Type() == jsonType && e.says(v.Bytes()):
	case v.Type() == listType:
		e.bare(v)
	case v.Type() == objectType && !needsMark(v):
		e.bare(v)
	default:
		if v.Type() == objectType {
			name = "map"
		}
		e.tag(name)
		e.quoted(v)
		e.raw("}")
	}
}

// needsMark reports whether an object could be mistaken for a mark, or has a key that cannot be a
// JSON string.
func needsMark(object reflect.Value) bool {
	for entries := object.MapRange(); entries.Next(); {
		key := entries.Key().String()
		if strings.HasPrefix(key, "$") || !utf8.ValidString(key) {
			return true
		}
	}
	return false
}

// refused reports whether v cannot be written although its type is plain.
func (e *encoder) refused(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return len(e.open) >= maxDepth || v.Len() > 0 && slices.Contains(e.open, refOf(v))
	}
	return v.Type() == timeType && !writable(v)
}

// writable reports whether RFC 3339 can represent the year of a time.
func writable(v reflect.Value) bool {
	year := v.Interface().(time.Time).UTC().Year()
	return year >= 0 && year <= 9999
}

// quoted writes numbers as strings, which no JSON reader rounds, and everything else as bare does.
func (e *encoder) quoted(v reflect.Value) {
	if v.Type() != durationType && (v.CanInt() || v.CanUint() || v.CanFloat()) {
		e.raw(`"`)
		e.scalar(v)
		e.raw(`"`)
		return
	}
	e.bare(v)
}

// bare writes v where the reader already knows its type.
func (e *encoder) bare(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		e.value(v.Interface())
	case reflect.Slice, reflect.Map:
		e.container(v)
	default:
		e.scalar(v)
	}
}

// scalar writes a value that is neither a map nor a slice. A float that is not finite comes without
// quotes; the caller must be quoted, which adds them.
func (e *encoder) scalar(v reflect.Value) {
	switch v.Type() {
	case timeType:
		moment := v.Interface().(time.Time)
		e.out = append(moment.UTC().AppendFormat(append(e.out, '"'), time.RFC3339Nano), '"')
		return
	case durationType:
		e.raw(`"` + time.Duration(v.Int()).String() + `"`)
		return
	}
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case kind == reflect.String:
		e.text(v.String())
	case v.CanInt():
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case v.CanUint():
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case notFinite(v.Float()) != "":
		e.raw(notFinite(v.Float()))
	default:
		e.out = strconv.AppendFloat(e.out, v.Float(), 'g', -1, v.Type().Bits())
	}
}

// says writes raw JSON as it is, if the encoder writes for people, and reports whether it did.
// Redacted text may not be valid JSON.
func (e *encoder) says(text []byte) bool {
	if !e.said || !utf8.Valid(text) {
		return false
	}
	var line bytes.Buffer
	if json.Compact(&line, text) != nil {
		return false
	}
	e.out = append(e.out, line.Bytes()...)
	return true
}

func (e *encoder) container(v reflect.Value) {
	switch {
	case v.IsNil():
		e.raw("null")
		return
	case v.Type() == bytesType:
		e.base64(v.Bytes())
		return
	case v.Type() == jsonType:
		if !e.says(v.Bytes()) {
			e.text(string(v.Bytes()))
		}
		return
	}
	if e.refused(v) {
		e.failed = true
		return
	}
	e.open = append(e.open, refOf(v))
	if v.Kind() == reflect.Slice {
		e.list(v)
	} else {
		e.entries(v)
	}
	e.open = e.open[:len(e.open)-1]
}

func (e *encoder) list(v reflect.Value) {
	e.raw("[")
	for i := range v.Len() {
		if i > 0 {
			e.raw(",")
		}
		e.step(func() string { return "[" + strconv.Itoa(i) + "]" })
		e.element(v.Index(i))
		e.back()
	}
	e.raw("]")
}

// element writes an element of a map or slice. Of the numbers, only floats that are not finite need
// quotes here.
func (e *encoder) element(v reflect.Value) {
	switch {
	case v.CanFloat() && notFinite(v.Float()) != "":
		e.quoted(v)
	case v.Type() == timeType && !writable(v):
		e.failed = true
	default:
		e.bare(v)
	}
}

// entries writes a map as an object, or as pairs if a key is not valid UTF-8.
func (e *encoder) entries(v reflect.Value) {
	keys := make([]string, 0, v.Len())
	valid := true
	for entries := v.MapRange(); entries.Next(); {
		key := entries.Key().String()
		keys = append(keys, key)
		valid = valid && utf8.ValidString(key)
	}
	slices.Sort(keys)
	begin, between, end := "", ":", ""
	if !valid {
		begin, between, end = "[", ",", "]"
	}
	e.raw(pick(valid, "{", "["))
	for i, key := range keys {
		e.raw(pick(i > 0, ",", "") + begin)
		e.text(key)
		e.raw(between)
		e.step(func() string { return "." + key })
		e.element(v.MapIndex(reflect.ValueOf(key)))
		e.back()
		e.raw(end)
	}
	e.raw(pick(valid, "}", "]"))
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func (e *encoder) step(name func() string) {
	if e.asked {
		e.path = append(e.path, name())
	}
}

func (e *encoder) back() {
	if e.asked {
		e.path = e.path[:len(e.path)-1]
	}
}

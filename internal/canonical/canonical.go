// Package canonical writes JSON data exactly as ECMAScript's JSON.stringify does, with the keys of
// every object sorted. Equal data gives equal bytes, in this program and in any other that follows
// RFC 8785. The id of a tool call is the checksum of such a text (contract TOL-4).
package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep data may be nested. Data that models or people write is never nested as
// deep; the limit stops values that contain themselves.
const maxDepth = 1000

// Marshal returns the canonical text of v. See Append.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// Append appends the canonical text of v to dst. It takes nil, booleans, strings, every kind of
// integer and float, []any and map[string]any without reflection. With reflection it takes other
// slices, arrays, maps with string keys, pointers, and whatever encoding/json can write.
//
// Numbers are converted to float64, as in ECMAScript; NaN and the infinities become null. A nil
// slice is an empty array and a nil map an empty object. Each invalid byte of UTF-8 becomes U+FFFD.
// The error names the path of a value that JSON cannot hold, or that is nested too deep, as every
// value that contains itself is.
func Append(dst []byte, v any) ([]byte, error) {
	dst, err := appendValue(dst, v, 0)
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// Checksum returns the lowercase hexadecimal SHA-256 of the canonical text of {"args": args,
// "tool": tool} (contract TOL-4).
func Checksum(tool string, args map[string]any) (string, error) {
	text := make([]byte, 0, 256) // most calls need no more
	text, err := appendValue(append(text, `{"args":`...), args, 0)
	if err != nil {
		return "", err
	}
	text = append(text, `,"tool":`...)
	text = AppendString(text, tool)
	sum := sha256.Sum256(append(text, '}'))
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:]), nil
}

// Object returns a tool's arguments as JSON data in a new map. args may be an object or the JSON
// text of one.
func Object(args any) (map[string]any, error) {
	if text, is := TextOf(args); is {
		return ParseObject([]byte(text))
	}
	data, err := Normalize(args)
	if err != nil {
		return nil, err
	}
	object, ok := data.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%T is no object", args)
	}
	return object, nil
}

// TextOf returns data as text, if it is JSON text in a string or in bytes.
func TextOf(data any) (string, bool) {
	switch text := data.(type) {
	case string:
		return text, true
	case []byte:
		return string(text), true
	case json.RawMessage:
		return string(text), true
	}
	return "", false
}

// ParseObject reads a JSON text that is exactly one object, and returns the object in the form of
// Normalize.
func ParseObject(text []byte) (map[string]any, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("is %s, not an object", KindOf(v))
	}
	if err := tidy(object, 0); err != nil {
		return nil, err
	}
	return object, nil
}

// KindOf returns what JSON calls a decoded value.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return AppendString(dst, v), nil
	case []any:
		return appendArray(dst, v, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	if number, ok := asNumber(v); ok {
		return AppendNumber(dst, number), nil
	}
	return appendOther(dst, v, depth)
}

// asNumber converts a value of any predeclared number type to float64. Integers beyond 2^53 lose
// the same precision as in ECMAScript.
func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case int32:
		return float64(v), true
	case int16:
		return float64(v), true
	case int8:
		return float64(v), true
	case uint:
		return float64(v), true
	case uint64:
		return float64(v), true
	case uint32:
		return float64(v), true
	case uint16:
		return float64(v), true
	case uint8:
		return float64(v), true
	case uintptr:
		return float64(v), true
	case float32:
		return float64(v), true
	default:
		return 0, false
	}
}

func appendArray(dst []byte, list []any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, errTooDeep
	}
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, v, depth+1); err != nil {
			return nil, atIndex(i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, errTooDeep
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareUTF16)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			if compareUTF16(keys[i-1], key) == 0 {
				return nil, errSameKey
			}
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, key), ':')
		var err error
		if dst, err = appendValue(dst, object[key], depth+1); err != nil {
			return nil, atKey(key, err)
		}
	}
	return append(dst, '}'), nil
}

// AppendNumber appends f as ECMAScript's Number::toString writes it. For NaN and the infinities it
// appends null, as JSON.stringify does.
func AppendNumber(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if f == 0 { // -0 too
		return append(dst, '0')
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of exponent: 1e-07.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendString appends s in quotes. Like JSON.stringify, it escapes only the quote, the backslash
// and the control characters.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if IsPlain(s) {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	start := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
		case escaped(c):
			dst = appendEscape(append(dst, s[start:i]...), c)
			i++
			start = i
		case len(s)-i < 8:
			i++
		default:
			i += plainBytes(s[i:])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// escaped reports whether an ASCII character must be escaped.
func escaped(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

// IsPlain reports whether s is ASCII and needs no escapes, as is true of most texts.
func IsPlain(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c >= utf8.RuneSelf || escaped(c) {
				return false
			}
		}
		return true
	}
	for i := 0; i+8 < len(s); i += 8 {
		if plainBytes(s[i:]) < 8 {
			return false
		}
	}
	return plainBytes(s[len(s)-8:]) == 8 // may check some bytes a second time
}

// plainBytes returns how many of the first eight bytes of s are plain before the first one that is
// not. It examines all eight at once, as the bytes of one number. The highest bit of a byte of the
// result is set if it was set in s, or if a subtraction went below zero: a space is subtracted to
// find smaller bytes, and one is subtracted from the zero that a quote or a backslash becomes by
// exclusive or. No plain ASCII byte goes below zero, so none borrows from the next byte, and the
// first byte with its highest bit set is the first that is not plain.
func plainBytes(s string) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	control, quote, backslash := word-each*' ', (word^each*'"')-each, (word^each*'\\')-each
	return bits.TrailingZeros64((word|control|quote|backslash)&high) / 8
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
}

// compareUTF16 orders two strings as ECMAScript does, by UTF-16 code units. Invalid bytes count as
// the U+FFFD that they are written as.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s {
			return int(unitOrder(r)) - int(unitOrder(s))
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// unitOrder maps runes to numbers with the order of their UTF-16 forms: runes that need a surrogate
// pair (which begins at D800) come before E000 to FFFF.
func unitOrder(r rune) rune {
	if r >= 0xE000 && r <= 0xFFFF {
		return r + utf8.MaxRune
	}
	return r
}

var (
	errTooDeep = fmt.Errorf("is nested more than %d deep, or contains itself", maxDepth)
	errSameKey = errors.New("has two keys that are the same text once invalid UTF-8 is replaced")
)

// pathError says where in a value an error occurred. The path is built from the back to the front
// while the error is returned, so that it costs nothing if there is no error.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string {
	path := strings.TrimPrefix(e.path, ".")
	if len(path) > 120 {
		// The path of a value that contains itself is very long and useless.
		path = strings.ToValidUTF8(path[:120], "") + "…"
	}
	return path + ": " + e.err.Error()
}
func (e *pathError) Unwrap() error { return e.err }

func atKey(key string, err error) error { return at("."+key, err) }

func atIndex(i int, err error) error { return at("["+strconv.Itoa(i)+"]", err) }

func at(step string, err error) error {
	if inner, ok := err.(*pathError); ok {
		return &pathError{step + inner.path, inner.err}
	}
	return &pathError{step, err}
}

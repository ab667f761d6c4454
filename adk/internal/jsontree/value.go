// Package jsontree holds JSON as trees that keep what the standard library loses: the order of an
// object's keys, and the digits of a number that no float64 holds. It reads strict JSON and JSON5,
// and writes as ECMAScript does.
//
// A value is one of nil, bool, float64, Digits, string, []any and *Object. Trees must not be
// changed, except for objects that are still being built with [Object.Set].
package jsontree

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Digits is a number, as it was written, that no float64 holds exactly, such as 9007199254740993,
// or 0.1 followed by thirty more digits.
type Digits string

// Float returns the nearest float64, which is an infinity if the number is too large.
func (d Digits) Float() float64 {
	f, _ := strconv.ParseFloat(string(d), 64) // it fails only for a number out of range
	return f
}

// Member is a key of an object and its value.
type Member struct {
	Name  string
	Value any
}

// Object is a JSON object in the order of its keys. The zero Object is empty.
type Object struct {
	members []Member
	index   map[string]int // made when there are many members
}

// indexedFrom is the number of members from which on a map finds a member faster than a search.
const indexedFrom = 9

// NewObject makes an object from the members, in the way of Set.
func NewObject(members ...Member) *Object {
	o := &Object{}
	for _, m := range members {
		o.Set(m.Name, m.Value)
	}
	return o
}

// Len returns the number of keys.
func (o *Object) Len() int { return len(o.members) }

// Get returns the value of a key, and whether there is one.
func (o *Object) Get(name string) (any, bool) {
	if at := o.find(name); at >= 0 {
		return o.members[at].Value, true
	}
	return nil, false
}

// Set sets the value of a key. A new key is added at the end; an existing one keeps its place.
func (o *Object) Set(name string, value any) {
	if at := o.find(name); at >= 0 {
		o.members[at].Value = value
		return
	}
	o.members = append(o.members, Member{name, value})
	if o.index != nil {
		o.index[name] = len(o.members) - 1
	} else if len(o.members) == indexedFrom {
		o.index = make(map[string]int, 2*indexedFrom)
		for i, m := range o.members {
			o.index[m.Name] = i
		}
	}
}

func (o *Object) find(name string) int {
	if o.index != nil {
		if at, found := o.index[name]; found {
			return at
		}
		return -1
	}
	return slices.IndexFunc(o.members, func(m Member) bool { return m.Name == name })
}

// All iterates over the keys and values in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, m := range o.members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// Keys returns the keys in order.
func (o *Object) Keys() []string {
	keys := make([]string, len(o.members))
	for i, m := range o.members {
		keys[i] = m.Name
	}
	return keys
}

// Plain converts JSON data in Go's usual types to a tree of this package. Maps become objects with
// sorted keys. A number becomes a float64, or Digits if no float64 holds it. ok is false if v
// contains a value of any other type.
func Plain(v any) (value any, ok bool) {
	switch v := v.(type) {
	case nil, bool, float64, Digits, string, *Object:
		return v, true
	case int:
		return integer(int64(v)), true
	case int64:
		return integer(v), true
	case []string:
		list := make([]any, len(v))
		for i, text := range v {
			list[i] = text
		}
		return list, true
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], ok = Plain(item); !ok {
				return nil, false
			}
		}
		return list, true
	case map[string]any:
		return plainObject(v)
	}
	return nil, false
}

// integer converts a whole number to what reading it from JSON would give.
func integer(n int64) any {
	const all = 1 << 53 // up to here a float64 holds every integer
	if -all <= n && n <= all {
		return float64(n)
	}
	return Scalar(strconv.FormatInt(n, 10))
}

func plainObject(m map[string]any) (any, bool) {
	o := &Object{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, ok := Plain(m[key])
		if !ok {
			return nil, false
		}
		o.Set(key, value)
	}
	return o, true
}

// Number returns the float64 nearest to a number, and whether v is one.
func Number(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case Digits:
		return v.Float(), true
	}
	return 0, false
}

// Equal reports whether two values are the same JSON: objects in whatever order of their keys, and
// numbers by their exact numerical value.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case float64, Digits:
		return isNumber(b) && CompareNumbers(a, b) == 0
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, Equal)
	case *Object:
		object, ok := b.(*Object)
		return ok && equalObjects(a, object)
	}
	switch b.(type) {
	case []any, *Object: // a slice cannot be compared with ==, and a pointer would compare identity
		return false
	}
	return a == b
}

func isNumber(v any) bool {
	switch v.(type) {
	case float64, Digits:
		return true
	}
	return false
}

func equalObjects(a, b *Object) bool {
	if a.Len() != b.Len() {
		return false
	}
	for name, value := range a.All() {
		other, found := b.Get(name)
		if !found || !Equal(value, other) {
			return false
		}
	}
	return true
}

// CompareNumbers compares two numbers of a tree by their numerical value, as cmp.Compare does. A
// float64 stands for the decimal that ECMAScript writes for it.
func CompareNumbers(a, b any) int {
	x, _ := Number(a)
	y, _ := Number(b)
	_, long := a.(Digits)
	_, longer := b.(Digits)
	if !long && !longer || x != y {
		return compareFloats(x, y)
	}
	return decimalOf(a).compare(decimalOf(b))
}

func compareFloats(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return -1
	}
	return 1
}

// decimal is a number in decimal: ±0.digits × 10^exponent, without zeros at either end of the
// digits. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

func decimalOf(number any) decimal {
	switch n := number.(type) {
	case float64:
		return decimalText(strconv.FormatFloat(n, 'e', -1, 64))
	case Digits:
		return decimalText(string(n))
	}
	return decimal{}
}

// decimalText parses a number in one of the forms of JSON, JSON5 or strconv.
func decimalText(text string) (d decimal) {
	text, d.negative = strings.CutPrefix(text, "-")
	text = strings.TrimPrefix(text, "+")
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		d.exponent = exponentOf(text[at+1:])
		text = text[:at]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")
	d.exponent += int64(len(whole))
	d.digits = whole + fraction
	if whole == "" {
		d.digits = strings.TrimLeft(fraction, "0")
		d.exponent -= int64(len(fraction) - len(d.digits))
	}
	if d.digits = strings.TrimRight(d.digits, "0"); d.digits == "" {
		return decimal{}
	}
	return d
}

// mostExponent is the largest exponent that is kept. No text is so long that its digits could make
// up for it, so clamping larger exponents does not change a comparison.
const mostExponent = 1 << 40

func exponentOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && strings.HasPrefix(text, "-") {
		return -mostExponent
	}
	if err != nil {
		return mostExponent
	}
	return max(-mostExponent, min(mostExponent, n))
}

func (d decimal) compare(other decimal) int {
	sign := func(d decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.negative:
			return -1
		}
		return 1
	}
	if s, o := sign(d), sign(other); s != o || s == 0 {
		return s - o
	}
	size := cmp.Compare(d.exponent, other.exponent)
	if size == 0 {
		size = strings.Compare(d.digits, other.digits)
	}
	if d.negative {
		size = -size
	}
	return size
}

// NumberOf returns the number that a text in JSON's form stands for: a float64 if that holds it,
// and Digits otherwise.
func NumberOf(text string) any {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && (len(text) <= 15 && !strings.ContainsAny(text, "eE") || decimalText(text) == decimalOf(f)) {
		return f
	}
	return Digits(text)
}

// jsonNumber matches a number as JSON writes it.
var jsonNumber = regexp.MustCompile(`\A-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\z`)

// ReadNumber is NumberOf for a text from elsewhere. ok is false if the text is not a number in
// JSON's form.
func ReadNumber(text string) (number any, ok bool) {
	if !jsonNumber.MatchString(text) {
		return nil, false
	}
	return NumberOf(text), true
}

// Key returns a text that is the same for two values exactly if they are Equal.
func Key(v any) string { return string(appendKey(nil, v)) }

func appendKey(dst []byte, v any) []byte {
	switch v := v.(type) {
	case Digits:
		d := decimalOf(v)
		if d.negative {
			dst = append(dst, '-')
		}
		return strconv.AppendInt(append(append(dst, d.digits...), 'd'), int64(d.exponent), 10)
	case []any:
		dst = append(dst, '[')
		for _, item := range v {
			dst = append(appendKey(dst, item), ',')
		}
		return append(dst, ']')
	case *Object:
		members := slices.Clone(v.members)
		slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(canonical.AppendString(dst, m.Name), ':')
			dst = append(appendKey(dst, m.Value), ',')
		}
		return append(dst, '}')
	}
	return Append(dst, v)
}

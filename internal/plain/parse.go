package plain

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Parse reads what AppendJSON wrote. It passes a mark that is not one of this package's own to
// resolve, with the JSON under the mark, which resolve must not keep or change. If resolve is nil
// or returns an error, Parse returns an error that names the mark. Numbers without a point or an
// exponent are read as int, others as float64. An int that a 64-bit program wrote, and that does
// not fit an int of this program, is written again unchanged.
func Parse(data []byte, resolve func(tag string, raw []byte) (any, error)) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the text is not valid UTF-8")
	}
	if !json.Valid(data) {
		return nil, errors.New("the text is not valid JSON")
	}
	p := parser{data: data, resolve: resolve}
	return p.value(0)
}

// parser walks a text that is known to be valid JSON, so it need not handle syntax errors.
type parser struct {
	data    []byte
	at      int
	resolve func(tag string, raw []byte) (any, error)
}

var errTooDeep = fmt.Errorf("is nested more than %d deep", maxDepth)

// next skips white space and returns the current byte.
func (p *parser) next() byte {
	for {
		switch c := p.data[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
}

// take skips white space, and then c if it is next.
func (p *parser) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// raw consumes one value of any kind and returns its text.
func (p *parser) raw() []byte {
	p.next()
	start, depth := p.at, 0
	for {
		switch p.next() {
		case '"':
			p.quoted()
		case '{', '[':
			depth++
			p.at++
		case '}', ']':
			depth--
			p.at++
		case ',', ':':
			p.at++
		default:
			p.word()
		}
		if depth == 0 {
			return p.data[start:p.at]
		}
	}
}

// word consumes a number, null, true or false.
func (p *parser) word() string {
	p.next()
	start := p.at
	for p.at < len(p.data) && !strings.ContainsRune(" \t\r\n,:]}", rune(p.data[p.at])) {
		p.at++
	}
	return string(p.data[start:p.at])
}

// quoted consumes a JSON string.
func (p *parser) quoted() []byte {
	start, escaped := p.at, false
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	text := p.data[start+1 : p.at-1]
	if escaped {
		var s string
		_ = json.Unmarshal(p.data[start:p.at], &s) // cannot fail: the text is valid
		text = []byte(s)
	}
	return text
}

// value reads a value whose type is written with it.
func (p *parser) value(depth int) (any, error) {
	switch p.next() {
	case '"':
		return string(p.quoted()), nil
	case '[':
		list, err := p.bare(listType, depth)
		return list.Interface(), err
	case '{':
		if tag, ok := p.mark(); ok {
			return p.marked(tag, depth)
		}
		object, err := p.object(depth, false)
		return object, err
	}
	return scalarOf(p.word())
}

func scalarOf(word string) (any, error) {
	switch {
	case word == "null":
		return nil, nil
	case word == "true", word == "false":
		return word == "true", nil
	case strings.ContainsAny(word, ".eE"):
		f, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, errors.New("a number is beyond float64")
		}
		return f, nil
	}
	i, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return nil, errors.New("a number is beyond int")
	}
	if n := int(i); int64(n) == i {
		return n, nil
	}
	return wide(i), nil
}

// mark consumes the beginning of an object and its first key, if that begins with a dollar, and
// returns the key without it.
func (p *parser) mark() (string, bool) {
	start := p.at
	p.at++
	if p.next() == '"' {
		if tag, ok := strings.CutPrefix(string(p.quoted()), "$"); ok {
			p.take(':')
			return tag, true
		}
	}
	p.at = start
	return "", false
}

// marked reads the value under a mark, and the closing brace.
func (p *parser) marked(tag string, depth int) (any, error) {
	v, err := p.underMark(tag, depth)
	if err != nil {
		return nil, fmt.Errorf("$%.40s: %w", tag, err)
	}
	if !p.take('}') {
		return nil, fmt.Errorf("$%.40s: is not the only key", tag)
	}
	return v, nil
}

func (p *parser) underMark(tag string, depth int) (any, error) {
	switch tag {
	case "opaque":
		name, err := p.string()
		return Opaque{Type: name}, err
	case "nil":
		return p.nil()
	case "map":
		return p.object(depth, true)
	case "string":
		text, err := p.base64()
		return string(text), err
	case "any":
		return nil, errors.New("is no type of a value")
	}
	t, err := typeOf(tag)
	if err == nil {
		v, err := p.bare(t, depth)
		if err != nil {
			return nil, err
		}
		return v.Interface(), nil
	}
	if strings.ContainsAny(tag, "[]") {
		return nil, err
	}
	if p.resolve == nil {
		return nil, errors.New("is an unknown mark")
	}
	return p.resolve(tag, p.raw())
}

// string reads a JSON string.
func (p *parser) string() (string, error) {
	if p.next() != '"' {
		return "", errors.New("is not a string")
	}
	return string(p.quoted()), nil
}

func (p *parser) base64() ([]byte, error) {
	text, err := p.string()
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	return data, nil
}

func (p *parser) nil() (any, error) {
	name, err := p.string()
	if err != nil {
		return nil, err
	}
	t, err := typeOf(name)
	if err != nil {
		return nil, err
	}
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
		return nil, fmt.Errorf("%s has no nil", name)
	}
	return reflect.Zero(t).Interface(), nil
}

// object reads a map[string]any. If free is set, because it is under a mark, its keys may begin
// with a dollar.
func (p *parser) object(depth int, free bool) (any, error) {
	v, err := p.bare(objectType, depth)
	if err != nil {
		return nil, err
	}
	object := v.Interface().(map[string]any)
	if free {
		if object == nil {
			return nil, errors.New("is null")
		}
		return object, nil
	}
	for key := range object {
		if strings.HasPrefix(key, "$") {
			return nil, errors.New("a key with a dollar stands beside others")
		}
	}
	return object, nil
}

// bare reads a value whose type is known.
func (p *parser) bare(t reflect.Type, depth int) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	return v, p.into(v, depth)
}

func (p *parser) into(v reflect.Value, depth int) error {
	switch v.Kind() {
	case reflect.Interface:
		value, err := p.value(depth)
		if value != nil && err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	case reflect.Slice, reflect.Map:
		if p.next() == 'n' {
			p.word()
			return nil
		}
		if depth >= maxDepth {
			return errTooDeep
		}
		return p.container(v, depth+1)
	}
	return p.scalar(v)
}

func (p *parser) container(v reflect.Value, depth int) error {
	switch {
	case v.Type() == bytesType:
		data, err := p.base64()
		v.SetBytes(data)
		return err
	case v.Type() == jsonType:
		text, err := p.text()
		v.SetBytes([]byte(text))
		return err
	case v.Kind() == reflect.Slice:
		return p.list(v, depth)
	case p.take('{'):
		return p.entries(v, depth)
	default:
		return p.pairs(v, depth)
	}
}

func (p *parser) list(v reflect.Value, depth int) error {
	if !p.take('[') {
		return errors.New("is not an array")
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for !p.take(']') {
		p.take(',')
		element, err := p.bare(v.Type().Elem(), depth)
		if err != nil {
			return fmt.Errorf("[%d]: %w", v.Len(), err)
		}
		v.Set(reflect.Append(v, element))
	}
	return nil
}

func (p *parser) entries(v reflect.Value, depth int) error {
	v.Set(reflect.MakeMap(v.Type()))
	for !p.take('}') {
		p.take(',')
		p.next()
		key := string(p.quoted())
		p.take(':')
		if err := p.entry(v, key, depth); err != nil {
			return err
		}
	}
	return nil
}

// pairs reads a map that has a key which is not valid UTF-8: [[key, value], …].
func (p *parser) pairs(v reflect.Value, depth int) error {
	if !p.take('[') {
		return errors.New("is neither an object nor an array of pairs")
	}
	v.Set(reflect.MakeMap(v.Type()))
	for !p.take(']') {
		p.take(',')
		if !p.take('[') || p.next() == ']' {
			return errPair
		}
		key, err := p.text()
		if err != nil || !p.take(',') {
			return errPair
		}
		if err := p.entry(v, key, depth); err != nil {
			return err
		}
		if !p.take(']') {
			return errPair
		}
	}
	return nil
}

var errPair = errors.New("is an array of something other than pairs of a key and a value")

func (p *parser) entry(v reflect.Value, key string, depth int) error {
	name := reflect.ValueOf(key)
	if v.MapIndex(name).IsValid() {
		return fmt.Errorf("%.40q is there twice", key)
	}
	element, err := p.bare(v.Type().Elem(), depth)
	if err != nil {
		return fmt.Errorf("%.40q: %w", key, err)
	}
	v.SetMapIndex(name, element)
	return nil
}

// text reads a string as encoder.text writes it.
func (p *parser) text() (string, error) {
	if p.next() != '{' {
		return p.string()
	}
	tag, ok := p.mark()
	if !ok || tag != "string" {
		return "", errors.New("is not a string")
	}
	text, err := p.base64()
	if err == nil && !p.take('}') {
		err = errors.New("$string: is not the only key")
	}
	return string(text), err
}

// scalar reads a value that is neither a map nor a slice into v, whose type is known.
func (p *parser) scalar(v reflect.Value) error {
	if v.Kind() == reflect.String {
		text, err := p.text()
		v.SetString(text)
		return err
	}
	var word string
	switch p.next() {
	case '"':
		word = string(p.quoted())
	case '{', '[':
		return fmt.Errorf("is not of the type %s", v.Type())
	default:
		word = p.word()
	}
	if err := setScalar(v, word); err != nil {
		return fmt.Errorf("is not of the type %s", v.Type())
	}
	return nil
}

func setScalar(v reflect.Value, word string) error {
	switch v.Type() {
	case timeType:
		moment, err := time.Parse(time.RFC3339Nano, word)
		v.Set(reflect.ValueOf(moment.UTC()))
		return err
	case durationType:
		duration, err := time.ParseDuration(word)
		v.SetInt(int64(duration))
		return err
	}
	var err error
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(word == "true")
		if word != "true" && word != "false" {
			err = strconv.ErrSyntax
		}
	case v.CanInt():
		var i int64
		i, err = strconv.ParseInt(word, 10, v.Type().Bits())
		v.SetInt(i)
	case v.CanUint():
		var i uint64
		i, err = strconv.ParseUint(word, 10, v.Type().Bits())
		v.SetUint(i)
	default:
		var f float64
		f, err = strconv.ParseFloat(word, v.Type().Bits())
		v.SetFloat(f)
	}
	return err
}

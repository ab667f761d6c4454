package jsontree

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Append appends a value on one line, as JSON.stringify writes it. It panics if v is not a value of
// a tree.
func Append(dst []byte, v any) []byte { return writer{most: math.MaxInt}.value(dst, v, 0) }

// AppendIndent appends a value over several lines, indenting each level by indent blanks; 0 writes
// it on one line, as JSON.stringify does.
func AppendIndent(dst []byte, v any, indent int) []byte {
	return AppendIndentUpTo(dst, v, indent, math.MaxInt)
}

// AppendIndentUpTo is AppendIndent, but gives up soon after dst is longer than most. The result is
// then longer than most, and not a whole value.
func AppendIndentUpTo(dst []byte, v any, indent, most int) []byte {
	return writer{strings.Repeat(" ", indent), most}.value(dst, v, 0)
}

// Text returns the value on one line.
func Text(v any) string { return string(Append(nil, v)) }

// Bare returns a string as it is, and the JSON of any other value on one line.
func Bare(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return Text(v)
}

// Indented returns the value over several lines, with two blanks per level.
func Indented(v any) string { return string(AppendIndent(nil, v, 2)) }

// writer writes values with an indent per level, or on one line if the indent is empty. It gives up
// after most bytes.
type writer struct {
	indent string
	most   int
}

func (w writer) value(dst []byte, v any, depth int) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case float64:
		return canonical.AppendNumber(dst, v)
	case Digits:
		return append(dst, v...)
	case string:
		return canonical.AppendString(dst, v)
	case []any:
		return w.list(dst, v, depth)
	case *Object:
		return w.object(dst, v, depth)
	}
	panic(fmt.Sprintf("jsontree: %T is no value of a tree", v))
}

func (w writer) list(dst []byte, list []any, depth int) []byte {
	if len(list) == 0 {
		return append(dst, "[]"...)
	}
	for i, item := range list {
		if len(dst) > w.most {
			return dst
		}
		dst = append(dst, "[,"[min(i, 1)])
		dst = w.value(w.line(dst, depth+1), item, depth+1)
	}
	return append(w.line(dst, depth), ']')
}

func (w writer) object(dst []byte, o *Object, depth int) []byte {
	if o.Len() == 0 {
		return append(dst, "{}"...)
	}
	for i, m := range o.members {
		if len(dst) > w.most {
			return dst
		}
		dst = append(dst, "{,"[min(i, 1)])
		dst = append(canonical.AppendString(w.line(dst, depth+1), m.Name), ':')
		if w.indent != "" {
			dst = append(dst, ' ')
		}
		dst = w.value(dst, m.Value, depth+1)
	}
	return append(w.line(dst, depth), '}')
}

// line begins a line at a depth, unless everything is on one line.
func (w writer) line(dst []byte, depth int) []byte {
	if w.indent == "" {
		return dst
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, w.indent...)
	}
	return dst
}

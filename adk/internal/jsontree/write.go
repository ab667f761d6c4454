package jsontree

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Append appends a value on one line, as JSON.stringify writes it. It panics for
// what is no value of a tree.
func Append(dst []byte, v any) []byte { return writer{most: math.MaxInt}.value(dst, v, 0) }

// AppendIndent appends a value over several lines, each level set off by indent
// blanks; 0 writes it on one line, as JSON.stringify does.
func AppendIndent(dst []byte, v any, indent int) []byte {
	return AppendIndentUpTo(dst, v, indent, math.MaxInt)
}

// AppendIndentUpTo is AppendIndent that gives up soon after dst is longer than most: what it
// gives then is too long, and no whole value.
func AppendIndentUpTo(dst []byte, v any, indent, most int) []byte {
	return writer{strings.Repeat(" ", indent), most}.value(dst, v, 0)
}

// Text is the value on one line.
func Text(v any) string { return string(Append(nil, v)) }

// Bare is the text that a value is, and of any other one its JSON on one line.
func Bare(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return Text(v)
}

// Indented is the value with two blanks a level.
func Indented(v any) string { return string(AppendIndent(nil, v, 2)) }

// writer writes values with an indent a level; without one, on a line. It gives up behind so
// many bytes.
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

// line begins a line at a depth, where there are lines.
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

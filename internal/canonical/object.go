package canonical

import (
	"strconv"
	"time"
)

// ObjectWriter writes an object field by field, in the order of the calls and not of
// the keys, on one line.
type ObjectWriter struct {
	// Out is what is written so far; who writes a value behind Field appends to it.
	Out []byte
}

// Open begins an object behind dst.
func Open(dst []byte) ObjectWriter {
	if dst == nil {
		dst = make([]byte, 0, 256) // most objects fit, and grow by no second allocation
	}
	return ObjectWriter{append(dst, '{')}
}

// Close ends the object and gives all that is written.
func (o *ObjectWriter) Close() []byte { return append(o.Out, '}') }

// Field writes the name of a field; the caller writes the value.
func (o *ObjectWriter) Field(name string) {
	if o.Out[len(o.Out)-1] != '{' {
		o.Out = append(o.Out, ',')
	}
	o.Out = append(AppendString(o.Out, name), ':')
}

// Text writes a text.
func (o *ObjectWriter) Text(name, text string) {
	o.Field(name)
	o.Out = AppendString(o.Out, text)
}

// SomeText writes a text unless it is empty.
func (o *ObjectWriter) SomeText(name, text string) {
	if text != "" {
		o.Text(name, text)
	}
}

// Number writes a number as AppendNumber does.
func (o *ObjectWriter) Number(name string, f float64) {
	o.Field(name)
	o.Out = AppendNumber(o.Out, f)
}

// Flag writes a boolean.
func (o *ObjectWriter) Flag(name string, on bool) {
	o.Field(name)
	o.Out = strconv.AppendBool(o.Out, on)
}

// Moment writes a time by RFC 3339 with its nanoseconds.
func (o *ObjectWriter) Moment(name string, t time.Time) {
	o.Field(name)
	o.Out = append(t.AppendFormat(append(o.Out, '"'), time.RFC3339Nano), '"')
}

// Appender is what can append its JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// AppendList appends a list of what can append itself.
func AppendList[A Appender](dst []byte, list []A) []byte {
	dst = append(dst, '[')
	for i, one := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one.AppendJSON(dst)
	}
	return append(dst, ']')
}

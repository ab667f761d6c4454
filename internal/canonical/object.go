package canonical

import (
	"strconv"
	"time"
)

// ObjectWriter writes an object field by field on one line. The fields have the order of the calls,
// and not that of their keys.
type ObjectWriter struct {
	// Out is the text so far. A caller that writes a value after Field appends to it.
	Out []byte
}

// Open begins an object after dst.
func Open(dst []byte) ObjectWriter {
	if dst == nil {
		dst = make([]byte, 0, 256) // most objects fit, which saves a second allocation
	}
	return ObjectWriter{append(dst, '{')}
}

// Close ends the object and returns the whole text.
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

// Moment writes a time in RFC 3339 with nanoseconds.
func (o *ObjectWriter) Moment(name string, t time.Time) {
	o.Field(name)
	o.Out = append(t.AppendFormat(append(o.Out, '"'), time.RFC3339Nano), '"')
}

// Appender can append its JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// AppendList appends a list of values that append themselves.
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

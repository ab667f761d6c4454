package wire

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// Comparer compares crossings field by field. Sentinels names the errors that are told apart by
// name. Format is the version of the format to compare in: what an older version does not record is
// ignored on both sides. 0 is today's version.
type Comparer struct {
	Sentinels *Sentinels
	Format    int
}

// Encoder returns an encoder that writes values as the comparer compares them.
func (c Comparer) Encoder() *Encoder {
	e := NewEncoder(c.Sentinels)
	e.Format = c.Format
	return e
}

// Same reports whether field f is the same in a and b.
func (c Comparer) Same(f adk.Field, a, b *adk.Crossing) bool { return FieldRows[f].Same(c, a, b) }

// SameRecord reports whether two records are the same record in a trace.
func SameRecord(a, b adk.Record) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a == b || a.RecordKind() == b.RecordKind() && a.Digest() == b.Digest()
}

// SameError reports whether a recorded error and an error of today are the same in a trace. The
// recorded error may lack names of sentinels and types that only later versions record.
func (c Comparer) SameError(recorded, today error) bool {
	if recorded == nil || today == nil {
		return recorded == nil && today == nil
	}
	want := c.errorText(recorded)
	return want == c.errorText(today) || want == Comparer{c.Sentinels.former, c.Format}.errorText(today)
}

func (c Comparer) errorText(err error) string {
	return c.written(func(e *Encoder) error { e.ErrorField("", err); return nil })
}

// Text returns a field as a trace writes it, without its label.
func (c Comparer) Text(f adk.Field, x *adk.Crossing) string {
	if data, ok := x.Value.([]byte); ok && f == adk.FieldValue {
		return fmt.Sprintf("%d bytes of the digest %s", len(data), adk.DigestOf(data)) // bytes are a media's, and people do not read them
	}
	return c.written(func(e *Encoder) error { return FieldRows[f].Append(e, "", x) })
}

// written returns what write writes, as a text that can be compared.
func (c Comparer) written(write func(*Encoder) error) string {
	e := c.Encoder()
	defer e.Free()
	if err := write(e); err != nil {
		return "unwritable: " + err.Error()
	}
	return string(e.Out)
}

// writtenAlike reports whether write gives the same text for a and b.
func (c Comparer) writtenAlike(write func(*Encoder, string, *adk.Crossing) error, a, b *adk.Crossing) bool {
	text := func(x *adk.Crossing) string {
		return c.written(func(e *Encoder) error { return write(e, "", x) })
	}
	return text(a) == text(b)
}

package wire

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// Comparer compares crossings field by field. It holds the sentinels by which
// errors are told apart, and the version of the format that is compared in: what an
// older one does not tell is left out on both sides. Zero is today's.
type Comparer struct {
	Sentinels *Sentinels
	Format    int
}

// Encoder writes as the comparer compares.
func (c Comparer) Encoder() *Encoder {
	e := NewEncoder(c.Sentinels)
	e.Format = c.Format
	return e
}

// Same compares one field.
func (c Comparer) Same(f adk.Field, a, b *adk.Crossing) bool { return FieldRows[f].Same(c, a, b) }

// SameRecord reports whether a trace holds two records as the same.
func SameRecord(a, b adk.Record) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a == b || a.RecordKind() == b.RecordKind() && a.Digest() == b.Digest()
}

// SameError compares two errors as a trace keeps them: a recorded one, and one of today of
// which an older trace may not have the names of the sentinels.
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

// Text is a field as a trace writes it, without its label.
func (c Comparer) Text(f adk.Field, x *adk.Crossing) string {
	if data, ok := x.Value.([]byte); ok && f == adk.FieldValue {
		return fmt.Sprintf("%d bytes of the digest %s", len(data), adk.DigestOf(data)) // a media's: nobody reads them
	}
	return c.written(func(e *Encoder) error { return FieldRows[f].Append(e, "", x) })
}

// written is a value as a trace writes it, in a text that can be held against
// another.
func (c Comparer) written(write func(*Encoder) error) string {
	e := c.Encoder()
	defer e.Free()
	if err := write(e); err != nil {
		return "unwritable: " + err.Error()
	}
	return string(e.Out)
}

// writtenAlike reports whether a field of two crossings is written alike.
func (c Comparer) writtenAlike(write func(*Encoder, string, *adk.Crossing) error, a, b *adk.Crossing) bool {
	text := func(x *adk.Crossing) string {
		return c.written(func(e *Encoder) error { return write(e, "", x) })
	}
	return text(a) == text(b)
}

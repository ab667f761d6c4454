package replay

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// comparer compares crossings field by field. It holds the sentinels by which
// errors are told apart.
type comparer struct{ sentinels *sentinels }

// same compares one field.
func (c comparer) same(f adk.Field, a, b *adk.Crossing) bool { return fieldRows[f].same(c, a, b) }

// sameRecord reports whether a trace holds two records as the same.
func sameRecord(a, b adk.Record) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a == b || a.RecordKind() == b.RecordKind() && a.Digest() == b.Digest()
}

// sameError compares two errors as a trace keeps them.
func (c comparer) sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return c.errorText(a) == c.errorText(b)
}

func (c comparer) errorText(err error) string {
	return c.written(func(e *encoder) error { e.errorField("", err); return nil })
}

// text is a field as a trace writes it, without its label.
func (c comparer) text(f adk.Field, x *adk.Crossing) string {
	if data, ok := x.Value.([]byte); ok && f == adk.FieldValue {
		return fmt.Sprintf("%d bytes of the digest %s", len(data), adk.DigestOf(data)) // a media's: nobody reads them
	}
	return c.written(func(e *encoder) error { return fieldRows[f].append(e, "", x) })
}

// written is a value as a trace writes it, in a text that can be held against
// another.
func (c comparer) written(write func(*encoder) error) string {
	e := newEncoder(c.sentinels)
	defer e.free()
	if err := write(e); err != nil {
		return "unwritable: " + err.Error()
	}
	return string(e.out)
}

// writtenAlike reports whether a field of two crossings is written alike.
func (c comparer) writtenAlike(write func(*encoder, string, *adk.Crossing) error, a, b *adk.Crossing) bool {
	text := func(x *adk.Crossing) string {
		return c.written(func(e *encoder) error { return write(e, "", x) })
	}
	return text(a) == text(b)
}

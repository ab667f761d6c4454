package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file defines everything that is done with each field of a crossing. A new field of
// adk.Crossing gets its row here; no other place decides how it is compared, written, read and
// reset.

// fieldRow is everything that is done with one field of a crossing, whatever its kind.
type fieldRow struct {
	// Same reports whether the field is equal in a and b, as far as a trace records it.
	Same func(c Comparer, a, b *adk.Crossing) bool
	// Append writes the field as a member with the given name, or only its value if the name is
	// empty. It writes nothing if the field is zero.
	Append func(e *Encoder, name string, x *adk.Crossing) error
	// OneLine says that Append writes only texts, numbers and true, which never contain a line
	// break.
	OneLine bool
	// OfFormat says that the field holds only numbers and words of the format. It cannot hold a
	// secret.
	OfFormat bool
	// Read sets the field to a value that Append wrote.
	Read func(d *Decoder, x *adk.Crossing, raw []byte) error
	// Left is the JSON of the value that is left out in writing, if that is a valid value like any
	// other. For example, the number of the first iteration is 0.
	Left string
	// Zero sets the field to the value that it has when it is not written.
	Zero func(x *adk.Crossing)
	// Bare converts JSON that people write for the field, such as a text for an error, to the form
	// that Read takes. JSON that already has that form is returned unchanged. Bare is nil if Read
	// takes what people write.
	Bare func(raw []byte) []byte
	// Hold is how Held stores the field.
	Hold holding
}

// IsOfFormat reports whether a field holds only numbers and words of the format. A seam counts as
// one: the names that people gave to seams are redacted separately.
func IsOfFormat(f adk.Field) bool { return FieldRows[f].OfFormat }

// FieldRows holds the rows of all fields. A test checks that it covers adk.Crossing.
var FieldRows = [...]fieldRow{
	adk.FieldID: numberRow(func(x *adk.Crossing) *int { return &x.ID }),
	adk.FieldSeam: {
		Hold:     heldSeam,
		Same:     func(_ Comparer, a, b *adk.Crossing) bool { return a.Seam == b.Seam },
		Append:   func(e *Encoder, name string, x *adk.Crossing) error { return e.seam(name, x.Seam) },
		Read:     func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) { x.Seam, err = seamOfJSON(raw); return err },
		Zero:     func(x *adk.Crossing) { x.Seam = adk.Seam{} },
		OneLine:  true,
		OfFormat: true,
	},
	adk.FieldName: textRow(func(x *adk.Crossing) *string { return &x.Name }, (*Decoder).shared),
	adk.FieldKey:  textRow(func(x *adk.Crossing) *string { return &x.Key }, (*Decoder).shared),
	adk.FieldText: textRow(func(x *adk.Crossing) *string { return &x.Text }, func(_ *Decoder, raw []byte) (string, error) { return TextOfJSON(raw) }),
	adk.FieldTexts: {
		Hold:    heldList(func(x *adk.Crossing) *[]string { return &x.Texts }),
		Same:    func(_ Comparer, a, b *adk.Crossing) bool { return slices.Equal(a.Texts, b.Texts) },
		Append:  func(e *Encoder, name string, x *adk.Crossing) error { e.texts(name, x.Texts); return nil },
		Read:    func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) { x.Texts, err = textList(raw); return err },
		Zero:    func(x *adk.Crossing) { x.Texts = nil },
		OneLine: true,
	},
	adk.FieldCollection: {
		Hold: heldText(func(x *adk.Crossing) *adk.CollectionName { return &x.Collection }),
		Same: func(_ Comparer, a, b *adk.Crossing) bool { return a.Collection == b.Collection },
		Append: func(e *Encoder, name string, x *adk.Crossing) error {
			e.String(name, string(x.Collection))
			return known(x.Collection)
		},
		Read: func(d *Decoder, x *adk.Crossing, raw []byte) error {
			name, err := d.shared(raw)
			x.Collection = adk.CollectionName(name)
			return errors.Join(err, known(x.Collection))
		},
		Zero:     func(x *adk.Crossing) { x.Collection = "" },
		OneLine:  true,
		OfFormat: true,
	},
	adk.FieldRecord: {
		Hold:   heldSome(func(x *adk.Crossing) *adk.Record { return &x.Record }),
		Same:   func(_ Comparer, a, b *adk.Crossing) bool { return SameRecord(a.Record, b.Record) },
		Append: func(e *Encoder, name string, x *adk.Crossing) error { return e.RecordField(name, x.Record) },
		Read:   func(d *Decoder, x *adk.Crossing, raw []byte) (err error) { x.Record, err = d.record(raw); return err },
		Zero:   func(x *adk.Crossing) { x.Record = nil },
	},
	adk.FieldRecords: {
		Hold: heldList(func(x *adk.Crossing) *[]adk.Record { return &x.Records }),
		Same: func(_ Comparer, a, b *adk.Crossing) bool {
			return slices.EqualFunc(a.Records, b.Records, SameRecord)
		},
		Append: func(e *Encoder, name string, x *adk.Crossing) error { return e.RecordsField(name, x.Records) },
		Read: func(d *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Records, err = d.recordList(raw)
			return err
		},
		Zero: func(x *adk.Crossing) { x.Records = nil },
	},
	adk.FieldValue: {
		Hold:   heldData(func(x *adk.Crossing) *any { return &x.Value }, (*Decoder).plain),
		Same:   func(_ Comparer, a, b *adk.Crossing) bool { return plain.Equal(a.Value, b.Value) },
		Append: func(e *Encoder, name string, x *adk.Crossing) error { e.valueField(name, x); return nil },
		Read: func(d *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Value, err = d.readValue(x, raw)
			return err
		},
		Zero: func(x *adk.Crossing) { x.Value = nil },
	},
	adk.FieldArgs: {
		Hold: heldData(func(x *adk.Crossing) *any { return &x.Args }, (*Decoder).args),
		Same: func(c Comparer, a, b *adk.Crossing) bool {
			return a.Args == nil && b.Args == nil || c.writtenAlike(appendArgs, a, b)
		},
		Append: appendArgs,
		Read:   func(d *Decoder, x *adk.Crossing, raw []byte) (err error) { x.Args, err = d.args(raw); return err },
		Zero:   func(x *adk.Crossing) { x.Args = nil },
	},
	adk.FieldResult: {
		Hold: heldSome(func(x *adk.Crossing) *adk.ToolResult { return &x.Result }),
		Same: func(c Comparer, a, b *adk.Crossing) bool {
			return a.Result == nil && b.Result == nil || c.writtenAlike(appendResult, a, b)
		},
		Append: appendResult,
		Read:   func(d *Decoder, x *adk.Crossing, raw []byte) (err error) { x.Result, err = d.result(raw); return err },
		Zero:   func(x *adk.Crossing) { x.Result = nil },
		Bare:   bareResult,
	},
	adk.FieldOutcome: {
		Hold: heldText(func(x *adk.Crossing) *adk.Outcome { return &x.Outcome }),
		Same: func(_ Comparer, a, b *adk.Crossing) bool { return a.Outcome == b.Outcome },
		Append: func(e *Encoder, name string, x *adk.Crossing) error {
			if x.Outcome != adk.OutcomeOK {
				e.String(name, string(x.Outcome))
			}
			return nil
		},
		Read: func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Outcome, err = outcomeOfJSON(raw)
			return err
		},
		Zero:     func(x *adk.Crossing) { x.Outcome = adk.OutcomeOK },
		Bare:     bareText,
		OneLine:  true,
		OfFormat: true,
	},
	adk.FieldStatus:  textRow(func(x *adk.Crossing) *string { return &x.Status }, (*Decoder).shared).ofFormat(),
	adk.FieldErr:     errorRow(func(x *adk.Crossing) *error { return &x.Err }),
	adk.FieldCause:   errorRow(func(x *adk.Crossing) *error { return &x.Cause }),
	adk.FieldFlag:    flagRow(func(x *adk.Crossing) *bool { return &x.Flag }),
	adk.FieldIsError: flagRow(func(x *adk.Crossing) *bool { return &x.IsError }),
	adk.FieldN:       numberRow(func(x *adk.Crossing) *int { return &x.N }).leaving("0"),
	adk.FieldDuration: {
		Hold: heldNumber(func(x *adk.Crossing) *time.Duration { return &x.Duration }),
		Same: func(_ Comparer, a, b *adk.Crossing) bool { return a.Duration == b.Duration },
		Append: func(e *Encoder, name string, x *adk.Crossing) error {
			if x.Duration != 0 {
				e.String(name, x.Duration.String())
			}
			return nil
		},
		Read: func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Duration, err = DurationOfJSON(raw)
			return err
		},
		Zero:     func(x *adk.Crossing) { x.Duration = 0 },
		Bare:     bareText,
		OneLine:  true,
		OfFormat: true,
	},
	adk.FieldSchema: {
		Hold: heldList(func(x *adk.Crossing) *json.RawMessage { return &x.Schema }),
		Same: func(c Comparer, a, b *adk.Crossing) bool {
			return a.Schema == nil && b.Schema == nil || c.writtenAlike(appendSchema, a, b)
		},
		Append: appendSchema,
		Read: func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Schema, err = schemaOfJSON(raw)
			return err
		},
		Zero: func(x *adk.Crossing) { x.Schema = nil },
	},
	adk.FieldJSON: {
		Hold:   heldList(func(x *adk.Crossing) *json.RawMessage { return &x.JSON }),
		Same:   func(_ Comparer, a, b *adk.Crossing) bool { return SameJSON(a.JSON, b.JSON) },
		Append: func(e *Encoder, name string, x *adk.Crossing) error { e.jsonField(name, x); return nil },
		Read:   func(d *Decoder, x *adk.Crossing, raw []byte) error { return d.readJSON(x, raw) },
		Zero:   func(x *adk.Crossing) { x.JSON = nil },
	},
	adk.FieldDigest: {
		Hold: heldObject(func(x *adk.Crossing) *adk.Digest { return &x.Digest }, func(d adk.Digest) bool { return d != adk.Digest{} }),
		Same: func(_ Comparer, a, b *adk.Crossing) bool { return a.Digest == b.Digest },
		Append: func(e *Encoder, name string, x *adk.Crossing) error {
			if x.Digest != (adk.Digest{}) {
				e.String(name, x.Digest.String())
			}
			return nil
		},
		Read: func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Digest, err = digestOfJSON(raw)
			return err
		},
		Zero:     func(x *adk.Crossing) { x.Digest = adk.Digest{} },
		OneLine:  true,
		OfFormat: true,
	},
	adk.FieldSeams: {
		Hold: heldObject(func(x *adk.Crossing) **adk.RunInfo { return &x.Seams }, func(info *adk.RunInfo) bool { return info != nil }),
		Same: func(c Comparer, a, b *adk.Crossing) bool {
			return a.Seams == nil && b.Seams == nil || c.writtenAlike(appendSeams, a, b)
		},
		Append: appendSeams,
		Read:   func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) { x.Seams, err = seamsOfJSON(raw); return err },
		Zero:   func(x *adk.Crossing) { x.Seams = nil },
	},
	adk.FieldPayload: {
		Hold: heldSome(func(x *adk.Crossing) *any { return &x.Payload }),
		Same: func(c Comparer, a, b *adk.Crossing) bool {
			return a.Payload == nil && b.Payload == nil || c.writtenAlike(appendPayload, a, b)
		},
		Append: appendPayload,
		Read: func(d *Decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Payload, err = d.payload(x.Kind, raw)
			return err
		},
		Zero: func(x *adk.Crossing) { x.Payload = nil },
	},
}

// textRow is the row of a text field, which read decodes: TextOfJSON for any text, or shared for a
// text that lines tend to repeat.
func textRow(of func(*adk.Crossing) *string, read func(*Decoder, []byte) (string, error)) fieldRow {
	return fieldRow{
		Hold:    heldText(of),
		Same:    func(_ Comparer, a, b *adk.Crossing) bool { return *of(a) == *of(b) },
		Append:  func(e *Encoder, name string, x *adk.Crossing) error { e.String(name, *of(x)); return nil },
		Read:    func(d *Decoder, x *adk.Crossing, raw []byte) (err error) { *of(x), err = read(d, raw); return err },
		Zero:    func(x *adk.Crossing) { *of(x) = "" },
		Bare:    bareText,
		OneLine: true,
	}
}

// ofFormat returns the row marked as holding only words of the format.
func (r fieldRow) ofFormat() fieldRow {
	r.OfFormat = true
	return r
}

func numberRow(of func(*adk.Crossing) *int) fieldRow {
	return fieldRow{
		Hold:     heldNumber(of),
		Same:     func(_ Comparer, a, b *adk.Crossing) bool { return *of(a) == *of(b) },
		Append:   func(e *Encoder, name string, x *adk.Crossing) error { e.Int(name, int64(*of(x))); return nil },
		Read:     func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) { *of(x), err = IntOfJSON(raw); return err },
		Zero:     func(x *adk.Crossing) { *of(x) = 0 },
		OneLine:  true,
		OfFormat: true,
	}
}

// leaving returns the row with left as its Left: the value that is not written.
func (r fieldRow) leaving(left string) fieldRow {
	r.Left = left
	return r
}

func flagRow(of func(*adk.Crossing) *bool) fieldRow {
	return fieldRow{
		Hold:     heldFlag(of),
		Same:     func(_ Comparer, a, b *adk.Crossing) bool { return *of(a) == *of(b) },
		Append:   func(e *Encoder, name string, x *adk.Crossing) error { e.Bool(name, *of(x)); return nil },
		Read:     func(_ *Decoder, x *adk.Crossing, raw []byte) (err error) { *of(x), err = BoolOfJSON(raw); return err },
		Zero:     func(x *adk.Crossing) { *of(x) = false },
		OneLine:  true,
		OfFormat: true,
	}
}

func errorRow(of func(*adk.Crossing) *error) fieldRow {
	return fieldRow{
		Hold:   heldSome(of),
		Same:   func(c Comparer, a, b *adk.Crossing) bool { return c.SameError(*of(a), *of(b)) },
		Append: func(e *Encoder, name string, x *adk.Crossing) error { e.ErrorField(name, *of(x)); return nil },
		Read: func(d *Decoder, x *adk.Crossing, raw []byte) (err error) {
			*of(x), err = d.errorTree(raw, 1)
			return err
		},
		Zero: func(x *adk.Crossing) { *of(x) = nil },
		Bare: bareError,
	}
}

// The fields of the functions below are compared by their written form too.

func appendArgs(e *Encoder, name string, x *adk.Crossing) error {
	e.argsField(name, x.Args)
	return nil
}

func appendResult(e *Encoder, name string, x *adk.Crossing) error {
	return e.ResultField(name, x.Result)
}

func appendSchema(e *Encoder, name string, x *adk.Crossing) error {
	e.schema(name, x.Schema)
	return nil
}

func appendSeams(e *Encoder, name string, x *adk.Crossing) error {
	if x.Seams != nil {
		e.Key(name)
		e.Seams(x.Seams, nil)
	}
	return nil
}

func appendPayload(e *Encoder, name string, x *adk.Crossing) error {
	return e.PayloadField(name, x.Payload)
}

// bareText turns JSON that is not a text into the text of that JSON: 42 becomes "42".
func bareText(raw []byte) []byte {
	if raw[0] == '"' || raw[0] == '{' || string(raw) == "null" {
		return raw
	}
	return canonical.AppendString(nil, string(raw))
}

// bareError turns a text into an error with that text.
func bareError(raw []byte) []byte {
	if raw[0] == '{' || string(raw) == "null" {
		return raw
	}
	return textMember(errorText, raw)
}

// bareResult turns JSON that is not a tool's result into a text result.
func bareResult(raw []byte) []byte {
	if string(raw) == "null" {
		return raw
	}
	if members, _ := ScanMembers(nil, raw); len(members) == 1 {
		switch string(members[0].Name) {
		case ResultText, ResultBytes, ResultMedia, resultMediaList:
			return raw
		}
	}
	return textMember(ResultText, raw)
}

// textMember returns an object with one member, a text: raw itself, or the text of its JSON.
func textMember(name string, raw []byte) []byte {
	text := raw
	if raw[0] != '"' {
		text = canonical.AppendString(nil, string(raw))
	}
	return slices.Concat([]byte(`{"`+name+`":`), text, []byte("}"))
}

// known returns an error unless a collection has the name of, or the name is empty.
func known(of adk.CollectionName) error {
	if of == "" || of.Holds() != "" {
		return nil
	}
	return fmt.Errorf("there is no collection %s: want one of %q", Clip(strconv.Quote(string(of))), adk.Collections())
}

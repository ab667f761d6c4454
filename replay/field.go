package replay

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file says what becomes of each field of a crossing. A field that is new
// in adk.Crossing gets its row here, and how it is compared, written, read and
// taken away is decided nowhere else.

// fieldRow is all that is done with one field of a crossing, whatever its kind.
type fieldRow struct {
	// same reports whether the field is the same in two, as a trace keeps it.
	same func(c comparer, a, b *adk.Crossing) bool
	// append writes the field as the member of that name, or its value alone where
	// the name is empty; nothing where there is nothing to say.
	append func(e *encoder, name string, x *adk.Crossing) error
	// read takes in what append wrote as the value.
	read func(d *decoder, x *adk.Crossing, raw []byte) error
	// zero makes the field what it is where nothing is written of it.
	zero func(x *adk.Crossing)
}

// fieldRows are the rows of all fields. A test holds them against adk.Crossing.
var fieldRows = [...]fieldRow{
	adk.FieldID: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.ID == b.ID },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.int(name, x.ID); return nil },
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.ID, err = intOfJSON(raw); return err },
		zero:   func(x *adk.Crossing) { x.ID = 0 },
	},
	adk.FieldSeam: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Seam == b.Seam },
		append: func(e *encoder, name string, x *adk.Crossing) error { return e.seam(name, x.Seam) },
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.Seam, err = seamOfJSON(raw); return err },
		zero:   func(x *adk.Crossing) { x.Seam = adk.Seam{} },
	},
	adk.FieldName: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Name == b.Name },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.string(name, x.Name); return nil },
		read:   func(d *decoder, x *adk.Crossing, raw []byte) (err error) { x.Name, err = d.shared(raw); return err },
		zero:   func(x *adk.Crossing) { x.Name = "" },
	},
	adk.FieldKey: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Key == b.Key },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.string(name, x.Key); return nil },
		read:   func(d *decoder, x *adk.Crossing, raw []byte) (err error) { x.Key, err = d.shared(raw); return err },
		zero:   func(x *adk.Crossing) { x.Key = "" },
	},
	adk.FieldText: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Text == b.Text },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.string(name, x.Text); return nil },
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.Text, err = textOfJSON(raw); return err },
		zero:   func(x *adk.Crossing) { x.Text = "" },
	},
	adk.FieldTexts: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return slices.Equal(a.Texts, b.Texts) },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.texts(name, x.Texts); return nil },
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.Texts, err = textList(raw); return err },
		zero:   func(x *adk.Crossing) { x.Texts = nil },
	},
	adk.FieldCollection: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Collection == b.Collection },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.string(name, string(x.Collection)); return nil },
		read: func(d *decoder, x *adk.Crossing, raw []byte) error {
			name, err := d.shared(raw)
			x.Collection = adk.CollectionName(name)
			return err
		},
		zero: func(x *adk.Crossing) { x.Collection = "" },
	},
	adk.FieldRecord: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return sameRecord(a.Record, b.Record) },
		append: func(e *encoder, name string, x *adk.Crossing) error { return e.recordField(name, x.Record) },
		read:   func(d *decoder, x *adk.Crossing, raw []byte) (err error) { x.Record, err = d.record(raw); return err },
		zero:   func(x *adk.Crossing) { x.Record = nil },
	},
	adk.FieldRecords: {
		same: func(_ comparer, a, b *adk.Crossing) bool {
			return slices.EqualFunc(a.Records, b.Records, sameRecord)
		},
		append: func(e *encoder, name string, x *adk.Crossing) error { return e.recordsField(name, x.Records) },
		read: func(d *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Records, err = d.recordList(raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.Records = nil },
	},
	adk.FieldValue: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return plain.Equal(a.Value, b.Value) },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.value(name, x.Value); return nil },
		read: func(d *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Value, err = plain.Parse(raw, d.marked)
			return err
		},
		zero: func(x *adk.Crossing) { x.Value = nil },
	},
	adk.FieldArgs: {
		same: func(c comparer, a, b *adk.Crossing) bool {
			return a.Args == nil && b.Args == nil || c.writtenAlike(appendArgs, a, b)
		},
		append: appendArgs,
		read:   func(d *decoder, x *adk.Crossing, raw []byte) (err error) { x.Args, err = d.args(raw); return err },
		zero:   func(x *adk.Crossing) { x.Args = nil },
	},
	adk.FieldResult: {
		same: func(c comparer, a, b *adk.Crossing) bool {
			return a.Result == nil && b.Result == nil || c.writtenAlike(appendResult, a, b)
		},
		append: appendResult,
		read:   func(d *decoder, x *adk.Crossing, raw []byte) (err error) { x.Result, err = d.result(raw); return err },
		zero:   func(x *adk.Crossing) { x.Result = nil },
	},
	adk.FieldOutcome: {
		same: func(_ comparer, a, b *adk.Crossing) bool { return a.Outcome == b.Outcome },
		append: func(e *encoder, name string, x *adk.Crossing) error {
			if x.Outcome != adk.OutcomeOK {
				e.string(name, string(x.Outcome))
			}
			return nil
		},
		read: func(_ *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Outcome, err = outcomeOfJSON(raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.Outcome = adk.OutcomeOK },
	},
	adk.FieldStatus: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Status == b.Status },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.string(name, x.Status); return nil },
		read:   func(d *decoder, x *adk.Crossing, raw []byte) (err error) { x.Status, err = d.shared(raw); return err },
		zero:   func(x *adk.Crossing) { x.Status = "" },
	},
	adk.FieldErr: {
		same:   func(c comparer, a, b *adk.Crossing) bool { return c.sameError(a.Err, b.Err) },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.errorField(name, x.Err); return nil },
		read: func(d *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Err, err = d.errorTree(raw, 1)
			return err
		},
		zero: func(x *adk.Crossing) { x.Err = nil },
	},
	adk.FieldCause: {
		same:   func(c comparer, a, b *adk.Crossing) bool { return c.sameError(a.Cause, b.Cause) },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.errorField(name, x.Cause); return nil },
		read: func(d *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Cause, err = d.errorTree(raw, 1)
			return err
		},
		zero: func(x *adk.Crossing) { x.Cause = nil },
	},
	adk.FieldFlag: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.Flag == b.Flag },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.bool(name, x.Flag); return nil },
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.Flag, err = boolOfJSON(raw); return err },
		zero:   func(x *adk.Crossing) { x.Flag = false },
	},
	adk.FieldIsError: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.IsError == b.IsError },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.bool(name, x.IsError); return nil },
		read: func(_ *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.IsError, err = boolOfJSON(raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.IsError = false },
	},
	adk.FieldN: {
		same:   func(_ comparer, a, b *adk.Crossing) bool { return a.N == b.N },
		append: func(e *encoder, name string, x *adk.Crossing) error { e.int(name, x.N); return nil },
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.N, err = intOfJSON(raw); return err },
		zero:   func(x *adk.Crossing) { x.N = 0 },
	},
	adk.FieldDuration: {
		same: func(_ comparer, a, b *adk.Crossing) bool { return a.Duration == b.Duration },
		append: func(e *encoder, name string, x *adk.Crossing) error {
			if x.Duration != 0 {
				e.string(name, x.Duration.String())
			}
			return nil
		},
		read: func(_ *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Duration, err = durationOfJSON(raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.Duration = 0 },
	},
	adk.FieldSchema: {
		same: func(c comparer, a, b *adk.Crossing) bool {
			return a.Schema == nil && b.Schema == nil || c.writtenAlike(appendSchema, a, b)
		},
		append: appendSchema,
		read: func(_ *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Schema, err = schemaOfJSON(raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.Schema = nil },
	},
	adk.FieldDigest: {
		same: func(_ comparer, a, b *adk.Crossing) bool { return a.Digest == b.Digest },
		append: func(e *encoder, name string, x *adk.Crossing) error {
			if x.Digest != (adk.Digest{}) {
				e.string(name, x.Digest.String())
			}
			return nil
		},
		read: func(_ *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Digest, err = digestOfJSON(raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.Digest = adk.Digest{} },
	},
	adk.FieldSeams: {
		same: func(c comparer, a, b *adk.Crossing) bool {
			return a.Seams == nil && b.Seams == nil || c.writtenAlike(appendSeams, a, b)
		},
		append: appendSeams,
		read:   func(_ *decoder, x *adk.Crossing, raw []byte) (err error) { x.Seams, err = seamsOfJSON(raw); return err },
		zero:   func(x *adk.Crossing) { x.Seams = nil },
	},
	adk.FieldPayload: {
		same: func(c comparer, a, b *adk.Crossing) bool {
			return a.Payload == nil && b.Payload == nil || c.writtenAlike(appendPayload, a, b)
		},
		append: appendPayload,
		read: func(d *decoder, x *adk.Crossing, raw []byte) (err error) {
			x.Payload, err = d.payload(x.Kind, raw)
			return err
		},
		zero: func(x *adk.Crossing) { x.Payload = nil },
	},
}

// What follows is compared by its written form too.

func appendArgs(e *encoder, name string, x *adk.Crossing) error {
	e.argsField(name, x.Args)
	return nil
}

func appendResult(e *encoder, name string, x *adk.Crossing) error {
	return e.resultField(name, x.Result)
}

func appendSchema(e *encoder, name string, x *adk.Crossing) error {
	e.schema(name, x.Schema)
	return nil
}

func appendSeams(e *encoder, name string, x *adk.Crossing) error {
	if x.Seams != nil {
		e.key(name)
		e.seams(x.Seams, nil)
	}
	return nil
}

func appendPayload(e *encoder, name string, x *adk.Crossing) error {
	return e.payloadField(name, x.Payload)
}

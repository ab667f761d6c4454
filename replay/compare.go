package replay

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// FieldDiff is one field in which a crossing differs from the recorded one.
type FieldDiff struct {
	// Field is the field's label, as the trace writes it.
	Field string `json:"field"`
	// Want is what was recorded, Got what today's code did; both as a trace
	// writes them, empty where the field is absent.
	Want string `json:"want"`
	Got  string `json:"got"`
	// Input tells that user code or the outside decided the value, not the
	// engine.
	Input bool `json:"input,omitempty"`
}

// comparer compares crossings field by field. It holds the sentinels by which
// errors are told apart.
type comparer struct{ sentinels *sentinels }

// compare lists the fields in which got differs from want, in the order in
// which a trace writes them. Crossings of two kinds differ in their kind alone.
func (c comparer) compare(want, got *adk.Crossing) []FieldDiff {
	if want.Kind != got.Kind || want.Phase != got.Phase {
		return []FieldDiff{{Field: "kind", Want: kindText(want), Got: kindText(got)}}
	}
	var diffs []FieldDiff
	if !want.At.Equal(got.At) {
		diffs = append(diffs, FieldDiff{Field: "at", Want: want.At.String(), Got: got.At.String(), Input: true})
	}
	diffs = compareInt(diffs, "in", want.Call, got.Call)
	diffs = compareInt(diffs, "strand", want.Strand, got.Strand)
	diffs = compareInt(diffs, "op", want.Op, got.Op)
	for _, use := range want.Kind.Fields(want.Phase) {
		if !c.same(use.Field, want, got) {
			diffs = append(diffs, FieldDiff{Field: use.Label, Want: c.text(use, want), Got: c.text(use, got), Input: use.Input})
		}
	}
	return diffs
}

func kindText(x *adk.Crossing) string {
	if x.Phase == adk.Whole {
		return x.Kind.String()
	}
	return x.Kind.String() + " " + x.Phase.String()
}

func compareInt(diffs []FieldDiff, label string, want, got int) []FieldDiff {
	if want == got {
		return diffs
	}
	return append(diffs, FieldDiff{Field: label, Want: fmt.Sprint(want), Got: fmt.Sprint(got)})
}

// same compares one field.
func (c comparer) same(f adk.Field, a, b *adk.Crossing) bool {
	switch f {
	case adk.FieldID:
		return a.ID == b.ID
	case adk.FieldSeam:
		return a.Seam == b.Seam
	case adk.FieldName:
		return a.Name == b.Name
	case adk.FieldKey:
		return a.Key == b.Key
	case adk.FieldText:
		return a.Text == b.Text
	case adk.FieldTexts:
		return slices.Equal(a.Texts, b.Texts)
	case adk.FieldCollection:
		return a.Collection == b.Collection
	case adk.FieldRecord:
		return sameRecord(a.Record, b.Record)
	case adk.FieldRecords:
		return slices.EqualFunc(a.Records, b.Records, sameRecord)
	case adk.FieldValue:
		return plain.Equal(a.Value, b.Value)
	case adk.FieldOutcome:
		return a.Outcome == b.Outcome
	case adk.FieldStatus:
		return a.Status == b.Status
	case adk.FieldErr:
		return c.sameError(a.Err, b.Err)
	case adk.FieldCause:
		return c.sameError(a.Cause, b.Cause)
	case adk.FieldFlag:
		return a.Flag == b.Flag
	case adk.FieldIsError:
		return a.IsError == b.IsError
	case adk.FieldN:
		return a.N == b.N
	case adk.FieldDuration:
		return a.Duration == b.Duration
	case adk.FieldDigest:
		return a.Digest == b.Digest
	case adk.FieldSchema:
		return a.Schema == nil && b.Schema == nil || c.sameText(f, a, b)
	case adk.FieldArgs:
		return a.Args == nil && b.Args == nil || c.sameText(f, a, b)
	case adk.FieldResult:
		return a.Result == nil && b.Result == nil || c.sameText(f, a, b)
	case adk.FieldSeams:
		return a.Seams == nil && b.Seams == nil || c.sameText(f, a, b)
	case adk.FieldPayload:
		return a.Payload == nil && b.Payload == nil || c.sameText(f, a, b)
	}
	panic(fmt.Sprintf("replay: no comparison for field %d", f))
}

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
	e := newEncoder(c.sentinels)
	defer e.free()
	e.begin(nil)
	e.errorField("err", err)
	return string(e.out)
}

// sameText compares a field as a trace writes it.
func (c comparer) sameText(f adk.Field, a, b *adk.Crossing) bool {
	use := adk.FieldUse{Field: f, Label: "x"}
	return c.text(use, a) == c.text(use, b)
}

// text is a field as a trace writes it, without its label.
func (c comparer) text(use adk.FieldUse, x *adk.Crossing) string {
	if data, ok := x.Value.([]byte); ok && use.Field == adk.FieldValue {
		return fmt.Sprintf("%d bytes of the digest %s", len(data), adk.DigestOf(data)) // a media's: nobody reads them
	}
	e := newEncoder(c.sentinels)
	defer e.free()
	e.begin(nil)
	if err := e.field(use, x); err != nil {
		return "unwritable: " + err.Error()
	}
	_, value, _ := bytes.Cut(e.out, []byte(`":`))
	return string(value)
}

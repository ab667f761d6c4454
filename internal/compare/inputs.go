package compare

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// ArgumentsText returns the kind of an operation and its inputs from user code as a text.
func ArgumentsText(c wire.Comparer, x *adk.Crossing) string {
	e := c.Encoder()
	defer e.Free()
	e.Begin(nil)
	for _, use := range x.Kind.Fields(x.Phase) {
		switch {
		case !use.Input:
		case use.Field == adk.FieldRecord:
			e.String(use.Label, RecordText(x.Record))
		case use.Names == adk.MadeID: // the id is the answer
		case use.Field == adk.FieldArgs:
			e.String(use.Label, safetext.Arguments(x.Args))
		default:
			if err := e.Field(&use, x); err != nil {
				e.String(use.Label, "unwritable")
			}
		}
	}
	return x.Kind.String() + string(e.Out)
}

// MovedOnly reports whether two crossings are equal, apart from their times.
func MovedOnly(c wire.Comparer, want, got *adk.Crossing) bool {
	fields := Crossings(c, want, got)
	return len(fields) == 0 || len(fields) == 1 && fields[0].Field == "at"
}

// CompareInputs lists the differences of two crossings without those in times and in numbers that
// follow the order of a run.
func CompareInputs(c wire.Comparer, want, got *adk.Crossing) []FieldDiff {
	if want.Kind != got.Kind || want.Phase != got.Phase {
		return []FieldDiff{{Field: "kind", Want: KindText(want), Got: KindText(got)}}
	}
	var diffs []FieldDiff
	for _, use := range want.Kind.Fields(want.Phase) {
		if use.Names.IsNumber() || c.Same(use.Field, want, got) {
			continue
		}
		diffs = append(diffs, differing(c, use, want, got))
	}
	return diffs
}

// ToldText returns an event or a fact as a text, without any digest.
func ToldText(c wire.Comparer, x *adk.Crossing) string {
	text := x.Kind.String()
	for _, use := range x.Kind.Fields(x.Phase) {
		if use.Field != adk.FieldDigest {
			text += " " + c.Text(use.Field, x)
		}
	}
	return text
}

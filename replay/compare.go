package replay

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
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

// CompareCrossings lists the fields in which got differs from want, as a trace
// would hold them and in the order in which it writes them; nil where nothing
// differs. Crossings of two kinds or phases differ in their kind alone. Seq, by
// which nothing is told in a trace, is not compared.
func CompareCrossings(want, got *adk.Crossing) []FieldDiff {
	return compareCrossings(comparer{onlyCommon}, want, got)
}

// compareCrossings lists the fields in which got differs from want, in the order in
// which a trace writes them. Crossings of two kinds differ in their kind alone.
func compareCrossings(c comparer, want, got *adk.Crossing) []FieldDiff {
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
			diffs = append(diffs, FieldDiff{Field: use.Label, Want: c.text(use.Field, want), Got: c.text(use.Field, got), Input: use.Input})
		}
	}
	return diffs
}

// kindText is the kind of a crossing, with its phase.
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

package compare

import (
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// CompareInfo lists the names of seams in which two headers differ.
func CompareInfo(want, got trace.Header) []FieldDiff {
	var diffs []FieldDiff
	text := func(field, w, g string) {
		if w != g {
			diffs = append(diffs, FieldDiff{Field: field, Want: w, Got: g, Input: true})
		}
	}
	theirs := wire.Named(&got.Info)
	for i, ours := range wire.Named(&want.Info) {
		if ours.One != nil {
			text(ours.Label, *ours.One, *theirs[i].One)
		} else {
			text(ours.Label, quotedList(*ours.List), quotedList(*theirs[i].List))
		}
	}
	text(wire.MemberStandalone, yesOrNo(want.Info.Standalone), yesOrNo(got.Info.Standalone))
	text(wire.MemberBehind, yesOrNo(want.Info.WriteBehind), yesOrNo(got.Info.WriteBehind))
	return diffs
}

package compare

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
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
	text(adk.LabelExecutor, want.Info.Executor, got.Info.Executor)
	theirs := wire.Pipelines(&got.Info)
	for i, ours := range wire.Pipelines(&want.Info) {
		if !slices.Equal(*ours.Names, *theirs[i].Names) {
			text(ours.Label, quotedList(*ours.Names), quotedList(*theirs[i].Names))
		}
	}
	text(wire.MemberStandalone, yesOrNo(want.Info.Standalone), yesOrNo(got.Info.Standalone))
	text(wire.MemberBehind, yesOrNo(want.Info.WriteBehind), yesOrNo(got.Info.WriteBehind))
	return diffs
}

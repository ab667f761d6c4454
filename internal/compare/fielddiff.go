package compare

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
)

// InDetail replaces the differences in records and data by the differences at each path inside
// them.
func InDetail(want, got *adk.Crossing, fields []FieldDiff) (detailed []FieldDiff) {
	for _, f := range fields {
		parts := fieldParts(f, want, got)
		if len(parts) == 0 {
			parts = []FieldDiff{f}
		}
		for i := range parts {
			parts[i].Input, parts[i].Of = f.Input, f.Of
		}
		detailed = append(detailed, parts...)
	}
	return detailed
}

// fieldParts returns the differences within one field, or none if the field is a single value.
func fieldParts(f FieldDiff, want, got *adk.Crossing) []FieldDiff {
	switch f.Of {
	case adk.FieldRecord:
		if want.Record != nil && got.Record != nil && want.Record.RecordKind() == got.Record.RecordKind() {
			return recordDiff(jsondiff.At(f.Field), want.Record, got.Record)
		}
	case adk.FieldRecords:
		return allRecordsDiff(want.Records, got.Records)
	case adk.FieldValue, adk.FieldArgs, adk.FieldResult, adk.FieldSchema, adk.FieldJSON, adk.FieldPayload:
		return JSONDiff(f.Field, f.Want, f.Got)
	case adk.FieldTexts:
		return textsDiff(f.Field, want.Texts, got.Texts)
	}
	return nil
}

// allRecordsDiff lists the differences of two lists of records of several kinds.
func allRecordsDiff(want, got []adk.Record) (diffs []FieldDiff) {
	of := func(kind adk.RecordKind, all []adk.Record) []adk.Record {
		return slices.DeleteFunc(slices.Clone(all), func(r adk.Record) bool { return r.RecordKind() != kind })
	}
	seen := map[adk.RecordKind]bool{}
	for _, list := range [][]adk.Record{want, got} {
		for _, r := range list {
			if kind := r.RecordKind(); !seen[kind] {
				seen[kind] = true
				diffs = append(diffs, recordsDiff(string(kind), of(kind, want), of(kind, got))...)
			}
		}
	}
	return diffs
}

// textsDiff lists the texts that were removed and added. It returns none if only the order differs.
func textsDiff(label string, want, got []string) (diffs []FieldDiff) {
	without := func(list, others []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(others, text) })
	}
	dropped, added := without(want, got), without(got, want)
	for i := range max(len(dropped), len(added)) {
		d := FieldDiff{Field: label}
		if i < len(dropped) {
			d.Want = QuotedJSON(dropped[i])
		}
		if i < len(added) {
			d.Got = QuotedJSON(added[i])
		}
		diffs = append(diffs, d)
	}
	return diffs
}

// fieldPlace is the field of a difference in position: before or after which crossing a crossing
// comes.
const fieldPlace = "place"

// PlaceDiff returns the difference of a crossing that moved to the other side of another crossing,
// which beside describes. ahead says that it comes earlier than recorded.
func PlaceDiff(ahead bool, beside string) FieldDiff {
	want, got := "before ", "after "
	if ahead {
		want, got = got, want
	}
	return FieldDiff{Field: fieldPlace, Want: QuotedJSON(want + beside), Got: QuotedJSON(got + beside), Input: true}
}

// Beside returns the crossing next to which a moved crossing is now, as PlaceDiff describes it, and
// whether the moved one comes ahead of it. ok is false for a difference of another kind.
func (f FieldDiff) Beside() (line string, ahead, ok bool) {
	_, got, _ := f.Trees()
	text, _ := got.(string)
	if line, ahead = strings.CutPrefix(text, "before "); !ahead {
		line, ok = strings.CutPrefix(text, "after ")
	}
	return line, ahead, f.Field == fieldPlace && (ahead || ok)
}

// AreAlike reports whether two lists have differences in the same fields with the same values. A
// new or removed object with one member counts as a difference of that member.
func AreAlike(a, b []FieldDiff) bool {
	return len(a) > 0 && slices.EqualFunc(a, b, func(f, g FieldDiff) bool {
		f, g = f.ofOneMember(), g.ofOneMember()
		return f.Anywhere() == g.Anywhere() && f.Want == g.Want && f.Got == g.Got
	})
}

// ofOneMember replaces the difference of an added or removed object with exactly one member by the
// difference of that member. It returns other differences unchanged.
func (f FieldDiff) ofOneMember() FieldDiff {
	for _, object := range []*string{&f.Want, &f.Got} {
		members := map[string]json.RawMessage{}
		if f.Want+f.Got != *object || json.Unmarshal([]byte(*object), &members) != nil || len(members) != 1 {
			continue
		}
		for name, member := range members {
			f.Field, f.anywhere, *object = f.Field+"."+name, f.Anywhere()+"."+name, string(member)
		}
		return f.ofOneMember()
	}
	return f
}

// FieldPieces is the field of a difference in the number of pieces of a streamed text, if the whole
// text is the same.
const FieldPieces = "pieces"

// PiecesText describes into how many pieces a text is split now and before. An empty number is not
// known.
func PiecesText(want, got string) string {
	switch {
	case got == "":
		return "said in other pieces, the same text"
	case want == got:
		return "said in " + got + " pieces as before, cut elsewhere"
	case want == "":
		want = "several"
	}
	pieces := " pieces"
	if got == "1" {
		pieces = " piece"
	}
	return "said in " + got + pieces + " instead of " + want + ", the same text"
}

// DifferInTimes reports whether all differences are between one time and another.
func DifferInTimes(fields []FieldDiff) bool {
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f FieldDiff) bool { return !isTime(f.Want) || !isTime(f.Got) })
}

// isTime reports whether a value is a time, as a trace writes it.
func isTime(value string) bool {
	var at time.Time
	return at.UnmarshalJSON([]byte(value)) == nil && value != "null"
}

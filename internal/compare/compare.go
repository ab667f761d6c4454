package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// FieldDiff is one field in which a crossing differs from the recorded one.
type FieldDiff struct {
	// Field is the field's label, as the trace writes it.
	Field string `json:"field"`
	// Want is the recorded value and Got the value of today's code, both as a trace writes them.
	// They are empty if the field is absent, unless the field is a number whose zero is a valid
	// value.
	Want string `json:"want"`
	Got  string `json:"got"`
	// Input says that user code or the outside decided the value, not the engine.
	Input bool `json:"input,omitempty"`
	// Of is the crossing's field that this is, or is a part of. It is 0 if there is none, and in a
	// report that was read from a file.
	Of adk.Field `json:"-"`

	// anywhere is the field without the record and the list elements that it is in, if that differs
	// from Field. want and got are the decoded trees of Want and Got, if decoded is set.
	anywhere  string
	want, got any
	decoded   bool
}

// Equal reports whether two differences have the same exported values, except for Of.
func (f FieldDiff) Equal(other FieldDiff) bool {
	return f.Field == other.Field && f.Want == other.Want && f.Got == other.Got && f.Input == other.Input
}

// Anywhere returns the field without the particular record and list elements that it is in, so that
// the same field has the same name in other crossings.
func (f FieldDiff) Anywhere() string { return cmp.Or(f.anywhere, f.Field) }

// AnyElement returns Anywhere without the indexes of list elements.
func (f FieldDiff) AnyElement() string { return elements.ReplaceAllString(f.Anywhere(), "[]") }

var elements = regexp.MustCompile(`\[\d+\]`)

// Trees returns the decoded JSON of Want and Got, with each number in one canonical spelling. An
// absent value is nil. ok is false if one of them is not JSON.
func (f FieldDiff) Trees() (want, got any, ok bool) {
	if f.decoded {
		return f.tree(f.want), f.tree(f.got), true
	}
	want, wantOK := decode(f.Want)
	got, gotOK := decode(f.Got)
	return want, got, (wantOK || f.Want == "") && (gotOK || f.Got == "")
}

// tree returns v, or nil if v marks an absent value.
func (FieldDiff) tree(v any) any {
	if isAbsent(v) {
		return nil
	}
	return v
}

// Common lists the fields in which got differs from want, as Crossings does, with only the
// sentinels that are always known. It returns nil if nothing differs. Seq is not compared, because
// a trace does not write it.
func Common(want, got *adk.Crossing) []FieldDiff {
	return Crossings(wire.Comparer{Sentinels: wire.OnlyCommon}, want, got)
}

// Crossings lists the fields in which got differs from want, in the order in which a trace writes
// them. Two crossings of different kinds or phases are reported to differ in their kind only.
func Crossings(c wire.Comparer, want, got *adk.Crossing) []FieldDiff {
	if want.Kind != got.Kind || want.Phase != got.Phase {
		return []FieldDiff{{Field: "kind", Want: KindText(want), Got: KindText(got)}}
	}
	var diffs []FieldDiff
	if !want.At.Equal(got.At) {
		diffs = append(diffs, FieldDiff{Field: "at", Want: want.At.String(), Got: got.At.String(), Input: true})
	}
	diffs = compareInt(diffs, "in", want.Call, got.Call)
	diffs = compareInt(diffs, "strand", want.Strand, got.Strand)
	diffs = compareInt(diffs, "op", want.Op, got.Op)
	for _, use := range want.Kind.Fields(want.Phase) {
		if !c.Same(use.Field, want, got) {
			diffs = append(diffs, differing(c, use, want, got))
		}
	}
	return diffs
}

// differing returns the difference of two crossings of one kind in one field.
func differing(c wire.Comparer, use adk.FieldUse, want, got *adk.Crossing) FieldDiff {
	text := func(x *adk.Crossing) string { return cmp.Or(c.Text(use.Field, x), wire.FieldRows[use.Field].Left) }
	return FieldDiff{Field: use.Label, Want: text(want), Got: text(got), Input: use.Input, Of: use.Field}
}

// KindText returns the kind of a crossing, with its phase.
func KindText(x *adk.Crossing) string {
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

// String returns the difference in one line. Long values are cut down to where they differ. If the
// two values have the same text, as errors with different chains may, the line shows the parts that
// differ.
func (f FieldDiff) String() string {
	a, b, _ := f.Trees()
	if now, ok := b.(string); ok && f.Field == fieldPlace {
		return "comes " + now
	}
	if f.Field == FieldPieces {
		return PiecesText(safetext.Bare(f.Want), safetext.Bare(f.Got))
	}
	if order := orderText(a, b); order != "" {
		return safetext.Bare(f.Field) + order
	}
	if f.isError() {
		a, b = inWords(a), inWords(b)
	}
	want, got := f.cut(a, b)
	if want == got {
		if links := f.links(); links != "" {
			return links
		}
		want, got = safetext.BareJSON(f.Want), safetext.BareJSON(f.Got)
	}
	return fmt.Sprintf("%s: expected %s, got %s%s", safetext.Bare(f.Field), OrNothing(want), OrNothing(got), lengths(a, b))
}

// orderText describes two lists with the same elements in different orders: which elements moved,
// and from where. It is meant to follow the name of the field. It returns "" for anything else.
func orderText(want, got any) string {
	a, isList := want.([]any)
	b, both := got.([]any)
	from, moved := jsondiff.Order(a, b, treeText)
	if !isList || !both || !moved {
		return ""
	}
	var places []string
	for i, was := range from {
		switch {
		case was == i:
		case len(places) == mostMoved:
			return strings.Join(places, ", ") + ", …"
		case places == nil:
			places = append(places, fmt.Sprintf("[%d]: %smoved from [%d]", i, named(b[i]), was))
		default:
			places = append(places, fmt.Sprintf("[%d] %sfrom [%d]", i, named(b[i]), was))
		}
	}
	return strings.Join(places, ", ")
}

// named returns the text or name of an element that has moved, with a space after it, or "" if it
// has none.
func named(tree any) string {
	if text, ok := textOrName(tree); ok && text != "" {
		return safetext.Said(text, longestMoved) + " "
	}
	return ""
}

// longestMoved is how many characters of a moved element are shown.
const longestMoved = 20

// mostMoved is how many moved elements are listed.
const mostMoved = 4

// Lines returns the difference in lines of at most width characters: one line if it fits, and
// otherwise the field and, beneath it, the two values where they differ.
func (f FieldDiff) Lines(width int) []string {
	a, b, _ := f.Trees()
	if line := f.String(); utf8.RuneCountInString(line) <= width && !isLong(a) && !isLong(b) {
		return []string{line}
	}
	if f.Field == fieldPlace || f.differsInLinks() || orderText(a, b) != "" {
		return strings.Split(safetext.Wrapped(safetext.Shortened(f.String(), 2*width-8), width, "    "), "\n")
	}
	if f.isError() {
		a, b = inWords(a), inWords(b)
	}
	const indent = "             " // as wide as what precedes a value
	if lines := wrapped(f, a, b, 2*(width-len(indent))-spareOfAValue, width, indent); lines != nil {
		return append(f.path(width), lines...)
	}
	return append(f.path(width), wrapped(f, a, b, width-len(indent), width, indent)...)
}

// spareOfAValue is how many characters a value of two lines may lose because its first line breaks
// at a word.
const spareOfAValue = 16

// wrapped returns the two values of a field where they differ, each in at most most characters and
// in lines of at most width. It returns nil if a word is longer than a line.
func wrapped(f FieldDiff, a, b any, most, width int, indent string) (lines []string) {
	want, got := f.excerpts(a, b, most)
	if said := lengths(a, b); strings.HasSuffix(said, truncated) || strings.HasSuffix(said, continued) {
		got += said // else the excerpts show where they differ, and the length adds nothing
	}
	for _, said := range []string{"    expected " + want, "    got      " + got} {
		for line := range strings.SplitSeq(safetext.Wrapped(said, width, indent), "\n") {
			if utf8.RuneCountInString(line) > width && most > width {
				return nil
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// mostOfAPath is how many lines the name of a field may take. Requests and schemas are not nested
// more deeply than fits.
const mostOfAPath = 4

// path returns the name of the field. It breaks a name longer than width before a member, because
// the end of the name is the member that differs and must not be cut off.
func (f FieldDiff) path(width int) (lines []string) {
	rest := safetext.Bare(f.Field) + ":"
	for utf8.RuneCountInString(rest) > width && len(lines) < mostOfAPath-1 {
		fits := string([]rune(rest)[:width])
		at := strings.LastIndexAny(fits, ".[")
		if at <= 0 || strings.TrimSpace(fits[:at]) == "" {
			break
		}
		lines, rest = append(lines, rest[:at]), "  "+rest[at:]
	}
	return append(lines, safetext.Shortened(rest, width))
}

// Replaced joins two differences of the same field of which one says what is gone and the other
// what is new. For example, a list may have a tool of another name.
func Replaced(fields []FieldDiff) (all []FieldDiff) {
	named, at := map[string]int{}, map[string]int{}
	for _, f := range fields {
		named[f.Field]++
	}
	for _, f := range fields {
		if i, known := at[f.Field]; known && named[f.Field] == 2 {
			if first := &all[i]; first.Got == "" && f.Want == "" || first.Want == "" && f.Got == "" {
				first.Want, first.Got = cmp.Or(first.Want, f.Want), cmp.Or(first.Got, f.Got)
				continue
			}
		}
		at[f.Field] = len(all)
		all = append(all, f)
	}
	return all
}

// isLong reports whether an object is better described by its name than by its JSON.
func isLong(tree any) bool {
	object, ok := tree.(map[string]any)
	return ok && len(object) > 1
}

// excerpts returns the two values where they differ, in at most width characters each. If one value
// is absent, an object is described by its name.
func (f FieldDiff) excerpts(a, b any, width int) (want, got string) {
	w, wantText := textOrName(a)
	g, gotText := textOrName(b)
	switch {
	case wantText && gotText:
		return safetext.Excerpts(w, g, width)
	case wantText && f.Got == "":
		want, _ = safetext.Excerpts(w, "", width)
		return want, "nothing"
	case gotText && f.Want == "":
		_, got = safetext.Excerpts("", g, width)
		return "nothing", got
	}
	want, got = safetext.Beside(safetext.BareJSON(f.Want), safetext.BareJSON(f.Got), width)
	return OrNothing(want), OrNothing(got)
}

// LastMember returns the last member of a path that Anywhere or AnyElement returned.
func LastMember(path string) string {
	path = strings.TrimSuffix(path, "[]")
	return path[strings.LastIndexByte(path, '.')+1:]
}

// textOrName returns a text, or what names an object.
func textOrName(tree any) (text string, ok bool) {
	switch v := tree.(type) {
	case string:
		return v, true
	case map[string]any:
		return NameOf(v)
	}
	return "", false
}

// nameMembers are the members that name a record or hold its content, the best first.
var nameMembers = []string{"name", "filename", "tool", "content", "text", "id"}

// NameOf returns what names an object: its name, or its content.
func NameOf(object map[string]any) (name string, ok bool) {
	for _, member := range nameMembers {
		if name, ok = object[member].(string); ok {
			return name, true
		}
	}
	return "", false
}

// isError reports whether the values are errors or reasons.
func (f FieldDiff) isError() bool {
	return f.Of == adk.FieldErr || f.Of == adk.FieldCause || f.Field == "err" || f.Field == "cause"
}

// inWords returns the text of a tree that is an error's, and any other tree unchanged.
func inWords(tree any) any {
	if words, ok := ErrorWords(tree); ok {
		return words
	}
	return tree
}

// differsInLinks reports whether the values are errors with the same text but different parts.
func (f FieldDiff) differsInLinks() bool {
	a, b, _ := f.Trees()
	was, wasWords := ErrorWords(a)
	is, isWords := ErrorWords(b)
	return f.isError() && wasWords && isWords && was == is && f.links() != ""
}

// links returns the members in which two trees differ, or "" if the values have no members.
func (f FieldDiff) links() string {
	parts := JSONDiff(f.Field, f.Want, f.Got)
	var said []string
	for _, part := range parts[:min(len(parts), mostLinks)] {
		if part.Field == f.Field {
			return ""
		}
		if f.isError() {
			part.Of = adk.FieldErr
		}
		said = append(said, part.String())
	}
	return strings.Join(said, "; ")
}

// lengths returns the lengths of two texts that were cut, and whether one is the beginning of the
// other.
func lengths(a, b any) string {
	want, wantText := a.(string)
	got, gotText := b.(string)
	if !wantText || !gotText || max(len(want), len(got)) <= LongestValue {
		return ""
	}
	how := ")"
	switch {
	case strings.HasPrefix(want, strings.TrimRight(got, "….")):
		how = truncated
	case strings.HasPrefix(got, strings.TrimRight(want, "….")):
		how = continued
	}
	return fmt.Sprintf(" (%d characters, now %d%s", len([]rune(want)), len([]rune(got)), how)
}

// The ends of what lengths returns if one text is the beginning of the other, ignoring an ellipsis
// at the end of the shorter one.
const (
	truncated = ", truncated)"
	continued = ", continued)"
)

// WithoutFollowing removes differences that follow from another one: if the error of a call
// differs, that it ended with an error at all, and that its result or records are missing.
func WithoutFollowing(fields []FieldDiff) []FieldDiff {
	if !slices.ContainsFunc(fields, func(f FieldDiff) bool { return f.Of == adk.FieldErr }) {
		return fields
	}
	return slices.DeleteFunc(fields, func(f FieldDiff) bool {
		switch f.Of {
		case adk.FieldOutcome:
			return f.Want+f.Got == errorOutcome
		case adk.FieldResult, adk.FieldRecords:
			return f.Want == "" || f.Got == ""
		}
		return false
	})
}

// errorOutcome is the outcome of a call that ended with an error, as a trace writes it.
var errorOutcome = QuotedJSON(string(adk.OutcomeError))

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
	// Want is what was recorded, Got what today's code did; both as a trace
	// writes them, empty where the field is absent, but for a number that is 0.
	Want string `json:"want"`
	Got  string `json:"got"`
	// Input tells that user code or the outside decided the value, not the
	// engine.
	Input bool `json:"input,omitempty"`
	// Of is the field of a crossing that it is, or is within; 0 where it is none, and in
	// a report that was read.
	Of adk.Field `json:"-"`

	// anywhere is the field without the record and the elements that it is in, where
	// that is another; want and got are the trees of Want and Got, if they are decoded.
	anywhere  string
	want, got any
	decoded   bool
}

// Equal reports whether two say the same; what they were made of is not compared.
func (f FieldDiff) Equal(other FieldDiff) bool {
	return f.Field == other.Field && f.Want == other.Want && f.Got == other.Got && f.Input == other.Input
}

// Anywhere is the field, whichever record and whichever elements of lists it is in: it
// is the same in other crossings.
func (f FieldDiff) Anywhere() string { return cmp.Or(f.anywhere, f.Field) }

// AnyElement is Anywhere with no number of an element in it.
func (f FieldDiff) AnyElement() string { return elements.ReplaceAllString(f.Anywhere(), "[]") }

var elements = regexp.MustCompile(`\[\d+\]`)

// Trees are what Want and Got are the JSON of, each number spelled in one way; of what is
// absent it is nil. It is false where one of them is no JSON.
func (f FieldDiff) Trees() (want, got any, ok bool) {
	if f.decoded {
		return f.tree(f.want), f.tree(f.got), true
	}
	want, wantOK := decode(f.Want)
	got, gotOK := decode(f.Got)
	return want, got, (wantOK || f.Want == "") && (gotOK || f.Got == "")
}

// tree is a tree, or nil for one that is absent.
func (FieldDiff) tree(v any) any {
	if isAbsent(v) {
		return nil
	}
	return v
}

// Common lists the fields in which got differs from want, as a trace
// would hold them and in the order in which it writes them; nil where nothing
// differs. Crossings of two kinds or phases differ in their kind alone. Seq, by
// which nothing is told in a trace, is not compared.
func Common(want, got *adk.Crossing) []FieldDiff {
	return Crossings(wire.Comparer{Sentinels: wire.OnlyCommon}, want, got)
}

// Crossings lists the fields in which got differs from want, in the order in
// which a trace writes them. Crossings of two kinds differ in their kind alone.
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

// differing is a field in which two crossings of a kind differ.
func differing(c wire.Comparer, use adk.FieldUse, want, got *adk.Crossing) FieldDiff {
	text := func(x *adk.Crossing) string { return cmp.Or(c.Text(use.Field, x), wire.FieldRows[use.Field].Left) }
	return FieldDiff{Field: use.Label, Want: text(want), Got: text(got), Input: use.Input, Of: use.Field}
}

// KindText is the kind of a crossing, with its phase.
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

// String is the difference in a line, long values cut down to where they differ.
// Two that are the same in words, as errors of two chains are, are taken apart down
// to the link that differs.
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

// orderText says of two lists of the same elements in two orders which have moved, and from
// where, to stand behind the name of the field; empty of others.
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

// named is what names an element that has moved, with a blank behind it; empty where nothing
// does.
func named(tree any) string {
	if text, ok := textOrName(tree); ok && text != "" {
		return safetext.Said(text, longestMoved) + " "
	}
	return ""
}

// longestMoved is how much is said of what has moved.
const longestMoved = 20

// mostMoved is how many elements are told that stand at another place.
const mostMoved = 4

// Lines are the difference in lines of at most width characters: one where it fits, else
// the field and beneath it the two values where they differ.
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
	const indent = "             " // as wide as what stands before a value
	if lines := wrapped(f, a, b, 2*(width-len(indent))-spareOfAValue, width, indent); lines != nil {
		return append(f.path(width), lines...)
	}
	return append(f.path(width), wrapped(f, a, b, width-len(indent), width, indent)...)
}

// spareOfAValue is how much a value of two lines may lose where the first ends at a word.
const spareOfAValue = 16

// wrapped are the two values of a field where they differ, in at most so many characters each
// and in lines of a width; nil where a word is longer than a line.
func wrapped(f FieldDiff, a, b any, most, width int, indent string) (lines []string) {
	want, got := f.excerpts(a, b, most)
	if said := lengths(a, b); strings.HasSuffix(said, truncated) || strings.HasSuffix(said, continued) {
		got += said // else they end alike, and where they differ says all
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

// mostOfAPath is how many lines the name of a field may take: more has nested what no
// request or schema nests.
const mostOfAPath = 4

// path is the name of the field, which is broken before a member where it is longer than
// width: what is cut off at its end would be the member that differs.
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

// Replaced joins two fields of one name, of which one says what is gone and one what is new: as where a list has a tool of another name.
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

// isLong reports whether a tree is better told by what names it than by its JSON.
func isLong(tree any) bool {
	object, ok := tree.(map[string]any)
	return ok && len(object) > 1
}

// excerpts are the two values where they differ, in at most width characters each. An
// object beside nothing is told by what names it.
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

// LastMember is the last member of a path, such as Anywhere and AnyElement are.
func LastMember(path string) string {
	path = strings.TrimSuffix(path, "[]")
	return path[strings.LastIndexByte(path, '.')+1:]
}

// textOrName is a text, or what names an object.
func textOrName(tree any) (text string, ok bool) {
	switch v := tree.(type) {
	case string:
		return v, true
	case map[string]any:
		return NameOf(v)
	}
	return "", false
}

// nameMembers are the members that name a record, or say what is in it, the best first.
var nameMembers = []string{"name", "filename", "tool", "content", "text", "id"}

// NameOf is what names an object: a record by its name, or by what it says.
func NameOf(object map[string]any) (name string, ok bool) {
	for _, member := range nameMembers {
		if name, ok = object[member].(string); ok {
			return name, true
		}
	}
	return "", false
}

// isError reports whether the values are of an error or a reason.
func (f FieldDiff) isError() bool {
	return f.Of == adk.FieldErr || f.Of == adk.FieldCause || f.Field == "err" || f.Field == "cause"
}

// inWords is a tree that an error is written as in words, and any other as it is.
func inWords(tree any) any {
	if words, ok := ErrorWords(tree); ok {
		return words
	}
	return tree
}

// differsInLinks reports whether a field has two errors of the same words, which differ in what
// these are made of.
func (f FieldDiff) differsInLinks() bool {
	a, b, _ := f.Trees()
	was, wasWords := ErrorWords(a)
	is, isWords := ErrorWords(b)
	return f.isError() && wasWords && isWords && was == is && f.links() != ""
}

// links are the members in which two trees differ; empty where they are none.
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

// lengths tells how long two texts are that were cut.
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

// What lengths says at its end of a text of which the other one is the beginning, but for the
// dots of who has cut it.
const (
	truncated = ", truncated)"
	continued = ", continued)"
)

// WithoutFollowing leaves out what another field says already: of a call that failed, that
// it ended with an error, and that it gave nothing.
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

// errorOutcome is the outcome of a call that ended with an error, as a trace has it.
var errorOutcome = QuotedJSON(string(adk.OutcomeError))

package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
)

// This file says what divergences of many traces have in common when one change
// made them all: their class, the seam without its iteration, what kind of
// crossing it is, the members that differ, and of texts the piece that was
// exchanged. Ids, times, digests and numbers are other in every trace, and are
// left out.

// Cause is what is the same in the divergences that one change makes.
type Cause struct {
	Class replay.Class `json:"class"`
	// Seam is the path of the seam call, without the iteration. It is empty for a
	// state: where something is first seen, nobody changed it.
	Seam string `json:"seam,omitempty"`
	// Kind is the kind of the crossing, as its line begins. Where a crossing is
	// missing or extra, it is the line without what it carries.
	Kind string `json:"kind"`
	// Changes are the members that differ, where both crossings are of one kind.
	Changes []Change `json:"changes,omitempty"`
}

// Change is one piece in which two values differ.
type Change struct {
	// Field is the path of the member, as in record.message.content; [] is any
	// place of a list.
	Field string `json:"field"`
	// Removed is what stands in the recording alone, and Added what today's code
	// alone says; numbers, ids and times in them are masked. Both are empty where
	// nothing but those differs.
	Removed string `json:"removed,omitempty"`
	Added   string `json:"added,omitempty"`
	// Left and Right are the words beside the piece; empty at the ends of the
	// text.
	Left  string `json:"left,omitempty"`
	Right string `json:"right,omitempty"`
	// Template is what today's code says, or what is gone where it says nothing,
	// without the words that stand nearby in the recording: they are data. It is
	// empty where there are none.
	Template string `json:"template,omitempty"`
	// Various tells that the pieces are others in every trace.
	Various bool `json:"various,omitempty"`

	was, now string // the values, where nothing else tells the change
}

// newCause is what a divergence has in common with others of its cause.
func newCause(d *replay.Divergence) *Cause {
	c := &Cause{Class: d.Class, Seam: withoutIteration(d.Seam)}
	line := d.Expected
	if line == "" || d.Class == replay.Extra || d.Class == replay.ChangedError && lineKind(d.Got) != lineKind(line) {
		line = d.Got // a call that ended, in the place of what it did not come to
	}
	c.Kind = lineKind(line)
	if len(d.Fields) == 0 || d.Fields[0].Field == compare.FieldPlace {
		if c.Kind = lineShape(line); authored[c.Kind] {
			c.Changes = []Change{lineChange(d.Class, line)}
		}
		return c
	}
	if c.Kind == kindState {
		c.Seam = ""
		if d.Fields[0].Field == "digest" {
			c.Changes = stateChanges(d.Expected, d.Got)
		}
	}
	for _, f := range d.Fields {
		c.Changes = append(c.Changes, valueChanges(anyPlace(f.Field), f.Want, f.Got)...)
	}
	c.Changes = telling(c.Changes)
	nearby := wordsOf(append([]string{d.Expected}, d.Before...))
	for i := range c.Changes {
		c.Changes[i].Template = c.Changes[i].template(nearby)
	}
	return c
}

// wordsOf are the words of some lines.
func wordsOf(lines []string) map[string]bool {
	words := map[string]bool{}
	for _, line := range lines {
		for _, t := range tokensOf(line) {
			words[t.text] = true
		}
	}
	return words
}

// template is what is said with each run of the data in it masked.
func (c Change) template(data map[string]bool) string {
	said := c.Added
	if !hasWord(said) {
		said = c.Removed
	}
	var tokens []token
	for _, t := range tokensOf(said) {
		if t.isWord() && data[t.text] {
			if n := len(tokens); n > 0 && tokens[n-1].masked == maskData {
				continue
			}
			t.masked = maskData
		}
		tokens = append(tokens, t)
	}
	if text := piece(tokens); strings.Contains(text, maskData) {
		return text
	}
	return ""
}

// volatile are the members that differ from run to run of the same code.
var volatile = map[string]bool{
	"at": true, "in": true, "op": true, "strand": true, "id": true, "callId": true, "#": true,
	"turn": true, "dispatch": true, "gate": true, "digest": true, "checksum": true,
	"createdAt": true, "updatedAt": true, "completedAt": true, "took": true, "second run": true,
}

// The places of records and elements in the labels of fields.
var (
	recordPlace  = regexp.MustCompile(`^(messages?|memory|memories|retrievables?|thoughts?|toolCalls?|instructions?|media) .*?(\.[A-Za-z].*)?$`)
	elementPlace = regexp.MustCompile(`\[\d+\]`)
)

// anyPlace is the label of a field without the record and the elements of lists
// that it is in.
func anyPlace(field string) string {
	if at := recordPlace.FindStringSubmatch(field); at != nil && !strings.HasSuffix(field, " order") {
		field = at[1] + at[2]
	}
	return elementPlace.ReplaceAllString(field, "[]")
}

// telling leaves out the changes that follow from others, or say little beside
// them: in volatile members, and of nothing but numbers, ids and times. Where
// there are no others they stay.
func telling(all []Change) []Change {
	kept := slices.DeleteFunc(slices.Clone(all), func(c Change) bool { return volatile[lastMember(c.Field)] })
	if len(kept) == 0 {
		kept = nil
		for _, c := range all {
			kept = append(kept, Change{Field: c.Field})
		}
	}
	worded := slices.DeleteFunc(slices.Clone(kept), func(c Change) bool { return c.Removed == c.Added })
	if len(worded) > 0 {
		kept = worded
	}
	slices.SortFunc(kept, func(a, b Change) int { return cmp.Compare(a.key(), b.key()) })
	return slices.Compact(kept)
}

// key is the whole change.
func (c Change) key() string {
	return fmt.Sprintf("%q", []string{c.Field, c.Removed, c.Added, c.Left, c.Right})
}

func lastMember(path string) string {
	path = strings.TrimSuffix(path, "[]")
	return path[strings.LastIndexByte(path, '.')+1:]
}

// withoutIteration is the path of a seam without its iteration.
func withoutIteration(path string) string {
	at := strings.LastIndexByte(path, '#')
	if at < 0 || strings.Trim(path[at+1:], "0123456789") != "" {
		return path
	}
	return path[:at]
}

const kindState = "state"

// lineKind is the kind of crossing that a line of a transcript tells: its first
// word, or the seam whose call it is.
func lineKind(line string) string {
	word, rest, _ := strings.Cut(strings.TrimLeft(line, "*! "), " ")
	word = withoutIteration(strings.TrimSuffix(word, ":"))
	if strings.HasPrefix(rest, "returns") {
		word += " returns"
	}
	return word
}

// authored are the kinds whose texts people wrote into their code, and which are
// told apart by them; the texts of all others are data.
var authored = map[string]bool{"report-log": true, "log": true, "error": true, "abort": true, "nack": true}

// lineShape is a line of a transcript without what it carries: texts, JSON, ids,
// numbers and answers.
func lineShape(line string) string {
	kind := lineKind(line)
	if kind == kindState || authored[kind] {
		return kind
	}
	line, _, _ = strings.Cut(strings.TrimLeft(line, "*! "), " → ")
	line, _, _ = strings.Cut(line, ", ") // behind it stands what an event counts
	var words []string
	for _, word := range strings.Fields(line) {
		if strings.ContainsAny(word[:1], `"{[`) {
			break
		}
		if word = withoutIteration(word); word != "=" && !isName(word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// fieldLine is the field of a line that is no field of a crossing.
const fieldLine = "line"

// lineChange is a line that somebody wrote, as a change by itself.
func lineChange(class replay.Class, line string) Change {
	_, said, _ := strings.Cut(strings.TrimLeft(line, "*! "), " ")
	if class == replay.Missing {
		return Change{Field: fieldLine, Removed: piece(tokensOf(said))}
	}
	return Change{Field: fieldLine, Added: piece(tokensOf(said))}
}

// name matches a number, and the names that transcripts give: m1, call2.
var name = regexp.MustCompile(`^[(]?(|turn|dispatch|m|t|call|gate|id|mem|r|i|media|s)[0-9]+[):,]?$`)

func isName(word string) bool { return name.MatchString(word) }

// stateChanges are the parts of what is visible that two states show otherwise.
func stateChanges(expected, got string) (changes []Change) {
	want, have := stateParts(expected), stateParts(got)
	parts := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(have))
	slices.Sort(parts)
	for _, part := range slices.Compact(parts) {
		a, b := want[part], have[part]
		switch {
		case a == b:
		case words(a) == words(b):
			changes = append(changes, Change{Field: "state." + part})
		default:
			changes = append(changes, textChanges("state."+part, words(a), words(b))...)
		}
	}
	return changes
}

// stateParts are the parts that the line of a state lists, by what they are of.
func stateParts(line string) map[string]string {
	parts := map[string]string{}
	line, _, _ = strings.Cut(line, " !! ")
	_, list, _ := strings.Cut(line, ": ")
	for _, part := range strings.Split(list, ", ") {
		what, inside, _ := strings.Cut(strings.TrimSuffix(part, ")"), " (")
		what = strings.TrimSuffix(strings.TrimLeft(what, "0123456789 "), "s")
		parts[what] = inside
	}
	return parts
}

// words are the words of a list that are no names.
func words(list string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(list), isName), " ")
}

// mostChanges is how many changes a line shows.
const mostChanges = 3

// String is the cause in a line.
func (c Cause) String() string {
	text := string(c.Class)
	if c.Seam != "" {
		text += " in " + safetext.Bare(c.Seam)
	}
	text += ": " + safetext.Bare(c.Kind)
	var changes []string
	for _, change := range c.Changes[:min(len(c.Changes), mostChanges)] {
		changes = append(changes, change.String())
	}
	if len(changes) > 0 {
		text += ", " + strings.Join(changes, "; ")
	}
	if more := len(c.Changes) - mostChanges; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// String is the change in a few words.
func (c Change) String() string {
	field := safetext.Bare(c.Field)
	switch {
	case c.was != "":
		return fmt.Sprintf("%s: %s → %s", field, safetext.BareJSON(c.was), safetext.BareJSON(c.now))
	case c.Field == fieldLine && !c.Various:
		return safetext.Bare(c.Removed + c.Added)
	case c.Various && c.Added != "":
		return fmt.Sprintf("%s: various → %s", field, safetext.Quoted(c.Added))
	case c.Various && (c.Left != "" || c.Right != ""):
		return fmt.Sprintf("%s: other words in every trace, between %s and %s", field, safetext.Quoted(c.Left), safetext.Quoted(c.Right))
	case c.Various:
		return field + ": another text in every trace"
	case c.Removed == c.Added && c.Added != "":
		return fmt.Sprintf("%s: another %s", field, safetext.Bare(c.Added))
	case c.Removed+c.Added == maskObject && c.Removed != "":
		return field + ": one less"
	case c.Removed+c.Added == maskObject:
		return field + ": one more"
	case c.Removed != "" && c.Added != "":
		return fmt.Sprintf("%s: %s → %s", field, safetext.Quoted(c.Removed), safetext.Quoted(c.Added))
	case c.Removed != "":
		return fmt.Sprintf("%s: without %s", field, safetext.Quoted(c.Removed))
	case c.Added != "":
		return fmt.Sprintf("%s: now with %s", field, safetext.Quoted(c.Added))
	}
	return field
}

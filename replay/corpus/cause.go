package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
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
	// AlsoIn are the other seams in which the same line of code made the same difference.
	AlsoIn []string `json:"alsoIn,omitempty"`
	// Kind is the kind of the crossing, or the seam that it enters or leaves. Where a
	// crossing is missing or extra, the names in it that stand in the code are beside.
	Kind string `json:"kind,omitempty"`
	// Asked is, of a request over HTTP, its method and path, as in GET /orders/17, of another
	// one how the statement in it begins, and of a gate its reason, both in quotes. The parts
	// of them in which traces differ are …: they are data, and no part of the cause.
	Asked string `json:"asked,omitempty"`
	// At is, of a panic, the line of code that it came of, as file:line, and Panic what the
	// code panicked with: that may be other in each trace, and is no part of the cause where the
	// line is known.
	At    string `json:"at,omitempty"`
	Panic string `json:"panic,omitempty"`
	// Changes are the members that differ, where both crossings are of one kind.
	Changes []Change `json:"changes,omitempty"`
	// NewError is, of one trace, the error that came in the place of whatever was
	// recorded, with the trace's own data masked; nil where none came.
	NewError *Change `json:"newError,omitempty"`
	// Beside is, of one trace, what is no part of the cause, since it may be other in
	// each: where an operation stands now.
	Beside string `json:"beside,omitempty"`
	// Also is, of one trace, what is missing with it.
	Also string `json:"also,omitempty"`
	// Came is, of one trace, the operation that came in the place of what is missing.
	Came string `json:"came,omitempty"`
	// AfterFailure tells, of one trace, that what came before had failed.
	AfterFailure bool `json:"afterFailure,omitempty"`
	// Instead is, of one trace, what came in the place of what is missing, or is missing
	// in the place of what came: no part of the cause either.
	Instead string `json:"instead,omitempty"`
	// Gone is, of one trace, the operation in the place of which a call ended with an error, or
	// asked what had no answer, or before which another one comes now: no part of the cause
	// either.
	Gone string `json:"gone,omitempty"`
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
	// Behind tells that Removed and Added are the white space that the texts end with, in quotes.
	Behind bool `json:"behind,omitempty"`
	// Template is what today's code says, or what is gone where it says nothing,
	// without the words that stand nearby in the recording: they are data. It is
	// empty where there are none.
	Template string `json:"template,omitempty"`
	// Exchanged tells that values have changed their places among the elements of a list.
	Exchanged bool `json:"exchanged,omitempty"`
	// Various tells that the pieces are others in every trace.
	Various bool `json:"various,omitempty"`
	// Was and Now are what the recording has and what today's code says, where the
	// pieces do not tell the change, and both are short and the same in all traces.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
	// As is the change in some traces, where it is another in each: 1 → 2; 3 → 4.
	As string `json:"as,omitempty"`
}

// newCause is what a divergence has in common with others of its cause.
func newCause(d *replay.Divergence) *Cause {
	c := &Cause{Class: d.Class, Seam: withoutIteration(d.Seam)}
	e := d.Evidence
	if e == nil { // it is of no crossing
		e = &replay.Evidence{}
	}
	if d.Class == replay.Panicked {
		return c.panicked(d)
	}
	x := told(d.Class, e)
	if x != nil {
		c.Kind, c.Asked = describe.KindName(x), cmp.Or(asked(x), nameOf(d.Class, e))
	}
	if n := len(e.Agreed); n > 0 {
		c.AfterFailure = e.Agreed[n-1].Err != nil
	}
	also := others(x, e)
	c.Beside, c.Also = besides(d, e), safetext.List(also[:min(len(also), mostChanges)], named)
	if more := len(also) < len(e.Also); more && c.Beside == onceLess {
		c.Beside = "several times less than recorded"
	} else if more && c.Beside == "" {
		c.Beside = "several times"
	}
	if isRetry(e) {
		c.Also += " again"
	}
	c.inPlaces(d, e, x)
	again := d.Class == replay.Unanswered && (e.Recorded == nil || c.Gone != "" && describe.Gist(x) != c.Gone) // its field says how often
	if x != nil && (len(d.Fields) == 0 || e.Beside != nil || again) {
		c.Kind = describe.Gist(x)
		if words, authored := describe.Authored(x); authored {
			c.Changes = []Change{lineChange(d.Class, words)}
		}
		return c
	}
	if x != nil && isDigest(x) { // where something is first seen, nobody changed it
		c.Seam = ""
	}
	c.Changes = telling(allChanges(d.Fields))
	before := wordsOf(e.Agreed)
	c.NewError = newError(d.Fields, before)
	nearby := wordsOf([]*adk.Crossing{e.Recorded})
	maps.Copy(nearby, before)
	for i := range c.Changes {
		c.Changes[i].Template = c.Changes[i].template(nearby)
	}
	return c
}

// inPlaces finds what came, or is gone, in the place of what the cause is about.
func (c *Cause) inPlaces(d *replay.Divergence, e *replay.Evidence, about *adk.Crossing) {
	was, now := e.Recorded, e.Replayed
	if d.Class == replay.Missing && was != nil && now != nil && describe.IsMade(was) && describe.IsMade(now) {
		c.Came = describe.Gist(now)
	}
	isWhatItIs := func(f replay.FieldDiff) bool { return f.Field == adk.LabelExecutor }
	if c.Beside != onceMore && !slices.ContainsFunc(d.Fields, isWhatItIs) { // what is gone came of that
		c.Instead = instead(d.Class, e)
	}
	switch {
	case e.Ahead:
		c.Gone = describe.Gist(e.Beside)
	case was != nil && was != about && describe.IsMade(was) && (d.Class == replay.ChangedError || d.Class == replay.Unanswered):
		c.Gone = describe.Gist(was)
	}
}

// allChanges are the changes of fields, of which one that has another name now is said with that.
func allChanges(fields []replay.FieldDiff) (changes []Change) {
	for _, f := range fields {
		switch other, ok := renamed(f, fields); {
		case exchanged(f, fields):
			changes = append(changes, Change{Field: f.Anywhere(), Exchanged: true}) // once, as telling has it
		case ok && f.Want == "":
			of := strings.TrimSuffix(f.Anywhere(), "."+compare.LastMember(f.Field))
			changes = append(changes, Change{Field: of, Removed: compare.LastMember(other.Field), Added: compare.LastMember(f.Field)})
		case ok: // it is said with its new name
		default:
			changes = append(changes, fieldChanges(f, fields)...)
		}
	}
	return changes
}

// exchanged reports whether a field is one of several in the elements of a list whose values have only
// changed places, such as results that are given to each other's calls.
func exchanged(f replay.FieldDiff, all []replay.FieldDiff) bool {
	var want, got []string
	for _, other := range all {
		if other.Anywhere() == f.Anywhere() {
			want, got = append(want, other.Want), append(got, other.Got)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	return len(want) > 1 && slices.Equal(want, got)
}

// panicked is the cause of a panic.
func (c *Cause) panicked(d *replay.Divergence) *Cause {
	c.Panic = d.Panic()
	if file, line, known := codeplace.Parse(d.Place); known {
		c.At = fmt.Sprintf("%s:%d", file, line)
	} else {
		c.Changes = []Change{lineChange(d.Class, c.Panic)}
	}
	return c
}

// told is the crossing that a divergence is about: the recorded one, but for what was
// not recorded, and for a call that ended in the place of what it did not come to.
func told(class replay.Class, e *replay.Evidence) *adk.Crossing {
	was, now := e.Recorded, e.Replayed
	switch {
	case now == nil, class == replay.Missing && was != nil:
		return was
	case was == nil, class == replay.Extra, class == replay.Unanswered,
		class == replay.ChangedError && (was.Kind != now.Kind || was.Seam != now.Seam):
		return now
	}
	return was
}

// asked is the method and the path of a request over HTTP, the first words of a statement, and
// the reason of a gate; empty of all else.
func asked(x *adk.Crossing) string {
	switch {
	case wire.AsksForGate(x):
		return quoted(x.Text)
	case !wire.IsAsk(x):
		return ""
	}
	if method, path, ok := httpform.RequestLine(x.JSON); ok {
		return safetext.Shortened(method+" "+path, longestSaid)
	}
	if words := statement(x.JSON); words != "" {
		return quoted(words)
	}
	return ""
}

// nameOf is what an operation is of by the code, such as a key of the stash, where nothing but
// what it says has changed.
func nameOf(class replay.Class, e *replay.Evidence) string {
	if was, now := e.Recorded, e.Replayed; class == replay.ChangedInput && was != nil && now != nil && describe.Gist(was) == describe.Gist(now) {
		return strings.TrimSpace(strings.TrimPrefix(describe.Gist(now), describe.KindName(now)))
	}
	return ""
}

// statement is how the statement begins that a database is asked, a member of the request;
// empty where there is none.
func statement(request []byte) string {
	tree, _ := jsondiff.Decode(string(request))
	members, _ := tree.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, _ := members[name].(string)
		if words := strings.Fields(text); len(words) > 1 && statements[strings.ToUpper(words[0])] {
			if at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "(") }); at > 0 {
				words = words[:at] // the columns, or the values
			}
			return strings.Join(words[:min(len(words), wordsOfAStatement)], " ")
		}
	}
	return ""
}

// statements are the words that statements begin with.
var statements = map[string]bool{"SELECT": true, "INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true, "REPLACE": true, "WITH": true, "CALL": true}

// wordsOfAStatement is how many words of a statement are said: they name what it is about.
const wordsOfAStatement = 6

// quote is what a reason and a statement stand in.
const quote = `"`

// named is the gist of a crossing, with what was asked for.
func named(x *adk.Crossing) string {
	if request := asked(x); request != "" {
		return describe.Gist(x) + " " + request
	}
	return describe.Gist(x)
}

// alike is what two requests have in common: the parts of the path that differ are masked.
// It is empty where nothing but that is left.
func alike(a, b string) string {
	between := "/"
	if strings.HasPrefix(a, quote) {
		between, a, b = " ", strings.Trim(a, quote), strings.Trim(b, quote)
	}
	parts, others := strings.Split(a, between), strings.Split(b, between)
	if len(parts) != len(others) || parts[0] != others[0] {
		return ""
	}
	for i := range parts {
		if parts[i] != others[i] {
			parts[i] = "…"
		}
	}
	if between == " " {
		return quote + strings.Join(parts, between) + quote
	}
	return strings.Join(parts, between)
}

// isDigest reports whether a crossing says what is visible, and nothing else.
func isDigest(x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool { return use.Field == adk.FieldDigest })
}

// fieldChanges are the pieces in which a field differs, with the values where those are
// short and the field is the one of its like.
func fieldChanges(f replay.FieldDiff, all []replay.FieldDiff) []Change {
	alike := 0
	for _, other := range all {
		if other.Anywhere() == f.Anywhere() {
			alike++
		}
	}
	changes := valueChanges(f)
	was, now := f.Cut()
	was, now = compare.OrNothing(was), compare.OrNothing(now)
	for i, c := range changes {
		worded := c.Removed != c.Added && !strings.ContainsAny(c.Removed+c.Added, "‹›")
		if isText(was) && isText(now) { // pieces alone tell little
			both := hasWord(c.Removed) && hasWord(c.Added)
			ofLong := hasWord(c.Removed+c.Added) && max(len(was), len(now)) > longestSaid
			worded = worded && len(changes) == 1 && (both || ofLong)
		}
		switch {
		case was == now || max(len(was), len(now)) > compare.LongestValue:
		case alike == 1 && !worded:
			changes[i].Was, changes[i].Now = was, now
		case c.Left+c.Right == "": // it is the whole of it: said where the words are others each time
			changes[i].alsoAs(Change{Was: was, Now: now})
		}
	}
	return changes
}

// renamed is the member that one has become, or that it was: the one that alone is new in its object
// where this one is gone, or gone where it is new, and holds the same.
func renamed(f replay.FieldDiff, all []replay.FieldDiff) (other replay.FieldDiff, ok bool) {
	others := func(f replay.FieldDiff) []replay.FieldDiff {
		return slices.DeleteFunc(slices.Clone(all), func(o replay.FieldDiff) bool { return !isRenamed(f, o) && !isRenamed(o, f) })
	}
	if o := others(f); len(o) == 1 && len(others(o[0])) == 1 {
		return o[0], true
	}
	return replay.FieldDiff{}, false
}

// isRenamed reports whether a member that is gone is in its object by another name.
func isRenamed(gone, came replay.FieldDiff) bool {
	return gone.Got == "" && came.Want == "" && gone.Want == came.Got && strings.HasPrefix(gone.Want, "{") &&
		strings.TrimSuffix(gone.Field, compare.LastMember(gone.Field)) == strings.TrimSuffix(came.Field, compare.LastMember(came.Field))
}

// isText reports whether a value, as JSON, is a text, or there is none.
func isText(value string) bool {
	return strings.HasPrefix(value, quote) || value == compare.OrNothing("")
}

// newError is the error that came, as a change of whatever was recorded; nil where
// none did, or one without a word of its own.
func newError(fields []replay.FieldDiff, data map[string]bool) *Change {
	for _, f := range fields {
		_, got, _ := f.Trees()
		if text, ok := compare.ErrorWords(got); ok && f.Of == adk.FieldErr {
			c := &Change{Field: f.Field, Added: piece(tokensOf(text)), Various: true}
			if c.Template = cmp.Or(c.template(data), c.Added); hasWord(c.Template) {
				return c
			}
		}
	}
	return nil
}

// besides says what is no part of a cause: of an operation at another place which that
// is in this trace, and of one that nothing but its number keeps from an answer that it was
// recorded once less; of an error that code asked with a context of its own.
func besides(d *replay.Divergence, e *replay.Evidence) string {
	if e.Beside != nil {
		side := "after"
		if e.Ahead {
			side = "before"
		}
		other := named(e.Beside)
		if x := told(d.Class, e); x != nil && named(x) == other && e.Beside.Args != nil { // of two of a name it says nothing
			other = "that of " + safetext.Shortened(safetext.Arguments(e.Beside.Args), longestExample)
		}
		return side + " " + other
	}
	if d.Class == replay.ChangedError && len(d.Refused) > 0 {
		return "after asking with a context that is no call's (hand on the call's)"
	}
	if d.Times > 0 {
		return fmt.Sprintf("%d times", d.Times)
	}
	if d.Dialed != "" {
		return "which dialed " + safetext.Bare(d.Dialed) + " itself"
	}
	if told(d.Class, e) == e.Replayed && slices.ContainsFunc(d.Candidates, func(c replay.Candidate) bool { return c.Spent }) {
		return onceMore
	}
	if d.Class == replay.Unanswered && instead(d.Class, e) == "" {
		return "not recorded"
	}
	if e.Left && e.Replayed == nil && !isRetry(e) {
		return onceLess
	}
	return ""
}

const (
	onceMore = "once more than recorded"
	onceLess = "once less than recorded"
)

// others are what is missing or new with something, without more of its like.
func others(x *adk.Crossing, e *replay.Evidence) []*adk.Crossing {
	if x == nil || isRetry(e) {
		return e.Also
	}
	return slices.DeleteFunc(slices.Clone(e.Also), func(other *adk.Crossing) bool { return named(other) == named(x) })
}

// isRetry reports whether what is missing behind a pause is done elsewhere: it is not tried again.
func isRetry(e *replay.Evidence) bool { return e.Left && len(e.Also) > 0 && wire.IsPause(e.Recorded) }

// instead says what else a divergence is about: what came where something is missing, and
// what is gone where something came.
func instead(class replay.Class, e *replay.Evidence) string {
	switch was, now := e.Recorded, e.Replayed; {
	case was == nil || now == nil || !describe.IsMade(was):
	case class == replay.ChangedError && now.Kind == adk.KindReturn:
		return "where " + named(was) + " was recorded"
	case !describe.IsMade(now):
	case class == replay.Missing:
		if len(e.Also) > 0 {
			return "in their place " + named(now)
		}
		return "in its place " + named(now)
	case (class == replay.Extra || class == replay.Unanswered) && named(was) != named(now):
		return "where " + named(was) + " was recorded"
	}
	return ""
}

// wordsOf are the words that some crossings carry.
func wordsOf(crossings []*adk.Crossing) map[string]bool {
	words := map[string]bool{}
	for _, x := range crossings {
		if x == nil {
			continue
		}
		for _, use := range x.Kind.Fields(x.Phase) {
			tree, _ := jsondiff.Decode(wire.Comparer{Sentinels: wire.OnlyCommon}.Text(use.Field, x))
			addWords(words, tree)
		}
	}
	return words
}

// addWords adds the words of all texts in a tree.
func addWords(words map[string]bool, tree any) {
	switch v := tree.(type) {
	case string:
		if inside, ok := jsondiff.Decode(v); ok && jsondiff.IsContainer(inside) {
			addWords(words, inside)
			return
		}
		for _, t := range tokensOf(v[:min(len(v), longestWindow)]) {
			words[t.text] = true
		}
	case []any:
		for _, element := range v {
			addWords(words, element)
		}
	case map[string]any:
		for _, member := range v {
			addWords(words, member)
		}
	}
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

// telling leaves out the changes that follow from others, or say little beside
// them: in volatile members, and of nothing but numbers, ids and times. Where
// there are no others they stay.
func telling(all []Change) []Change {
	kept := slices.DeleteFunc(slices.Clone(all), func(c Change) bool {
		return volatile[compare.LastMember(c.Field)] && !strings.HasPrefix(c.Field, "request.body.") // there the agent says them
	})
	if len(kept) == 0 {
		kept = nil
		for _, c := range all {
			kept = append(kept, Change{Field: c.Field})
		}
	}
	worded := slices.DeleteFunc(slices.Clone(kept), func(c Change) bool { return c.Removed == c.Added && !c.Exchanged })
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

// withoutIteration is the path of a seam without its iteration.
func withoutIteration(path string) string {
	seam, err := adk.ParseSeam(path)
	if err != nil || seam.Name == "" {
		return path
	}
	return seam.Label + "/" + seam.Name
}

// fieldErr is the label of how a call or an operation failed.
const fieldErr = "err"

// fieldLine is the field of a line that is no field of a crossing.
const fieldLine = "line"

// lineChange is what somebody wrote, as a change by itself.
func lineChange(class replay.Class, words string) Change {
	if class == replay.Missing {
		return Change{Field: fieldLine, Removed: piece(tokensOf(words)), Was: words}
	}
	return Change{Field: fieldLine, Added: piece(tokensOf(words)), Now: words}
}

// mostChanges is how many changes a line shows.
const mostChanges = 3

// String is the cause in a line.
func (c Cause) String() string {
	text := string(c.Class)
	if c.Seam != "" {
		text += " in " + safetext.Bare(c.Seam)
	}
	if len(c.AlsoIn) > 0 {
		text += " and " + safetext.Names(safetext.Each(c.AlsoIn, safetext.Bare), mostChanges)
	}
	said := []string{}
	if kind, _ := strings.CutPrefix(c.Kind+" ", c.Seam+" "); kind != "" { // the seam is said
		words := safetext.Bare(strings.TrimRight(kind, " "))
		if method := adk.KindByName(c.Kind).Makes(); method != "" { // its name is an everyday word
			words += fmt.Sprintf(" (%s.%s)", c.handle(), method)
		}
		if c.Asked != "" {
			words += " " + safetext.Bare(c.Asked)
		}
		said = append(said, words)
	}
	if c.Class == replay.Panicked {
		if c.At != "" {
			text += " at " + safetext.Bare(c.At)
		}
		return text + ": " + safetext.Shortened(safetext.Bare(c.Panic), longestPanic)
	}
	changes, all := []string{}, c.shown()
	for _, change := range all[:min(len(all), mostChanges)] {
		if said := change.String(); !slices.Contains(changes, said) { // two pieces of one text
			changes = append(changes, said)
		}
	}
	if more := len(all) - mostChanges; more > 0 {
		changes = append(changes, fmt.Sprintf("and %d more", more))
	}
	if len(changes) > 0 {
		said = append(said, strings.Join(changes, "; "))
	}
	if len(said) > 0 {
		text += ": " + strings.Join(said, ", ")
	}
	return text
}

// shown are the changes as they are said: without the pieces of values that another change says
// whole, and what is gone and what is new in one place as one, such as a tool's name.
func (c Cause) shown() (all []Change) {
	whole := map[string]bool{}
	for _, change := range c.Changes {
		if change.Was != "" || change.Now != "" {
			whole[change.Field] = true
		}
	}
	said := map[string]bool{}
	for _, change := range c.Changes {
		if whole[change.Field] && (change.Was+change.Now == "" || said[change.Field]) {
			continue
		}
		said[change.Field] = true
		if at := slices.IndexFunc(all, change.isOfOneKind); at >= 0 { // told once, with all that it is
			for _, as := range change.examples() {
				all[at].also(as)
			}
			continue
		}
		if at := slices.IndexFunc(all, change.replaces); at >= 0 && len(c.Changes) == 2 {
			all[at].Removed, all[at].Added = all[at].Removed+change.Removed, all[at].Added+change.Added
			continue
		}
		all = append(all, change)
	}
	return all
}

// isOfOneKind reports whether two changes are data in the place of data, of one kind in one place.
func (c Change) isOfOneKind(other Change) bool {
	return c.Removed == c.Added && c.Added != "" && c.Field == other.Field && c.Removed == other.Removed && other.Removed == other.Added
}

// replaces reports whether of two changes one says what is gone in a place, and the other what
// is new there.
func (c Change) replaces(other Change) bool {
	only := func(a, b string) bool { return a != "" && b == "" }
	return c.Field == other.Field && (only(c.Added, c.Removed) && only(other.Removed, other.Added) || only(c.Removed, c.Added) && only(other.Added, other.Removed))
}

// handle is what code calls the context that it makes ids and times with.
func (c Cause) handle() string {
	if label, _, _ := strings.Cut(c.Seam, "/"); label == adk.LabelTurnInput || label == adk.LabelTurnOutput {
		return "tc"
	}
	return "dc"
}

// longestPanic is how many characters are said of what code panicked with.
const longestPanic = 200

// longestSaid is how many characters are said of one piece: it ends at a word.
const longestSaid = 72

// quoted is a piece in quotes, cut where it is long.
func quoted(piece string) string { return safetext.Said(piece, longestSaid) }

// contextEnds says of what a context ends with what that means, which it does not by itself.
var contextEnds = map[string]string{
	`"context.DeadlineExceeded"`: ": a deadline of its context struck",
	`"context.Canceled"`:         ": its context was cancelled",
}

// isTruth reports whether a piece is one of the two values that are no text.
func isTruth(piece string) bool { return piece == "true" || piece == "false" }

// endsWith says with what white space a text ends, in quotes.
func endsWith(was, now string) string {
	const nothing = `""`
	switch {
	case was == nothing:
		return "now ends with " + spaceName(now)
	case now == nothing:
		return "ends without " + spaceName(was)
	}
	return fmt.Sprintf("ends with %s → %s", spaceName(was), spaceName(now))
}

// spaceName is what white space in quotes is called: quotes with nothing in them but a space are torn
// apart where a line ends, and look like a line break.
func spaceName(text string) string {
	switch text {
	case `" "`:
		return "a space"
	case `"\n"`:
		return "a line break"
	case `"\t"`:
		return "a tab"
	}
	if spaces := strings.Trim(text, `"`); strings.Trim(spaces, " ") == "" {
		return fmt.Sprintf("%d spaces", len(spaces))
	}
	return text
}

// lists are the labels of the pipelines, each of which is a list of names.
var lists = []string{adk.LabelTurnInput + "[]", adk.LabelTurnOutput + "[]", adk.LabelDispatchInput + "[]", adk.LabelDispatchOutput + "[]"}

// byExample says what no words tell, by what it is in some traces.
func (c Change) byExample() string {
	as, another := safetext.Each(c.examples(), safetext.BareJSON), "another "+safetext.Bare(c.Added)
	if c.Added == maskData || c.Added == "" {
		another = "another text"
	}
	switch {
	case len(as) == 0:
		return another
	case len(as) <= mostChanges:
		return strings.Join(as, ", ")
	}
	return another + ", as " + strings.Join(as[:mostChanges], ", ")
}

// String is the change in a few words.
func (c Change) String() string {
	field := safetext.Bare(c.Field)
	if slices.Contains(lists, field) { // whose they are the seam says
		field = "middlewares"
	}
	switch {
	case c.Exchanged:
		return field + ": exchanged"
	case c.Behind:
		return field + ": " + endsWith(safetext.BareJSON(c.Removed), safetext.BareJSON(c.Added))
	case c.Field == compare.FieldPieces:
		return compare.PiecesText(c.Was, c.Now)
	case c.Field == fieldLine && c.Was+c.Now != "":
		return safetext.Shortened(safetext.Bare(c.Was+c.Now), longestSaid)
	case strings.HasPrefix(c.Was, quote) && changedPlaces(tokensOf(c.Was), tokensOf(c.Now)):
		return fmt.Sprintf("%s: the same words in another order: %s → %s", strings.TrimSuffix(field, "[]"), safetext.BareJSON(c.Was), safetext.BareJSON(c.Now))
	case c.Field == fieldErr && c.Was == compare.OrNothing("") && c.Now != "":
		return "error " + safetext.BareJSON(c.Now) + contextEnds[c.Now]
	case c.Field == fieldErr && c.Was != "" && c.Now == compare.OrNothing(""):
		return "no error any more, which was " + safetext.BareJSON(c.Was)
	case c.Was != "":
		return fmt.Sprintf("%s: %s → %s", field, safetext.BareJSON(c.Was), safetext.BareJSON(c.Now))
	case c.Field == fieldLine && !c.Various:
		return safetext.Shortened(safetext.Bare(c.Removed+c.Added), longestSaid)
	case c.Various:
		return c.variously(field)
	}
	return c.plainly(field)
}

// variously says what is another change in every trace.
func (c Change) variously(field string) string {
	switch {
	case slices.Contains(masks[1:], c.Added) || c.Added == maskData: // no word of it is the same
		return field + ": " + c.byExample()
	case c.Added != "" && c.Field == fieldErr:
		return fmt.Sprintf("error %s, where results or other errors were recorded", quoted(c.Added))
	case c.Added != "":
		return fmt.Sprintf("%s: %s in place of whatever was recorded", field, quoted(c.Added))
	case c.Left != "" || c.Right != "":
		return fmt.Sprintf("%s: other words in every trace, between %s and %s", field, quoted(c.Left), quoted(c.Right))
	case len(c.examples()) > 0:
		return field + ": " + c.byExample()
	}
	return field + ": another text in every trace"
}

// plainly says what is gone and what is new.
func (c Change) plainly(field string) string {
	switch same := c.Removed == c.Added && c.Added != ""; {
	case same && c.Added == maskSpace:
		return field + ": other white space"
	case same && (c.Added == maskCapitals || c.Added == maskSmall):
		return fmt.Sprintf("%s: the same in %s", field, strings.Trim(c.Added, "‹›"))
	case same:
		return field + ": " + c.byExample()
	case c.Added == "" && (c.Removed == maskData || c.Removed == maskObject):
		return field + ": gone"
	case c.Removed == "" && (c.Added == maskData || c.Added == maskObject):
		return field + ": new"
	case isTruth(c.Removed) && isTruth(c.Added):
		return fmt.Sprintf("%s: %s → %s", field, c.Removed, c.Added)
	case c.Removed != "" && c.Added != "":
		return fmt.Sprintf("%s: %s → %s", field, quoted(c.Removed), quoted(c.Added))
	case c.Field == fieldErr && c.Removed != "":
		return "no error any more, which was " + quoted(c.Removed)
	case c.Removed != "":
		return fmt.Sprintf("%s: without %s", field, quoted(c.Removed))
	case c.Field == fieldErr && c.Added != "":
		return "error " + quoted(c.Added)
	case c.Added != "":
		return fmt.Sprintf("%s: now with %s", field, quoted(c.Added))
	case strings.HasSuffix(field, "[]"):
		return strings.TrimSuffix(field, "[]") + ": in another order"
	}
	return field
}

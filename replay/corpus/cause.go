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

// This file extracts what the divergences of many traces have in common if one change made them
// all: the class, the seam without its iteration, the kind of crossing, the members that differ,
// and for texts the piece that was exchanged. Ids, times, digests and numbers differ in every trace
// and are left out.

// Cause is what the divergences that one change makes have in common. Fields that are described as
// "in one trace" are no part of the common cause.
type Cause struct {
	Class replay.Class `json:"class"`
	// Seam is the path of the seam call, without the iteration. It is empty for a state, because a
	// change seen in a state was not made by the seam where it is first seen.
	Seam string `json:"seam,omitempty"`
	// AlsoIn lists the other seams in which the same line of code made the same difference.
	AlsoIn []string `json:"alsoIn,omitempty"`
	// Kind is the kind of the crossing, or the seam that the crossing enters or leaves. For a
	// missing or extra crossing, it also has the names in the crossing that the code chose.
	Kind string `json:"kind,omitempty"`
	// Asked identifies a request: for HTTP its method and path, as in GET /orders/17; for a
	// database the beginning of the statement, in quotes; for a gate its reason, in quotes. Parts
	// in which traces differ are replaced by …: they are data, and not part of the cause.
	Asked string `json:"asked,omitempty"`
	// At is the line of code of a panic, as file:line. Panic is the value that the code panicked
	// with. It may differ in each trace and is not part of the cause if the line is known.
	At    string `json:"at,omitempty"`
	Panic string `json:"panic,omitempty"`
	// Changes are the members that differ, if both crossings have the same kind.
	Changes []Change `json:"changes,omitempty"`
	// NewError is, in one trace, the error that replaced whatever was recorded, with the trace's
	// data masked. It is nil if there is none.
	NewError *Change `json:"newError,omitempty"`
	// Beside is, in one trace, a detail that may differ in each trace: for example, after which
	// other operation an operation comes now.
	Beside string `json:"beside,omitempty"`
	// Also is, in one trace, what is missing as well.
	Also string `json:"also,omitempty"`
	// Came is, in one trace, the operation that replaced a missing one.
	Came string `json:"came,omitempty"`
	// AfterFailure is true if, in one trace, the last crossing that agreed had failed.
	AfterFailure bool `json:"afterFailure,omitempty"`
	// Instead says, in one trace, what replaced a missing crossing, or what an extra crossing
	// replaced.
	Instead string `json:"instead,omitempty"`
	// Gone is, in one trace, the operation that is missing because a call ended with an error or
	// asked something without an answer instead, or the operation before which another one comes
	// now.
	Gone string `json:"gone,omitempty"`
}

// Change is one piece in which two values differ.
type Change struct {
	// Field is the path of the member, as in record.message.content. [] is any element of a list.
	Field string `json:"field"`
	// Removed is the text that only the recording has, and Added the text that only today's code
	// has, with numbers, ids and times masked. Both are empty if only those differ.
	Removed string `json:"removed,omitempty"`
	Added   string `json:"added,omitempty"`
	// Left and Right are the words next to the piece. They are empty at the ends of the text.
	Left  string `json:"left,omitempty"`
	Right string `json:"right,omitempty"`
	// Behind is true if Removed and Added are the white space at the end of the texts, in quotes.
	Behind bool `json:"behind,omitempty"`
	// Template is Added, or Removed if nothing was added, with the words masked that also occur in
	// nearby recorded crossings, since these are data. It is empty if there are no such words.
	Template string `json:"template,omitempty"`
	// Exchanged is true if values changed places among the elements of a list.
	Exchanged bool `json:"exchanged,omitempty"`
	// Various is true if the pieces differ between traces. If Added is set, today's code says the
	// same in all of them, and only what it replaced differs.
	Various bool `json:"various,omitempty"`
	// Was and Now are the recorded value and today's, if the pieces do not show the change and both
	// values are short and the same in all traces.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
	// As is the change in some of the traces, if it differs in each: 1 → 2; 3 → 4.
	As string `json:"as,omitempty"`
}

// newCause returns the part of a divergence that other divergences of the same cause share.
func newCause(d *replay.Divergence) *Cause {
	c := &Cause{Class: d.Class, Seam: withoutIteration(d.Seam)}
	e := d.Evidence
	if e == nil { // the divergence is about no crossing
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
	if x != nil && isDigest(x) { // a change seen in a state was not made by the seam where it is first seen
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

// inPlaces sets Came, Instead and Gone: what replaced the crossing that the cause is about, or what
// that crossing replaced.
func (c *Cause) inPlaces(d *replay.Divergence, e *replay.Evidence, about *adk.Crossing) {
	was, now := e.Recorded, e.Replayed
	if d.Class == replay.Missing && was != nil && now != nil && describe.IsMade(was) && describe.IsMade(now) {
		c.Came = describe.Gist(now)
	}
	isWhatItIs := func(f replay.FieldDiff) bool { return f.Field == adk.LabelExecutor }
	if c.Beside != onceMore && !slices.ContainsFunc(d.Fields, isWhatItIs) { // a changed executor explains what is missing
		c.Instead = instead(d.Class, e)
	}
	switch {
	case e.Ahead:
		c.Gone = describe.Gist(e.Beside)
	case was != nil && was != about && describe.IsMade(was) && (d.Class == replay.ChangedError || d.Class == replay.Unanswered):
		c.Gone = describe.Gist(was)
	}
}

// allChanges returns the changes of all fields. A member that was renamed is one change.
func allChanges(fields []replay.FieldDiff) (changes []Change) {
	for _, f := range fields {
		switch other, ok := renamed(f, fields); {
		case exchanged(f, fields):
			changes = append(changes, Change{Field: f.Anywhere(), Exchanged: true}) // telling removes the duplicates
		case ok && f.Want == "":
			of := strings.TrimSuffix(f.Anywhere(), "."+compare.LastMember(f.Field))
			changes = append(changes, Change{Field: of, Removed: compare.LastMember(other.Field), Added: compare.LastMember(f.Field)})
		case ok: // reported with the new name
		default:
			changes = append(changes, fieldChanges(f, fields)...)
		}
	}
	return changes
}

// exchanged reports whether f is one of several fields in the elements of a list whose values only
// changed places. For example, two results were given to each other's calls.
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

// panicked completes and returns the cause of a panic.
func (c *Cause) panicked(d *replay.Divergence) *Cause {
	c.Panic = d.Panic()
	if file, line, known := codeplace.Parse(d.Place); known {
		c.At = fmt.Sprintf("%s:%d", file, line)
	} else {
		c.Changes = []Change{lineChange(d.Class, c.Panic)}
	}
	return c
}

// told returns the crossing that a divergence is about. That is the recorded one, except if nothing
// was recorded, if the new crossing is extra or unanswered, or if a call ended with an error
// instead of reaching the recorded crossing.
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

// asked returns the method and path of an HTTP request, the first words of a statement, or the
// reason of a gate. It returns "" for all other crossings.
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

// nameOf returns the name that the code gave to an operation, such as a key of the stash, if only
// the operation's input changed.
func nameOf(class replay.Class, e *replay.Evidence) string {
	if was, now := e.Recorded, e.Replayed; class == replay.ChangedInput && was != nil && now != nil && describe.Gist(was) == describe.Gist(now) {
		return strings.TrimSpace(strings.TrimPrefix(describe.Gist(now), describe.KindName(now)))
	}
	return ""
}

// statement returns the beginning of the database statement that is a member of the request, with
// an ellipsis if there is more of it, or "" if there is none.
func statement(request []byte) string {
	tree, _ := jsondiff.Decode(string(request))
	members, _ := tree.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, _ := members[name].(string)
		if words := strings.Fields(text); len(words) > 1 && statements[strings.ToUpper(words[0])] {
			shown := words
			if at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "(") }); at > 0 {
				shown = words[:at] // without the columns or values
			}
			shown = shown[:min(len(shown), wordsOfAStatement)]
			said := strings.Join(shown, " ")
			if len(shown) < len(words) {
				said += "…"
			}
			return said
		}
	}
	return ""
}

// statements holds the first words of statements.
var statements = map[string]bool{"SELECT": true, "INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true, "REPLACE": true, "WITH": true, "CALL": true}

// wordsOfAStatement is how many words of a statement are shown. They name what it is about.
const wordsOfAStatement = 6

// quote encloses reasons and statements.
const quote = `"`

// named returns the gist of a crossing with what it asked for.
func named(x *adk.Crossing) string {
	if request := asked(x); request != "" {
		return describe.Gist(x) + " " + request
	}
	return describe.Gist(x)
}

// alike returns what two requests have in common, with differing parts of the path masked. It
// returns "" if the number of parts or the first part differs.
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

// isDigest reports whether a crossing has a state digest.
func isDigest(x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool { return use.Field == adk.FieldDigest })
}

// fieldChanges returns the pieces in which a field differs. It adds the values if they are short
// and no other element's field of the same path differs.
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
		if isText(was) && isText(now) { // pieces alone show little
			both := hasWord(c.Removed) && hasWord(c.Added)
			ofLong := hasWord(c.Removed+c.Added) && max(len(was), len(now)) > longestSaid
			worded = worded && len(changes) == 1 && (both || ofLong)
		}
		switch {
		case was == now || max(len(was), len(now)) > compare.LongestValue:
		case alike == 1 && !worded:
			changes[i].Was, changes[i].Now = was, now
		case c.Left+c.Right == "": // the piece is the whole text; its values are the example if the words vary
			changes[i].alsoAs(Change{Was: was, Now: now})
		}
	}
	return changes
}

// renamed returns the member that a member was renamed to or from. It is the only new member of its
// object that has the value of a member that is gone, and the other way round.
func renamed(f replay.FieldDiff, all []replay.FieldDiff) (other replay.FieldDiff, ok bool) {
	others := func(f replay.FieldDiff) []replay.FieldDiff {
		return slices.DeleteFunc(slices.Clone(all), func(o replay.FieldDiff) bool { return !isRenamed(f, o) && !isRenamed(o, f) })
	}
	if o := others(f); len(o) == 1 && len(others(o[0])) == 1 {
		return o[0], true
	}
	return replay.FieldDiff{}, false
}

// isRenamed reports whether a member that is gone is in its object under another name.
func isRenamed(gone, came replay.FieldDiff) bool {
	return gone.Got == "" && came.Want == "" && gone.Want == came.Got && strings.HasPrefix(gone.Want, "{") &&
		strings.TrimSuffix(gone.Field, compare.LastMember(gone.Field)) == strings.TrimSuffix(came.Field, compare.LastMember(came.Field))
}

// isText reports whether a value, as JSON, is a text or absent.
func isText(value string) bool {
	return strings.HasPrefix(value, quote) || value == compare.OrNothing("")
}

// newError returns the new error as a change of whatever was recorded. It returns nil if there is
// none, or if the error has no word of its own.
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

// besides returns a detail that is no part of a cause, or "": next to which operation an operation
// comes now; that an error came after asking with a context that is not the call's; how many times
// the difference occurs; whom the code dialed itself; or that something was done once more or once
// less than recorded.
func besides(d *replay.Divergence, e *replay.Evidence) string {
	if e.Beside != nil {
		side := "after"
		if e.Ahead {
			side = "before"
		}
		other := named(e.Beside)
		if x := told(d.Class, e); x != nil && named(x) == other { // tell two of the same name apart
			if e.Beside.Args != nil {
				other = "that of " + safetext.Shortened(safetext.Arguments(e.Beside.Args), longestExample)
			} else if this, that := safetext.Excerpts(string(x.JSON), string(e.Beside.JSON), longestExample); this != that {
				return this + " " + side + " " + that
			}
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

// others returns the other crossings that are missing or new with x, without those of the same
// name.
func others(x *adk.Crossing, e *replay.Evidence) []*adk.Crossing {
	if x == nil || isRetry(e) {
		return e.Also
	}
	return slices.DeleteFunc(slices.Clone(e.Also), func(other *adk.Crossing) bool { return named(other) == named(x) })
}

// isRetry reports whether a recorded pause and the retry after it are missing, while the call still
// does elsewhere what the retry did: it does not retry any more.
func isRetry(e *replay.Evidence) bool { return e.Left && len(e.Also) > 0 && wire.IsPause(e.Recorded) }

// instead describes the other side of a divergence: what came where something is missing, and what
// is gone where something came.
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

// wordsOf returns the words that some crossings carry.
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

// template returns what is said with each run of data in it masked, or "" if it contains no data.
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

// volatile holds the members that differ between runs of the same code.
var volatile = map[string]bool{
	"at": true, "in": true, "op": true, "strand": true, "id": true, "callId": true, "#": true,
	"turn": true, "dispatch": true, "gate": true, "digest": true, "checksum": true,
	"createdAt": true, "updatedAt": true, "completedAt": true, "took": true, "second run": true,
}

// telling removes the changes that follow from others or say little: those of volatile members, and
// those of only numbers, ids and times. If there are no others, it keeps them.
func telling(all []Change) []Change {
	kept := slices.DeleteFunc(slices.Clone(all), func(c Change) bool {
		return volatile[compare.LastMember(c.Field)] && !strings.HasPrefix(c.Field, "request.body.") // in a request's body, the agent chose the value
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

// key identifies the whole change.
func (c Change) key() string {
	return fmt.Sprintf("%q", []string{c.Field, c.Removed, c.Added, c.Left, c.Right})
}

// withoutIteration returns the path of a seam without its iteration.
func withoutIteration(path string) string {
	seam, err := adk.ParseSeam(path)
	if err != nil || seam.Name == "" {
		return path
	}
	return seam.Label + "/" + seam.Name
}

// fieldErr is the label of the error of a call or an operation.
const fieldErr = "err"

// fieldLine is the field of a change that is a whole line and not a field of a crossing.
const fieldLine = "line"

// lineChange returns a line that a person wrote as a change by itself.
func lineChange(class replay.Class, words string) Change {
	if class == replay.Missing {
		return Change{Field: fieldLine, Removed: piece(tokensOf(words)), Was: words}
	}
	return Change{Field: fieldLine, Added: piece(tokensOf(words)), Now: words}
}

// mostChanges is how many changes a line shows.
const mostChanges = 3

// String describes the cause in one line.
func (c Cause) String() string {
	text := string(c.Class)
	if c.Seam != "" {
		text += " in " + safetext.Bare(c.Seam)
	}
	if len(c.AlsoIn) > 0 {
		text += " and " + safetext.Names(safetext.Each(c.AlsoIn, safetext.Bare), mostChanges)
	}
	said := []string{}
	if kind, _ := strings.CutPrefix(c.Kind+" ", c.Seam+" "); kind != "" { // the seam is in the text already
		words := safetext.Bare(strings.TrimRight(kind, " "))
		if method := adk.KindByName(c.Kind).Makes(); method != "" { // the kind's name is an everyday word
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
		if said := change.String(); !slices.Contains(changes, said) { // two pieces of one text may read the same
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

// inFull describes the cause in one line with what is so in one trace.
func (c Cause) inFull() string {
	text := c.String()
	if c.Also != "" {
		text += " and " + safetext.Bare(c.Also)
	}
	for _, said := range []string{c.Beside, c.Instead} {
		if said != "" {
			text += ", " + safetext.Bare(said)
		}
	}
	return text
}

// shown returns the changes as String describes them. It leaves out the pieces of values that
// another change shows whole, and joins what is gone and what is new in one place, such as a tool's
// name, into one change.
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
		if at := slices.IndexFunc(all, change.isOfOneKind); at >= 0 { // shown once, with all examples
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

// isOfOneKind reports whether both changes replace data by data of the same kind, in the same
// field.
func (c Change) isOfOneKind(other Change) bool {
	return c.Removed == c.Added && c.Added != "" && c.Field == other.Field && c.Removed == other.Removed && other.Removed == other.Added
}

// replaces reports whether one of two changes says what is gone in a field and the other what is
// new there.
func (c Change) replaces(other Change) bool {
	only := func(a, b string) bool { return a != "" && b == "" }
	return c.Field == other.Field && (only(c.Added, c.Removed) && only(other.Removed, other.Added) || only(c.Removed, c.Added) && only(other.Added, other.Removed))
}

// handle returns the usual name of the context with which code makes ids and times.
func (c Cause) handle() string {
	if label, _, _ := strings.Cut(c.Seam, "/"); label == adk.LabelTurnInput || label == adk.LabelTurnOutput {
		return "tc"
	}
	return "dc"
}

// longestPanic is how many characters of a panic's text are shown.
const longestPanic = 200

// longestSaid is how many characters of a piece are shown, cut at a word.
const longestSaid = 72

// quoted returns a piece in quotes, shortened if it is long.
func quoted(piece string) string { return safetext.Said(piece, longestSaid) }

// contextEnds explains the errors with which a context ends.
var contextEnds = map[string]string{
	`"context.DeadlineExceeded"`: ": a deadline of its context struck",
	`"context.Canceled"`:         ": its context was cancelled",
}

// isTruth reports whether a piece is a boolean.
func isTruth(piece string) bool { return piece == "true" || piece == "false" }

// endsWith says with which white space a text ends, given in quotes.
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

// spaceName names white space that is given in quotes. Quotes around a mere space would be torn
// apart at the end of a line, and look like a line break.
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

// lists holds the labels of the pipelines, each of which is a list of names.
var lists = []string{adk.LabelTurnInput + "[]", adk.LabelTurnOutput + "[]", adk.LabelDispatchInput + "[]", adk.LabelDispatchOutput + "[]"}

// byExample describes a change that no words describe by its values in some traces.
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

// String describes the change in a few words.
func (c Change) String() string {
	field := safetext.Bare(c.Field)
	if slices.Contains(lists, field) { // the seam says whose they are
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

// variously describes a change that differs in every trace.
func (c Change) variously(field string) string {
	switch {
	case slices.Contains(masks[1:], c.Added) || c.Added == maskData: // no word is the same
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

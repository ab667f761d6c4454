package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Class says what kind of difference a divergence is. The list is closed and
// stable.
type Class string

// The classes of divergences.
const (
	ChangedInput  Class = "changed input"  // what user code or the outside brought in is another
	ChangedResult Class = "changed result" // what a tool, a storage or the world answered is another
	ChangedOutput Class = "changed output" // what the engine made of it is another
	ChangedState  Class = "changed state"  // something that is visible to user code is another
	Missing       Class = "missing"        // a recorded crossing did not happen
	Extra         Class = "extra"          // a crossing happened that was not recorded
	Order         Class = "order"          // a recorded crossing happened, at another place
	ChangedError  Class = "error"          // a call or an operation ended in another way
	Panicked      Class = "panic"          // a call ended with a panic, and did not when it was recorded
	Timing        Class = "timing"         // the same, at another time
	NewContract   Class = "version"        // the contract has changed since the recording

	Unanswered       Class = "unanswered"        // live code asked what the recording has no answer to
	NonDeterministic Class = "non-deterministic" // live code, run twice, did two different things
)

// Classes are all of them.
func Classes() []Class {
	return []Class{ChangedInput, ChangedResult, ChangedOutput, ChangedState, Missing, Extra, Order, ChangedError, Panicked, Timing, NewContract, Unanswered, NonDeterministic}
}

// FieldDiff is one field in which a crossing differs from the recorded one: its label
// (Field), what was recorded and what today's code did as a trace writes them, which is
// JSON (Want and Got, empty where the field is absent), whether user code or the outside
// decided it (Input), and the field of a crossing that it is within (Of). Trees decodes
// both, Lines says them in lines of a width.
type FieldDiff = compare.FieldDiff

// Divergence is the first place where a replayed run and its recording part.
type Divergence struct {
	// Trace is the name of the trace, if one was given (Options.File).
	Trace string `json:"trace,omitempty"`
	Class Class  `json:"class"`
	// Crossing is the number of the recorded crossing, from 1; its line in the
	// file is the next. Behind the recording's end it is one more than its last;
	// 0 is the header.
	Crossing int `json:"crossing"`
	// Seam is the path of the seam call that the recorded crossing belongs to,
	// and Strand its strand.
	Seam   string `json:"seam"`
	Strand int    `json:"strand,omitempty"`
	// At is the virtual time since the turn began.
	At time.Duration `json:"at"`
	// Expected is the recorded crossing and Got the one in its place, in a line
	// each as transcripts have them; empty where there is none.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Fields are the fields that differ, where both are of one kind.
	Fields []FieldDiff `json:"fields,omitempty"`
	// SameKind tells that both are of one kind, and Returned that they are returns of the seam's
	// call.
	SameKind bool `json:"sameKind,omitempty"`
	Returned bool `json:"returned,omitempty"`
	// GoesOn is, where one of the two is nothing, what the call did next on the side that has
	// nothing there, in a line.
	GoesOn string `json:"goesOn,omitempty"`
	// Also are the operations of its kind that are missing or extra with it, and behind a pause
	// those that it was made for: the next in its call, in a line each.
	Also []string `json:"also,omitempty"`
	// Times is, of an id or a time that is made, how many of them are missing or extra in the
	// call, where these are several.
	Times int `json:"times,omitempty"`
	// Before are the last crossings that agreed, at most three.
	Before []string `json:"before,omitempty"`
	// Place is the line of live code that it happened in, behind or before. Of what no operation leads to,
	// such as a prompt or the list of a pipeline, it is the line of the program's source that says
	// it, where one alone does and the source is at hand; else where the code of its seam begins, or
	// where it was made or handed in.
	Place string `json:"place,omitempty"`
	// Callers are the lines of the program's own module that called Place, the nearest
	// first, up to the seam: where an agent asks everything through one helper, they tell
	// one ask from another.
	Callers []string `json:"callers,omitempty"`
	// Apart tells that Place is in a goroutine that live code has begun itself.
	Apart bool `json:"apart,omitempty"`
	// Written is the line of the program's source that says what differs, such as the text of an
	// error, or that sets the deadline which struck, in the form of Place; empty where it is Place,
	// and where no one line does.
	Written string `json:"written,omitempty"`
	// Mark is the nearest of Place and Callers that nothing else of the new run came through
	// by other lines, as file:line (function): where a review marks it, unless Written is known.
	// Empty where that is Place.
	Mark string `json:"mark,omitempty"`
	// Candidates are the recorded answers that came nearest to an operation that
	// got none, or as near to a changed ask as the one that it got.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Scripted tells that a run with live seams was as recorded, and that the
	// recording itself does not play again with every seam scripted: the file or
	// the engine was changed, and no live code made the difference.
	Scripted bool `json:"scripted,omitempty"`
	// Waiting says who waited for what where nobody could go on; of live code, the strands
	// that waited for one another, and where.
	Waiting []string `json:"waiting,omitempty"`
	// Refused are those who were asked with a context that is no call's, and how often: a
	// replay refuses that unless Live.Outside names them, and what code did without their
	// answers may be why the run is another.
	Refused []string `json:"refused,omitempty"`
	// Dialed is the address that live code dialed by itself, where it ended with the failure of
	// that and the recording asked: what it asks there goes past adk.Ask and package adkhttp.
	Dialed string `json:"dialed,omitempty"`
	// Untyped tells that live code ended with the error of the ask before, and the recording did
	// not: the trace has its text, and errors.As and errors.Is find what trace.Options name.
	Untyped bool `json:"untyped,omitempty"`
	// CallerLeft is the crossing at which the caller of the recorded run left, in the midst of
	// what goroutines that live code began itself did: what they had begun by then is chance.
	CallerLeft int `json:"callerLeft,omitempty"`
	// ClockAtOnce tells that nothing but times differs, and that goroutines which live code began
	// itself read the clock in that call: whose time is whose is chance.
	ClockAtOnce bool `json:"clockAtOnce,omitempty"`
	// PastBy is how live code may do past the context what is missing, where it does all else of
	// its call as recorded and nothing in its place: time.Now, say, which no replay sees.
	PastBy string `json:"pastBy,omitempty"`
	// Once tells that live code, which did the same in another order, was run once, since what it
	// asks may cost: whether it varies is known where Live.Twice is set.
	Once bool `json:"once,omitempty"`
	// Writes tells that live code, which gave another result or did the same in another order, was
	// run once since it may write: whether it varies is not known, and Live.Twice does not show it.
	Writes bool `json:"writes,omitempty"`
	// Runs is how often live code was run that did the same in another order each time; 0 where
	// it was not run again for that.
	Runs int `json:"runs,omitempty"`
	// Strands tells that the call has strands. They end as they did when it was recorded,
	// however often it is run: what depends on which ends first does not vary so.
	Strands bool `json:"strands,omitempty"`
	// After says what came of the later crossings; nil where the replay stopped
	// at the divergence.
	After *Impact `json:"after,omitempty"`

	// Evidence are the crossings that the lines are of, for programs; nil where it is of
	// no crossing, and in a report that was read.
	Evidence *Evidence `json:"-"`
}

// Evidence are the crossings of a divergence, with what earlier lines say of them: the
// payloads of events, and the seams of returns.
type Evidence struct {
	// Recorded is the recorded crossing and Replayed the one in its place; nil where
	// there is none.
	Recorded, Replayed *adk.Crossing
	// Beside is, of a crossing at another place, the recorded one that it stands beside
	// now, and Ahead that it stands before it.
	Beside *adk.Crossing
	Ahead  bool
	// Also are the crossings of Divergence.Also.
	Also []*adk.Crossing
	// Left reports whether the call still does, elsewhere, what the missing crossing did by
	// its kind and name, or the last of Also.
	Left bool
	// Agreed are the last recorded crossings that agreed, those of Before.
	Agreed []*adk.Crossing
}

// linesBefore is how many crossings that agreed a divergence shows.
const linesBefore = 3

// classOf classifies the difference between two crossings in one place.
func classOf(x *adk.Crossing, fields []compare.FieldDiff) Class {
	if x.Kind.Uses(adk.FieldDigest) {
		return ChangedState
	}
	first := fields[0]
	for _, f := range fields {
		switch {
		case f.Of == adk.FieldErr || f.Of == adk.FieldOutcome:
			return ChangedError
		case f.Field != wire.MemberAt:
			first = f
		}
	}
	switch {
	case first.Field == wire.MemberAt:
		return Timing
	case first.Input && answers(x):
		return ChangedResult
	case first.Input:
		return ChangedInput
	}
	return ChangedOutput
}

// Panic is what live code panicked with; empty of a divergence of another class.
func (d *Divergence) Panic() string {
	if d.Class != Panicked {
		return ""
	}
	for _, f := range d.Fields {
		_, got, _ := f.Trees()
		if words, ok := compare.ErrorWords(got); ok {
			return strings.TrimPrefix(words, "panic: ")
		}
	}
	return ""
}

// isOfAResult reports whether a seam call gave something else back.
func (d *Divergence) isOfAResult() bool { return d.Class == ChangedResult && d.Returned }

// isOfAnOrder reports whether the same was done or said in another order: code that is never
// the same, such as one that goes through a map, may be all that made the difference. What a
// run is given was made before it.
func (d *Divergence) isOfAnOrder() bool {
	switch d.Class {
	case ChangedResult, ChangedInput, ChangedOutput:
		return d.Seam != adk.LabelRun && slices.ContainsFunc(d.Fields, func(f FieldDiff) bool {
			was, now := wordsOf(f.Want), wordsOf(f.Got)
			if len(was) < 2 || slices.Equal(was, now) {
				return false
			}
			slices.Sort(was)
			slices.Sort(now)
			return slices.Equal(was, now)
		})
	}
	return d.Class == Order && d.Seam != adk.LabelRun && !d.isOfACall()
}

// isOfACall reports whether the difference is of a call itself: which comes first there is the
// config's choice.
func (d *Divergence) isOfACall() bool {
	return d.Evidence.Recorded != nil && d.Evidence.Recorded.Kind.Class() == adk.ClassCall
}

// wordsOf are the words and numbers of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// answers reports whether what a crossing carries was answered, by a seam, the reader of a
// media or the world, and not asked or told.
func answers(x *adk.Crossing) bool {
	carries := func(f adk.Field) bool {
		return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool { return use.Field == f })
	}
	return x.Phase == adk.Done && (carries(adk.FieldJSON) || carries(adk.FieldValue)) || x.Kind == adk.KindReturn
}

// divergence is what two crossings differ in, of which one may be missing, before either
// is taken in.
func divergence(n *describe.Namer, class Class, want, got *adk.Crossing, fields []compare.FieldDiff) *Divergence {
	d := &Divergence{Class: class, Fields: fields, Evidence: &Evidence{}}
	if want != nil {
		d.Expected, d.Evidence.Recorded = n.Line(want), n.Fold.Filled(want)
	}
	if got != nil {
		d.Got, d.Evidence.Replayed = n.Line(got), n.Fold.Filled(got)
	}
	return d
}

// agreed adds a recorded crossing that agreed, with its line.
func (d *Divergence) agreed(x *adk.Crossing, line string) {
	d.Before, d.Evidence.Agreed = append(d.Before, line), append(d.Evidence.Agreed, x)
}

// Impact says what came of the crossings behind the first difference.
type Impact struct {
	// Equal is how many later recorded crossings are as recorded.
	Equal int `json:"equal"`
	// Follow is how many are other because of an earlier difference.
	Follow int `json:"follow"`
	// Again is how many are other in the very members, of what the same seam does: the same
	// change, where code comes by once more.
	Again int `json:"again,omitempty"`
	// Own is how many else differ on their own: they are in live code that was given
	// what it was given when it was recorded.
	Own int `json:"own"`
	// Causes are those that differ on their own, in a line each.
	Causes []string `json:"causes,omitempty"`
	// Apart are the same, each as what it has in common with those of other traces.
	Apart []Apart `json:"apart,omitempty"`
	// Of names the trace that all this is of, in a report on several of which it is not true.
	Of string `json:"-"`
	// Ends says how the turn ended: as recorded, in another state, or otherwise.
	Ends string `json:"ends,omitempty"`
}

// Apart is a difference that does not follow from the first.
type Apart struct {
	// What is its class and its seam, and of an operation the kind and the members that differ:
	// without data, which is other in each trace.
	What string `json:"what"`
	// Crossing is the recorded crossing that it is at, or behind.
	Crossing int `json:"crossing"`
	// Shown are the lines of the first field that differs, for a person; none of what is missing
	// or extra.
	Shown []string `json:"shown,omitempty"`
}

// Others says how many are not equal, in words.
func (a *Impact) Others() string {
	said := fmt.Sprintf("%d follow from it", a.Follow)
	if a.Follow == 1 {
		said = "1 follows from it"
	}
	if a.Again > 0 {
		said += fmt.Sprintf(", %d more of the same", a.Again)
	}
	switch a.Own {
	case 0:
		return said
	case 1:
		return said + ", 1 differs on its own"
	}
	return fmt.Sprintf("%s, %d differ on their own", said, a.Own)
}

// Candidate is a recorded answer that an operation did not get.
type Candidate struct {
	// Crossing is its number, and Text the crossing in a line.
	Crossing int    `json:"crossing"`
	Text     string `json:"text"`
	// Refused are the reasons.
	Refused []string `json:"refused"`
	// Spent tells that nothing else is wrong with it but that it has answered already: the
	// new run makes the operation more often than the recording.
	Spent bool `json:"spent,omitempty"`
	// Elsewhere tells that it is of another seam or strand.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

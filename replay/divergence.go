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

// Class says what kind of difference a divergence is. The list is closed and stable.
type Class string

// The classes of divergences.
const (
	ChangedInput  Class = "changed input"  // what user code or the outside brought in differs
	ChangedResult Class = "changed result" // what a tool, a storage or the world answered differs
	ChangedOutput Class = "changed output" // what the engine made of it differs
	ChangedState  Class = "changed state"  // something that is visible to user code differs
	Missing       Class = "missing"        // a recorded crossing did not happen
	Extra         Class = "extra"          // a crossing happened that was not recorded
	Order         Class = "order"          // a recorded crossing happened in another place
	ChangedError  Class = "error"          // a call or an operation ended in another way
	Panicked      Class = "panic"          // a call ended with a panic, and did not in the recording
	Timing        Class = "timing"         // the same crossing, at another time
	NewContract   Class = "version"        // the contract has changed since the recording

	Unanswered       Class = "unanswered"        // live code asked for what the recording has no answer to
	NonDeterministic Class = "non-deterministic" // live code, run several times, did different things
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{ChangedInput, ChangedResult, ChangedOutput, ChangedState, Missing, Extra, Order, ChangedError, Panicked, Timing, NewContract, Unanswered, NonDeterministic}
}

// FieldDiff is one field in which a crossing differs from the recorded one. Field is its label.
// Want is what was recorded and Got what today's code did, in JSON as a trace writes them; empty
// where the field is absent. Input says that user code or the outside decided the value, and Of is
// the field of a crossing that it is within. Trees decodes both values, and Lines gives them as
// lines of a width.
type FieldDiff = compare.FieldDiff

// Divergence is the first place where a replayed run and its recording differ.
type Divergence struct {
	// Trace is the name of the trace, if one was given (Options.File).
	Trace string `json:"trace,omitempty"`
	Class Class  `json:"class"`
	// Crossing is the number of the recorded crossing, from 1; its line in the file is one more.
	// After the recording's end, Crossing is one more than its last; 0 is the header.
	Crossing int `json:"crossing"`
	// Seam is the path of the seam call that the recorded crossing belongs to, and Strand its
	// strand.
	Seam   string `json:"seam"`
	Strand int    `json:"strand,omitempty"`
	// At is the virtual time since the turn began.
	At time.Duration `json:"at"`
	// Expected is the recorded crossing and Got the one in its place, each as a line of a
	// transcript; empty where there is none.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Fields are the fields that differ, where both crossings are of one kind.
	Fields []FieldDiff `json:"fields,omitempty"`
	// SameKind reports whether both crossings are of one kind, and Returned whether they are
	// returns of the seam's call.
	SameKind bool `json:"sameKind,omitempty"`
	Returned bool `json:"returned,omitempty"`
	// GoesOn is what the call did next on the side that has nothing here, as a line. It is set only
	// where one side has nothing.
	GoesOn string `json:"goesOn,omitempty"`
	// Also are further operations of the same kind that are missing or extra with this one, the
	// next ones in its call, as a line each. After a pause they are the operations that it was made
	// for.
	Also []string `json:"also,omitempty"`
	// Times is set for an id or a time that is made: how many of them are missing or extra in the
	// call, if there are several.
	Times int `json:"times,omitempty"`
	// Before are the last crossings that agreed, at most three.
	Before []string `json:"before,omitempty"`
	// Place is the line of live code in which it happened, or after or before which it did. For
	// something that no operation causes, such as a prompt or the list of a pipeline, it is the one
	// line of the program's source that says it, if there is exactly one and the source is at hand;
	// else it is where the code of its seam begins, or where it was made or handed in.
	Place string `json:"place,omitempty"`
	// Callers are the lines of the program's own module that called Place, the nearest first, up to
	// the seam. In an agent that asks everything through one helper, they tell one ask from
	// another.
	Callers []string `json:"callers,omitempty"`
	// Apart reports whether Place is in a goroutine that live code started itself.
	Apart bool `json:"apart,omitempty"`
	// Written is the line of the program's source that says what differs, such as the text of an
	// error, or that sets the deadline that expired. It has the form of Place, and is empty where
	// it is Place or where there is no such single line.
	Written string `json:"written,omitempty"`
	// Mark is the line at which a review marks the difference, unless Written is known, as
	// file:line (function). It is the nearest of Place and Callers from which nothing else of the
	// new run came by way of other lines. Empty where that is Place.
	Mark string `json:"mark,omitempty"`
	// Candidates are the recorded answers that came nearest to an operation without one, or that
	// fit a changed ask as well as the one that it got.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Scripted reports that the run with live seams was as recorded, but that the recording itself
	// does not play again with every seam scripted: the file or the engine was changed, and live
	// code made no difference.
	Scripted bool `json:"scripted,omitempty"`
	// Waiting says who waited for what, where no goroutine could go on. With live code, it names
	// the strands that waited for one another, and where.
	Waiting []string `json:"waiting,omitempty"`
	// Refused are the services that were asked with a context that belongs to no call, and how
	// often. A replay refuses that unless Live.Outside names them, and what code did without their
	// answers may be the reason for the difference.
	Refused []string `json:"refused,omitempty"`
	// Dialed is the address that live code dialed by itself, if it ended because that failed, in a
	// place where the recording has an ask. Such a connection bypasses adk.Ask and package adkhttp.
	Dialed string `json:"dialed,omitempty"`
	// Untyped reports that live code ended with the error of the ask before, and the recording did
	// not. A trace keeps the text of an error; errors.As and errors.Is find only what trace.Options
	// name.
	Untyped bool `json:"untyped,omitempty"`
	// CallerLeft is the crossing at which the caller of the recorded run left while goroutines that
	// live code started were at work. What they had begun by then is nondeterministic.
	CallerLeft int `json:"callerLeft,omitempty"`
	// ClockAtOnce reports that only times differ and that goroutines that live code started read
	// the clock in that call: which of them gets which time is nondeterministic.
	ClockAtOnce bool `json:"clockAtOnce,omitempty"`
	// PastBy is how live code may do what is missing without the context, such as time.Now, which
	// no replay sees. It is set where the code does everything else of its call as recorded and
	// nothing in its place.
	PastBy string `json:"pastBy,omitempty"`
	// Once reports that live code, which did the same in another order, ran only once, since what
	// it asks may cost money. With Live.Twice it is known whether the order varies.
	Once bool `json:"once,omitempty"`
	// Writes reports that live code, which gave another result or did the same in another order,
	// ran only once, since it may write. Whether it varies is not known, and Live.Twice does not
	// show it.
	Writes bool `json:"writes,omitempty"`
	// Runs is how often live code ran that did the same in the same changed order each time; 0
	// where it was not run again for that.
	Runs int `json:"runs,omitempty"`
	// Strands reports that the call has strands. They end as they did in the recording, however
	// often the code runs, so code that depends on which strand ends first does not vary here.
	Strands bool `json:"strands,omitempty"`
	// After says what came of the later crossings; nil where the replay stopped at the divergence.
	After *Impact `json:"after,omitempty"`

	// Evidence has the crossings that the lines describe, for programs; nil for a divergence
	// without crossings, and in a report that was read.
	Evidence *Evidence `json:"-"`
}

// Evidence has the crossings of a divergence, filled with what earlier lines say of them: the
// payloads of events, and the seams of returns.
type Evidence struct {
	// Recorded is the recorded crossing and Replayed the one in its place; nil where there is none.
	Recorded, Replayed *adk.Crossing
	// Beside is set for a crossing that moved: the recorded crossing next to which it is now. Ahead
	// reports whether it comes before Beside.
	Beside *adk.Crossing
	Ahead  bool
	// Also are the crossings of Divergence.Also.
	Also []*adk.Crossing
	// Left reports whether the call still does elsewhere what the missing crossing, or the last of
	// Also, did by its kind and name.
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

// Panic is the value with which live code panicked; empty for a divergence of another class.
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

// isOfAResult reports whether a seam call returned something else.
func (d *Divergence) isOfAResult() bool { return d.Class == ChangedResult && d.Returned }

// isOfAnOrder reports whether the same was done or said in another order. Code whose order is
// random, such as code that goes through a map, may be the only reason. What a run is given was
// made before it and does not count.
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

// isOfACall reports whether the difference is in a call line. The order of calls is the choice of
// the config.
func (d *Divergence) isOfACall() bool {
	return d.Evidence.Recorded != nil && d.Evidence.Recorded.Kind.Class() == adk.ClassCall
}

// wordsOf returns the words and numbers of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// answers reports whether a crossing carries an answer, from a seam, the reader of a media or the
// world, and not a request or a report.
func answers(x *adk.Crossing) bool {
	carries := func(f adk.Field) bool {
		return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool { return use.Field == f })
	}
	return x.Phase == adk.Done && (carries(adk.FieldJSON) || carries(adk.FieldValue)) || x.Kind == adk.KindReturn
}

// divergence makes a divergence of two crossings, of which one may be missing. n has passed neither
// of them yet.
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

// Impact says what came of the crossings after the first difference.
type Impact struct {
	// Equal is how many later recorded crossings are as recorded.
	Equal int `json:"equal"`
	// Follow is how many differ because of an earlier difference.
	Follow int `json:"follow"`
	// Again is how many differ in the same members, in what the same seam does: the same change,
	// where the code runs once more.
	Again int `json:"again,omitempty"`
	// Own is how many others differ on their own: they are in live code that was given the same as
	// in the recording.
	Own int `json:"own"`
	// Causes are those that differ on their own, in a line each.
	Causes []string `json:"causes,omitempty"`
	// Apart are the same, each described by what it has in common with those of other traces.
	Apart []Apart `json:"apart,omitempty"`
	// Of names the trace that all this is about, in a report on several traces for which it is not
	// true.
	Of string `json:"-"`
	// Ends says how the turn ended: as recorded, in another state, or otherwise.
	Ends string `json:"ends,omitempty"`
}

// Apart is a difference that does not follow from the first.
type Apart struct {
	// What is its class and its seam, and for an operation the kind and the members that differ. It
	// has no data, which differs in each trace.
	What string `json:"what"`
	// Crossing is the recorded crossing that it is at, or behind.
	Crossing int `json:"crossing"`
	// Shown are the lines of the first field that differs, for a person; empty for what is missing
	// or extra.
	Shown []string `json:"shown,omitempty"`
}

// Others says in words how many crossings are not equal.
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
	// Crossing is its number, and Text the crossing as a line.
	Crossing int    `json:"crossing"`
	Text     string `json:"text"`
	// Refused are the reasons why it does not fit.
	Refused []string `json:"refused"`
	// Spent reports that the only reason is that it has answered already: the new run makes the
	// operation more often than the recording.
	Spent bool `json:"spent,omitempty"`
	// Elsewhere reports that it belongs to another seam or strand.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

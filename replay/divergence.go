package replay

import (
	"fmt"
	"maps"
	"slices"
	"time"

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
	ChangedOutput Class = "changed output" // what the engine made of it is another
	ChangedState  Class = "changed state"  // something that is visible to user code is another
	Missing       Class = "missing"        // a recorded crossing did not happen
	Extra         Class = "extra"          // a crossing happened that was not recorded
	Order         Class = "order"          // a recorded crossing happened, at another place
	ChangedError  Class = "error"          // a call or an operation ended in another way
	Timing        Class = "timing"         // the same, at another time
	NewContract   Class = "version"        // the contract has changed since the recording

	Unanswered       Class = "unanswered"        // live code asked what the recording has no answer to
	NonDeterministic Class = "non-deterministic" // live code, run twice, did two different things
)

// FieldDiff is one field in which a crossing differs from the recorded one.
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
	Fields []compare.FieldDiff `json:"fields,omitempty"`
	// Before are the last crossings that agreed, at most three.
	Before []string `json:"before,omitempty"`
	// Place is where the code of the live seam begins that it happened in.
	Place string `json:"place,omitempty"`
	// Candidates are the recorded answers that came nearest to an operation that
	// got none.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Scripted tells that a run with live seams was as recorded, and that the
	// recording itself does not play again with every seam scripted: the file or
	// the engine was changed, and no live code made the difference.
	Scripted bool `json:"scripted,omitempty"`
	// Waiting says who waited for what where nobody could go on.
	Waiting []string `json:"waiting,omitempty"`
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
	// Agreed are the last recorded crossings that agreed, those of Before.
	Agreed []*adk.Crossing
}

// linesBefore is how many crossings that agreed a divergence shows.
const linesBefore = 3

// classOf classifies the difference between two crossings in one place.
func classOf(x *adk.Crossing, fields []compare.FieldDiff) Class {
	if x.Kind == adk.KindState {
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
	case first.Input:
		return ChangedInput
	}
	return ChangedOutput
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

// The player's findings. mu is held in all of them; the first one stays.

func (p *player) differs(want, got *adk.Crossing, fields []compare.FieldDiff) {
	class := classOf(want, fields)
	if fields[0].Field == "kind" {
		class = p.misplaced(got)
		fields = nil
	}
	fields = compare.InDetail(want, got, fields)
	p.report(divergence(p.namer, class, want, got, fields), want)
}

// misplacedReach is how far ahead a crossing is looked for that came too early.
const misplacedReach = 16

// misplaced tells what a crossing of another kind means: where it is recorded
// further on, those before it are missing; where it is not, it is extra.
func (p *player) misplaced(got *adk.Crossing) Class {
	for i := 1; i <= misplacedReach; i++ {
		x := p.peek(i)
		if x == nil {
			break
		}
		if compare.MovedOnly(p.comparer, x, got) {
			return Missing
		}
	}
	return Extra
}

// missing reports a recorded crossing that nobody makes.
func (p *player) missing(want *adk.Crossing) {
	p.report(divergence(p.namer, Missing, want, nil, nil), want)
}

// deadlock is missing where nobody can go on, and says who waits for what.
func (p *player) deadlock(want *adk.Crossing) {
	d := divergence(p.namer, Missing, want, nil, nil)
	if p.alive > 1 { // one alone waits for this
		d.Waiting = p.waiting()
	}
	p.report(d, want)
}

// waiting says of each strand what it waits for.
func (p *player) waiting() (said []string) {
	for _, n := range slices.Sorted(maps.Keys(p.strands)) {
		s := p.strands[n]
		for range s.blocked() {
			said = append(said, fmt.Sprintf("strand %d inside the engine", n))
		}
		for _, w := range p.waits {
			if w.of == s {
				said = append(said, fmt.Sprintf("strand %d for a crossing of its own", n))
			}
		}
	}
	return said
}

// extra reports a crossing behind the recording's end.
func (p *player) extra(got *adk.Crossing) {
	p.report(divergence(p.namer, Extra, nil, got, nil), got)
}

// impossible reports a recorded crossing that user code cannot have made where
// it stands.
func (p *player) impossible(want *adk.Crossing) {
	p.report(divergence(p.namer, Missing, want, nil, nil), want)
}

func (p *player) report(d *Divergence, at *adk.Crossing) {
	if p.Stopped {
		return
	}
	if d.Crossing == 0 {
		d.Crossing = p.matched + 1
	}
	d.Strand = at.Strand
	d.Seam = seamIn(p.calls, at)
	if !p.began.IsZero() {
		d.At = at.At.Sub(p.began)
	}
	for i := range p.recent {
		if x := p.recent[(p.matched+i)%len(p.recent)]; x != nil {
			d.agreed(x, p.namer.Line(x))
		}
	}
	if p.outdated {
		d.Class = NewContract
	}
	p.found = d
	p.stop()
}

// seamIn is the path of the seam call that a crossing belongs to, of those that
// are known.
func seamIn(calls map[int]*adk.Crossing, x *adk.Crossing) string {
	if call := calls[wire.CallOf(x)]; call != nil && x.Kind != adk.KindCall {
		x = call
	}
	return x.Seam.String()
}

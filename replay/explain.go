package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// This file makes a report of the differences between two runs.

// Blast says what came of the crossings behind the first difference.
type Blast struct {
	// Equal is how many later recorded crossings are as recorded.
	Equal int `json:"equal"`
	// Follow is how many are other because of an earlier difference.
	Follow int `json:"follow"`
	// Own is how many differ on their own: they are in live code that was given
	// what it was given when it was recorded.
	Own int `json:"own"`
	// Causes are those that differ on their own, in a line each.
	Causes []string `json:"causes,omitempty"`
}

// Candidate is a recorded answer that an operation did not get.
type Candidate struct {
	// Crossing is its number, and Text the crossing in a line.
	Crossing int    `json:"crossing"`
	Text     string `json:"text"`
	// Refused are the reasons.
	Refused []string `json:"refused"`
	// Spent tells that nothing else is wrong with it but that it was given already: the
	// operation was recorded once less.
	Spent bool `json:"spent,omitempty"`
}

// report is the report of a run with live seams.
func (r *replayed) report() *Report {
	found := r.compare()
	report := &Report{Crossings: len(r.equal), Live: r.live.parts(), Unreached: r.unreached(), NotCompared: r.notCompared()}
	r.markOwn()
	if len(found) > 0 {
		report.Divergence = r.explain(found)
	} else {
		report.Divergence = contract(r.trace.Lines)
	}
	return report
}

// unreached are the live seams that the new run did not come to. What a run is
// given is always reached, but for listeners of gates: they need one.
func (r *replayed) unreached() (never []string) {
	reached := map[string]bool{partPrompt: true, partStash: true, partTools: true}
	for _, c := range r.got.calls {
		if r.live.chooses(c) {
			reached[c.call.Seam.Label+"/"+c.call.Seam.Name] = true
			reached[c.call.Seam.Label] = true // of LiveExecutor, which has no name
		}
	}
	reached[partGates] = !r.live.given(partGates) || slices.ContainsFunc(r.got.lines, func(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateOpen })
	for _, part := range r.live.parts() {
		if !reached[part] {
			never = append(never, part)
		}
	}
	return never
}

// notCompared says what this replay could not hold against the recording.
func (r *replayed) notCompared() []string {
	said := r.live.unseen()
	var left []string
	for _, part := range r.live.choices() {
		if !r.live.Takes(part) && r.live.given(part) {
			if label, _, _ := strings.Cut(part, "/"); label != adk.LabelRun {
				part = label + "/*"
			}
			if !slices.Contains(left, part) {
				left = append(left, part)
			}
		}
	}
	if r.live.hears() {
		left = append(left, "listeners of Turn")
	}
	if len(left) > 0 {
		said = append(said, "what was given and is not live: "+short(left, same[string]))
	}
	if len(r.want.strands) > 1 {
		said = append(said, "the order between strands, but for what they share")
	}
	return said
}

// contract holds a run against what the contract makes of its crossings: one
// that breaks it is no turn, recorded or not.
func contract(lines []Line) *Divergence {
	names := newNamer(NewFold())
	for i := range lines {
		x := &lines[i].Crossing
		err := names.fold.Check(x)
		said := ""
		if err != nil {
			said = names.line(x)
		} else if err = names.pass(x); err != nil {
			said = x.Kind.String()
		}
		if err != nil {
			return &Divergence{Class: ChangedOutput, Crossing: i + 1, Seam: x.Seam.String(), Got: said,
				Fields: []FieldDiff{{Field: "contract", Got: quotedJSON(err.Error())}}}
		}
	}
	return nil
}

// describeIn is a crossing of a run in a line, as transcripts have it.
func describeIn(run *callTree, x *adk.Crossing) string {
	n := newNamer(NewFold())
	for _, earlier := range run.lines[:x.Seq-1] {
		_ = n.pass(earlier)
	}
	return n.line(x)
}

// explain makes a divergence of the first difference, and says what follows.
func (r *replayed) explain(found []*difference) *Divergence {
	first := found[0]
	d := &Divergence{Class: first.class, Crossing: first.at, Fields: first.fields, Before: r.agreedBefore(first), After: r.blast(found)}
	if first.behind {
		d.Crossing++
	}
	at, run := first.want, r.want
	if at == nil {
		at, run = first.got, r.got
	}
	d.Seam, d.Strand = run.seamOf(at).String(), at.Strand
	d.At = at.At.Sub(r.want.lines[0].At)
	if first.want != nil {
		d.Expected = describeIn(r.want, first.want)
	}
	if first.got != nil {
		d.Got = describeIn(r.got, first.got)
	}
	if beside := first.move.beside; beside != nil && len(d.Fields) == 0 {
		d.Fields = []FieldDiff{placeDiff(first.move.ahead, describeIn(r.want, beside))}
	}
	d.Place = r.live.place(append([]*seamCall{run.calls[callOf(at)]}, forkedBy(first.call)...))
	if first.want == nil {
		d.Candidates = r.candidates(first)
		d.Expected = r.instead(found)
	}
	return d
}

// fieldPlace is the field of a crossing at another place: the crossing beside which
// it stands, and on which side of it.
const fieldPlace = "place"

// placeDiff tells where a crossing stands now.
func placeDiff(ahead bool, beside string) FieldDiff {
	want, got := "before ", "behind "
	if ahead {
		want, got = got, want
	}
	return FieldDiff{Field: fieldPlace, Want: quotedJSON(want + beside), Got: quotedJSON(got + beside), Input: true}
}

// forkedBy are a call and, of a strand, those that forked it: the strand's code is
// theirs.
func forkedBy(c *seamCall) (calls []*seamCall) {
	for ; c != nil; c = c.parent {
		if calls = append(calls, c); c.call.Seam.Label != adk.LabelStrand {
			break
		}
	}
	return calls
}

// instead is what was recorded at the very place of the first difference, if that
// did not happen; nothing where something just came between.
func (r *replayed) instead(found []*difference) string {
	first := found[0]
	for _, d := range found[1:] {
		if d.class == Missing && d.call == first.call && d.at == first.at+1 {
			return describeIn(r.want, d.want)
		}
	}
	return ""
}

// agreedBefore are the last recorded crossings before a difference that agreed.
func (r *replayed) agreedBefore(first *difference) (lines []string) {
	var last []int
	for _, seq := range r.sortedEqual() {
		if seq < first.at || first.behind && seq == first.at {
			last = append(last, seq)
		}
	}
	last = last[max(0, len(last)-linesBefore):]
	for _, seq := range last {
		lines = append(lines, describeIn(r.want, r.want.lines[seq-1]))
	}
	return lines
}

func (r *replayed) sortedEqual() []int {
	slices.Sort(r.equal)
	return r.equal
}

// blast counts what came of the crossings behind the first difference.
func (r *replayed) blast(found []*difference) *Blast {
	b := r.behind(found[0].at)
	b.Follow += found[0].lines - 1
	for _, d := range found[1:] {
		if d.own {
			b.Causes = append(b.Causes, r.inALine(d))
		}
	}
	return b
}

// behind counts the crossings behind one.
func (r *replayed) behind(seq int) *Blast {
	b := &Blast{}
	for _, at := range r.equal {
		if at > seq {
			b.Equal++
		}
	}
	for i, d := range r.found {
		switch {
		case i == 0 && d.at == seq, d.at < seq:
		case d.own:
			b.Own += d.lines
		default:
			b.Follow += d.lines
		}
	}
	return b
}

func (r *replayed) inALine(d *difference) string {
	if d.want != nil {
		return fmt.Sprintf("%s at crossing %d: %s", d.class, d.at, describeIn(r.want, d.want))
	}
	return fmt.Sprintf("%s behind crossing %d: %s", d.class, d.at, describeIn(r.got, d.got))
}

// markOwn tells the differences that do not follow from an earlier one: those in
// what the caller of the run handed in, and the first in a call of live code that
// saw what its recorded call saw.
func (j *judge) markOwn() {
	touched := map[*seamCall]bool{}
	for _, d := range j.found {
		in := d.call
		if d.want == in.call && in.parent == nil {
			d.own = true
			continue
		}
		if j.live.isLive(in) && !touched[in] && j.sawTheSame(in) {
			d.own = true
		}
		for c := in; c != nil; c = c.parent {
			touched[c] = true
		}
	}
}

// sawTheSame reports whether a call of the recorded run and its counterpart began
// with the same in their sight.
func (j *judge) sawTheSame(want *seamCall) bool {
	for got, w := range j.pairs {
		if w == want {
			before := j.views.before.to(j.want, want.call.Seq+1).Sight(want.call.ID)
			after := j.views.after.to(j.got, got.call.Seq+1).Sight(got.call.ID)
			return before.Digest() == after.Digest()
		}
	}
	return false
}

// candidates are the recorded operations of the same kind that are the nearest to
// one that got no answer, each with the reasons why it is not it.
func (r *replayed) candidates(first *difference) (near []Candidate) {
	const most = 3
	got := first.got
	if got.Kind == adk.KindCall || got.Kind.Class() != adk.ClassOperation {
		return nil
	}
	gotCall := r.got.calls[got.Call]
	for _, w := range r.want.lines {
		if w.Kind != got.Kind || w.Phase != got.Phase || w == first.want {
			continue
		}
		call := r.want.calls[w.Call]
		c := Candidate{Crossing: w.Seq, Refused: r.refusals(w, call, got, gotCall)}
		if len(c.Refused) == 0 {
			c.Spent, c.Refused = true, []string{"was given already: it was recorded once less"}
		}
		near = append(near, c)
	}
	slices.SortStableFunc(near, func(a, b Candidate) int { return len(a.Refused) - len(b.Refused) })
	near = near[:min(len(near), most)]
	for i := range near {
		near[i].Text = describeIn(r.want, r.want.lines[near[i].Crossing-1])
	}
	return near
}

// refusals are the reasons why a recorded operation does not answer a new one; none
// where it would, had it not been given already.
func (r *replayed) refusals(w *adk.Crossing, call *seamCall, got *adk.Crossing, gotCall *seamCall) (reasons []string) {
	if a, b := call.call.Seam, gotCall.call.Seam; a.Label != b.Label || a.Name != b.Name {
		reasons = append(reasons, fmt.Sprintf("is of %s and not of %s", call.call.Seam, gotCall.call.Seam))
	}
	if call.strand != gotCall.strand && len(reasons) == 0 {
		reasons = append(reasons, fmt.Sprintf("is of strand %q", call.strand))
	}
	for _, f := range compareInputs(r.known, w, got) {
		if f.Input {
			want, got := cutValues(f.Want, f.Got)
			reasons = append(reasons, fmt.Sprintf("%s is %s and not %s", f.Field, orNothing(want), orNothing(got)))
		}
	}
	return reasons
}

// sameTwice says of a difference that live code made two different ones of the
// same.
func (r *replayed) sameTwice(second *replayed, d *Divergence) {
	again := judge{known: r.known, live: r.live, want: r.got, got: second.got, missed: second.missed, unasked: second.unasked}
	found := again.compare()
	if len(found) == 0 {
		return
	}
	d.Class = NonDeterministic
	first := (&replayed{judge: again}).inALine(found[0])
	d.Fields = append(d.Fields, FieldDiff{Field: "second run", Want: "the same as the first", Got: first})
}

// changeWidth is how many characters of a text are shown on each side of a change.
const changeWidth = 20

// cutValues are two values as a trace writes them, cut down to where they
// differ: long ones, and texts.
func cutValues(want, got string) (string, string) {
	w, wantText := jsonText(want)
	g, gotText := jsonText(got)
	switch {
	case (wantText || want == "") && (gotText || got == ""):
	case len(want) <= longestValue && len(got) <= longestValue:
		return bareJSON(want), bareJSON(got)
	default:
		w, g = want, got
	}
	w, g = cutAround(w, g, changeWidth)
	return orAbsent(want, w), orAbsent(got, g)
}

// jsonText is the text of a JSON string.
func jsonText(value string) (text string, is bool) {
	is = json.Unmarshal([]byte(value), &text) == nil
	return text, is
}

// longestValue is how long a value is shown as it is.
const longestValue = 100

func orAbsent(value, text string) string {
	if value == "" {
		return ""
	}
	return text
}

package replay

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// CompareTraces finds the first place where two recordings part, line by line:
// nil if there is none. No engine is involved, so nothing is explained that the
// lines do not say. A difference in the names of the seams, which the headers
// hold, is at crossing 0.
//
// Members that this package does not know are not compared, nor are the numbers
// that lines have: a line is counted by its place.
func CompareTraces(want, got *Trace) *Divergence {
	known, _ := newSentinels(want.given().Sentinels) // checked when the trace was read
	p := traces{comparer: comparer{known}, want: want.Lines, got: got.Lines, namer: newNamer(NewFold()), calls: map[int]*adk.Crossing{}}
	if fields := compareInfo(want.Header, got.Header); len(fields) > 0 {
		return &Divergence{Class: ChangedInput, Seam: "the header", Fields: fields}
	}
	for p.at < len(p.want) || p.at < len(p.got) {
		if d := p.step(); d != nil {
			return d
		}
	}
	return nil
}

// traces are two recordings that are walked side by side; at is how many of
// their crossings agreed.
type traces struct {
	comparer  comparer
	want, got []Line
	at        int
	namer     *namer
	calls     map[int]*adk.Crossing
}

// step compares the next two crossings.
func (p *traces) step() *Divergence {
	switch {
	case p.at == len(p.got):
		return p.divergence(Missing, &p.want[p.at].Crossing, nil, nil)
	case p.at == len(p.want):
		return p.divergence(Extra, nil, &p.got[p.at].Crossing, nil)
	}
	want, got := &p.want[p.at].Crossing, &p.got[p.at].Crossing
	if fields := compareCrossings(p.comparer, want, got); len(fields) > 0 {
		return p.divergence(p.class(want, fields), want, got, fields)
	}
	_ = p.namer.pass(want) // whether an engine tells it is not the question here
	if want.Kind == adk.KindCall {
		p.calls[want.ID] = want
	}
	p.at++
	return nil
}

// class tells a changed crossing from one that is missing, extra or elsewhere,
// by what the next lines of the two are.
func (p *traces) class(want *adk.Crossing, fields []FieldDiff) Class {
	if fields[0].Field != "kind" {
		return classOf(want, fields)
	}
	missing, extra := p.follows(p.want, p.got), p.follows(p.got, p.want)
	switch {
	case missing && extra:
		return Order
	case missing:
		return Missing
	}
	return Extra
}

// follows reports whether the present crossing of there stands soon behind that
// of here.
func (p *traces) follows(here, there []Line) bool {
	ahead := here[p.at+1 : min(len(here), p.at+1+misplacedReach)]
	return slices.ContainsFunc(ahead, func(l Line) bool {
		return movedOnly(p.comparer, &l.Crossing, &there[p.at].Crossing)
	})
}

func (p *traces) divergence(class Class, want, got *adk.Crossing, fields []FieldDiff) *Divergence {
	at := want
	d := &Divergence{Class: class, Crossing: p.at + 1, Fields: fields}
	if want != nil {
		d.Expected = p.namer.line(want)
	} else {
		at = got
	}
	if got != nil {
		d.Got = p.namer.line(got)
	}
	d.Strand, d.Seam = at.Strand, seamIn(p.calls, at)
	if len(p.want) > 0 {
		d.At = at.At.Sub(p.want[0].At)
	}
	for i := max(0, p.at-linesBefore); i < p.at; i++ {
		d.Before = append(d.Before, p.namer.line(&p.want[i].Crossing))
	}
	return d
}

// compareInfo lists the names of seams in which two headers differ.
func compareInfo(want, got Header) []FieldDiff {
	var diffs []FieldDiff
	text := func(field, w, g string) {
		if w != g {
			diffs = append(diffs, FieldDiff{Field: field, Want: w, Got: g, Input: true})
		}
	}
	text(adk.LabelExecutor, want.Info.Executor, got.Info.Executor)
	theirs := pipelines(&got.Info)
	for i, ours := range pipelines(&want.Info) {
		if !slices.Equal(*ours.names, *theirs[i].names) {
			text(ours.label, quotedList(*ours.names), quotedList(*theirs[i].names))
		}
	}
	text(memberAlone, yesOrNo(want.Info.Alone), yesOrNo(got.Info.Alone))
	text(memberBehind, yesOrNo(want.Info.WriteBehind), yesOrNo(got.Info.WriteBehind))
	return diffs
}

func quotedList(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoted(name)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// yesOrNo is a flag as a trace writes it: absent where it is not set.
func yesOrNo(set bool) string {
	if set {
		return "true"
	}
	return ""
}

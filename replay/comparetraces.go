package replay

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// CompareTraces finds the first place where two recordings part, line by line:
// nil if there is none. No engine is involved, so nothing is explained that the
// lines do not say. A difference in the names of the seams, which the headers
// hold, is at crossing 0.
//
// Members that this package does not know are not compared, nor are the numbers
// that lines have: a line is counted by its place.
func CompareTraces(want, got *trace.Trace) *Divergence {
	known, _ := wire.NewSentinels(want.Options().Sentinels) // checked when the trace was read
	p := traces{comparer: wire.Comparer{Sentinels: known, Format: min(want.Version, got.Version)}, want: want.Lines, got: got.Lines, namer: describe.New(state.New()), calls: map[int]*adk.Crossing{}}
	if fields := compare.CompareInfo(want.Header, got.Header); len(fields) > 0 {
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
	comparer  wire.Comparer
	want, got []trace.Line
	at        int
	namer     *describe.Namer
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
	if fields := compare.Crossings(p.comparer, want, got); len(fields) > 0 {
		return p.divergence(p.class(want, fields), want, got, fields)
	}
	_ = p.namer.Pass(want) // whether an engine tells it is not the question here
	if want.Kind == adk.KindCall {
		p.calls[want.ID] = want
	}
	p.at++
	return nil
}

// class tells a changed crossing from one that is missing, extra or elsewhere,
// by what the next lines of the two are.
func (p *traces) class(want *adk.Crossing, fields []compare.FieldDiff) Class {
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
func (p *traces) follows(here, there []trace.Line) bool {
	ahead := here[p.at+1 : min(len(here), p.at+1+misplacedReach)]
	return slices.ContainsFunc(ahead, func(l trace.Line) bool {
		return compare.MovedOnly(p.comparer, &l.Crossing, &there[p.at].Crossing)
	})
}

func (p *traces) divergence(class Class, want, got *adk.Crossing, fields []compare.FieldDiff) *Divergence {
	at := want
	d := divergence(p.namer, class, want, got, fields)
	d.Crossing = p.at + 1
	if want == nil {
		at = got
	}
	d.Strand, d.Seam = at.Strand, seamIn(p.calls, at)
	if len(p.want) > 0 {
		d.At = at.At.Sub(p.want[0].At)
	}
	for i := max(0, p.at-linesBefore); i < p.at; i++ {
		d.agreed(&p.want[i].Crossing, p.namer.Line(&p.want[i].Crossing))
	}
	return d
}

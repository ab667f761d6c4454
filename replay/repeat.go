package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/bycause"
	"github.com/adkreplay/adkreplay/replay/internal/ties"
)

// mostRuns is how often live code runs to show that it always does things in the same, changed
// order: code whose order is random, such as one that goes through a map, repeats an order of two
// things in half of the runs. For a turn of more than linesOfAFast crossings, two runs must do.
const (
	mostRuns     = 5
	linesOfAFast = 20_000
)

// repeat runs live code again that differed from the recording, and classifies the divergence as
// non-deterministic if two runs of the same code differ.
func (r *replayed) repeat(d *Divergence, run func() (*replayed, error)) error {
	runs, order := 2, d.isOfAnOrder()
	if order && len(r.want.Lines) <= linesOfAFast {
		runs = mostRuns
	}
	var alone *replayed
	for i := 1; i < runs; i++ {
		next, err := run()
		if err != nil {
			return err
		}
		came := ""
		switch only := next.live.only; {
		case only == "":
			came = r.otherwise(next)
		case !r.ranBeside(only):
			came = r.otherwiseAlone(next)
		case alone == nil: // another such run must show it, as the others' code does not run now
			runs = max(runs, 3)
		default:
			if came = alone.otherwise(next); came != "" {
				came = cmp.Or(r.otherwiseAlone(alone), came)
			}
		}
		alone = next
		if d.comesOtherwise(came) {
			return nil
		}
	}
	if order && (alone.live.only == "" || r.otherwiseAlone(alone) == "") { // else the run alone was not the same
		in := r.pairs[r.found[0].call]
		d.Runs = runs
		d.Strands = d.Class != Order && in != nil && slices.ContainsFunc(in.Script, func(s *calls.Step) bool { return wire.Forks(s.X) })
	}
	return nil
}

// comesOtherwise makes a divergence non-deterministic if another run of the same live code did
// something else, which came says, and reports whether it did.
func (d *Divergence) comesOtherwise(came string) bool {
	if came != "" {
		d.Class = NonDeterministic
		d.Fields = append(d.Fields, compare.FieldDiff{Field: "second run", Want: "the same as the first", Got: came})
	}
	return came != ""
}

// otherwise is the first thing that another run of the same live code did differently; empty if
// nothing.
func (r *replayed) otherwise(next *replayed) string {
	return r.otherwiseBut(next, func(*difference) bool { return false })
}

// unordered is otherwise without what the order of goroutines explains: the same words in another
// order, and what goroutines do or leave out. The state is ignored, because it follows from what
// was done.
func (r *replayed) unordered(next *replayed) string {
	return r.otherwiseBut(next, func(d *difference) bool {
		switch {
		case d.class == Order || d.class == ChangedState || d.class == ChangedOutput:
			return true
		case d.got == nil:
			return d.want.Kind.Class() != adk.ClassOperation || r.callers.IsApart(d.want)
		case d.want == nil:
			return d.got.Kind.Class() != adk.ClassOperation || next.callers.IsApart(d.got)
		case wire.Asks(d.want) && wire.Asks(d.got):
			return d.want.Name == d.got.Name && ties.SameWords(string(d.want.JSON), string(d.got.JSON))
		}
		var want, got strings.Builder
		for _, f := range d.fields {
			want.WriteString(f.Want + "\n")
			got.WriteString(f.Got + "\n")
		}
		return ties.SameWords(want.String(), got.String())
	})
}

// otherwiseBut is otherwise without the differences for which isNone is true.
func (r *replayed) otherwiseBut(next *replayed, isNone func(*difference) bool) string {
	again := newComparison(r.known, r.live, r.got, next.got, next.callers)
	again.paired = bycause.Pairing{NewSeq: r.toThe(next), Unanswered: next.paired.Unanswered, Unasked: next.paired.Unasked}
	follows := r.sinceUnanswered(next)
	for _, d := range again.compare() {
		if !sameButForIDs(d.want, d.got) && !follows(d) && !isNone(d) {
			return (&replayed{comparison: again}).whatCame(d)
		}
	}
	return ""
}

// differsAhead reports whether a run differs from the recording in something that a call did before
// goroutines asked anything in it.
func (r *replayed) differsAhead(in *calls.Call) bool {
	if len(r.found) == 0 || r.found[0].call != in || r.found[0].got == nil || r.pairs[in] == nil {
		return false
	}
	at := r.found[0].got.Seq
	return !slices.ContainsFunc(r.pairs[in].Script, func(s *calls.Step) bool { return s.X.Seq <= at && r.callers.IsApart(s.X) })
}

// unanswered is the crossing that ended the first ask without a recorded answer; 0 if there is
// none.
func (r *replayed) unanswered() int {
	open := map[int]bool{}
	for _, x := range r.got.Lines {
		recorded, asks := r.paired.Asks[x.Seq]
		switch {
		case asks && recorded == 0:
			open[x.Op] = true
		case x.Phase == adk.Done && open[x.Op]:
			return x.Seq
		}
	}
	return 0
}

// sinceUnanswered returns a function that reports whether a difference of two runs of the same code
// comes after an unanswered ask in both of them. How often and how soon code then retries, and what
// else follows, says nothing about the code: no recorded run had to do it. If the two runs ask
// different things, the ask itself is a difference.
func (r *replayed) sinceUnanswered(next *replayed) func(*difference) bool {
	was, is := r.unanswered(), next.unanswered()
	behind := func(x *adk.Crossing, over int) bool { return x == nil || over > 0 && x.Seq > over }
	return func(d *difference) bool { return behind(d.want, was) && behind(d.got, is) }
}

// sameButForIDs reports whether two runs ask the same except for random ids, which differ in every
// run.
func sameButForIDs(one, other *adk.Crossing) bool {
	return one != nil && other != nil && wire.Asks(one) && wire.Asks(other) && one.Name == other.Name && one.Status == other.Status &&
		likeness.SameButForIDs(one.JSON, other.JSON)
}

// otherwiseAlone is otherwise for a run in which only one seam was live: the seam of the first
// difference from the recording. That difference must be the same again.
func (r *replayed) otherwiseAlone(next *replayed) string {
	first, found := r.found[0], next.compare()
	switch {
	case len(found) == 0:
		return "as recorded"
	case found[0].class == Unanswered && first.class != Unanswered: // the answers of other live seams are missing now, which shows nothing
	case found[0].class != first.class || found[0].at != first.at || next.saidOf(found[0]) != r.saidOf(first):
		return next.whatCame(found[0])
	}
	return ""
}

// ranBeside reports whether live code of another seam ran as well.
func (r *replayed) ranBeside(only string) bool {
	for _, c := range r.got.Calls {
		if seam := c.Begin.Seam; r.live.takesSeam(seam) && seam.Label != adk.LabelStrand && seam.Label+"/"+seam.Name != only {
			return true
		}
	}
	return false
}

// toThe has, for each crossing of this run, the crossing of another run with the same recorded
// counterpart; 0 where there is none.
func (r *replayed) toThe(next *replayed) []int {
	to := make([]int, len(r.got.Lines)+1)
	for recorded, seq := range r.paired.NewSeq {
		if seq > 0 {
			to[seq] = next.paired.NewSeq[recorded]
		}
	}
	return to
}

// whatCame says what another run did at a difference: the first field that differs, or the line.
func (r *replayed) whatCame(d *difference) string {
	if d.want == nil || d.got == nil || len(d.fields) == 0 {
		return r.inALine(d)
	}
	f := compare.InDetail(d.want, d.got, d.fields)[0]
	_, got := f.Cut()
	return f.Field + ": " + compare.OrNothing(got)
}

// saidOf is what live code did at a difference, in full (a line is cut if it is long) and without
// random ids. It is empty where a goroutine that live code started did it, because any of them may
// come first.
func (r *replayed) saidOf(d *difference) string {
	if d.got == nil || r.callers.IsApart(d.got) {
		return ""
	}
	said := r.got.Line(d.got)
	for _, f := range d.fields {
		said += "\n" + f.Got
	}
	return likeness.RandomID.ReplaceAllString(said, "")
}

package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/beside"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/asks"
	"github.com/adkreplay/adkreplay/replay/internal/bycause"
	"github.com/adkreplay/adkreplay/replay/internal/moved"
	"github.com/adkreplay/adkreplay/replay/internal/nearest"
	"github.com/adkreplay/adkreplay/replay/internal/siblings"
	"github.com/adkreplay/adkreplay/replay/internal/unfed"
	"github.com/adkreplay/adkreplay/replay/internal/written"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file makes a report of the differences between two runs.

// replayed is a recorded run that was run again with live seams.
type replayed struct {
	comparison
	trace     *trace.Trace      // of the new run
	shown     *trace.Trace      // the same, without what the recording's redaction hides
	secrets   []redact.Pattern  // what the redaction hides
	redaction *redacting.Writer // what Live.Redact has found in it; nil without rules
	lines     []trace.Line      // its crossings, with the recorded ids
	outcome   *bycause.Outcome
}

// report is the report of a run with live seams.
func (r *replayed) report() *Report {
	found := r.compare()
	report := &Report{Crossings: len(r.equal), Live: append(r.live.parts(), r.brought()...), Unreached: r.unreached(), NotCompared: r.notCompared()}
	r.markOwn()
	switch {
	case len(found) > 0:
		report.Divergence = r.explain(found)
	case !r.isRecorded():
		report.Divergence = contract(r.got.Lines)
	}
	r.neverEnds(report)
	r.withholdNames(report)
	return report
}

// neverEnds adds who waits for whom to the report on a run that never ends.
func (r *replayed) neverEnds(report *Report) {
	if r.outcome.Endless == nil {
		return
	}
	if report.Divergence == nil { // the run is as recorded, as far as it goes
		last := r.want.Lines[len(r.want.Lines)-1]
		report.Divergence = &Divergence{Class: Missing, Crossing: last.Seq + 1, Seam: r.want.SeamOf(last).String(), Strand: last.Strand,
			At: last.At.Sub(r.want.Lines[0].At), Evidence: &Evidence{}}
	}
	report.Divergence.Waiting = r.outcome.Endless
	report.NotCompared = append(report.NotCompared, "what would have come then: the run never ends, and was left behind")
}

// isRecorded reports whether the new run equals the recording in every crossing, including numbers
// and times.
func (r *replayed) isRecorded() bool { return r.got == r.want }

// unreached are the live seams that the new run did not reach. What a run is given is always
// reached, except for listeners of gates, which need a gate.
func (r *replayed) unreached() (never []string) {
	reached := map[string]bool{Prompt: true, Stash: true, Tools: true}
	for _, c := range r.got.Calls {
		if r.live.chooses(c) {
			reached[c.Begin.Seam.Label+"/"+c.Begin.Seam.Name] = true
			reached[c.Begin.Seam.Label] = true // for LiveExecutor, which has no name
		}
	}
	reached[Gates] = !r.live.given(Gates) || slices.ContainsFunc(r.got.Lines, wire.OpensGate)
	for _, part := range r.live.parts() {
		if !reached[part] {
			never = append(never, part)
		}
	}
	return never
}

// brought are the seams of tools that live code brought itself and that ran, such as tools that are
// forged for artifacts or that a server offers.
func (r *replayed) brought() (seams []string) {
	parts, called := r.live.parts(), map[string]bool{}
	for _, c := range r.got.Calls {
		called[c.Begin.Seam.Label+"/"+c.Begin.Seam.Name] = true
	}
	for _, x := range r.got.Lines {
		tool, ok := x.Record.(*adk.Tool)
		if !ok || tool == nil || x.Kind.LeadsTo() != adk.LabelTool || !r.live.mayRun(tool) {
			continue
		}
		seam := adk.LabelTool + "/" + tool.Name()
		if called[seam] && !slices.Contains(parts, seam) && !slices.Contains(seams, seam) {
			seams = append(seams, seam)
		}
	}
	slices.Sort(seams)
	return seams
}

// unseen says what no crossing shows: what live code can do, and what it was refused.
func (r *replayed) unseen() []string {
	said := r.live.unseen()
	if refused := r.refused(); len(refused) > 0 {
		said = append(said, "what was asked beside the context, and refused: "+safetext.Short(refused, stub.Same[string]))
	}
	return said
}

// refused are the services that were asked with a context that belongs to no call, and that Outside
// does not name, with how often where that is known.
func (r *replayed) refused() []string {
	return safetext.Each(r.outcome.Refused, func(a beside.Ask) string {
		if a.Times == 0 {
			return a.Of
		}
		return fmt.Sprintf("%s (%s)", a.Of, safetext.Counted(a.Times, "time"))
	})
}

// notCompared says what this replay could not compare with the recording. Of a pipeline and of the
// tools, it names the entries that are not live only if others are.
func (r *replayed) notCompared() []string {
	said := r.unseen()
	var left []string
	for _, part := range r.live.choices() {
		if !r.live.Takes(part) && r.live.given(part) {
			label, _, _ := strings.Cut(part, "/")
			if live := func(p string) bool { return strings.HasPrefix(p, label+"/") }; label == adk.LabelStorage || label != adk.LabelRun && !slices.ContainsFunc(r.live.parts(), live) {
				part = label + "/*"
			}
			left = append(left, part)
		}
	}
	if r.live.hears() {
		left = append(left, "listeners of Turn")
	}
	if len(left) > 0 {
		said = append(said, safetext.Short(slices.Compact(left), stub.Same[string])+" (not live)")
	}
	if len(r.want.Strands) > 1 {
		said = append(said, "the order between strands, but for what they share")
	}
	if n := r.outcome.IDs.Random(); n > 0 {
		said = append(said, wire.RandomIDs(n))
	}
	if own := r.outcome.Own.Placeholders(); len(own) > 0 {
		said = append(said, "secrets that live code has of its own, for which the recording has "+safetext.Short(own, stub.Same[string]))
	}
	if r.order.Loosened {
		said = append(said, "the order of what goroutines of your own do at once")
	}
	return said
}

// contract is the first place where the crossings of a run contradict the contract: such a run is
// no turn, recorded or not. nil if there is none.
func contract(lines []*adk.Crossing) *Divergence {
	names := describe.New(state.New())
	for i, x := range lines {
		err := names.Fold.Check(x)
		said := ""
		if err != nil {
			said = names.Line(x)
		} else if err = names.Pass(x); err != nil {
			said = x.Kind.String()
		}
		if err != nil {
			return &Divergence{Class: ChangedOutput, Crossing: i + 1, Seam: x.Seam.String(), Got: said, Evidence: &Evidence{Replayed: names.Fold.Filled(x)},
				Fields: []compare.FieldDiff{{Field: "contract", Got: compare.QuotedJSON(err.Error())}}}
		}
	}
	return nil
}

// explain makes a divergence of the first difference, and says what follows from it.
func (r *replayed) explain(found []*difference) *Divergence {
	first := found[0]
	d := &Divergence{Class: first.class, Crossing: first.at, Fields: first.fields, Evidence: &Evidence{}, Refused: r.refused()}
	if first.behind {
		d.Crossing++
	}
	at, run := first.want, r.want
	if at == nil {
		at, run = first.got, r.got
	}
	d.Seam, d.Strand = run.SeamOf(at).String(), at.Strand
	d.At = at.At.Sub(r.want.Lines[0].At)
	for _, x := range r.agreedBefore(first) {
		d.agreed(x, r.want.Line(x))
	}
	want, got := r.sides(d, found)
	if first.class == Unanswered && want != nil && asks.IsChanged(want, first.got) {
		d.Fields = compare.InDetail(want, first.got, compare.CompareInputs(r.known, want, first.got))
	}
	if beside := first.move.Beside; beside != nil && len(d.Fields) == 0 {
		d.Evidence.Ahead, d.Evidence.Beside = first.move.Ahead, r.views.Before.To(r.want.Tree, beside.Seq).Filled(beside)
		d.Fields = []compare.FieldDiff{compare.PlaceDiff(first.move.Ahead, r.besideLine(beside))}
	}
	d.SameKind = want != nil && got != nil && want.Kind == got.Kind
	d.Returned = d.SameKind && want.Kind == adk.KindReturn
	r.goesOn(d, first, want, got)
	r.also(d, first, want, got)
	d.After = r.impact(found)
	r.place(d, first, got)
	if first.class == Missing {
		d.Evidence.Left = r.isLeft(first, want, d.Evidence.Also)
	}
	d.Times, d.Dialed, d.CallerLeft = first.times, wire.Dialed(want, first.got), r.callerLeft(first)
	d.ClockAtOnce = compare.DifferInTimes(d.Fields) && r.apart(first, wire.TellsTime)
	d.Untyped = wire.GaveUp(d.Evidence.Agreed, want, first.got)
	if got == nil && r.isAllThatIsMissing(found) && !r.want.StepOf(first.want).Failed() { // whoever sleeps past the context sleeps to the end
		d.PastBy = first.want.Kind.PastBy()
	}
	r.answerable(d, first, want)
	return d
}

// sides finds the recorded crossing and today's crossing that the first difference is about, and
// describes them in d.
func (r *replayed) sides(d *Divergence, found []*difference) (want, got *adk.Crossing) {
	first := found[0]
	want, got = first.want, first.got
	unanswered := d.Class == Extra && r.isUnanswered(first.got) // what came of that is the replay's doing
	if want == nil && !unanswered {
		want = r.instead(found)
		if want != nil && d.Class == Extra && !r.endedBy(first) {
			d.Class, d.Seam = Missing, r.want.SeamOf(want).String() // what is in its place now is a consequence, or came with it
		}
	}
	if want != nil {
		d.Expected, d.Evidence.Recorded = siblings.Line(r.want, want), r.views.Before.To(r.want.Tree, want.Seq).Filled(want)
	}
	if got == nil && first.class == Missing {
		got = r.inItsPlace(first)
	}
	if got != nil {
		d.Got, d.Evidence.Replayed = siblings.Line(r.got, got), r.views.After.To(r.got.Tree, got.Seq).Filled(got)
	}
	return want, got
}

// isLeft reports whether the new call still makes a crossing like the last of what is missing.
func (r *replayed) isLeft(first *difference, want *adk.Crossing, also []*adk.Crossing) bool {
	last := want
	if len(also) > 0 {
		last = also[len(also)-1]
	}
	return slices.ContainsFunc(first.call.Script, func(s *calls.Step) bool {
		return r.counterparts[s.X.Seq-1] > 0 && describe.Gist(s.X) == describe.Gist(last)
	})
}

// answerable says which recorded answers come near to what was asked, and why it got none of them.
func (r *replayed) answerable(d *Divergence, first *difference, want *adk.Crossing) {
	switch {
	case d.Class == Missing: // what came in its place needs no answer
	case first.want == nil:
		d.Candidates = r.candidates(first.got, want)
	case first.got != nil:
		d.Candidates = r.ambiguous(first.got)
	}
	if r.hadIDBefore(first) {
		d.Fields = append(d.Fields, compare.FieldDiff{Field: "the id of the ask before it", Want: "the same", Got: "another one"})
	}
	if isSpent := func(c Candidate) bool { return c.Spent }; first.repeats > 0 && !slices.ContainsFunc(d.Candidates, isSpent) {
		d.Fields = append(d.Fields, compare.FieldDiff{Field: "asked without an answer", Want: "never", Got: safetext.Counted(first.repeats+1, "time")})
	}
}

// hadIDBefore reports whether an ask has another random id than the similar ask before it, although
// both had the same in the recording. An example is a key that is made anew for each retry, where
// the service needs the same key to recognize it.
func (r *replayed) hadIDBefore(d *difference) bool {
	if d.want == nil || d.got == nil || !wire.Asks(d.want) || !wire.Asks(d.got) {
		return false
	}
	before := func(call *calls.Call, x *adk.Crossing) *adk.Crossing {
		var last *adk.Crossing
		for _, s := range call.Steps {
			if s.X == x {
				break
			}
			if s.IsAsk() && s.X.Name == x.Name {
				last = s.X
			}
		}
		return last
	}
	was, is := before(r.want.Calls[d.want.Call], d.want), before(r.got.Calls[d.got.Call], d.got)
	return was != nil && is != nil && sharesID(was, d.want) && !sharesID(is, d.got)
}

func sharesID(one, other *adk.Crossing) bool {
	return slices.ContainsFunc(likeness.RandomID.FindAllString(string(one.JSON), -1), func(id string) bool { return strings.Contains(string(other.JSON), id) })
}

// callerLeft is the crossing at which the caller left during the call of a difference, while
// goroutines that live code started were at work in it; else 0.
func (r *replayed) callerLeft(first *difference) int {
	if !r.apart(first, func(*adk.Crossing) bool { return true }) {
		return 0
	}
	return r.want.CallerLeft(first.call)
}

// apart reports whether goroutines that live code started made such crossings in the call of a
// difference.
func (r *replayed) apart(first *difference, such func(*adk.Crossing) bool) bool {
	in := r.pairs[first.call]
	return in != nil && slices.ContainsFunc(in.Steps, func(s *calls.Step) bool { return such(s.X) && r.callers.IsApart(s.X) })
}

// byOperations are the labels of the seams that operations call: the engine calls all others.
var byOperations = []string{adk.LabelStorage, adk.LabelTool, adk.LabelStrand}

// goesOn says what the call did next on the side that has nothing, where the other side did
// something: what came after it, or how the call ended.
func (r *replayed) goesOn(d *Divergence, first *difference, want, got *adk.Crossing) {
	in, before, run := first.call, d.Crossing-1, r.want
	switch {
	case d.Class == Missing && got == nil && first.want != nil:
		in, before, run = r.pairs[first.call], r.newBefore(first), r.got
	case d.Class == Extra && want != nil && got != nil:
		in, before, run = r.pairs[first.call], got.Seq, r.got
	case want != nil || d.Class != Extra && d.Class != Unanswered:
		return
	}
	if in == nil {
		return
	}
	if x := cmp.Or(first.want, first.got); x.Kind == adk.KindCall && !wire.IsDispatched(x) { // no operation calls a pipeline's seam
		if run == r.got && first.want != nil {
			before = slices.Max(append(r.counterparts[:x.Seq-1:x.Seq-1], before))
		}
		for _, y := range run.Lines[before:] {
			if y.Kind == adk.KindCall && y.Strand == x.Strand && !slices.Contains(byOperations, y.Seam.Label) {
				d.GoesOn = run.Line(y)
				return
			}
		}
	}
	if next := in.Next(before); next != nil {
		d.GoesOn = run.Line(next)
	}
}

// also lists the next operations of the call that are missing together with the first, if they are
// of the same kind. If the first is a pause, missing or extra, it lists those of the next kind, for
// which the pause was made. Those that the report shows there are not told by themselves as well.
func (r *replayed) also(d *Divergence, first *difference, want, got *adk.Crossing) {
	at, run, in := want, r.want, first.call
	if d.Class == Extra && got != nil && wire.IsPause(got) {
		at, run, in = got, r.got, r.pairs[first.call]
	} else if d.Class != Missing {
		return
	}
	if at == nil || in == nil || wire.OnlyMakes(at) {
		return
	}
	alone := map[*adk.Crossing]bool{}
	for _, other := range r.found {
		alone[other.want], alone[other.got] = other.got == nil, other.want == nil
	}
	kind := at.Kind
	for _, s := range in.Script {
		switch {
		case s.X.Seq <= at.Seq || s.X.Phase == adk.Done || wire.OnlyMakes(s.X):
			continue
		case wire.IsPause(at) && kind == at.Kind:
			kind = s.X.Kind
		}
		if s.X.Kind != kind || !alone[s.X] {
			break
		}
		d.Also = append(d.Also, run.Line(s.X))
		d.Evidence.Also = append(d.Evidence.Also, s.X)
	}
	shown := d.Evidence.Also[:min(len(d.Evidence.Also), mostAlso)]
	for _, other := range r.found {
		other.own = other.own && !slices.Contains(shown, cmp.Or(other.want, other.got))
	}
}

// ambiguous is the recorded ask that was as similar to a changed one as the ask whose answer it
// got.
func (r *replayed) ambiguous(got *adk.Crossing) []Candidate {
	rival := r.paired.Rivals[got.Seq]
	if rival == 0 {
		return nil
	}
	return []Candidate{{Crossing: rival, Text: r.want.Line(r.want.Lines[rival-1]),
		Refused: []string{"is as much like it: whose answer is meant is ambiguous, and the earlier one's was given"}}}
}

// besideLine is the line of the crossing next to which something moved. A strand has another number
// in the new run, so the line of a fork leaves it out.
func (r *replayed) besideLine(x *adk.Crossing) string {
	if wire.Forks(x) {
		return describe.Gist(x)
	}
	return r.want.Line(x)
}

// place finds where in live code the first difference is. For an operation it is the line that made
// it, with its callers, or the line that set the deadline that expired in it. If there is no
// operation, it is the one line of the source that says what differs. Where there is no such line,
// it is the operation before what did not happen, or else the operation after it; where the code
// made no operation, it is where the code begins, or where what the run was given was made.
func (r *replayed) place(d *Divergence, first *difference, got *adk.Crossing) {
	says := written.Of(first.fields, r.live.Config)
	if got != nil && (r.called(d, r.got.OperationOf(got)) || first.class == Panicked && r.called(d, got)) {
		lines := r.callers.Of(cmp.Or(r.got.OperationOf(got), got))
		if d.Class == ChangedInput && wire.IsAsk(got) { // the request was put together before this line
			d.Place = lines[0].AskedAt()
		}
		if d.Class == ChangedError {
			says = cmp.Or(written.Deadline(got.Err, lines), says)
		}
		if says = cmp.Or(says, written.Constant(first.fields, lines[0].String())); says != lines[0].String() {
			d.Written = says
		}
		return
	}
	in, begins := r.codeOf(first)
	if in == nil {
		d.Place, d.Written = cmp.Or(says, r.made(first)), written.Constant(first.fields, says)
		return
	}
	last, next := r.around(in, first)
	if first.got == nil && r.callers.IsApart(last) { // it may belong to another goroutine
		last, next = r.heard(first.want), nil
	}
	switch lines := r.callers.Of(last); {
	case says != "":
		d.Place, d.Written = says, written.Constant(first.fields, says)
	case len(lines) == 0 && first.got == nil && r.called(d, next):
		d.Place = r.callers.Of(next)[0].Before()
	case len(lines) == 0:
		d.Place = cmp.Or(written.Option(first.fields, r.live.Config, in.Begin.Seam, in.KeyOf(got), begins), written.Made(r.live.Config, in.Begin.Seam))
	case d.isOfAResult(): // all operations of the seam's function have returned
		d.Place = lines[len(lines)-1].After()
	default:
		r.called(d, last)
		d.Place = lines[0].After()
	}
}

// called sets the place of the divergence to an operation of the new run, and reports whether the
// operation's lines are known.
func (r *replayed) called(d *Divergence, op *adk.Crossing) bool {
	lines := r.callers.Of(op)
	if len(lines) == 0 {
		return false
	}
	d.Place, d.Apart = lines[0].String(), r.callers.IsApart(op)
	for _, line := range lines[1:] {
		d.Callers = append(d.Callers, line.String())
	}
	if own := r.callers.Own(op); own != lines[0] {
		d.Mark = own.String()
	}
	return true
}

// codeOf is the live call of the new run that a difference is in, and where its code begins; nil
// where it is in none. The code of a strand belongs to the call that forked it.
func (r *replayed) codeOf(first *difference) (in *calls.Call, begins string) {
	if first.got != nil {
		in = r.got.Calls[wire.CallOf(first.got)]
	} else if first.want.Kind != adk.KindCall || wire.IsDispatched(first.want) {
		in = r.pairs[r.want.Calls[wire.DoneIn(first.want)]]
	}
	for c := in; c != nil; c = c.Parent {
		if r.live.chooses(c) {
			return in, codeplace.OfSeam(r.live.Config, c.Begin.Seam)
		}
		if c.Begin.Seam.Label != adk.LabelStrand {
			break
		}
	}
	return nil, ""
}

// around finds the last operation before a difference, and the next one after it, in a call of the
// new run; only those whose lines are known. nil where there is none.
func (r *replayed) around(in *calls.Call, first *difference) (last, next *adk.Crossing) {
	before := r.newBefore(first)
	for _, s := range in.Script {
		switch {
		case len(r.callers.Of(s.X)) == 0:
		case s.X.Seq > before:
			return last, s.X
		default:
			last = s.X
		}
	}
	return last, nil
}

// heard is the operation of a goroutine of the new run whose recorded counterpart ended just before
// want: the goroutine probably did want next. nil where there is none, and where an operation of
// another goroutine ended at the same moment.
func (r *replayed) heard(want *adk.Crossing) (heard *adk.Crossing) {
	for _, x := range slices.Backward(r.want.Lines[:want.Seq-1]) {
		op := r.want.OperationOf(x)
		if x.Phase != adk.Done || op == nil || wire.DoneIn(x) != wire.DoneIn(want) || r.counterparts[op.Seq-1] == 0 {
			if heard == nil || want.At.Sub(x.At) > moved.Moment {
				return heard
			}
			continue
		}
		switch now := r.got.Lines[r.counterparts[op.Seq-1]-1]; {
		case !r.callers.IsApart(now), heard != nil && want.At.Sub(x.At) > moved.Moment:
			return heard
		case heard != nil:
			return nil
		default:
			heard = now
		}
	}
	return heard
}

// newBefore is the crossing of the new run after which a difference is.
func (r *replayed) newBefore(first *difference) (seq int) {
	if first.got != nil {
		return first.got.Seq
	}
	in := r.want.Calls[wire.DoneIn(first.want)]
	if in == nil { // an edited trace may name a call that does not exist
		return 0
	}
	for _, s := range in.Steps {
		if s.X.Seq < first.want.Seq {
			seq = max(seq, r.counterparts[s.X.Seq-1])
		}
	}
	return seq
}

// made is where the tool was made that differs in what a run was given; empty for anything else.
func (r *replayed) made(first *difference) string {
	for _, f := range first.fields {
		name, ok := strings.CutPrefix(f.Field, "tool ")
		if name, _, _ = strings.Cut(name, "."); f.Field == "tool" {
			_, got, _ := f.Trees()
			object, _ := got.(map[string]any)
			name, ok = compare.NameOf(object)
		}
		if ok {
			if p := codeplace.OfTool(r.live.Config, name); p != "" {
				return p
			}
		}
	}
	return ""
}

// isUnanswered reports whether the recording had no answer to an operation of the new run.
func (r *replayed) isUnanswered(got *adk.Crossing) bool {
	s := r.got.StepOf(got)
	return s != nil && s.Done != nil && stub.Lacks(s.Done.Err)
}

// endedBy reports whether a call ended with the new operation, in another way than in the
// recording: what did not happen any more is then a consequence.
func (r *replayed) endedBy(first *difference) bool {
	s := r.got.StepOf(first.got)
	if s.Failed() {
		return true
	}
	in, call := r.got.Calls[wire.CallOf(first.got)], first.call
	if s == nil || in == nil || in.Return == nil || call.Return == nil {
		return false
	}
	return in.Return.Outcome != call.Return.Outcome && in.Script[len(in.Script)-1].X == s.X
}

// isAllThatIsMissing reports whether the first difference is a missing operation and its call,
// which ended as recorded, differs in nothing else than missing operations of the same kind.
func (r *replayed) isAllThatIsMissing(found []*difference) bool {
	first := found[0]
	in := r.pairs[first.call]
	if first.class != Missing || in == nil || in.Return == nil || first.call.Return == nil || in.Return.Outcome != first.call.Return.Outcome {
		return false
	}
	return !slices.ContainsFunc(found, func(d *difference) bool {
		return d.call == first.call && (d.class == Missing && d.want.Kind != first.want.Kind || d.own && d != first)
	})
}

// instead is what was recorded exactly where the first difference is, if that did not happen; nil
// where the new crossing just came in between. If that only made an id or a time, instead is what
// it was made for, if that is missing too.
func (r *replayed) instead(found []*difference) (gone *adk.Crossing) {
	first := found[0]
	for _, d := range found[1:] {
		switch {
		case d.class != Missing || d.call != first.call:
		case gone == nil && r.isNext(first.at, d.at), gone != nil && d.got == nil && wire.OnlyMakes(gone):
			gone = d.want
		case gone != nil:
			return gone
		}
	}
	return gone
}

// isNext reports whether code did nothing between two recorded crossings except for events and
// logs.
func (r *replayed) isNext(seq, next int) bool {
	return seq < next && !slices.ContainsFunc(r.want.Lines[seq:next-1], func(x *adk.Crossing) bool {
		return x.Kind.Class() != adk.ClassEvent && !wire.IsLog(x)
	})
}

// inItsPlace is what the code of a call did next where a recorded operation is missing, if that was
// recorded later and something else came between the two in the recording. For example, of two
// operations that changed places, one is missing if the call ended before it. nil where the next
// recorded operation simply comes next.
func (r *replayed) inItsPlace(first *difference) *adk.Crossing {
	in := r.pairs[first.call]
	if in == nil || wire.OnlyMakes(first.want) || first.want.Kind.Class() != adk.ClassOperation {
		return nil
	}
	before := r.newBefore(first)
	for _, s := range in.Script {
		if s.X.Seq <= before || wire.OnlyMakes(s.X) {
			continue
		}
		if at := slices.Index(r.counterparts, s.X.Seq); s.X.Kind == first.want.Kind && r.skips(first, at+1) {
			return s.X
		}
		return nil
	}
	return nil
}

// skips reports whether the recorded call did another operation between the missing one and the one
// that came. Ids and times do not count, nor do operations like the missing one: in a list of
// records to add, the ones that remain do not replace those that are gone.
func (r *replayed) skips(first *difference, came int) bool {
	return slices.ContainsFunc(first.call.Script, func(s *calls.Step) bool {
		return s.X.Phase != adk.Done && s.X.Seq > first.want.Seq && s.X.Seq < came && !wire.OnlyMakes(s.X) && describe.Gist(s.X) != describe.Gist(first.want)
	})
}

// agreedBefore are the last recorded crossings before a difference that agreed.
func (r *replayed) agreedBefore(first *difference) (last []*adk.Crossing) {
	slices.Sort(r.equal)
	for _, seq := range r.equal {
		if seq < first.at || first.behind && seq == first.at {
			last = append(last, r.want.Lines[seq-1])
		}
	}
	return last[max(0, len(last)-linesBefore):]
}

// markOwn marks the differences that do not follow from an earlier one. These are differences in
// what the caller of the run handed in, and the first difference in a live call that saw the same
// state as its recorded call. A grave difference, which no reviewer may miss, is one of them
// wherever it is in its call, unless an earlier one explains it (see leaveUnexplained). Where it is the
// first, the call need not have seen the same: a call that was given something else would differ
// earlier.
func (c *comparison) markOwn() {
	before := map[*calls.Call]*earlier{}
	var said unfed.Changes
	for _, d := range c.found {
		in := d.call
		if d.want == in.Begin && in.Parent == nil {
			d.own = true
			said.Add(d.fields)
			continue
		}
		switch grave := d.isGrave() && c.pairs[in] != nil; {
		case !c.live.isLive(in):
		case before[in] == nil:
			d.own = grave || c.sawTheSame(in)
		case grave:
			d.own = before[in].leaveUnexplained(d, said)
		}
		for one := in; one != nil; one = one.Parent {
			if before[one] == nil {
				before[one] = &earlier{}
			}
			before[one].add(d, one)
		}
		said.Add(d.fields)
	}
	c.markUnfed()
}

// earlier is what the differences so far, in a call and below it, may have led to in that call.
type earlier struct {
	astray bool // its code was told something else
	made   bool // it made another id or read the clock otherwise
}

func (e *earlier) add(d *difference, in *calls.Call) {
	e.astray = e.astray || d.leadsAstray(in)
	e.made = e.made || wire.OnlyMakes(cmp.Or(d.want, d.got))
}

// isGrave reports whether a difference is in what no reviewer may miss, on either side.
func (d *difference) isGrave() bool {
	return d.want != nil && wire.IsGrave(d.want) || d.got != nil && wire.IsGrave(d.got)
}

// leaveUnexplained reports whether no earlier difference explains a grave one in a live call. One
// that comes behind another answer, or behind an error, is explained: the code may have taken
// another way. So is one that says what the earlier ones changed. If the code made another id or
// time before, this also explains every field that is no word.
func (e *earlier) leaveUnexplained(d *difference, said unfed.Changes) bool {
	if e.astray {
		return false
	}
	if d.want == nil || d.got == nil || d.class == Order {
		return true
	}
	d.unsaid = said.Without(d.fields)
	if e.made {
		d.unsaid = unfed.Worded(d.unsaid)
	}
	return len(d.unsaid) > 0
}

// leadsAstray reports whether the code of a call was told something else by a difference in it, or
// in a call below it: it was given or answered something else, got no answer, or something ended in
// another way.
func (d *difference) leadsAstray(in *calls.Call) bool {
	switch {
	case d.class == Unanswered, d.class == ChangedError, d.class == Panicked:
		return true
	case d.want == nil || d.got == nil:
		return false
	case d.call != in:
		return d.want == d.call.Return
	}
	return d.got.Phase == adk.Done || wire.IsPiece(d.got) || d.want == in.Begin
}

// markUnfed finds, for asks that follow from an earlier difference, the fields of their requests
// that do not follow from it. It names each of these once.
func (c *comparison) markUnfed() {
	var asks []*difference
	var pairs []unfed.Pair
	for i, d := range c.found {
		if d.want != nil && d.got != nil && wire.Asks(d.want) && wire.Asks(d.got) && c.live.isLive(d.call) {
			asks, pairs = append(asks, d), append(pairs, unfed.Pair{Want: d.want, Got: d.got, Fields: compare.InDetail(d.want, d.got, d.fields), Told: i == 0 || d.own})
		}
	}
	for i, members := range unfed.In(c.known, c.want.Tree, c.got.Tree, pairs) {
		asks[i].unfed, asks[i].own = members, asks[i].own || len(members) > 0
	}
	makes := func(d *difference) bool { return wire.OnlyMakes(cmp.Or(d.want, d.got)) }
	after := slices.IndexFunc(c.found, func(d *difference) bool { return !makes(d) })
	if after > 0 && len(asks) > 0 && c.found[after] == asks[0] && c.found[0].call == asks[0].call {
		for _, d := range unfed.Worded(pairs[0].Fields) { // an id or a time more or less does not explain words
			if !slices.ContainsFunc(asks[0].unfed, func(told compare.FieldDiff) bool { return told.Field == d.Field }) {
				asks[0].unfed = append(asks[0].unfed, d)
			}
		}
		asks[0].own = asks[0].own || len(asks[0].unfed) > 0
	}
}

// sawTheSame reports whether a recorded call and its counterpart began with the same state.
func (c *comparison) sawTheSame(want *calls.Call) bool {
	got := c.pairs[want]
	if got == nil {
		return false
	}
	before, after := c.views.Before.To(c.want.Tree, want.Begin.Seq+1), c.views.After.To(c.got.Tree, got.Begin.Seq+1)
	if want.Begin.Seam.Label != adk.LabelTool || before.Digest(want.Begin.ID) == after.Digest(got.Begin.ID) {
		return before.Digest(want.Begin.ID) == after.Digest(got.Begin.ID)
	}
	// The prompt, the instructions and the tools are for the model: a tool works on its arguments,
	// and on what else the turn holds.
	was, is := before.StateDigest(want.Begin.ID), after.StateDigest(got.Begin.ID)
	for _, of := range []adk.CollectionName{adk.Instructions, adk.Tools} {
		*was.Of(of) = *is.Of(of)
	}
	was.Prompt = is.Prompt
	return was.Digest() == is.Digest()
}

// candidates are the recorded operations that come nearest to one that got no answer, without the
// one that is shown next to it.
func (r *replayed) candidates(got, shown *adk.Crossing) (near []Candidate) {
	for _, one := range nearest.To(r.known, r.want.Tree, r.got.Tree, got, shown) {
		near = append(near, Candidate{Crossing: one.X.Seq, Text: r.want.Line(one.X), Refused: one.Refused, Spent: one.Spent, Elsewhere: one.Elsewhere})
	}
	return near
}

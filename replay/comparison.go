package replay

import (
	"cmp"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/bycause"
	"github.com/adkreplay/adkreplay/replay/internal/matching"
	"github.com/adkreplay/adkreplay/replay/internal/moved"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// comparison compares a new run with the recorded one, call by call: what happened in a call is
// compared with what happened in its counterpart. It finds middlewares by their paths, and
// operations by kind and arguments. The numbers of calls, operations and strands make no
// difference, nor does what other strands did meanwhile.
type comparison struct {
	known     wire.Comparer
	live      Live
	want, got *describe.Run
	paired    bycause.Pairing    // what is known of counterparts already; zero is nothing
	callers   *codeplace.Callers // where user code called the operations of the new run

	pairs        map[*calls.Call]*calls.Call // from the recorded to the new
	order        moved.Order                 // finds steps that moved
	found        []*difference
	equal        []int // the numbers of the recorded crossings that agreed
	counterparts []int // at n-1, the new crossing that recorded crossing n stands for; 0 is none
	views        compare.Views
	matcher      *matching.Matcher // pairs their steps
}

// difference is one place where the runs differ.
type difference struct {
	class     Class
	want, got *adk.Crossing // nil where there is none
	fields    []compare.FieldDiff
	move      moved.Move  // where the step is now, if it moved
	call      *calls.Call // the recorded call that it is in
	at        int         // the number of the recorded crossing that it is at, or behind
	behind    bool
	lines     int                 // how many crossings differ, those below included
	own       bool                // it does not follow from an earlier difference
	unfed     []compare.FieldDiff // for an ask that follows from one: the fields that do not
	unsaid    []compare.FieldDiff // for a grave one behind others: the fields that these do not explain
	repeats   int                 // how often the same was asked again without an answer
	times     int                 // how many such differences the call has, where this one stands for several
}

// place is a number that orders differences: what is behind a crossing comes after what is at it.
func (d *difference) place() int {
	if d.behind {
		return 2*d.at + 1
	}
	return 2 * d.at
}

// newComparison makes a comparison of two runs. callers says where user code called the operations
// of the new run.
func newComparison(known wire.Comparer, live Live, want, got *describe.Run, callers *codeplace.Callers) comparison {
	return comparison{known: known, live: live, want: want, got: got, callers: callers, order: moved.Order{IsApart: callers.IsApart}}
}

// compare returns the differences in the recorded order, with the one to report first in front.
func (c *comparison) compare() []*difference {
	c.pairs, c.counterparts = map[*calls.Call]*calls.Call{}, make([]int, len(c.want.Lines))
	c.matcher = &matching.Matcher{Known: c.known, Callers: c.callers, Recorded: c.want.Lines, Asks: c.paired.Asks, NewSeq: c.paired.NewSeq}
	c.calls(c.want.Root, c.got.Root)
	c.found = slices.DeleteFunc(c.found, func(d *difference) bool {
		return c.want.Cut && d.class == Missing && d.got == nil && !c.got.IsWithin(d.want, d.call, c.counterparts)
	})
	c.endWhereTheyDid()
	slices.SortStableFunc(c.found, func(a, b *difference) int { return cmp.Compare(a.place(), b.place()) })
	c.moreNotMoved()
	leadToTheAct(c.found)
	leadToTheUse(c.found)
	c.leadToTheUnanswered()
	leadToThePanic(c.found)
	c.countTheMade()
	return c.found
}

// endWhereTheyDid moves the end of a call that ended in another way before the operations that the
// call did not reach any more. What happens by itself after the end does not count as reached, such
// as the rest of an answer that is read as its body is closed.
func (c *comparison) endWhereTheyDid() {
	missing, unanswered := map[*calls.Call][]*difference{}, map[*calls.Call]bool{}
	for _, d := range c.found {
		switch d.class {
		case Missing:
			missing[d.call] = append(missing[d.call], d)
		case Unanswered:
			unanswered[d.call] = true
		}
	}
	for _, end := range c.found {
		if !end.otherEnd() || unanswered[end.call] { // an unanswered ask shows that the call reached something else
			continue
		}
		last := c.lastDone(end.call)
		for _, d := range missing[end.call] {
			if d.want.Seq > last && d.at <= end.at {
				end.want, end.at = d.want, d.at-1
			}
		}
	}
}

// otherEnd reports whether a call ended in another way than in the recording.
func (d *difference) otherEnd() bool {
	return d.got != nil && d.got.Kind == adk.KindReturn && (d.class == ChangedError || d.class == Panicked)
}

// lastDone is the last recorded crossing of a call that the new call made again, up to the last
// operation that its code did. Where it made none, it is the beginning of the call.
func (c *comparison) lastDone(in *calls.Call) int {
	script, last := c.pairs[in].Script, in.Begin.Seq
	if len(script) == 0 {
		return last
	}
	for _, s := range in.Steps {
		if now := c.counterparts[s.X.Seq-1]; now > 0 && now <= script[len(script)-1].X.Seq {
			last = max(last, s.X.Seq)
		}
	}
	return last
}

// moreNotMoved handles an id or a time that the code makes once more, or once less. Each later one
// is then paired with the next recorded one, so that steps seem to have moved. moreNotMoved
// replaces all of these differences by one: an id or a time that is missing or extra.
func (c *comparison) moreNotMoved() {
	for i, d := range c.found {
		made := c.madeOf(d)
		if made == nil {
			continue
		}
		at := slices.IndexFunc(c.found, func(other *difference) bool {
			gone := other.class == Missing && other.got == nil && other.want.Kind == made.Kind
			return other.call == d.call && (gone || other.class == Extra && other.want == nil && other.got.Kind == made.Kind && made == d.got)
		})
		if at < 0 {
			continue
		}
		one := &difference{class: Extra, got: made, call: d.call, at: d.at - 1, behind: true, lines: 1}
		if c.found[at].class == Missing {
			was := c.want.Lines[d.at-1]
			if made == d.got {
				was = d.want
			}
			one = &difference{class: Missing, want: was, call: d.call, at: was.Seq, lines: 1}
		}
		c.found[i], c.found[at] = one, nil
		c.found = slices.DeleteFunc(c.found, func(other *difference) bool {
			return other == nil || other.class == Order && other.call == d.call && wire.OnlyMakes(other.got) && other.got.Kind == made.Kind
		})
		return
	}
}

// madeOf is the crossing that makes an id or a time in a difference of order: the one that moved,
// or the recorded one before which another step is now; nil where there is none.
func (c *comparison) madeOf(d *difference) *adk.Crossing {
	switch {
	case d.class != Order:
	case wire.OnlyMakes(d.got):
		return d.got
	case wire.OnlyMakes(c.want.Lines[d.at-1]):
		return c.want.Lines[d.at-1]
	}
	return nil
}

// countTheMade lets the first difference stand for all similar ones of its call, if it only makes
// an id or a time: the others say nothing new.
func (c *comparison) countTheMade() {
	if len(c.found) == 0 {
		return
	}
	first := c.found[0]
	x := cmp.Or(first.want, first.got)
	if !wire.OnlyMakes(x) || first.want != nil && first.got != nil {
		return
	}
	all := len(c.found)
	c.found = slices.DeleteFunc(c.found, func(d *difference) bool {
		return d != first && d.class == first.class && d.call == first.call && cmp.Or(d.want, d.got).Kind == x.Kind
	})
	if more := all - len(c.found); more > 0 {
		first.times = 1 + more
	}
}

// leadToThePanic puts a panic of live code before all other differences: what is missing is missing
// because of it. An unanswered request that came before the panic stays first, because code that
// gets no answer may panic for that reason.
func leadToThePanic(found []*difference) {
	first := -1
	for i, d := range found {
		if d.class == Panicked && (first < 0 || d.got.Seq < found[first].got.Seq) {
			first = i
		}
	}
	if first < 0 || slices.ContainsFunc(found, func(d *difference) bool { return d.class == Unanswered && d.got.Seq < found[first].got.Seq }) {
		return
	}
	lead(found, first)
}

// leadToTheAct puts what code does differently before what it logs about that: nothing follows from
// a log.
func leadToTheAct(found []*difference) {
	if len(found) == 0 || !wire.IsLog(cmp.Or(found[0].want, found[0].got)) {
		return
	}
	first := found[0]
	act := slices.IndexFunc(found, func(d *difference) bool {
		x := cmp.Or(d.want, d.got)
		return d.call == first.call && x.Kind.Class() == adk.ClassOperation && !wire.IsLog(x) && !wire.OnlyMakes(x)
	})
	if act > 0 {
		lead(found, act)
	}
}

// leadToTheUnanswered puts an unanswered ask of a goroutine before something that is missing at the
// same time: if the goroutine did not go on, that is missing because of the ask.
func (c *comparison) leadToTheUnanswered() {
	if len(c.found) == 0 || c.found[0].class != Missing || c.found[0].got != nil {
		return
	}
	first := c.found[0]
	for i, d := range c.found {
		if d.class == Unanswered && d.call == first.call && c.callers.IsApart(d.got) && first.at > c.lastOwn(d.call, d.got.Seq) {
			lead(c.found, i)
			return
		}
	}
}

// lastOwn is the last recorded crossing of a call that its own code, and no goroutine that it
// started, made again before a crossing of the new run.
func (c *comparison) lastOwn(in *calls.Call, before int) (last int) {
	for _, s := range in.Steps {
		if now := c.counterparts[s.X.Seq-1]; now > 0 && now < before && !c.callers.IsApart(c.got.Lines[now-1]) {
			last = max(last, s.X.Seq)
		}
	}
	return last
}

// lead moves the difference at an index to the front.
func lead(found []*difference, at int) {
	first := found[at]
	copy(found[1:at+1], found[:at])
	found[0] = first
}

// leadToTheUse puts the use of a new id or a time before the making of it: a stored record is what
// somebody wrote, and the id that was made for it says nothing. The same holds for what is missing:
// a gate that the code does not wait for any more needs no id.
func leadToTheUse(found []*difference) {
	isNew := func(d *difference) bool {
		return d.want == nil && (d.class == Extra || d.class == Unanswered) && d.at == found[0].at
	}
	isGone := func(d *difference) bool { return d.class == Missing && d.got == nil }
	for i, d := range found {
		var made *adk.Crossing
		switch first := found[0]; {
		case d.call == first.call && isNew(first) && isNew(d):
			made = d.got
		case d.call == first.call && isGone(first) && isGone(d):
			made = d.want
		default:
			return
		}
		if !wire.OnlyMakes(made) {
			lead(found, i)
			return
		}
	}
}

// calls compares a call with its counterpart. It returns the last recorded crossing that the new
// call reached, including the strands below it.
func (c *comparison) calls(want, got *calls.Call) (reached int) {
	c.pairs[want] = got
	c.lines(want, want.Begin, got.Begin)
	reached = c.steps(want, want.Steps, got.Steps)
	switch {
	case want.Return != nil && got.Return != nil && want.Return.Outcome != got.Return.Outcome:
		c.endings(want, got, reached)
		return reached
	case want.Return != nil && got.Return != nil:
		c.lines(want, want.Return, got.Return)
		return want.Return.Seq
	case want.Return != nil:
		c.add(&difference{class: Missing, want: want.Return, call: want, at: want.Return.Seq, lines: 1})
	case got.Return != nil:
		c.add(&difference{class: Extra, got: got.Return, call: want, at: len(c.want.Lines), behind: true, lines: 1})
	}
	return reached
}

// endings compares two calls that ended in different ways. The difference is where the new call
// ended, and not what it did not reach. last is the last recorded crossing that both have.
func (c *comparison) endings(want, got *calls.Call, last int) {
	d := &difference{class: ChangedError, want: want.Return, got: got.Return, call: want, at: last, behind: true, lines: 1,
		fields: compare.WithoutFollowing(compare.CompareInputs(c.known, want.Return, got.Return))}
	if got.Return.Outcome == adk.OutcomePanic {
		d.class = Panicked
	}
	for _, s := range want.Steps {
		if s.X.Seq > last {
			d.want = s.X
			break
		}
	}
	c.add(d)
}

func (c *comparison) add(d *difference) { c.found = append(c.found, d) }

// lines compares two crossings that correspond.
func (c *comparison) lines(in *calls.Call, want, got *adk.Crossing) {
	c.counterparts[want.Seq-1] = got.Seq
	fields := compare.CompareInputs(c.known, want, got)
	if wire.EngineMakesID(want) { // the replay makes these ids, in the order in which the engine asks
		fields = slices.DeleteFunc(fields, func(f compare.FieldDiff) bool { return f.Of == adk.FieldName })
	}
	if want.Kind.Uses(adk.FieldDigest) && len(fields) > 0 {
		fields = c.views.Differ(c.want.Tree, c.got.Tree, want, got, fields)
	}
	if len(fields) == 0 || wire.IsLog(want) && !c.live.unredacted && compare.DifferInNumbers(fields) {
		c.equal = append(c.equal, want.Seq)
		return
	}
	fields = compare.InDetail(want, got, compare.WithoutFollowing(fields))
	c.add(&difference{class: classOf(want, fields), want: want, got: got, fields: fields, call: in, at: want.Seq, lines: 1})
}

// steps compares what happened in a call. It returns the last recorded crossing that the new call
// reached, including the strands below it.
func (c *comparison) steps(in *calls.Call, want, got []*calls.Step) (reached int) {
	want, got = c.otherPieces(in, want, got)
	matched := c.matcher.Match(want, got)
	taken := map[*calls.Step]bool{}
	displaced := c.order.Steps(got, matched)
	at := in.Begin.Seq
	for _, g := range got {
		w := matched[g]
		if w == nil {
			c.extra(in, g, at)
			continue
		}
		taken[w] = true
		if move, ok := displaced[g]; ok {
			c.add(&difference{class: Order, want: w.X, got: g.X, move: move, call: in, at: move.At, lines: 1, fields: c.pipelines(g)})
		}
		reached = max(reached, c.pair(in, w, g))
		at = max(at, w.Last().Seq)
	}
	for _, w := range want {
		if !taken[w] {
			c.add(&difference{class: Missing, want: w.X, call: in, at: w.X.Seq, lines: w.Size(), fields: c.pipelines(w)})
		}
	}
	return max(at, reached)
}

// extra adds a step that was not recorded. An error or a cancel that the engine reports comes after
// what went on below.
func (c *comparison) extra(in *calls.Call, g *calls.Step, at int) {
	class := Extra
	if g.Call == nil && g.X.Kind.Class() != adk.ClassOperation {
		at = max(at, c.cameTo(g.In.Strand, g.X))
	}
	if g.Unanswered(c.paired.Unanswered) || c.matcher.IsUnanswered(g) {
		class = Unanswered
	}
	if class == Unanswered && c.repeats(g) {
		return
	}
	c.add(&difference{class: class, got: g.X, call: in, at: at, behind: true, lines: g.Size(), fields: c.pipelines(g)})
}

// repeats reports whether a step repeats an ask that got no answer. One difference then stands for
// all of them, because clients retry by themselves.
func (c *comparison) repeats(g *calls.Step) bool {
	if !g.IsAsk() {
		return false
	}
	for _, d := range c.found {
		if d.class == Unanswered && d.got.Kind == g.X.Kind && d.got.Name == g.X.Name && wire.SameJSON(d.got.JSON, g.X.JSON) {
			d.repeats++
			d.lines += g.Size()
			return true
		}
	}
	return false
}

// pipelines says how a pipeline was changed, for a middleware that was dropped, added or moved.
func (c *comparison) pipelines(s *calls.Step) []compare.FieldDiff {
	if s.Call == nil {
		return nil
	}
	all := compare.CompareInfo(trace.Header{Info: c.want.Info}, trace.Header{Info: c.got.Info})
	return slices.DeleteFunc(all, func(d compare.FieldDiff) bool { return d.Field != s.X.Seam.Label })
}

// pair compares two steps that correspond. It returns the last recorded crossing that the new step
// reached.
func (c *comparison) pair(in *calls.Call, w, g *calls.Step) (reached int) {
	if w.Call != nil {
		return c.calls(w.Call, g.Call)
	}
	c.lines(in, w.X, g.X)
	if c.paired.Unasked[g.X.Seq] {
		c.add(&difference{class: Extra, want: w.X, got: g.X, call: in, at: w.X.Seq, lines: 1, fields: []compare.FieldDiff{{Field: "tool",
			Want: "the tool that the context has", Got: "a tool of the live code's own, whose handler was not asked for: take tools from the context, or choose tool/" + safetext.ToolName(g.X.Record) + " (and Writes, if it may write)", Input: true}}})
	}
	c.notes(in, w, g)
	reached = max(w.X.Seq, c.below(in, w, g))
	switch {
	case calls.LeftBehind(w, g):
		c.counterparts[w.Done.Seq-1] = g.Done.Seq
		c.equal = append(c.equal, w.Done.Seq)
		return max(reached, w.Done.Seq)
	case w.Done != nil && g.Done != nil:
		c.lines(in, w.Done, g.Done)
		return max(reached, w.Done.Seq)
	case wire.IsPause(w.X) && (w.Failed() || g.Failed()): // a goroutine that no code waits for may or may not reach the end
	case w.Done != nil:
		c.add(&difference{class: Missing, want: w.Done, call: in, at: w.Done.Seq, lines: 1})
	case g.Done != nil:
		c.add(&difference{class: Extra, got: g.Done, call: in, at: reached, behind: true, lines: 1})
	}
	return reached
}

// endedOtherwise reports whether two operations ended with different errors. What ended the wait of
// one then did not end the wait of the other, and is no difference of its own.
func (c *comparison) endedOtherwise(w, g *calls.Step) bool {
	return w.Done != nil && g.Done != nil && !c.known.SameError(w.Done.Err, g.Done.Err)
}

// notes compares the events and facts of two operations, each with the next one of its kind.
func (c *comparison) notes(in *calls.Call, w, g *calls.Step) {
	implied := func(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassFact && c.endedOtherwise(w, g) }
	rest := slices.Clone(g.Notes)
	for _, want := range w.Notes {
		at := slices.IndexFunc(rest, func(x *adk.Crossing) bool { return x.Kind == want.Kind })
		switch {
		case at >= 0:
			c.lines(in, want, rest[at])
			rest = slices.Delete(rest, at, at+1)
		case !implied(want):
			c.add(&difference{class: Missing, want: want, call: in, at: want.Seq, lines: 1})
		}
	}
	for _, got := range rest {
		if !implied(got) {
			c.add(&difference{class: Extra, got: got, call: in, at: w.X.Seq, behind: true, lines: 1})
		}
	}
}

// below compares the seam calls that two operations led to.
func (c *comparison) below(in *calls.Call, w, g *calls.Step) (reached int) {
	rest := slices.Clone(g.Calls)
	for _, want := range w.Calls {
		at := slices.IndexFunc(rest, func(one *calls.Call) bool { return one.Begin.Seam == want.Begin.Seam })
		if at < 0 {
			c.add(&difference{class: Missing, want: want.Begin, call: in, at: want.Begin.Seq, lines: want.Size()})
			continue
		}
		reached = max(reached, c.calls(want, rest[at]))
		rest = slices.Delete(rest, at, at+1)
	}
	for _, got := range rest {
		class := Extra
		if c.paired.Unanswered[got.Begin.ID] {
			class = Unanswered
		}
		c.add(&difference{class: class, got: got.Begin, call: in, at: w.X.Seq, behind: true, lines: got.Size()})
	}
	return reached
}

// cameTo is the last recorded crossing of a strand whose counterpart happened before a crossing of
// the new run.
func (c *comparison) cameTo(strand string, x *adk.Crossing) (last int) {
	for i, seq := range slices.Backward(c.counterparts) {
		if seq > 0 && seq < x.Seq && c.want.Strands[c.want.Lines[i].Strand] == strand {
			return i + 1
		}
	}
	return 0
}

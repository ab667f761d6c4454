package replay

import (
	"cmp"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// judge holds a new run against the recorded one, call by call: what happened in
// a call is compared with what happened in its counterpart. Middlewares are
// found by their paths, operations by kind and arguments; numbers of calls,
// operations and strands are no difference, nor is what strands did meanwhile.
type judge struct {
	known     comparer
	live      Live
	want, got *callTree
	missed    map[int]bool // calls of the new run that the recording has no answer for
	unasked   map[int]bool // crossings of the new run that executed a tool of live code's own

	pairs map[*seamCall]*seamCall // from the new to the recorded
	found []*difference
	equal []int // the recorded crossings that agreed
	met   []int // for each recorded crossing the number of its counterpart, 0 if it has none
	views views
}

// difference is one place where the runs part.
type difference struct {
	class     Class
	want, got *adk.Crossing // nil where there is none
	fields    []FieldDiff
	move      move      // where it stands now, if it stands at another place
	call      *seamCall // the recorded call that it is in; a new one where there is none
	at        int       // the recorded crossing that it is at, or behind
	behind    bool
	lines     int  // how many crossings are other, those below included
	own       bool // it does not follow from an earlier one
}

// compare gives the differences in the recorded order.
func (j *judge) compare() []*difference {
	j.pairs, j.met = map[*seamCall]*seamCall{}, make([]int, len(j.want.lines))
	j.calls(j.want.root, j.got.root)
	slices.SortStableFunc(j.found, func(a, b *difference) int {
		return cmp.Or(cmp.Compare(a.at, b.at), compareBool(a.behind, b.behind))
	})
	return j.found
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// calls compares a call with its counterpart. It gives the last recorded crossing
// that the new one came to, in the strands below it too.
func (j *judge) calls(want, got *seamCall) (reached int) {
	j.pairs[got] = want
	j.lines(want, want.call, got.call)
	reached = j.steps(want, want.steps, got.steps)
	switch {
	case want.ret != nil && got.ret != nil && want.ret.Outcome != got.ret.Outcome:
		j.endings(want, got, reached)
		return reached
	case want.ret != nil && got.ret != nil:
		j.lines(want, want.ret, got.ret)
		return want.ret.Seq
	case want.ret != nil:
		j.add(&difference{class: Missing, want: want.ret, call: want, at: want.ret.Seq, lines: 1})
	case got.ret != nil:
		j.add(&difference{class: Extra, got: got.ret, call: want, at: len(j.want.lines), behind: true, lines: 1})
	}
	return reached
}

// endings compares two calls that ended in two ways: the difference is where the
// new one ended, last being what it had in common with the recorded one, and not
// in what it did not come to do.
func (j *judge) endings(want, got *seamCall, last int) {
	d := &difference{class: ChangedError, want: want.ret, got: got.ret, call: want, at: last, behind: true, lines: 1,
		fields: compareInputs(j.known, want.ret, got.ret)}
	for _, s := range want.steps {
		if s.x.Seq > last {
			d.want = s.x
			break
		}
	}
	j.add(d)
}

func (j *judge) add(d *difference) { j.found = append(j.found, d) }

// lines compares two crossings that correspond.
func (j *judge) lines(in *seamCall, want, got *adk.Crossing) {
	j.met[want.Seq-1] = got.Seq
	fields := compareInputs(j.known, want, got)
	if want.Kind == adk.KindSight && len(fields) > 0 {
		fields = j.views.differ(j.want, j.got, want, got, fields)
	}
	if len(fields) == 0 {
		j.equal = append(j.equal, want.Seq)
		return
	}
	fields = inDetail(j.known, want, got, fields)
	j.add(&difference{class: classOf(want, fields), want: want, got: got, fields: fields, call: in, at: want.Seq, lines: 1})
}

// compareInputs is compare but for what is numbered in the order of a run, and
// for times.
func compareInputs(c comparer, want, got *adk.Crossing) []FieldDiff {
	if want.Kind != got.Kind || want.Phase != got.Phase {
		return []FieldDiff{{Field: "kind", Want: kindText(want), Got: kindText(got)}}
	}
	var diffs []FieldDiff
	for _, use := range want.Kind.Fields(want.Phase) {
		if use.Field == adk.FieldID || want.Kind == adk.KindTimer || c.same(use.Field, want, got) {
			continue
		}
		diffs = append(diffs, FieldDiff{Field: use.Label, Want: c.text(use.Field, want), Got: c.text(use.Field, got), Input: use.Input})
	}
	return diffs
}

// steps compares what happened in a call. It gives the last recorded crossing
// that the new call came to, in the strands below it too.
func (j *judge) steps(in *seamCall, want, got []*step) (reached int) {
	matched := j.match(want, got)
	taken := map[*step]bool{}
	moved := movedSteps(got, matched)
	at := in.call.Seq
	for _, g := range got {
		w := matched[g]
		if w == nil {
			j.extra(in, g, at)
			continue
		}
		taken[w] = true
		if move, is := moved[g]; is {
			j.add(&difference{class: Order, want: w.x, got: g.x, move: move, call: in, at: move.at, lines: 1, fields: j.pipelines(g)})
		}
		reached = max(reached, j.pair(in, w, g))
		at = max(at, w.last().Seq)
	}
	for _, w := range want {
		if !taken[w] {
			j.add(&difference{class: Missing, want: w.x, call: in, at: w.x.Seq, lines: w.size(), fields: j.pipelines(w)})
		}
	}
	return max(at, reached)
}

// extra adds a step that was not recorded. What the engine says of what went on
// below, an error or a cancel, comes behind it.
func (j *judge) extra(in *seamCall, g *step, at int) {
	class := Extra
	if g.call == nil && g.x.Kind.Class() != adk.ClassOperation {
		at = max(at, j.cameTo(g.in.strand, g.x))
	}
	if g.unanswered(j.missed) {
		class = Unanswered
	}
	j.add(&difference{class: class, got: g.x, call: in, at: at, behind: true, lines: g.size(), fields: j.pipelines(g)})
}

// pipelines says, of a middleware that is dropped, added or moved, how its
// pipeline was changed.
func (j *judge) pipelines(s *step) (diffs []FieldDiff) {
	if s.call == nil {
		return nil
	}
	for _, d := range compareInfo(Header{Info: j.want.info}, Header{Info: j.got.info}) {
		if d.Field == s.x.Seam.Label {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

// unanswered reports whether a step is a call without an answer, or led to one.
func (s *step) unanswered(missed map[int]bool) bool {
	if s.call != nil {
		return missed[s.call.call.ID]
	}
	return slices.ContainsFunc(s.calls, func(c *seamCall) bool { return missed[c.call.ID] })
}

// pair compares two steps that correspond. It gives the last recorded crossing
// that the new one came to.
func (j *judge) pair(in *seamCall, w, g *step) (reached int) {
	if w.call != nil {
		return j.calls(w.call, g.call)
	}
	j.lines(in, w.x, g.x)
	if j.unasked[g.x.Seq] {
		j.add(&difference{class: Extra, want: w.x, got: g.x, call: in, at: w.x.Seq, lines: 1, fields: []FieldDiff{{Field: "tool",
			Want: "the tool that the context has", Got: "a tool of the live code's own, whose handler was not asked for: take tools from the context, or choose tool/" + toolName(g.x.Record) + " (and Writes, if it may write)", Input: true}}})
	}
	j.notes(in, w, g)
	reached = max(w.x.Seq, j.below(in, w, g))
	switch {
	case w.done != nil && g.done != nil:
		j.lines(in, w.done, g.done)
		return max(reached, w.done.Seq)
	case w.done != nil:
		j.add(&difference{class: Missing, want: w.done, call: in, at: w.done.Seq, lines: 1})
	case g.done != nil:
		j.add(&difference{class: Extra, got: g.done, call: in, at: reached, behind: true, lines: 1})
	}
	return reached
}

// endedOtherwise reports whether two operations gave two different answers: what
// ended the wait of one then did not end the other's, and is no difference of
// its own.
func (j *judge) endedOtherwise(w, g *step) bool {
	return w.done != nil && g.done != nil && !j.known.sameError(w.done.Err, g.done.Err)
}

// notes compares the events and facts of two operations, each with the next of
// its kind.
func (j *judge) notes(in *seamCall, w, g *step) {
	implied := func(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassFact && j.endedOtherwise(w, g) }
	rest := slices.Clone(g.notes)
	for _, want := range w.notes {
		at := slices.IndexFunc(rest, func(x *adk.Crossing) bool { return x.Kind == want.Kind })
		switch {
		case at >= 0:
			j.lines(in, want, rest[at])
			rest = slices.Delete(rest, at, at+1)
		case !implied(want):
			j.add(&difference{class: Missing, want: want, call: in, at: want.Seq, lines: 1})
		}
	}
	for _, got := range rest {
		if !implied(got) {
			j.add(&difference{class: Extra, got: got, call: in, at: w.x.Seq, behind: true, lines: 1})
		}
	}
}

// below compares the seam calls that two operations led to.
func (j *judge) below(in *seamCall, w, g *step) (reached int) {
	rest := slices.Clone(g.calls)
	for _, want := range w.calls {
		at := slices.IndexFunc(rest, func(c *seamCall) bool { return c.call.Seam == want.call.Seam })
		if at < 0 {
			j.add(&difference{class: Missing, want: want.call, call: in, at: want.call.Seq, lines: want.size()})
			continue
		}
		reached = max(reached, j.calls(want, rest[at]))
		rest = slices.Delete(rest, at, at+1)
	}
	for _, got := range rest {
		class := Extra
		if j.missed[got.call.ID] {
			class = Unanswered
		}
		j.add(&difference{class: class, got: got.call, call: in, at: w.x.Seq, behind: true, lines: got.size()})
	}
	return reached
}

// size is how many crossings a step and what is below it are.
func (s *step) size() int {
	if s.call != nil {
		return s.call.size()
	}
	n := 1 + len(s.notes)
	if s.done != nil {
		n++
	}
	for _, c := range s.calls {
		n += c.size()
	}
	return n
}

// size is how many lines a call has, with all below it.
func (c *seamCall) size() int {
	n := 1
	if c.ret != nil {
		n++
	}
	for _, s := range c.steps {
		n += s.size()
	}
	return n
}

// match finds the recorded step for each new one: first those that are alike in
// all that user code gave, then those about the same thing, then the others of
// one kind; of those alike, the first with the first. As far as all are alike
// one by one, which is how most runs are to their end, no keys are needed.
func (j *judge) match(want, got []*step) map[*step]*step {
	matched := make(map[*step]*step, len(got))
	for len(want) > 0 && len(got) > 0 && j.alike(want[0], got[0]) {
		matched[got[0]] = want[0]
		want, got = want[1:], got[1:]
	}
	taken := map[*step]bool{}
	for _, key := range []func(*step) string{j.whole, identity, kindOnly} {
		open := map[string][]*step{}
		for _, w := range want {
			if !taken[w] {
				if k := key(w); k != "" {
					open[k] = append(open[k], w)
				}
			}
		}
		for _, g := range got {
			if matched[g] != nil {
				continue
			}
			k := key(g)
			if list := open[k]; k != "" && len(list) > 0 {
				matched[g], open[k] = list[0], list[1:]
				taken[list[0]] = true
			}
		}
	}
	return matched
}

// whole is a step with all that user code gave.
func (j *judge) whole(s *step) string {
	strand := s.in.strand + "\n"
	switch {
	case s.call != nil:
		return strand + "call " + s.x.Seam.String() + " " + s.x.Key + recordText(s.x.Record)
	case s.x.Kind.Class() == adk.ClassOperation:
		return strand + argumentsText(j.known, s.x) + s.waits
	}
	return strand + toldText(j.known, s.x)
}

// alike reports whether two steps have one key of whole, without making it.
func (j *judge) alike(w, g *step) bool {
	if w.in.strand != g.in.strand || w.x.Kind != g.x.Kind || w.x.Phase != g.x.Phase || w.waits != g.waits {
		return false
	}
	if w.x.Kind == adk.KindCall {
		return w.x.Seam == g.x.Seam && w.x.Key == g.x.Key && recordText(w.x.Record) == recordText(g.x.Record)
	}
	operation := w.x.Kind.Class() == adk.ClassOperation
	for _, use := range w.x.Kind.Fields(w.x.Phase) {
		ignored := use.Field == adk.FieldDigest
		if operation {
			ignored = !use.Input || w.x.Kind == adk.KindNewID
		}
		if !ignored && !j.known.same(use.Field, w.x, g.x) {
			return false
		}
	}
	return true
}

// toldText is an event or a fact in a text, but for a digest.
func toldText(c comparer, x *adk.Crossing) string {
	text := x.Kind.String()
	for _, use := range x.Kind.Fields(x.Phase) {
		if use.Field != adk.FieldDigest {
			text += " " + c.text(use.Field, x)
		}
	}
	return text
}

// identity is what a step is about: the record, the stream, the gate, the path.
// Calls are found by their paths or not at all.
func identity(s *step) string {
	x := s.x
	if s.call != nil {
		return ""
	}
	key := s.in.strand + "\n" + x.Kind.String() + " " + string(x.Collection) + " "
	switch x.Kind {
	case adk.KindIterationStart, adk.KindIterationEnd, adk.KindSight, adk.KindCancel, adk.KindDispatchEnd, adk.KindErrorEvent:
		return key
	}
	if x.Record != nil {
		return key + x.Record.Key()
	}
	if x.Key+x.Name == "" {
		return ""
	}
	return key + x.Key + " " + x.Name
}

func kindOnly(s *step) string {
	if s.call != nil || s.x.Kind.Class() != adk.ClassOperation {
		return ""
	}
	return s.in.strand + "\n" + s.x.Kind.String() + " " + string(s.x.Collection)
}

package property

import (
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// turnBounds: turnStart is the first event and turnEnd the last, each once; a standalone dispatch
// has neither (RUN-6, DSP-8).
type turnBounds struct{ started, ended int }

func (w *turnBounds) see(s *history, x *adk.Crossing) {
	if x.Kind.Class() != adk.ClassEvent {
		return
	}
	if s.root == nil || s.root.seam.Label != adk.LabelRun {
		if x.Kind == adk.KindTurnStart || x.Kind == adk.KindTurnEnd {
			s.breaks(nil, "%s in a dispatch that was called alone", x.Kind)
		}
		return
	}
	switch {
	case w.ended > 0:
		s.breaks(since(w.ended), "%s is told after turnEnd", x.Kind)
	case x.Kind == adk.KindTurnStart && w.started > 0:
		s.breaks(since(w.started), "turnStart is told a second time")
	case x.Kind != adk.KindTurnStart && w.started == 0:
		s.breaks(nil, "%s is told before turnStart", x.Kind)
		w.started = s.n
	}
	switch x.Kind {
	case adk.KindTurnStart:
		w.started = s.n
	case adk.KindTurnEnd:
		w.ended = s.n
	}
	if (x.Kind == adk.KindTurnStart || x.Kind == adk.KindTurnEnd) && s.at != s.root {
		s.breaks(nil, "%s belongs to the run, and is told in another call", x.Kind)
	}
}

func (w *turnBounds) end(s *history) {
	if s.root == nil || s.root.seam.Label != adk.LabelRun {
		return
	}
	if w.started == 0 {
		s.breaks(nil, "turnStart was never told")
	}
	if w.ended == 0 {
		s.breaks(since(w.started), "turnEnd was never told")
	}
}

// callsNest: a call begins once, in a call that is open. It returns once, to that call and in its
// strand, after everything that the engine called below it has returned. What user code called on a
// plain goroutine may return later (RUN-11), or never.
type callsNest struct{ last int }

func (w *callsNest) see(s *history, x *adk.Crossing) {
	switch x.Kind {
	case adk.KindCall:
		w.begins(s, x)
	case adk.KindReturn:
		w.returns(s, x)
	case adk.KindCancel: // it may come before the first call
	default:
		switch {
		case !s.at.known():
			s.breaks(nil, "%s belongs to call %d, which has not begun", x.Kind, x.Call)
		case x.Strand != s.at.strand:
			s.breaks(since(s.at.began), "%s says strand %d, and its call is in strand %d", x.Kind, x.Strand, s.at.strand)
		case s.at.isLoop() && x.Kind != adk.KindContained:
			w.goesOn(s, x.Kind.String())
		}
	}
}

// goesOn checks a step that the run or a dispatch makes itself: such steps come one after the
// other, and none comes after the return.
func (w *callsNest) goesOn(s *history, what string) {
	if s.at.ended > 0 {
		s.breaks(since(s.at.began, s.at.ended), "%s is told in %s, which has returned", what, s.at.seam)
	}
	for _, below := range s.at.below {
		if below != s.called && !below.byUser() {
			s.breaks(since(below.began), "%s comes while %s is open", what, below.seam)
		}
	}
}

func (w *callsNest) begins(s *history, x *adk.Crossing) {
	c := s.called
	if x.ID <= w.last {
		s.breaks(since(s.call(x.ID).began), "call %d begins, and call %d has begun before", x.ID, w.last)
	}
	w.last = max(w.last, x.ID)
	switch {
	case c == s.root:
		if x.Call != 0 {
			s.breaks(nil, "the first call of a run is made by call %d, which has not begun", x.Call)
		} else if !c.isLoop() {
			s.breaks(nil, "the first call is %s: it has to be that of the run", c.seam)
		}
	case !s.at.known():
		s.breaks(since(s.root.began), "%s is called by call %d, which has not begun", c.seam, x.Call)
	case s.at.ended > 0 && c.op == nil:
		s.breaks(since(s.at.began, s.at.ended), "%s is called by %s, which has returned", c.seam, s.at.seam)
	case c.seam.Label != adk.LabelStrand && x.Strand != s.at.strand:
		s.breaks(since(s.at.began), "%s is called in strand %d, and its caller is in strand %d", c.seam, x.Strand, s.at.strand)
	case s.at.isLoop():
		w.goesOn(s, c.seam.String())
	}
}

func (w *callsNest) returns(s *history, x *adk.Crossing) {
	c := s.called
	switch {
	case !c.known():
		s.breaks(nil, "call %d returns, which has not begun", x.ID)
		return
	case c.ended > 0:
		s.breaks(since(c.began, c.ended), "%s returns a second time", c.seam)
		return
	case c.strand != x.Strand || c.parent != s.at:
		s.breaks(since(c.began), "%s returns to call %d in strand %d, and was called by call %d in strand %d",
			c.seam, x.Call, x.Strand, c.parent.id, c.strand)
	}
	for _, below := range c.below {
		if !below.byUser() && below.seam.Label != adk.LabelStrand {
			s.breaks(since(c.began, below.began), "%s returns while %s, which it waits for, is open", c.seam, below.seam)
		}
	}
}

func (w *callsNest) end(s *history) {
	for _, c := range s.open {
		if !c.forsaken() {
			s.breaks(since(c.began), "%s never returns", c.seam)
		}
	}
}

// strandsJoined: a strand runs below the call that forked it, with the number and name of the fork,
// and returns before that call does (DET-7).
type strandsJoined struct {
	last  int
	forks map[int]*forked // by the strand's number, until the call that forked it has returned
	of    map[*seamCall][]*forked
}

type forked struct {
	number, at int
	name       string
	by, strand *seamCall
}

func (w *strandsJoined) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindFork:
		if x.Err != nil {
			return
		}
		if x.ID <= w.last {
			s.breaks(nil, "strand %d is forked, and strand %d has been before", x.ID, w.last)
		}
		w.last = max(w.last, x.ID)
		w.fork(&forked{number: x.ID, at: s.n, name: x.Name, by: s.at})
	case x.Kind == adk.KindReturn:
		w.returns(s)
	case s.called.seam.Label == adk.LabelStrand:
		w.begins(s)
	}
}

func (w *strandsJoined) fork(f *forked) {
	if w.forks == nil {
		w.forks, w.of = map[int]*forked{}, map[*seamCall][]*forked{}
	}
	w.of[f.by] = append(w.of[f.by], f)
	if earlier := w.forks[f.number]; earlier == nil || earlier.strand != nil {
		w.forks[f.number] = f
	}
}

func (w *strandsJoined) begins(s *history) {
	c := s.called
	f := w.forks[c.strand]
	if f == nil || f.strand != nil {
		s.breaks(nil, "%s begins as strand %d, which nobody forked", c.seam, c.strand)
		return
	}
	f.strand = c
	if f.name != c.seam.Name || f.by != c.parent {
		s.breaks(since(f.at), "strand %d is %s, and was forked as strand/%s in another call", f.number, c.seam, f.name)
	}
}

func (w *strandsJoined) returns(s *history) {
	for _, f := range w.of[s.called] {
		if f.strand == nil || f.strand.ended == 0 {
			s.breaks(since(f.at), "%s returns before its strand %s has", s.called.seam, f.name)
		}
		if w.forks[f.number] == f {
			delete(w.forks, f.number)
		}
	}
	delete(w.of, s.called)
}

// operationsPair: a spanning operation that begins is done once, in the same call, after what it
// called has returned. If user code started it on a plain goroutine, it may be done later than its
// seam call, or never, if user code blocks it. If user code ends the goroutine, no end is recorded
// (PIP-11).
type operationsPair struct {
	last     int
	suspects []suspect
}

// suspect is an operation that is open when its seam call returns, without a reason to be.
type suspect struct {
	op *openOp
	at int
}

func (w *operationsPair) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindReturn:
		w.returns(s)
	case x.Kind == adk.KindTimer:
		if op := s.openOp(x.N); op == nil || op.kind != adk.KindSleep && op.kind != adk.KindWaitFor {
			s.breaks(nil, "a timer wakes operation %d, which does not wait", x.N)
		} else if op.timer > 0 {
			s.breaks(since(op.began, op.timer), "a second timer wakes the %s", op.kind)
		}
	case x.Phase == adk.Begin:
		if x.Op <= w.last {
			s.breaks(nil, "%s begins as operation %d, and operation %d has begun before", x.Kind, x.Op, w.last)
		}
		w.last = max(w.last, x.Op)
	case s.op == nil:
		s.breaks(nil, "%s is done as operation %d, which is not open", x.Kind, x.Op)
	case s.op.kind != x.Kind || s.op.call != s.at:
		s.breaks(since(s.op.began), "%s is done as operation %d, which is a %s of call %d", x.Kind, x.Op, s.op.kind, s.op.call.id)
	case s.op.open > 0:
		s.breaks(since(s.op.began, s.op.made.began), "%s is done while %s, which it called, is open", x.Kind, s.op.made.seam)
	case x.Kind == adk.KindSleep && x.Err == nil && s.op.timer == 0:
		s.breaks(since(s.op.began), "the sleep is over, and no timer was told")
	}
}

func (w *operationsPair) returns(s *history) {
	for _, op := range s.called.running {
		switch {
		case op.kind == adk.KindNext: // the engine always waits for it (PIP-10)
			s.breaks(since(op.began), "%s returns while its next is open", s.called.seam)
		case op.open == 0 && !op.goexits && !op.userWaits():
			w.suspects = append(w.suspects, suspect{op, s.n})
		}
	}
}

// userWaits reports whether the operation may be open because user code, on a plain goroutine,
// waits in it.
func (op *openOp) userWaits() bool {
	switch op.kind {
	case adk.KindSleep, adk.KindWaitFor:
		return op.timer == 0
	case adk.KindEmitMessage, adk.KindEmitThought, adk.KindEmitToolCall, adk.KindOpenMedia:
		return true // a listener or a reader may block it
	}
	return false
}

func (w *operationsPair) end(s *history) {
	for _, one := range w.suspects {
		if s.openOp(one.op.number) == one.op && one.op.call.outcome != adk.OutcomeGoexit {
			s.breaksAt(one.at, one.op.call, since(one.op.began), "%s returns, and its %s is never done", one.op.call.seam, one.op.kind)
		}
	}
}

// handlesEnd: no operation uses a handle whose seam call has returned. To remove a handler is
// allowed, because that is not an operation of the call that registered it (SIG-3).
type handlesEnd struct{}

func (w *handlesEnd) see(s *history, x *adk.Crossing) {
	if s.at.ended > 0 && x.Phase != adk.Done && x.Kind != adk.KindOffAck {
		s.breaks(since(s.at.began, s.at.ended), "%s on a handle of %s, which has returned", x.Kind, s.at.seam)
	}
}

// nothingAfterEnd: after the turn, or the standalone dispatch, has ended, no user code is called
// and no operation begins.
type nothingAfterEnd struct{ ended int }

func (w *nothingAfterEnd) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindTurnEnd, x.Kind == adk.KindDispatchEnd && s.at == s.root:
		w.ended = s.n
	case w.ended == 0 || x.Phase == adk.Done || x.Kind == adk.KindOffAck:
	case x.Kind == adk.KindCall:
		s.breaks(since(w.ended), "%s is called after the end", x.Seam)
	case x.Kind.Class() == adk.ClassOperation:
		s.breaks(since(w.ended), "%s comes after the end", x.Kind)
	}
}

// idsUnique: the ids of the turn and its dispatches, and those made for user code, are not empty
// and all different.
type idsUnique struct{ seen map[string]int }

func (w *idsUnique) see(s *history, x *adk.Crossing) {
	if x.Name == "" {
		s.breaks(nil, "%s has no id", x.Kind)
		return
	}
	if first := w.seen[x.Name]; first > 0 {
		s.breaks(since(first), "%s has the id %q, which was given out before", x.Kind, x.Name)
		return
	}
	put(&w.seen, x.Name, s.n)
}

func (w *idsUnique) remake() { clear(w.seen) }

// timesMonotonic: the time of a crossing is not before the previous one in its strand, nor before
// the fork of the strand. A cancel is exempt: it has the time of the strand that noticed it.
type timesMonotonic struct {
	first time.Time         // last time of strand 0, the only strand of most turns
	last  map[int]time.Time // last times of the other strands
}

func (w *timesMonotonic) see(s *history, x *adk.Crossing) {
	if x.Kind == adk.KindCancel {
		return
	}
	if last := w.at(x.Strand); x.At.Before(last) {
		s.breaks(since(s.n-1), "the time goes back by %s", last.Sub(x.At))
	}
	w.set(x.Strand, x.At)
	if x.Kind == adk.KindFork {
		w.set(x.ID, x.At)
	}
}

func (w *timesMonotonic) at(strand int) time.Time {
	if strand == 0 {
		return w.first
	}
	return w.last[strand]
}

func (w *timesMonotonic) set(strand int, at time.Time) {
	switch {
	case strand == 0:
		w.first = at
		return
	case w.last == nil:
		w.last = map[int]time.Time{}
	}
	w.last[strand] = at
}

func (w *timesMonotonic) remake() {
	w.first = time.Time{}
	clear(w.last)
}

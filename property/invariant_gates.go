package property

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// gatesSettleOnce: a gate opens, settles once, closes with that result, and only then its waiter
// goes on. An offer that the gate refuses leaves it open (GAT-1 to GAT-4).
type gatesSettleOnce struct {
	gates   []*gate // gates whose waiter has not gone on
	batch   []*gate // gates that were settled directly one after the other
	settled int     // place of the last settlement
}

type gate struct {
	op                      *openOp
	id                      string
	opened, settled, closed int
	refused                 string // why it must not open, if so (ABT-7, GAT-5)
	result                  string
	before                  *gate // the gate that the same abort closes first (GAT-4)
}

func (w *gatesSettleOnce) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindTurnGateOpen:
		w.opens(s, x)
	case x.Kind == adk.KindTurnGateClosed:
		w.closes(s, x)
	case x.Kind == adk.KindSettle:
		w.settles(s, x)
	case x.Kind == adk.KindTimer:
	case x.Phase == adk.Begin:
		w.gates = append(w.gates, &gate{op: s.op, id: x.Name, refused: w.refusal(s, x.Name)})
	case s.op != nil:
		w.goesOn(s, x)
	}
}

func (w *gatesSettleOnce) pick(is func(*gate) bool) *gate {
	for _, g := range w.gates {
		if is(g) {
			return g
		}
	}
	return nil
}

// refusal says why a gate that begins to be waited for now must not open; empty if it may.
func (w *gatesSettleOnce) refusal(s *history, id string) string {
	switch {
	case s.cancelled > 0:
		return "the run was aborted before it was asked for"
	case w.open(id) != nil:
		return "one of its id was open"
	}
	return ""
}

// open returns the gate of an id that has not settled, or nil.
func (w *gatesSettleOnce) open(id string) *gate {
	return w.pick(func(g *gate) bool { return g.id == id && g.settled == 0 && g.refused == "" })
}

func (w *gatesSettleOnce) opens(s *history, x *adk.Crossing) {
	is := func(g *gate) bool { return g.op.call == s.at && g.id == x.Name && g.opened == 0 }
	g := w.pick(func(g *gate) bool { return is(g) && g.refused == "" })
	if g == nil {
		g = w.pick(is)
	}
	if g == nil {
		s.breaks(since(s.at.began), "turnGateOpen of %q, which %s does not wait for", x.Name, s.at.seam)
		return
	}
	if g.opened = s.n; g.refused != "" {
		s.breaks(since(s.cancelled, g.op.began), "gate %q opens, and %s", x.Name, g.refused)
	}
}

func (w *gatesSettleOnce) settles(s *history, x *adk.Crossing) {
	g := w.open(x.Name)
	if g == nil {
		earlier := 0
		if g := w.pick(func(g *gate) bool { return g.id == x.Name }); g != nil {
			earlier = g.settled
		}
		s.breaks(since(earlier), "gate %q is %s, and it is not open", x.Name, x.Status)
		return
	}
	switch {
	case x.Status == adk.GateRefused:
		return
	case x.Status == adk.GateTimeout && g.op.timer == 0:
		s.breaks(since(g.op.began), "gate %q times out, and no timer was told", x.Name)
	case g.opened == 0 && s.cancelled == 0:
		s.breaks(since(g.op.began), "gate %q is %s before turnGateOpen, when nobody can have it", x.Name, x.Status)
	}
	g.settled, g.result = s.n, x.Status
	w.together(s, g)
}

// together finds the gates that one abort settles: in consecutive crossings, and in the order in
// which they were opened.
func (w *gatesSettleOnce) together(s *history, g *gate) {
	if n := len(w.batch); n > 0 && w.settled == s.n-1 && s.cancelled > 0 {
		g.before = w.batch[n-1]
		if g.before.op.number > g.op.number {
			s.breaks(since(g.op.began, g.before.op.began), "the abort settles gate %q behind %q, which was opened later", g.id, g.before.id)
		}
	} else {
		w.batch = w.batch[:0]
	}
	w.batch, w.settled = append(w.batch, g), s.n
}

func (w *gatesSettleOnce) closes(s *history, x *adk.Crossing) {
	g := w.pick(func(g *gate) bool {
		return g.op.call == s.at && g.id == x.Name && g.closed == 0 && (g.refused == "" || g.opened > 0)
	})
	switch {
	case g == nil:
		s.breaks(since(s.at.began), "turnGateClosed of %q, which %s does not wait for", x.Name, s.at.seam)
		return
	case g.settled == 0:
		s.breaks(since(g.op.began), "turnGateClosed of %q, which is not settled", x.Name)
	case g.result != x.Status:
		s.breaks(since(g.op.began, g.settled), "gate %q closes as %s, and was %s", x.Name, x.Status, g.result)
	case g.opened == 0:
		s.breaks(since(g.op.began), "gate %q closes, and turnGateOpen was not told", x.Name)
	case g.before != nil && g.before.closed == 0 && g.before.op.call.strand != g.op.call.strand:
		// In one strand, a listener of the earlier gate's opening waits for the later gate.
		s.breaks(since(g.before.op.began, g.op.began), "gate %q closes before %q, which was opened earlier", g.id, g.before.id)
	}
	g.closed = s.n
}

func (w *gatesSettleOnce) goesOn(s *history, x *adk.Crossing) {
	g := w.pick(func(g *gate) bool { return g.op == s.op })
	if g == nil {
		return // operations-pair reports that
	}
	w.gates = slices.DeleteFunc(w.gates, func(open *gate) bool { return open == g })
	switch {
	case g.refused != "" && g.opened == 0 && x.Err != nil:
	case g.closed == 0:
		s.breaks(since(g.op.began, g.settled), "the wait for gate %q is over, and turnGateClosed was not told", g.id)
	case (x.Err == nil) != (g.result == adk.GateResolved):
		s.breaks(since(g.op.began, g.settled), "the wait for gate %q answers with %v, and the gate was %s", g.id, orNothing(x.Err), g.result)
	}
}

// end: a gate that has settled also closes, and its waiter goes on, unless the waiter's goroutine
// ended.
func (w *gatesSettleOnce) end(s *history) {
	for _, g := range w.gates {
		if g.settled > 0 && !s.goexited {
			s.breaks(since(g.op.began, g.settled), "gate %q was %s, and its waiter never goes on", g.id, g.result)
		}
	}
}

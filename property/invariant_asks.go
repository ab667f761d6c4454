package property

import "github.com/adkreplay/adkreplay/adk"

// piecesWithinAsks: a piece belongs to an open ask of the same call: it comes after the ask begins
// and before it is done (WLD-4).
type piecesWithinAsks struct{}

func (w *piecesWithinAsks) see(s *history, x *adk.Crossing) {
	switch op := s.openOp(x.Op); {
	case op == nil || op.kind != adk.KindAsk:
		s.breaks(since(s.at.began), "a piece of operation %d, which is no ask that is open", x.Op)
	case op.call != s.at:
		s.breaks(since(op.began), "a piece of an ask of %s is told of %s", op.call.seam, s.at.seam)
	}
}

// asksEndWithCalls: when a call returns, all its asks are done (WLD-5).
type asksEndWithCalls struct{}

func (w *asksEndWithCalls) see(s *history, _ *adk.Crossing) {
	for _, op := range s.ops {
		if op.kind == adk.KindAsk && op.call == s.called {
			s.breaks(since(op.began), "%s returns, and the end of what it asked was not told before", s.called.seam)
		}
	}
}

// abortAsksNothing: an ask that begins in an aborted run is refused at once and gets no answer,
// except for an ask with a flag saying that it is made although the run is aborted. That flag is
// set only in aborted runs (WLD-5, ABT-7).
type abortAsksNothing struct {
	late map[int]bool // asks with the flag, by operation
}

func (w *abortAsksNothing) see(s *history, x *adk.Crossing) {
	op := s.op
	if x.Kind == adk.KindPiece {
		op = s.openOp(x.Op)
	}
	switch {
	case x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Flag && s.cancelled == 0:
		s.breaks(nil, "an ask says that the run was aborted before, and it was not")
	case x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Flag:
		put(&w.late, x.Op, true)
	case op == nil || s.cancelled == 0 || op.began < s.cancelled || x.Phase == adk.Begin || w.late[x.Op]:
	case x.Kind == adk.KindPiece, x.Err == nil, x.JSON != nil:
		s.breaks(since(s.cancelled, op.began), "what is asked is answered, although the run was aborted before")
	}
}

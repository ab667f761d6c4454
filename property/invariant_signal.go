package property

import (
	"errors"

	"github.com/adkreplay/adkreplay/adk"
)

// oneError: there is one error event for each failed pipeline pass of the turn and for each nacked
// dispatch, and none for what an abort causes, except for a panic (PIP-5, DSP-7, ABT-4, ABT-13). If
// user code ends a goroutine, the errors of what failed below it may be missing (PIP-11).
type oneError struct{ input, output int }

func (w *oneError) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindErrorEvent:
		w.told(s, x)
	case x.Kind == adk.KindDispatchEnd:
		w.dispatchEnds(s, x)
	case x.Kind == adk.KindCall && s.inTurn(s.called) && s.called.ownDispatch():
		w.owed(s, &s.input, &w.input, "turn input")
	case x.Kind == adk.KindTurnEnd, x.Kind == adk.KindState && s.at == s.root:
		w.owed(s, &s.input, &w.input, "turn input")
		w.owed(s, &s.output, &w.output, "turn output")
	}
}

func (w *oneError) told(s *history, x *adk.Crossing) {
	failure, ours := x.Err.(*adk.Error)
	d := s.at.dispatch
	switch {
	case !ours:
		s.breaks(nil, "an error event carries a %T, and not the package's own error type", x.Err)
	case d.does(s.at):
		if failure.Code == adk.E_TURN_ABORTED {
			s.breaks(since(s.cancelled), "an abort is told as an error (ABT-4)")
		}
		if d.errors > 0 {
			s.breaks(since(d.call.began), "the dispatch tells a second error (DSP-7)")
		}
	case s.at != s.root:
		s.breaks(since(s.at.began), "an error is told in %s: failures are told in the dispatch or the run", s.at.seam)
	case w.input == 0 && w.output == 0 && s.input.count > 0:
		w.input = s.n
	case w.output == 0 && s.output.count > 0:
		w.output = s.n
	default:
		s.breaks(since(max(w.input, w.output), s.cancelled), "an error is told of the run, and no pipeline pass failed that was not told before")
	}
}

// owed reports a failed pass that has no error event.
func (w *oneError) owed(s *history, f *stageFailures, told *int, stage string) {
	if f.count > 0 && *told == 0 && (s.cancelled == 0 || f.panics > 0 && !s.goexited) {
		s.breaks(since(f.first), "the %s failed, and no error was told", stage)
		*told = s.n // report it only once
	}
}

func (w *oneError) dispatchEnds(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if !d.does(s.at) {
		return
	}
	switch {
	case x.Status == adk.StatusNack && d.errors == 0:
		s.breaks(since(d.nacked, d.failures.first), "the dispatch was nacked, and no error was told (DSP-7)")
	case x.Status == adk.StatusAck && d.errors > 0:
		s.breaks(since(d.acked), "an error was told of a dispatch that was acked")
	case x.Status == adk.StatusAborted && d.errors > 0 && d.failures.panics == 0:
		s.breaks(since(s.cancelled), "an error was told of a dispatch that was aborted, and nothing panicked (ABT-13)")
	case x.Status == adk.StatusAborted && d.errors == 0 && d.failures.panics > 0 && !s.goexited:
		s.breaks(since(d.failures.first, s.cancelled), "a panic is never part of an abort, and no error was told of it (ABT-13)")
	}
}

// oneStatus: a dispatch ends once, with the status that follows from its signal, its failures and
// an abort (SIG-5, ABT-8, DSP-11). It ends as aborted if its own context was done when it was
// called (ABT-12). A dispatch may also end as aborted before any abort is recorded if its return
// says that user code ended the goroutine (PIP-11).
type oneStatus struct{}

func (w *oneStatus) see(s *history, x *adk.Crossing) {
	if x.Kind == adk.KindReturn {
		if d := s.called.dispatch; d.does(s.called) && d.unexplained && x.Outcome != adk.OutcomeGoexit {
			s.breaksAt(d.ended, s.called, since(s.called.began), "the dispatch ends as aborted, and nothing was")
		}
		return
	}
	d := s.at.dispatch
	if !d.does(s.at) || d.ended > 0 {
		return // loop-in-order reports it
	}
	switch x.Status {
	case adk.StatusAck:
		w.ack(s, x, d)
	case adk.StatusNack:
		w.nack(s, x, d)
	case adk.StatusAborted:
		w.aborted(s, d)
	default:
		s.breaks(since(d.call.began), "the dispatch ends with status %q: it is one of ack, nack, aborted", x.Status)
	}
}

func (w *oneStatus) ack(s *history, x *adk.Crossing, d *dispatching) {
	switch {
	case d.acked == 0:
		s.breaks(since(d.nacked, s.cancelled), "the dispatch ends with ack, and nobody acked")
	case d.failures.count > 0:
		s.breaks(since(d.acked, d.failures.first), "the dispatch ends with ack although a stage failed (DSP-11)")
	case s.cancelled > 0 && !w.flushed(s, d):
		s.breaks(since(d.acked, s.cancelled), "the dispatch ends with ack although it was aborted before the flush (ABT-8)")
	case x.Err != nil:
		s.breaks(since(d.acked), "the dispatch ends with ack and an error")
	}
}

func (w *oneStatus) nack(s *history, x *adk.Crossing, d *dispatching) {
	switch {
	case d.failures.count == 0 && (d.nacked == 0 || d.nackInVain):
		s.breaks(since(d.acked, d.nacked, s.cancelled), "the dispatch ends with nack, and nobody nacked or failed")
	case x.Err == nil:
		s.breaks(since(d.nacked, d.failures.first), "the dispatch ends with nack and without an error (DSP-8)")
	}
}

func (w *oneStatus) aborted(s *history, d *dispatching) {
	switch {
	case d.refused:
	case s.cancelled == 0:
		d.unexplained = true
	case d.nacked > 0 && !d.nackInVain:
		s.breaks(since(d.nacked, s.cancelled), "a nack before the abort stays a nack (ABT-8)")
	case w.flushed(s, d):
		s.breaks(since(d.acked, d.iterated, s.cancelled), "the dispatch ends as aborted, and its ack was flushed before the abort (ABT-8)")
	}
}

// flushed reports whether an ack in the output pipeline was flushed before the abort.
func (w *oneStatus) flushed(s *history, d *dispatching) bool {
	return d.acked > 0 && d.acked < d.iterated && d.iterated < s.cancelled
}

// firstSignalWins: the first ack or nack is accepted, and every later one is refused with
// E_LLM_EXECUTION_ALREADY_SIGNALLED.
type firstSignalWins struct{}

func (w *firstSignalWins) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if d == nil {
		s.breaks(since(s.at.began), "%s outside a dispatch", x.Kind)
		return
	}
	came := d.signalled() == 0 // whether this signal came first; right for a nack
	switch {
	case x.Kind == adk.KindAck && x.Phase == adk.Begin:
		return
	case x.Kind == adk.KindAck:
		came = d.ackOp == x.Op
	}
	switch {
	case came && x.Err != nil:
		s.breaks(since(d.call.began), "the first signal is refused: %v", x.Err)
	case !came && x.Err == nil:
		s.breaks(since(d.signalled()), "a second signal is accepted")
	case !came && !errors.Is(x.Err, adk.E_LLM_EXECUTION_ALREADY_SIGNALLED):
		s.breaks(since(d.signalled()), "a second signal is answered with %v, and not with E_LLM_EXECUTION_ALREADY_SIGNALLED", x.Err)
	}
}

// signalEndsLoop: once the dispatch is signalled, or a stage of it has failed, no later step of the
// iteration runs and no further iteration begins. If the signal came in the output pipeline, the
// iteration still ends properly, unless a stage failed.
type signalEndsLoop struct{}

func (w *signalEndsLoop) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if !d.does(s.at) || d.signalled() == 0 && d.failures.count == 0 {
		return
	}
	because := since(d.signalled(), d.failures.first)
	switch x.Kind {
	case adk.KindIterationEnd:
		if d.failures.count > 0 || d.signalling != phaseOutput {
			s.breaks(because, "the iteration ends as if the dispatch went on")
		}
	case adk.KindCall:
		if s.called.seam.Label != adk.LabelStorage { // a storage call is the flush of an ack
			s.breaks(because, "%s is called although the dispatch has been decided", s.called.seam)
		}
	default:
		s.breaks(because, "%s, although the dispatch has been decided", x.Kind)
	}
}

// abortStartsNothing: once the run is aborted, no middleware, executor, tool or dispatch is
// entered, no iteration begins, and nothing is forked, executed or read unless that began before.
// In a dispatch whose own context was done when it was called, no iteration begins either (PIP-9,
// ABT-6, ABT-7, ABT-12).
type abortStartsNothing struct{}

func (w *abortStartsNothing) see(s *history, x *adk.Crossing) {
	c := s.called
	if d := s.at.dispatch; x.Kind == adk.KindIterationStart && d.does(s.at) && d.refused {
		s.breaks(since(d.call.began), "%s, although the context of the dispatch was done when it was called", x.Kind)
	}
	switch {
	case s.cancelled == 0:
	case x.Kind == adk.KindIterationStart, x.Kind == adk.KindState && s.at.dispatch.does(s.at):
		s.breaks(since(s.cancelled), "%s, although the run is aborted", x.Kind)
	case x.Kind == adk.KindFork && x.Err == nil, x.Kind == adk.KindToolExecutionStart,
		x.Phase == adk.Done && x.Err == nil && s.op != nil && s.op.began > s.cancelled:
		s.breaks(since(s.cancelled), "%s, although the run is aborted", x.Kind)
	case x.Kind == adk.KindCall && c != s.root && (c.isMiddleware() || c.startsWork()):
		s.breaks(since(s.cancelled), "%s is entered although the run is aborted", c.seam)
	}
}

// startsWork reports whether a call is that of an executor, a tool or a dispatch.
func (c *seamCall) startsWork() bool {
	label := c.seam.Label
	return label == adk.LabelExecutor || label == adk.LabelTool || label == adk.LabelDispatch
}

// abortToldOnce: an abort is followed immediately by the crossing that records the cancel, and only
// the first abort is (ABT-1, ABT-5).
type abortToldOnce struct{ abort int }

func (w *abortToldOnce) see(s *history, x *adk.Crossing) {
	due := w.abort
	w.abort = 0
	switch {
	case x.Kind == adk.KindCancel && s.cancelled > 0:
		s.breaks(since(s.cancelled), "the run is cancelled a second time")
	case x.Kind == adk.KindCancel && x.Key == "abort" && due == 0:
		s.breaks(nil, "the run is cancelled by an abort that nobody made just before")
	case x.Kind != adk.KindCancel && due > 0:
		s.breaks(since(due), "an abort was made, and the next thing told is %s", x.Kind)
	}
	if x.Kind == adk.KindAbort && x.Err == nil && s.cancelled == 0 {
		w.abort = s.n
	}
}

// onAckOnce: during the accepted ack, the handlers run that are registered by then and not removed,
// each once, in the order of their registration.
type onAckOnce struct {
	handlers []ackHandler
}

type ackHandler struct {
	of   *dispatching
	id   int
	name string
	at   int
	op   int // operation of the accepted ack for which it should run
	ran  bool
	off  bool
}

func (w *onAckOnce) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if d == nil {
		return
	}
	switch x.Kind {
	case adk.KindOnAck:
		if x.Err == nil {
			w.handlers = append(w.handlers, ackHandler{of: d, id: x.ID, name: x.Name, at: s.n})
		}
	case adk.KindOffAck:
		for i := range w.handlers {
			if h := &w.handlers[i]; h.of == d && h.id == x.ID {
				h.off = true
			}
		}
	case adk.KindAck:
		if x.Phase == adk.Begin {
			w.begins(d, x.Op)
		} else if s.op != nil && !s.op.goexits {
			w.ends(s, d, x.Op)
		}
	case adk.KindCall:
		if s.called.seam.Label == adk.LabelOnAck {
			w.runs(s, d)
		}
	}
}

func (w *onAckOnce) begins(d *dispatching, op int) {
	for i := range w.handlers {
		if h := &w.handlers[i]; h.of == d && d.signalled() == 0 {
			h.op = op
		}
	}
}

// runs checks the call of a handler: it must be the first handler that has not run.
func (w *onAckOnce) runs(s *history, d *dispatching) {
	name := s.called.seam.Name
	if s.op == nil || s.op.number != d.ackOp {
		s.breaks(since(d.acked, d.nacked), "on-ack handler %s runs outside the ack that was accepted", name)
		return
	}
	for i := range w.handlers {
		h := &w.handlers[i]
		if h.of != d || h.op != s.op.number || h.ran || h.off {
			continue
		}
		if h.ran = true; h.name != name {
			s.breaks(since(h.at, d.acked), "on-ack handler %s runs where %s is the next one", name, h.name)
		}
		return
	}
	s.breaks(since(d.acked), "on-ack handler %s runs, and none is left to run", name)
}

func (w *onAckOnce) ends(s *history, d *dispatching, op int) {
	for _, h := range w.handlers {
		if h.of == d && h.op == op && !h.ran && !h.off {
			s.breaks(since(h.at, s.op.began), "the ack is done, and its handler %s did not run", h.name)
		}
	}
}

// ephemeralPruned: if a registry is bound to its dispatch, the ack prunes the ephemeral tools. A
// binding is recognised by the name of its handler.
type ephemeralPruned struct {
	bound  []ackHandler
	pruned int // place of the last prune
}

func (w *ephemeralPruned) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	switch {
	case d == nil:
	case x.Kind == adk.KindOnAck && x.Name == adk.PruneHandler:
		w.bound = append(w.bound, ackHandler{of: d, id: x.ID, at: s.n})
	case x.Kind == adk.KindOffAck:
		for i := range w.bound {
			w.bound[i].off = w.bound[i].off || w.bound[i].of == d && w.bound[i].id == x.ID
		}
	case x.Kind == adk.KindPrune:
		w.pruned = s.n
	case x.Kind == adk.KindAck && x.Phase == adk.Done && d.ackOp == x.Op && s.op != nil && !s.op.goexits:
		w.acked(s, d)
	}
}

func (w *ephemeralPruned) acked(s *history, d *dispatching) {
	for _, h := range w.bound {
		if h.of != d || h.off || h.at > s.op.began || w.pruned > s.op.began {
			continue
		}
		seen := s.fold.Seen(d.call.id)
		if seen == nil {
			continue
		}
		for _, tool := range seen.Records(adk.Tools) {
			if tool.(*adk.Tool).Ephemeral() {
				s.breaks(since(h.at, s.op.began), "the ack is done, and the ephemeral tool %s is still there", tool.Key())
			}
		}
	}
}

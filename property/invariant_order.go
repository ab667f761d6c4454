package property

import "github.com/adkreplay/adkreplay/adk"

// stagesInOrder: a turn has its input, then the dispatch, then its output. There is no dispatch
// after a failed input, and no output unless the dispatch was acked (RUN-9, RUN-10). No stage is
// left out without a reason.
type stagesInOrder struct {
	input, dispatch, output int // places where they were first called
	failed                  int // place of the run's first error event
	status                  string
}

func (w *stagesInOrder) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindErrorEvent:
		if s.at == s.root && w.failed == 0 {
			w.failed = s.n
		}
	case x.Kind == adk.KindDispatchEnd:
		if s.at.ownDispatch() {
			w.status = x.Status
		}
	case x.Kind == adk.KindReturn:
		if s.called == s.root && x.Outcome != adk.OutcomeGoexit {
			w.missing(s)
		}
	case s.inTurn(s.called):
		w.stage(s)
	}
}

func (w *stagesInOrder) stage(s *history) {
	switch c := s.called; c.seam.Label {
	case adk.LabelTurnInput:
		if w.dispatch > 0 {
			s.breaks(since(w.dispatch), "the turn input runs after the dispatch")
		}
		first(&w.input, s.n)
	case adk.LabelDispatch:
		switch {
		case w.dispatch > 0:
			s.breaks(since(w.dispatch), "the turn has a second dispatch")
		case w.failed > 0:
			s.breaks(since(w.failed), "the dispatch begins although the turn input failed")
		case w.input == 0 && len(s.info.TurnInput) > 0:
			s.breaks(since(s.root.began), "the dispatch begins without the turn input")
		}
		first(&w.dispatch, s.n)
	case adk.LabelTurnOutput:
		switch {
		case w.dispatch == 0:
			s.breaks(since(s.root.began), "the turn output runs without a dispatch")
		case w.status != adk.StatusAck:
			s.breaks(since(w.dispatch), "the turn output runs although the dispatch ended with %q", w.status)
		}
		first(&w.output, s.n)
	default:
		s.breaks(since(s.root.began), "%s is called by the run itself, which has no such stage", c.seam)
	}
}

func first(place *int, n int) {
	if *place == 0 {
		*place = n
	}
}

// missing reports stages that were left out of a turn although nothing stopped the turn.
func (w *stagesInOrder) missing(s *history) {
	if s.root.seam.Label != adk.LabelRun || s.cancelled > 0 {
		return
	}
	if w.dispatch == 0 && w.failed == 0 {
		s.breaks(since(s.root.began), "the turn ends without a dispatch, and nothing says why")
	}
	if w.output == 0 && w.status == adk.StatusAck && len(s.info.TurnOutput) > 0 {
		s.breaks(since(w.dispatch), "the turn ends without its output, although the dispatch was acked")
	}
}

// pipelinesInOrder: the middlewares of a pass are called in the order of their list, each inside
// the next of the previous one, and each at most once (PIP-1, PIP-3).
type pipelinesInOrder struct{ passes []onePass } // the last pass of each pipeline

// onePass is a pass through a pipeline: of which pipeline, in which call and which iteration.
type onePass struct {
	label     string
	of        *seamCall
	iteration int
	at        int
}

func (w *pipelinesInOrder) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindCall:
		if s.called.isMiddleware() {
			w.enters(s)
		}
	case !s.at.isMiddleware():
		s.breaks(since(s.at.began), "%s calls next, and is no middleware", s.at.seam)
	case x.Phase == adk.Begin && s.at.next > 0:
		s.breaks(since(s.at.next), "%s calls next a second time, which does nothing and is not told so (PIP-3)", s.at.seam)
	case x.Phase == adk.Done && s.op != nil && s.op.made == nil && s.at.index+1 < len(s.pipeline(s.at)) && s.cancelled == 0:
		s.breaks(since(s.op.began), "next of %s enters nobody, and %s is to follow", s.at.seam, s.pipeline(s.at)[s.at.index+1])
	}
}

// pipeline returns the names of the middlewares in the pipeline to which a call belongs.
func (s *history) pipeline(c *seamCall) []string {
	info := &s.info
	if c.dispatch != nil {
		info = c.dispatch.names
	}
	switch c.seam.Label {
	case adk.LabelTurnInput:
		return info.TurnInput
	case adk.LabelTurnOutput:
		return info.TurnOutput
	case adk.LabelDispatchInput:
		return info.DispatchInput
	}
	return info.DispatchOutput
}

func (w *pipelinesInOrder) enters(s *history) {
	c, names := s.called, s.pipeline(s.called)
	if above := c.parent; above.isMiddleware() {
		c.index = above.index + 1
		switch {
		case above.seam.Label != c.seam.Label || above.seam.Iteration != c.seam.Iteration || above.dispatch != c.dispatch:
			s.breaks(since(above.began), "%s is called below %s, which is of another pass", c.seam, above.seam)
		case c.op == nil:
			s.breaks(since(above.began, above.next, above.entered), "%s is called below %s, whose next is not open", c.seam, above.seam)
		}
	} else {
		w.begins(s)
	}
	if c.index >= len(names) || names[c.index] != c.seam.Name {
		s.breaks(since(c.parent.began), "%s is called as middleware %d, and the pipeline is %q", c.seam, c.index+1, names)
	}
}

func (w *pipelinesInOrder) begins(s *history) {
	c := s.called
	pass := onePass{c.seam.Label, c.parent, c.seam.Iteration, s.n}
	for i := range w.passes {
		p := &w.passes[i]
		if p.label != pass.label || p.of != pass.of {
			continue
		}
		if p.iteration == pass.iteration {
			s.breaks(since(p.at), "%s begins a second pass through its pipeline", c.seam)
		}
		*p = pass
		return
	}
	w.passes = append(w.passes, pass)
}

func (w *pipelinesInOrder) remake() { w.passes = w.passes[:0] }

// loopInOrder: first dispatchStart; in each iteration iterationStart, input pipeline, state,
// executor, output pipeline, iterationEnd; at last dispatchEnd, after the error event if there is
// one (DSP-2, EVT-7).
type loopInOrder struct{}

func (w *loopInOrder) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	switch {
	case x.Kind == adk.KindReturn:
		if d := s.called.dispatch; d.does(s.called) && d.phase != phaseEnded {
			s.breaks(since(s.called.began), "%s returns without dispatchEnd", s.called.seam)
		}
	case x.Kind == adk.KindCall:
		if d.does(s.at) {
			w.calls(s, d)
		}
	case x.Kind == adk.KindState && s.at == s.root && s.root.seam.Label == adk.LabelRun:
	case !d.does(s.at):
		s.breaks(since(s.at.began), "%s is told in %s, which is no dispatch", x.Kind, s.at.seam)
	default:
		w.step(s, x, d)
	}
}

// step checks an event of the loop, or the state before its executor.
func (w *loopInOrder) step(s *history, x *adk.Crossing, d *dispatching) {
	allowed := false
	switch x.Kind {
	case adk.KindDispatchStart:
		allowed = d.phase == phaseNone
	case adk.KindIterationStart:
		allowed = d.phase == phaseBegun || d.phase == phaseIterated
	case adk.KindState:
		allowed = d.phase == phaseInput
	case adk.KindIterationEnd:
		skipped := len(d.names.DispatchOutput) > 0 && s.cancelled == 0
		allowed = d.phase == phaseOutput || d.phase == phaseExecutor && !skipped
	case adk.KindDispatchEnd:
		allowed = d.phase != phaseNone && d.phase != phaseEnded
	}
	if !allowed {
		s.breaks(since(d.call.began, d.iterating, d.ended), "%s comes %s", x.Kind, d.phase)
	}
	if x.Kind == adk.KindDispatchEnd && d.phase == phaseOutput && d.failures.count == 0 && !s.goexited {
		s.breaks(since(d.iterating), "the output pipeline has ended without a failure, and iterationEnd was not told (DSP-3)")
	}
	if x.Kind == adk.KindState && d.inputs == 0 && len(d.names.DispatchInput) > 0 && s.cancelled == 0 {
		s.breaks(since(d.iterating), "the executor is about to be called without the dispatch input")
	}
}

// calls checks a seam call that the loop makes.
func (w *loopInOrder) calls(s *history, d *dispatching) {
	c, allowed := s.called, false
	switch c.seam.Label {
	case adk.LabelDispatchInput:
		allowed = d.phase == phaseInput
	case adk.LabelExecutor:
		allowed = d.phase == phaseState
		if c.seam.Name != d.names.Executor {
			s.breaks(since(d.call.began), "%s is called, and the executor of the dispatch is %q", c.seam, d.names.Executor)
		}
	case adk.LabelDispatchOutput:
		allowed = d.phase == phaseExecutor
	case adk.LabelStorage: // a flush, which flush-in-order checks
		return
	}
	if !allowed {
		s.breaks(since(d.call.began, d.iterating), "%s is called %s", c.seam, d.phase)
	}
}

// String describes where in an iteration the phase is.
func (p phase) String() string {
	return [...]string{
		phaseNone:     "before dispatchStart",
		phaseBegun:    "right after dispatchStart",
		phaseInput:    "behind iterationStart, before the state",
		phaseState:    "between the state and the executor",
		phaseExecutor: "behind the executor",
		phaseOutput:   "behind the output pipeline",
		phaseIterated: "behind iterationEnd",
		phaseFailed:   "behind the error of the dispatch",
		phaseEnded:    "behind dispatchEnd",
	}[p]
}

// iterationsCounted: iterations are counted from 0, and dispatchEnd has the number of iterations
// that were started.
type iterationsCounted struct{}

func (w *iterationsCounted) see(s *history, x *adk.Crossing) {
	d := s.at.dispatch
	if !d.does(s.at) {
		return
	}
	switch x.Kind {
	case adk.KindIterationStart:
		if x.N != d.started {
			s.breaks(since(d.iterating), "iteration %d starts as the one with number %d", x.N, d.started)
		}
	case adk.KindIterationEnd:
		if x.N != d.started-1 {
			s.breaks(since(d.iterating), "iteration %d ends, and iteration %d is running", x.N, d.started-1)
		}
	case adk.KindDispatchEnd:
		if x.N != d.started {
			s.breaks(since(d.iterating), "dispatchEnd counts %d iterations, and %d were started", x.N, d.started)
		}
	case adk.KindCall:
		if c := s.called; c.seam.Label != adk.LabelStorage && c.seam.Iteration != d.started-1 {
			s.breaks(since(d.iterating), "%s is called in iteration %d", c.seam, d.started-1)
		}
	}
}

// statesTold: the run records the visible state when the turn output starts and before turnEnd; a
// dispatch does so before each executor.
type statesTold struct {
	behind int // how many states the run recorded after its dispatch
	all    int
	status string
}

func (w *statesTold) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindDispatchEnd:
		if s.at.ownDispatch() {
			w.status, w.behind = x.Status, 0
		}
	case x.Kind == adk.KindState:
		if s.at == s.root {
			w.behind++
			w.all++
		}
	case x.Kind == adk.KindTurnEnd:
		w.ends(s)
	case s.inTurn(s.called) && s.called.seam.Label == adk.LabelTurnOutput && w.behind != 1:
		s.breaks(nil, "the turn output starts, and %d states of it were told", w.behind)
	}
}

func (w *statesTold) ends(s *history) {
	least, most := 1, 1
	if w.status == adk.StatusAck {
		if most = 2; s.cancelled == 0 {
			least = 2
		}
	}
	if w.all < least || w.all > most {
		s.breaks(nil, "the turn ends with status %q, and %d states of the run were told", w.status, w.all)
	}
}

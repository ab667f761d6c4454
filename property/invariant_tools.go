package property

import (
	"errors"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// toolsSettled: an execution is either refused, because of its arguments or because the run is
// aborted, and then nothing else happens; or it starts, runs the handler, and ends as the handler
// ended, and its answer agrees. If a call runs several executions concurrently, from plain
// goroutines (RUN-11), only their ends show which events belong to which.
type toolsSettled struct {
	open    []*openOp
	keys    map[*openOp]string // checksums of the open executions
	courses []*course
}

// course holds the events of one execution between its begin and its end.
type course struct {
	call           *seamCall // the call whose handle runs the tool
	key            string    // the checksum with which it started
	started, ended int
	handler        *seamCall
	failed         bool
}

func (w *toolsSettled) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindToolExecutionStart:
		w.starts(s, x)
	case x.Kind == adk.KindToolExecutionEnd:
		w.ends(s, x)
	case x.Kind == adk.KindCall:
		if s.called.seam.Label == adk.LabelTool {
			w.handles(s)
		}
	case x.Phase == adk.Begin:
		w.open = append(w.open, s.op)
		if tool, ok := x.Record.(*adk.Tool); ok {
			if w.keys == nil {
				w.keys = map[*openOp]string{}
			}
			_, w.keys[s.op], _ = s.fold.Called(tool.Name(), x.Args)
		}
	case s.op != nil && slices.Contains(w.open, s.op): // otherwise operations-pair reports it
		w.done(s, x)
	}
}

// pick returns the first course of the present call for which is holds, or nil.
func (w *toolsSettled) pick(s *history, is func(*course) bool) *course {
	for _, c := range w.courses {
		if c.call == s.at && is(c) {
			return c
		}
	}
	return nil
}

// pickOf is pick, but prefers courses with the given checksum.
func (w *toolsSettled) pickOf(s *history, key string, is func(*course) bool) *course {
	if c := w.pick(s, func(c *course) bool { return c.key == key && is(c) }); c != nil {
		return c
	}
	return w.pick(s, is)
}

// surplus reports whether the present call has more courses than executions.
func (w *toolsSettled) surplus(s *history) bool {
	return w.surplusOf(s, func(string) bool { return true })
}

// surplusOf is surplus, counting only courses and executions whose checksum fits.
func (w *toolsSettled) surplusOf(s *history, is func(key string) bool) bool {
	n := 0
	for _, c := range w.courses {
		if c.call == s.at && is(c.key) {
			n++
		}
	}
	for _, op := range w.open {
		if op.call == s.at && is(w.keys[op]) {
			n--
		}
	}
	return n > 0
}

func (w *toolsSettled) starts(s *history, x *adk.Crossing) {
	w.courses = append(w.courses, &course{call: s.at, key: x.Key, started: s.n})
	if w.surplus(s) {
		w.courses = w.courses[:len(w.courses)-1]
		s.breaks(since(s.at.began), "toolExecutionStart, and %s executes no tool that has not started", s.at.seam)
	}
}

func (w *toolsSettled) handles(s *history) {
	c := w.pick(s, func(c *course) bool { return c.handler == nil && c.ended == 0 })
	ended := w.pick(s, func(c *course) bool { return c.ended > 0 })
	switch {
	case s.op == nil || !slices.Contains(w.open, s.op):
		s.breaks(since(s.at.began), "%s is called, and nobody executes that tool", s.called.seam)
	case c != nil:
		c.handler = s.called
	case ended != nil:
		s.breaks(since(s.op.began, ended.ended), "%s is called after toolExecutionEnd", s.called.seam)
	default:
		s.breaks(since(s.op.began), "%s is called before toolExecutionStart", s.called.seam)
	}
}

// ends takes a course whose handler has returned with the same outcome, or else any whose handler
// has returned. A course whose listener ended the goroutine has no handler.
func (w *toolsSettled) ends(s *history, x *adk.Crossing) {
	returned := func(c *course) bool { return c.ended == 0 && c.handler != nil && c.handler.ended > 0 }
	c := w.pick(s, func(c *course) bool { return returned(c) && x.IsError == (c.handler.outcome != adk.OutcomeOK) })
	if c == nil {
		c = w.pick(s, returned)
	}
	if c == nil {
		c = w.pick(s, func(c *course) bool { return c.ended == 0 && c.handler == nil })
	}
	if c == nil {
		s.breaks(since(s.at.began), "toolExecutionEnd, and no tool of %s is about to end", s.at.seam)
		return
	}
	c.ended, c.failed = s.n, x.IsError
	switch {
	case c.handler == nil && !x.IsError:
		s.breaks(since(c.started), "toolExecutionEnd tells of success, and the handler was never called")
	case c.handler != nil && x.IsError != (c.handler.outcome != adk.OutcomeOK):
		s.breaks(since(c.started, c.handler.ended), "toolExecutionEnd says %t of whether the tool failed, and the handler ended with %q", x.IsError, c.handler.outcome)
	}
}

// done takes the course that fits the answer best, and reports how it does not fit.
func (w *toolsSettled) done(s *history, x *adk.Crossing) {
	key := w.keys[s.op]
	delete(w.keys, s.op)
	w.open = slices.DeleteFunc(w.open, func(op *openOp) bool { return op == s.op })
	refused := errors.Is(x.Err, adk.E_INVALID_TOOL_ARGS) || s.cancelled > 0 && x.Err != nil // the latter by ABT-7
	if refused && !w.surplusOf(s, func(of string) bool { return of == key }) {
		return
	}
	told := func(c *course) bool { return c.ended > 0 && c.failed == (x.Err != nil) }
	unrun := refused && !errors.Is(x.Err, adk.E_TOOL_DOWNSTREAM_ERROR) // its handler was not called
	var c *course
	for _, fits := range []func(*course) bool{
		func(c *course) bool { return unrun && told(c) && c.handler == nil },
		func(c *course) bool { return unrun && c.handler == nil },
		func(c *course) bool { return told(c) && c.handled(s.op, x.Err) },
		func(c *course) bool { return c.handled(s.op, x.Err) },
		func(*course) bool { return true },
	} {
		if c = w.pickOf(s, key, fits); c != nil {
			break
		}
	}
	if c != nil && !told(c) { // an end event does not name its tool: it may have been given to the wrong course
		if other := w.pick(s, told); other != nil {
			c.ended, other.ended = other.ended, c.ended
			c.failed, other.failed = other.failed, c.failed
		}
	}
	if c == nil {
		s.breaks(since(s.op.began), "the execution is done without having started, and the arguments were not refused")
		return
	}
	w.courses = slices.DeleteFunc(w.courses, func(one *course) bool { return one == c })
	because := since(s.op.began, c.started, c.ended)
	switch {
	case c.ended == 0:
		s.breaks(because, "the execution is done, and toolExecutionEnd was not told")
	case c.failed != (x.Err != nil):
		s.breaks(because, "the execution answers with %v, and toolExecutionEnd said otherwise", orNothing(x.Err))
	case c.failed && c.handler != nil && !errors.Is(x.Err, adk.E_TOOL_DOWNSTREAM_ERROR):
		s.breaks(because, "the handler's failure is answered as %v, and not as E_TOOL_DOWNSTREAM_ERROR", x.Err)
	}
}

// handled reports whether the handler belongs to the tool of the operation and ended as the answer
// says.
func (c *course) handled(op *openOp, answer error) bool {
	tool, ok := op.delta.record.(*adk.Tool)
	return ok && c.handler != nil && c.handler.ended > 0 && c.handler.seam.Name == tool.Name() && (c.handler.outcome == adk.OutcomeOK) == (answer == nil)
}

// callIDs: the id of a tool call is the checksum of its tool and its arguments, both in the event
// of its execution and in its reports.
type callIDs struct{ open []*openExecution }

type openExecution struct {
	op     *openOp
	callID string
}

func (w *callIDs) see(s *history, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindToolCallEvent:
		if s.lineErr != nil {
			s.breaks(since(s.at.began), "%v", s.lineErr)
		}
	case x.Kind == adk.KindToolExecutionStart:
		w.starts(s, x)
	case x.Phase == adk.Begin:
		if tool, ok := x.Record.(*adk.Tool); ok {
			if _, id, err := s.fold.Called(tool.Name(), x.Args); err == nil {
				w.open = append(w.open, &openExecution{s.op, id})
			}
		}
	default:
		w.open = slices.DeleteFunc(w.open, func(e *openExecution) bool { return e.op == s.op })
	}
}

func (w *callIDs) starts(s *history, x *adk.Crossing) {
	var other *openExecution
	for _, e := range w.open {
		if e.op.call == s.at {
			if e.callID == x.Key {
				return
			}
			other = e
		}
	}
	if other != nil { // otherwise tools-settled reports it
		s.breaks(since(other.op.began), "the call id %.8s… is not the checksum %.8s… of the call", x.Key, other.callID)
	}
}

package property

import (
	"errors"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// toolsSettled: an execution is refused, for its arguments or because the run is
// aborted, and nothing happens, or it starts, runs the handler, and ends with how the
// handler ended; its answer says the same. Several at once in one call come from plain
// goroutines (RUN-11): which course was whose shows when they are done.
type toolsSettled struct {
	open    []*openOp
	keys    map[*openOp]string // of those that are open, the checksums
	courses []*course
}

// course is what is told of one execution between its begin and its being done.
type course struct {
	call           *seamCall // whose handle runs the tool
	key            string    // the checksum that it began with
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
	case s.op != nil && slices.Contains(w.open, s.op): // else operations-pair says so
		w.done(s, x)
	}
}

// pick is the first course of the present call of which something holds.
func (w *toolsSettled) pick(s *history, is func(*course) bool) *course {
	for _, c := range w.courses {
		if c.call == s.at && is(c) {
			return c
		}
	}
	return nil
}

// pickOf is pick, a course of a checksum before others.
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

// surplusOf is surplus among those of some checksums: others say nothing of whether one has started.
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

// ends takes the course whose handler has returned so, or any that has returned;
// one whose listener ended the goroutine has none.
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

// done takes the course that the answer fits, and otherwise the first: then it
// says what does not fit.
func (w *toolsSettled) done(s *history, x *adk.Crossing) {
	key := w.keys[s.op]
	delete(w.keys, s.op)
	w.open = slices.DeleteFunc(w.open, func(op *openOp) bool { return op == s.op })
	refused := errors.Is(x.Err, adk.E_INVALID_TOOL_ARGS) || s.cancelled > 0 && x.Err != nil // ABT-7
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
	if c != nil && !told(c) { // an end does not say of which tool it is
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

// handled reports whether the handler of the tool that the operation runs ended as
// the answer says.
func (c *course) handled(op *openOp, answer error) bool {
	tool, ok := op.delta.record.(*adk.Tool)
	return ok && c.handler != nil && c.handler.ended > 0 && c.handler.seam.Name == tool.Name() && (c.handler.outcome == adk.OutcomeOK) == (answer == nil)
}

// callIDs: the id of a tool call is the checksum of its tool and its arguments,
// in the event of its execution and in what is reported of it.
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
	if other != nil { // else tools-settled says so
		s.breaks(since(other.op.began), "the call id %.8s… is not the checksum %.8s… of the call", x.Key, other.callID)
	}
}

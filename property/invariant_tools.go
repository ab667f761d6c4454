package property

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// toolsSettled: an execution is refused for its arguments and nothing happens,
// or it starts, runs the handler, and ends with how the handler ended; its
// answer says the same. Executions of one call at once are told apart by the
// tool and in their order.
type toolsSettled struct{ open []*execution }

// execution is a tool that is being executed.
type execution struct {
	op             *openOp
	started, ended int
	handler        *seamCall
	failed         bool
}

func (w *toolsSettled) see(s *story, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindToolExecutionStart:
		w.starts(s)
	case x.Kind == adk.KindToolExecutionEnd:
		w.ends(s, x)
	case x.Kind == adk.KindCall:
		if s.called.seam.Label == adk.LabelTool {
			w.handles(s)
		}
	case x.Phase == adk.Begin:
		w.open = append(w.open, &execution{op: s.op})
	case s.op != nil:
		w.done(s, x)
	}
}

// pick is the first execution of the present call of which something holds.
func (w *toolsSettled) pick(s *story, is func(*execution) bool) *execution {
	for _, e := range w.open {
		if e.op.call == s.at && is(e) {
			return e
		}
	}
	return nil
}

func (w *toolsSettled) starts(s *story) {
	e := w.pick(s, func(e *execution) bool { return e.started == 0 })
	if e == nil {
		s.breaks(since(s.at.began), "toolExecutionStart, and %s executes no tool that has not started", s.at.seam)
		return
	}
	e.started = s.n
}

func (w *toolsSettled) handles(s *story) {
	e := w.pick(s, func(e *execution) bool { return e.op == s.op })
	switch {
	case e == nil:
		s.breaks(since(s.at.began), "%s is called, and nobody executes that tool", s.called.seam)
	case e.started == 0:
		s.breaks(since(e.op.began), "%s is called before toolExecutionStart", s.called.seam)
	case e.ended > 0:
		s.breaks(since(e.op.began, e.ended), "%s is called after toolExecutionEnd", s.called.seam)
	default:
		e.handler = s.called
	}
}

// ends takes the execution whose handler has returned; one whose listener ended
// the goroutine has none.
func (w *toolsSettled) ends(s *story, x *adk.Crossing) {
	e := w.pick(s, func(e *execution) bool { return e.ended == 0 && e.handler != nil && e.handler.ended > 0 })
	if e == nil {
		e = w.pick(s, func(e *execution) bool { return e.ended == 0 && e.started > 0 && e.handler == nil })
	}
	if e == nil {
		s.breaks(since(s.at.began), "toolExecutionEnd, and no tool of %s is about to end", s.at.seam)
		return
	}
	e.ended, e.failed = s.n, x.IsError
	switch {
	case e.handler == nil && !x.IsError:
		s.breaks(since(e.op.began), "toolExecutionEnd tells of success, and the handler was never called")
	case e.handler != nil && x.IsError != (e.handler.outcome != adk.OutcomeOK):
		s.breaks(since(e.op.began, e.handler.ended), "toolExecutionEnd says %t of whether the tool failed, and the handler ended with %q", x.IsError, e.handler.outcome)
	}
}

func (w *toolsSettled) done(s *story, x *adk.Crossing) {
	e := w.pick(s, func(e *execution) bool { return e.op == s.op })
	if e == nil {
		return // operations-pair says so
	}
	w.open = slices.DeleteFunc(w.open, func(open *execution) bool { return open == e })
	because := since(e.op.began, e.started, e.ended)
	switch {
	case e.started == 0 && !errors.Is(x.Err, adk.E_INVALID_TOOL_ARGS):
		s.breaks(because, "the execution is done without having started, and the arguments were not refused")
	case e.started > 0 && e.ended == 0:
		s.breaks(because, "the execution is done, and toolExecutionEnd was not told")
	case e.started > 0 && e.failed != (x.Err != nil):
		s.breaks(because, "the execution answers with %v, and toolExecutionEnd said otherwise", orNothing(x.Err))
	case e.failed && !errors.Is(x.Err, adk.E_TOOL_DOWNSTREAM_ERROR):
		s.breaks(because, "the handler's failure is answered as %v, and not as E_TOOL_DOWNSTREAM_ERROR", x.Err)
	}
}

func (w *toolsSettled) end(*story) {}

// callIDs: the id of a tool call is the checksum of its tool and its arguments,
// in the event of its execution and in what is reported of it.
type callIDs struct{ open []*openExecution }

type openExecution struct {
	op     *openOp
	callID string
}

func (w *callIDs) see(s *story, x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindToolCallEvent:
		if s.lineErr != nil {
			s.breaks(since(s.at.began), "%v", s.lineErr)
		}
	case x.Kind == adk.KindToolExecutionStart:
		w.starts(s, x)
	case x.Phase == adk.Begin:
		if id, ok := checksum(x); ok {
			w.open = append(w.open, &openExecution{s.op, id})
		}
	default:
		w.open = slices.DeleteFunc(w.open, func(e *openExecution) bool { return e.op == s.op })
	}
}

func (w *callIDs) starts(s *story, x *adk.Crossing) {
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

// checksum is the call id of an execution, where its arguments are any.
func checksum(x *adk.Crossing) (id string, ok bool) {
	tool, ok := x.Record.(*adk.Tool)
	if !ok {
		return "", false
	}
	var args any
	var err error
	switch text := x.Args.(type) {
	case string:
		args, err = canonical.ParseObject([]byte(text))
	case []byte:
		args, err = canonical.ParseObject(text)
	case json.RawMessage:
		args, err = canonical.ParseObject(text)
	default:
		args, err = canonical.Normalize(x.Args)
	}
	object, isObject := args.(map[string]any)
	if err != nil || !isObject {
		return "", false
	}
	id, err = canonical.Checksum(tool.Name(), object)
	return id, err == nil
}

func (w *callIDs) end(*story) {}

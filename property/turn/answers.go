package turn

import (
	"bytes"
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file compares the answers that callers got with the trace. Those answers are not in the
// trace, so no invariant can check them.

// answer is what the caller of a run got.
type answer struct {
	came bool            // false if the caller's goroutine was ended
	end  adk.DispatchEnd // for a standalone dispatch
	err  error
	// wrong is the error of the user's checks for the run.
	wrong error
}

// refused returns the error with which the engine refused its input, or refused to begin anything
// in an aborted turn (ABT-7). In these cases nothing has run. A dispatch that has run returns an
// error only if it was nacked (DSP-8).
func (a answer) refused() error {
	if a.end.Status == "" || a.end.Status == adk.StatusAborted {
		return a.err
	}
	return nil
}

// call runs a turn or a dispatch on the caller's goroutine.
func (s Subject) call(ctx context.Context, config adk.Config, raw adk.RawTurn) (a answer) {
	if s.Standalone != nil {
		a.end, a.err = adk.Dispatch(ctx, s.Standalone.input(config, raw))
	} else if runner, err := adk.NewRunner(config); err != nil {
		a.err = err
	} else {
		a.err = runner.Run(ctx, raw)
	}
	a.came = true
	return a
}

// answers is what the user code of one run got as answers, and what it handed in.
type answers struct {
	given      map[string]any // a copy of the stash that is handed in
	left       map[string]any // the stash itself, after the run
	dispatches []answer       // of dispatches that user code called and that returned
	executions []toolAnswer   // in the order in which they returned
}

// toolAnswer is the outcome of running a tool.
type toolAnswer struct {
	result adk.ToolResult
	err    error
}

// untrue reports where callers got other answers than the trace says (RUN-5, DSP-8, TOL-3).
func untrue(recorded *trace.Trace, run answer, inside answers) (findings []Finding) {
	said := func(format string, args ...any) {
		findings = append(findings, Finding{Untrue, fmt.Sprintf(format, args...)})
	}
	told := toldOf(recorded)
	switch {
	case !run.came:
	case recorded.Info.Standalone:
		inside.dispatches = append(inside.dispatches, run)
	case run.err != nil:
		said("Run answers %q, and a turn that has begun answers with no error", run.err)
	}
	if !plain.Equal(inside.given, inside.left) {
		said("the stash that was handed in was %v, and is %v", inside.given, inside.left)
	}
	for _, got := range inside.dispatches {
		if told.aborted && got.refused() != nil && got.end.DispatchID == "" {
			continue // the dispatch never began, so the trace does not have it (ABT-7)
		}
		want := told.ends[got.end.DispatchID]
		if text := want.differs(got); text != "" {
			said("the dispatch %s %s", got.end.DispatchID, text)
		}
	}
	for i, got := range inside.executions {
		if i == len(told.executions) {
			said("a tool was run %d times, and the trace tells of %d", len(inside.executions), i)
			break
		}
		if want := told.executions[i]; !sameError(want.err, got.err) || !sameResult(want.result, got.result) {
			said("execution %d of a tool gives %v and %v, and the trace tells %v and %v", i+1, got.result, got.err, want.result, want.err)
		}
	}
	return findings
}

// told is what a trace says about dispatches, by their ids, and about tools.
type told struct {
	ends       map[string]*toldEnd
	executions []toolAnswer
	aborted    bool
}

type toldEnd struct {
	status     string
	err        error
	iterations int
}

func toldOf(recorded *trace.Trace) told {
	t := told{ends: map[string]*toldEnd{}}
	ids, tools := map[int]string{}, map[int]bool{}
	results := map[int]adk.ToolResult{} // by the call that ran the tool
	for _, x := range recorded.All() {
		switch {
		case wire.IsCancel(&x.Crossing):
			t.aborted = true
		case wire.BeginsDispatch(&x.Crossing):
			ids[x.Call] = x.Name
		case wire.EndsDispatch(&x.Crossing):
			t.ends[ids[x.Call]] = &toldEnd{x.Status, x.Err, x.N}
		case x.Kind == adk.KindCall:
			tools[x.ID] = x.Seam.Label == adk.LabelTool
		case x.Kind == adk.KindReturn && tools[x.ID]:
			results[x.Call] = x.Result
		case wire.ToolRan(&x.Crossing):
			t.executions = append(t.executions, toolAnswer{results[x.Call], x.Err})
			delete(results, x.Call)
		}
	}
	return t
}

// differs describes how the answer that the caller got differs from the trace; empty if it does
// not.
func (e *toldEnd) differs(got answer) string {
	switch {
	case e == nil:
		return "answers its caller, and the trace tells of no end"
	case e.status != got.end.Status || e.iterations != got.end.Iterations || !sameError(e.err, got.end.Error):
		return fmt.Sprintf("ends for its caller as %s after %d iterations with %v, and in the trace as %s after %d with %v",
			got.end.Status, got.end.Iterations, got.end.Error, e.status, e.iterations, e.err)
	case e.status == adk.StatusNack && !sameError(e.err, got.err) || e.status != adk.StatusNack && got.err != nil:
		return fmt.Sprintf("answers its caller with %v, and ends as %s with %v", got.err, e.status, e.err)
	}
	return ""
}

// sameResult reports whether two results have the same JSON.
func sameResult(a, b adk.ToolResult) bool {
	x, xErr := Value{a}.MarshalJSON()
	y, yErr := Value{b}.MarshalJSON()
	return xErr == nil && yErr == nil && bytes.Equal(x, y)
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error()
}

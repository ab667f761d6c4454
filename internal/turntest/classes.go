package turntest

import (
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	_ "github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Classes are what generated turns must reach, recognised by their crossings.
var Classes = []struct {
	Name string
	Is   func(x *adk.Crossing) bool
}{
	{"ack", endedAs(adk.StatusAck)},
	{"nack", endedAs(adk.StatusNack)},
	{"aborted", endedAs(adk.StatusAborted)},
	{"short-circuit", Failed(adk.E_PIPELINE_SHORT_CIRCUITED)},
	{"input failure", Failed(adk.E_INPUT_PIPELINE_ERROR)},
	{"output failure", Failed(adk.E_OUTPUT_PIPELINE_ERROR)},
	{"dispatch pipeline failure", Failed(adk.E_DISPATCH_PIPELINE_ERROR)},
	{"executor failure", Failed(adk.E_LLM_EXECUTION_EXECUTOR_ERROR)},
	{"nacked", Failed(adk.E_LLM_EXECUTION_NACKED)},
	{"flush failure", Failed(adk.E_PERSISTENCE_FLUSH_ERROR)},
	{"tool failure", answered(adk.E_TOOL_DOWNSTREAM_ERROR)},
	{"bad arguments", answered(adk.E_INVALID_TOOL_ARGS)},
	{"sealed", answered(adk.E_LLM_EXECUTION_STREAM_SEALED)},
	{"bad stash path", answered(adk.E_INVALID_STASH_PATH)},
	{"second signal", answered(adk.E_LLM_EXECUTION_ALREADY_SIGNALLED)},
	{"clash", answered(adk.E_TOOL_ALREADY_REGISTERED)},
	{"panic", func(x *adk.Crossing) bool { return x.Kind == adk.KindReturn && x.Outcome == adk.OutcomePanic }},
	{"goexit", func(x *adk.Crossing) bool { return x.Kind == adk.KindReturn && x.Outcome == adk.OutcomeGoexit }},
	{"strand", func(x *adk.Crossing) bool { return x.Kind == adk.KindFork && x.Err == nil }},
	{"gate resolved", closed(adk.GateResolved)},
	{"gate rejected", closed(adk.GateRejected)},
	{"gate aborted", closed(adk.GateAborted)},
	{"gate timeout", closed(adk.GateTimeout)},
	{"gate refused", func(x *adk.Crossing) bool {
		return x.Kind == adk.KindSettle && errors.Is(x.Err, adk.E_INVALID_TURN_GATE_RESOLUTION)
	}},
	{"cancelled", func(x *adk.Crossing) bool { return wire.CancelledBy(x) == wire.OutsideCancel }},
	{"standalone dispatch", func(x *adk.Crossing) bool {
		return x.Kind == adk.KindCall && x.Call == 0 && x.Seam.Label == adk.LabelDispatch
	}},
	{"nested dispatch", func(x *adk.Crossing) bool { return x.Kind == adk.KindCall && x.Seams != nil }},
	{"second next", contained(adk.SecondNext)},
	{"late operation", contained("late s")},
	{"loud listener", contained("listener")},
	{"read of a nack", readAs("signalled=true acked=false nacked=true")},
	{"read of a tool call's count", readAs(1)},
	{"on-ack handler", func(x *adk.Crossing) bool { return x.Kind == adk.KindCall && x.Seam.Label == adk.LabelOnAck }},
	{"ask", func(x *adk.Crossing) bool { return x.Kind == adk.KindAsk && x.JSON != nil && x.Phase == adk.Done }},
	{"ask that failed", func(x *adk.Crossing) bool { return x.Kind == adk.KindAsk && x.Err != nil }},
	{"piece", func(x *adk.Crossing) bool { return x.Kind == adk.KindPiece }},
	{"reader who had enough", answered(adk.E_ASK_STOPPED)},
	{"two iterations", func(x *adk.Crossing) bool { return x.Kind == adk.KindIterationStart && x.N == 1 }},
	{"three iterations", func(x *adk.Crossing) bool { return x.Kind == adk.KindIterationStart && x.N == 2 }},
}

func readAs(answer any) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool {
		return x.Kind == adk.KindReportLog && x.Name == "read" && x.Value == answer
	}
}

func endedAs(status string) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind == adk.KindDispatchEnd && x.Status == status }
}

// Failed returns a function that finds an error event with a code.
func Failed(code adk.Code) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool {
		var e *adk.Error
		return x.Kind == adk.KindErrorEvent && errors.As(x.Err, &e) && e.Code == code
	}
}

func answered(code adk.Code) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassOperation && errors.Is(x.Err, code) }
}

func closed(result string) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateClosed && x.Status == result }
}

func contained(what string) func(x *adk.Crossing) bool {
	return func(x *adk.Crossing) bool { return x.Kind == adk.KindContained && strings.HasPrefix(x.Name, what) }
}

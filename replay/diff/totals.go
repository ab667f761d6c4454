package diff

import (
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Totals holds counts for one of two traces.
type Totals struct {
	Crossings  int `json:"crossings"`
	Iterations int `json:"iterations"` // started, in all dispatches
	ToolCalls  int `json:"toolCalls"`  // executions of tools
	Errors     int `json:"errors"`     // error events
	// Status is how the turn's dispatch ended: ack, nack or aborted; "ack, then aborted" if the
	// abort came after the ack; "no dispatch" if the turn did not reach one; and "cut short" if the
	// trace ends within the run.
	Status string `json:"status"`
	// PromptTokens estimates the tokens that all executor calls together were shown: the prompt,
	// the instructions and the texts of all records in state.
	PromptTokens int `json:"promptTokens"`
	// SaidTokens estimates the tokens of the messages that listeners received.
	SaidTokens int `json:"saidTokens"`
}

// totaller counts while a fold goes through a trace.
type totaller struct {
	Totals
	encoding adk.Encoding
	said     map[saidID]*strings.Builder
	shown    *state.ShownTokens
	status   string
}

// saidID identifies the stream of a message.
type saidID struct{ dispatch, id string }

func newTotaller(options Options) *totaller {
	return &totaller{encoding: options.Encoding, said: map[saidID]*strings.Builder{}, shown: state.NewShownTokens(options.Encoding)}
}

// before counts the next crossing. It must run before the fold applies the crossing.
func (t *totaller) before(f *state.Fold, x *adk.Crossing) {
	t.Crossings++
	switch {
	case wire.BeginsIteration(x):
		t.Iterations++
	case wire.RunsTool(x):
		t.ToolCalls++
	case wire.TellsError(x):
		t.Errors++
	case wire.TellsMessage(x):
		if e, ok := f.Payload(x).(adk.MessageEvent); ok {
			t.hear(saidID{e.DispatchID, e.ID}, e.Delta)
		}
	case wire.EndsDispatch(x):
		if c := f.Calls[x.Call]; c != nil && (c.Seam.Name == "" || c.Parent == nil) {
			t.status = x.Status
		}
	}
}

func (t *totaller) hear(id saidID, delta string) {
	if t.said[id] == nil {
		t.said[id] = &strings.Builder{}
	}
	t.said[id].WriteString(delta)
}

// after counts a crossing that the fold has applied.
func (t *totaller) after(f *state.Fold, x *adk.Crossing) {
	if v := f.Seen(x.ID); x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor && v != nil {
		t.PromptTokens += t.shown.Of(v)
	}
}

// end completes the totals at the end of the trace.
func (t *totaller) end(f *state.Fold, lines []trace.Line) {
	for _, text := range t.said {
		t.SaidTokens += adk.EstimateTokens(text.String(), t.encoding)
	}
	t.Status = t.ending(f, lines)
}

func (t *totaller) ending(f *state.Fold, lines []trace.Line) string {
	if len(lines) == 0 || lines[len(lines)-1].Kind != adk.KindReturn || lines[len(lines)-1].Call != 0 {
		return "cut short"
	}
	switch {
	case t.status == adk.StatusAck && f.Cancelled:
		return "ack, then aborted"
	case t.status != "":
		return t.status
	case f.Cancelled:
		return adk.StatusAborted
	}
	return "no dispatch"
}

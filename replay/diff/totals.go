package diff

import (
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Totals are what can be counted in one of two traces.
type Totals struct {
	Crossings  int `json:"crossings"`
	Iterations int `json:"iterations"` // that were started, of all dispatches
	ToolCalls  int `json:"toolCalls"`  // executions of tools that were asked for
	Errors     int `json:"errors"`     // error events
	// Status is how the turn's dispatch ended: ack, nack or aborted; "ack, then
	// aborted" where the abort came behind it, "no dispatch" where it did not
	// come to one, and "cut short" where the trace ends within the run.
	Status string `json:"status"`
	// PromptTokens estimates what all executor calls together were shown: the
	// prompt, the instructions and the texts of all records in state.
	PromptTokens int `json:"promptTokens"`
	// SaidTokens estimates the messages as listeners heard them.
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

// saidID tells the streams of messages apart.
type saidID struct{ dispatch, id string }

func newTotaller(options Options) *totaller {
	return &totaller{encoding: options.Encoding, said: map[saidID]*strings.Builder{}, shown: state.NewShownTokens(options.Encoding)}
}

// before is told the next crossing before the fold takes it in.
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

// after is told a crossing that the fold has taken in.
func (t *totaller) after(f *state.Fold, x *adk.Crossing) {
	if v := f.Seen(x.ID); x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor && v != nil {
		t.PromptTokens += t.shown.Of(v)
	}
}

// end is told when the trace is at its end.
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

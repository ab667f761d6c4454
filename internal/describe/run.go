package describe

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/state"
)

// In is a crossing of a run in a line, as transcripts have it.
func In(run *calls.Tree, x *adk.Crossing) string {
	n := New(state.New())
	for _, earlier := range run.Lines[:x.Seq-1] {
		_ = n.Pass(earlier)
	}
	return n.Line(x)
}

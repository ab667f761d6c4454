package describe

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/state"
)

// Run is a run in words: what its crossings are named by depends on all before
// them, so they are said in one pass, at the first question, and kept.
type Run struct {
	*calls.Tree
	said []string // by the number of the crossing, less one
}

// Of is a run that can be asked for its lines.
func Of(run *calls.Tree) *Run { return &Run{Tree: run} }

// Line is a crossing of the run in a line that stands alone, as transcripts have it.
func (r *Run) Line(x *adk.Crossing) string {
	if r.said == nil {
		n := New(state.New())
		r.said = make([]string, len(r.Lines))
		for i, next := range r.Lines {
			r.said[i] = n.Line(next)
			_ = n.Pass(next) // whether an engine tells it is asked elsewhere
		}
	}
	return r.said[x.Seq-1]
}

package describe

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/state"
)

// Run describes the crossings of a run in words. The name of a thing depends on all crossings
// before it, so the first call of Line describes all crossings in one pass and keeps the result.
type Run struct {
	*calls.Tree
	said []string // by the number of the crossing, less one
}

// Of returns a Run for the crossings of a tree.
func Of(run *calls.Tree) *Run { return &Run{Tree: run} }

// Line describes a crossing of the run in a line that can be read alone, as transcripts show it.
func (r *Run) Line(x *adk.Crossing) string {
	if r.said == nil {
		n := New(state.New())
		r.said = make([]string, len(r.Lines))
		for i, next := range r.Lines {
			r.said[i] = n.Line(next)
			_ = n.Pass(next) // whether an engine may record it there is checked elsewhere
		}
	}
	return r.said[x.Seq-1]
}

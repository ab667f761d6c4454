package adk

import "github.com/adkreplay/adkreplay/adk/internal/seampath"

// The labels of seams. The first four are the pipelines' and are the Stage of
// a pipeline's errors (PIP-5).
const (
	LabelTurnInput      = "turn-input"
	LabelTurnOutput     = "turn-output"
	LabelDispatchInput  = "dispatch-input"
	LabelDispatchOutput = "dispatch-output"
	LabelRun            = "run"
	LabelDispatch       = "dispatch"
	LabelExecutor       = "executor"
	LabelTool           = "tool"
	LabelStorage        = "storage"
	LabelOnAck          = "on-ack"
	LabelStrand         = "strand"
)

// Seam is a place where engine and user code meet. Its path is flat, so that
// inserting a middleware renames nothing.
type Seam struct {
	// Label says what kind of place it is: one of the Label constants.
	Label string
	// Name is the name that its author gave it; for a storage obligation the
	// collection and the verb, as in messages.store; empty for the run and for
	// the dispatch of a turn.
	Name string
	// Iteration is the iteration of a dispatch middleware or an executor.
	Iteration int
}

// formOf is what stands behind a label in a path: an iteration where the seam is called
// once in each.
func formOf(label string) seampath.Form {
	switch label {
	case LabelRun, LabelDispatch:
		return seampath.Bare
	case LabelTurnInput, LabelTurnOutput, LabelTool, LabelStorage, LabelOnAck, LabelStrand:
		return seampath.Named
	case LabelDispatchInput, LabelDispatchOutput, LabelExecutor:
		return seampath.Numbered
	}
	return seampath.Unknown
}

// String is the seam's path: label, name, and the iteration where there is one,
// as in dispatch-input/cap#2.
func (s Seam) String() string { return seampath.Of(s.Label, s.Name, s.Iteration, formOf(s.Label)) }

// ParseSeam reads a path that String wrote.
func ParseSeam(path string) (s Seam, err error) {
	s.Label, s.Name, s.Iteration, err = seampath.Parse(path, formOf)
	return s, err
}

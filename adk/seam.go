package adk

import "github.com/adkreplay/adkreplay/adk/internal/seampath"

// The labels of seams. The first four are those of the pipelines, and appear as the Stage of a
// pipeline's errors (PIP-5).
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

// Seam is a place where engine and user code meet. Its path is flat, so that inserting a middleware
// renames no other seam.
type Seam struct {
	// Label says what kind of place it is: one of the Label constants.
	Label string
	// Name is the name that the seam's author gave it. For a storage obligation it is the
	// collection and the verb, as in messages.store. It is empty for the run and for the dispatch
	// of a turn.
	Name string
	// Iteration is the iteration in which a dispatch middleware or an executor is called.
	Iteration int
}

// formOf returns what follows a label in a path: nothing, a name, or, for a seam that is called
// once per iteration, a name and the iteration.
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

// String returns the seam's path: label, name, and the iteration if there is one, as in
// dispatch-input/cap#2.
func (s Seam) String() string { return seampath.Of(s.Label, s.Name, s.Iteration, formOf(s.Label)) }

// ParseSeam parses a path that String wrote.
func ParseSeam(path string) (s Seam, err error) {
	s.Label, s.Name, s.Iteration, err = seampath.Parse(path, formOf)
	return s, err
}

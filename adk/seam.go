package adk

import (
	"fmt"
	"strconv"
	"strings"
)

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

// perIteration reports whether the seam is called once an iteration.
func (s Seam) perIteration() bool {
	return s.Label == LabelDispatchInput || s.Label == LabelDispatchOutput || s.Label == LabelExecutor
}

// String is the seam's path: label, name, and the iteration where there is one,
// as in dispatch-input/cap#2.
func (s Seam) String() string {
	var slash, mark, iteration string // put together at once, which allocates once
	if s.Name != "" {
		slash = "/"
	}
	if s.perIteration() {
		mark, iteration = "#", strconv.Itoa(s.Iteration)
	}
	return s.Label + slash + s.Name + mark + iteration
}

// ParseSeam reads a path that String wrote.
func ParseSeam(path string) (Seam, error) {
	var s Seam
	s.Label, s.Name, _ = strings.Cut(path, "/")
	switch s.Label {
	case LabelRun, LabelDispatch:
		return s, nil
	case LabelTurnInput, LabelTurnOutput, LabelTool, LabelStorage, LabelOnAck, LabelStrand:
		if s.Name == "" {
			return Seam{}, fmt.Errorf("seam path %q has no name", path)
		}
		return s, nil
	case LabelDispatchInput, LabelDispatchOutput, LabelExecutor:
		at := strings.LastIndexByte(s.Name, '#')
		if at <= 0 {
			return Seam{}, fmt.Errorf("seam path %q has no name#iteration", path)
		}
		n, err := strconv.Atoi(s.Name[at+1:])
		if err != nil || n < 0 || strconv.Itoa(n) != s.Name[at+1:] {
			return Seam{}, fmt.Errorf("seam path %q has no iteration number after #", path)
		}
		s.Name, s.Iteration = s.Name[:at], n
		return s, nil
	}
	return Seam{}, fmt.Errorf("seam path %q begins with no known label", path)
}

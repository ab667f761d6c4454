package property

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// Disagree runs a turn of one strand without runtime.Goexit and holds what came
// of it against what the model predicts. It says where the two part first; an
// empty text is that they agree.
func Disagree(t Turn) string {
	want := Predict(t)
	seen := &spectator{fold: replay.NewFold()}
	refused := t.Run(seen)
	if got := errors.Is(refused, adk.E_INVALID_TURN_CONTEXT); got != want.Refused || refused != nil && !got {
		return fmt.Sprintf("Run answered %v; refused in the model: %t", refused, want.Refused)
	}
	if want.Refused {
		return ""
	}
	if seen.err != nil {
		return fmt.Sprintf("the crossings do not fold: %v", seen.err)
	}
	if text := firstDifference("event", want.Events, seen.events); text != "" {
		return text
	}
	return firstDifference("visible line", want.Visible, seen.visible())
}

func firstDifference(what string, want, got []string) string {
	for i := range max(len(want), len(got)) {
		w, g := "nothing more", "nothing more"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			return fmt.Sprintf("%s %d: the model says  %s\nand the engine  %s\nafter %q", what, i+1, w, g, want[:min(i, len(want))])
		}
	}
	return ""
}

// spectator is a probe that sees the events of a run, and its end.
type spectator struct {
	events []string
	fold   *replay.Fold
	last   *replay.Visible
	err    error
}

// Observe begins the run.
func (s *spectator) Observe(adk.RunInfo) adk.Observer { return s }

// Begin does nothing.
func (*spectator) Begin(adk.Step) {}

// Park does nothing.
func (*spectator) Park(int, func() bool) {}

// Resume does nothing.
func (*spectator) Resume(int) {}

// Tell keeps events in words.
func (s *spectator) Tell(x *adk.Crossing) {
	s.err = errors.Join(s.err, s.fold.Apply(x))
	if x.Kind == adk.KindTurnEnd {
		s.last = s.fold.Turn()
	}
	if x.Kind.Class() == adk.ClassEvent {
		s.events = append(s.events, eventLine(x))
	}
}

func (s *spectator) visible() []string {
	if s.last == nil {
		return nil
	}
	var lines []string
	for _, of := range slices.Sorted(slices.Values(append(slices.Clone(collections), adk.Tools))) {
		for _, r := range s.last.Records(of) {
			lines = append(lines, visibleLine(of, r))
		}
	}
	return append(lines, stashLines("", maps.Clone(s.last.Stash()))...)
}

// eventLine is an event in the model's words.
func eventLine(x *adk.Crossing) string {
	switch e := x.Payload.(type) {
	case adk.MessageEvent:
		return fmt.Sprintf("message %s delta=%q full=%q complete=%t origin=%t", e.ID, e.Delta, e.Full, e.Complete, e.Origin != (adk.Origin{}))
	case adk.ThoughtEvent:
		return fmt.Sprintf("thought %s delta=%q full=%q complete=%t origin=%t", e.ID, e.Delta, e.Full, e.Complete, e.Origin != (adk.Origin{}))
	case adk.ToolCallEvent:
		return fmt.Sprintf("toolCall %s tool=%q args=%t checksum=%t isError=%t complete=%t origin=%t",
			e.ID, e.Tool, e.Args != nil, e.Checksum != "", e.IsError, e.Complete, e.Origin != (adk.Origin{}))
	case adk.DispatchEnd:
		return fmt.Sprintf("dispatchEnd %s iterations=%d", e.Status, e.Iterations)
	case adk.IterationStart:
		return fmt.Sprintf("iterationStart %d", e.Iteration)
	case adk.IterationEnd:
		return fmt.Sprintf("iterationEnd %d", e.Iteration)
	case adk.TurnGateOpen:
		return "turnGateOpen " + e.Gate.ID()
	case adk.TurnGateClosed:
		return fmt.Sprintf("turnGateClosed %s %s by=%q", e.GateID, e.Result, e.By)
	case adk.ToolExecutionStart:
		return "toolExecutionStart " + e.ToolName
	case adk.ToolExecutionEnd:
		return fmt.Sprintf("toolExecutionEnd %s isError=%t", e.ToolName, e.IsError)
	case adk.LogEvent:
		return fmt.Sprintf("log %s %s %q %#v", e.Level, e.Kind, e.Message, e.Payload)
	case adk.ErrorEvent:
		if e.Error.Stage == "" { // the contract asks for a name where a pipeline failed (PIP-5)
			return fmt.Sprintf("error %s", e.Error.Code)
		}
		return fmt.Sprintf("error %s in %s/%s", e.Error.Code, e.Error.Stage, e.Error.Name)
	}
	return x.Kind.String()
}

package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Check runs a turn of one strand without runtime.Goexit and holds what came
// of it against what the model predicts. It says where the two part first; an
// empty text is that they agree.
func Check(t turn.Turn) string {
	want := Predict(t)
	seen := &Spectator{fold: state.New()}
	refused := t.Run(seen)
	if !errors.Is(refused, want.Refused) {
		return fmt.Sprintf("the engine refuses the turn with %v, and the model with %v", refused, want.Refused)
	}
	if want.Refused != nil {
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

// Spectator is a probe that sees the events of a run, and its end.
type Spectator struct {
	events []string
	fold   *state.Fold
	last   *state.View
	err    error
}

// Observe begins the run.
func (s *Spectator) Observe(adk.RunInfo) adk.Observer { return s }

// Begin does nothing.
func (*Spectator) Begin(adk.Step) {}

// Park does nothing.
func (*Spectator) Park(int, func() bool) {}

// Resume does nothing.
func (*Spectator) Resume(int) {}

// Tell keeps events in words.
func (s *Spectator) Tell(x *adk.Crossing) {
	s.err = errors.Join(s.err, s.fold.Apply(x))
	if wire.EndsTurn(x) || wire.EndsDispatch(x) {
		s.last = s.fold.Turn()
	}
	if x.Kind.Class() == adk.ClassEvent {
		s.events = append(s.events, eventLine(x))
	}
}

func (s *Spectator) visible() []string {
	if s.last == nil {
		return nil
	}
	var lines []string
	for _, of := range slices.Sorted(slices.Values(append(slices.Clone(samples.Collections), adk.Tools))) {
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
		return fmt.Sprintf("message %s delta=%q full=%q complete=%t%s", e.ID, e.Delta, e.Full, e.Complete, bearing(e.Origin))
	case adk.ThoughtEvent:
		return fmt.Sprintf("thought %s delta=%q full=%q complete=%t%s", e.ID, e.Delta, e.Full, e.Complete, bearing(e.Origin))
	case adk.ToolCallEvent:
		return fmt.Sprintf("toolCall %s tool=%q args=%t checksum=%t isError=%t complete=%t%s",
			e.ID, e.Tool, e.Args != nil, e.Checksum != "", e.IsError, e.Complete, bearing(e.Origin))
	case adk.DispatchStart:
		return fmt.Sprintf("dispatchStart of %q", e.Name)
	case adk.DispatchEnd:
		return fmt.Sprintf("dispatchEnd %s iterations=%d of %q", e.Status, e.Iterations, e.Name)
	case adk.IterationStart:
		return fmt.Sprintf("iterationStart %d%s", e.Iteration, bearing(e.Origin))
	case adk.IterationEnd:
		return fmt.Sprintf("iterationEnd %d%s", e.Iteration, bearing(e.Origin))
	case adk.TurnGateOpen:
		return "turnGateOpen " + e.Gate.ID()
	case adk.TurnGateClosed:
		return fmt.Sprintf("turnGateClosed %s %s by=%q", e.GateID, e.Result, e.By)
	case adk.ToolExecutionStart:
		return "toolExecutionStart " + e.ToolName + bearing(e.Origin)
	case adk.ToolExecutionEnd:
		return fmt.Sprintf("toolExecutionEnd %s isError=%t%s", e.ToolName, e.IsError, bearing(e.Origin))
	case adk.LogEvent:
		return fmt.Sprintf("log %s %s %q %#v%s", e.Level, e.Kind, e.Message, e.Payload, bearing(e.Origin))
	case adk.ErrorEvent:
		if e.Error.Stage == "" { // the contract asks for a name where a pipeline failed (PIP-5)
			return fmt.Sprintf("error %s%s", e.Error.Code, bearing(e.Origin))
		}
		return fmt.Sprintf("error %s in %s/%s%s", e.Error.Code, e.Error.Stage, e.Error.Name, bearing(e.Origin))
	}
	return x.Kind.String()
}

// bearing is the name of the dispatch that an event bears; nothing where user code
// gave it no origin (EVT-10).
func bearing(o adk.Origin) string {
	if o == (adk.Origin{}) {
		return ""
	}
	return fmt.Sprintf(" of %q", o.DispatchName)
}

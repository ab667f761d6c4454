package model

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Check runs a turn, which must have one strand and no runtime.Goexit, and compares the outcome
// with the model's prediction. It returns a description of the first difference, or "" if they
// agree.
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

// Spectator is a probe that observes the events of a run and the state at its end.
type Spectator struct {
	events []string
	fold   *state.Fold
	last   *state.View
	err    error
}

// Observe returns the observer of the run.
func (s *Spectator) Observe(adk.RunInfo) adk.Observer { return s }

// Begin does nothing.
func (*Spectator) Begin(adk.Step) {}

// Park does nothing.
func (*Spectator) Park(int, func() bool) {}

// Resume does nothing.
func (*Spectator) Resume(int) {}

// Tell keeps a description of each event.
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

// eventLine describes an event in the model's form: the fields of its payload by their names, and
// the dispatch that it belongs to.
func eventLine(x *adk.Crossing) string {
	words, of := x.Kind.String(), ""
	for field, value := range reflect.ValueOf(x.Payload).Fields() {
		switch v := value.Interface().(type) {
		case adk.Origin:
			if x.Kind.Names(adk.Iteration) {
				words += fmt.Sprintf(" %d", v.Iteration)
			}
			of = bearing(v)
		default:
			if !isLeftOut(field) {
				words += " " + field.Name + "=" + fieldText(field.Name, value)
			}
		}
	}
	return words + of
}

// isLeftOut reports whether the model ignores a field: times and made ids, and values that a
// contract cannot predict, which are results and the errors of user code.
func isLeftOut(field reflect.StructField) bool {
	switch field.Type {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[adk.Span](), reflect.TypeFor[adk.ToolResult](), reflect.TypeFor[error]():
		return true
	}
	return slices.Contains([]string{"TurnID", "DispatchID", "ParentID"}, field.Name)
}

// fieldText describes a field of a payload. Of a hash or an object it says only whether there is
// one. It panics for a field that it does not know, because a field that it skipped would never be
// checked.
func fieldText(name string, value reflect.Value) string {
	if value.Type() == reflect.TypeFor[any]() {
		return fmt.Sprintf("%#v", value.Interface())
	}
	if value.Kind() == reflect.Pointer && value.IsNil() {
		return "none"
	}
	switch v := value.Interface().(type) {
	case *adk.TurnGate:
		return strconv.Quote(v.ID())
	case *adk.Error:
		return codeAndStage(v)
	}
	if record, ok := value.Interface().(adk.Record); ok && value.Kind() == reflect.Pointer {
		return strconv.Quote(record.Key())
	}
	switch value.Kind() {
	case reflect.Map:
		return strconv.FormatBool(!value.IsNil())
	case reflect.Slice:
		texts := make([]string, value.Len())
		for i := range texts {
			texts[i] = fieldText(name, value.Index(i))
		}
		return "[" + strings.Join(texts, " ") + "]"
	case reflect.String:
		if name == "CallID" || name == "Checksum" {
			return strconv.FormatBool(value.String() != "")
		}
		return strconv.Quote(value.String())
	case reflect.Bool, reflect.Int:
		return fmt.Sprint(value.Interface())
	}
	panic(fmt.Sprintf("model: there are no words for %s, a %s: fieldText needs a case for it, or isLeftOut", name, value.Type()))
}

func codeAndStage(e *adk.Error) string {
	if e.Stage == "" { // the contract asks for a name if a pipeline failed (PIP-5)
		return string(e.Code)
	}
	return fmt.Sprintf("%s in %s/%s", e.Code, e.Stage, e.Name)
}

// bearing describes the dispatch that an event belongs to. It is empty if user code gave the event
// no origin (EVT-10).
func bearing(o adk.Origin) string {
	if o == (adk.Origin{}) {
		return ""
	}
	return fmt.Sprintf(" of %q", o.DispatchName)
}

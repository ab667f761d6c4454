package state

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// CheckPayload checks the next crossing if it is an event: its line, and its Payload if it has one,
// must be what the crossings before it lead to. The error names the first field that differs. The
// text of a stream is compared by its length and its end, and in full only when the stream is
// complete, so that checking a whole stream takes linear time.
func (f *Fold) CheckPayload(x *adk.Crossing) error {
	if x.Kind.Class() != adk.ClassEvent {
		return nil
	}
	want, given := f.derive(x)
	if want == nil {
		return fmt.Errorf("event %s: nothing that was told before explains it", x.Kind)
	}
	err := f.checkLine(want, x)
	if err == nil && x.Payload != nil {
		err = comparePayload(want, x.Payload, given)
	}
	if err == nil && x.Kind == adk.KindTurnGateOpen {
		err = checkGate(x)
	}
	if err != nil {
		return fmt.Errorf("event %s: %w", x.Kind, err)
	}
	return nil
}

// checkLine compares the fields in an event's line with the derived payload.
func (f *Fold) checkLine(want any, x *adk.Crossing) error {
	switch e := want.(type) {
	case adk.ToolCallEvent:
		return differ("checksum", e.Checksum, x.Key)
	case adk.DispatchEnd:
		return differ("iterations", e.Iterations, x.N)
	case adk.IterationStart:
		return differ("iteration", e.Iteration, x.N)
	case adk.IterationEnd:
		return differ("iteration", e.Iteration, x.N)
	case adk.TurnGateClosed:
		return differ("result", e.Result, x.Status)
	case adk.ToolExecutionStart:
		return differ("callId", e.CallID, x.Key)
	case adk.ToolExecutionEnd:
		return differ("isError", e.IsError, x.IsError)
	case adk.ErrorEvent:
		if e.Error == nil {
			return fmt.Errorf("err: expected an error of the package, got %T (EVT-8)", x.Err)
		}
	}
	return nil
}

func differ[T comparable](field string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s: expected %s, got %s", field, safetext.Shortly(want), safetext.Shortly(got))
	}
	return nil
}

// checkGate compares the one property of a live gate that its line has, its id.
func checkGate(x *adk.Crossing) error {
	e, ok := x.Payload.(adk.TurnGateOpen)
	if !ok || e.Gate == nil {
		return nil // a trace has no live gate
	}
	return differ("Gate.ID", x.Name, e.Gate.ID())
}

// comparePayload returns an error with the first field in which two payloads differ. given says
// that user code emitted the event, so that the text of a stream is compared in full.
func comparePayload(want, got any, given bool) error {
	if !given {
		switch w := want.(type) {
		case adk.MessageEvent:
			if g, ok := got.(adk.MessageEvent); ok {
				return compareUpdates(adk.StreamUpdate(w), adk.StreamUpdate(g))
			}
		case adk.ThoughtEvent:
			if g, ok := got.(adk.ThoughtEvent); ok {
				return compareUpdates(adk.StreamUpdate(w), adk.StreamUpdate(g))
			}
		}
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Type() != g.Type() {
		return fmt.Errorf("payload: expected %s, got %s", w.Type(), g.Type())
	}
	return compareFields(w, g)
}

// compareUpdates compares two updates of one stream. Most comparisons are of updates, and nearly
// all are equal, so it compares field by field only if they are not.
func compareUpdates(want, got adk.StreamUpdate) error {
	wantFull, gotFull := want.Full, got.Full
	want.Full, got.Full = "", ""
	if want != got {
		if err := compareFields(reflect.ValueOf(want), reflect.ValueOf(got)); err != nil {
			return err
		}
	}
	if want.Complete && wantFull != gotFull || len(wantFull) != len(gotFull) || !strings.HasSuffix(gotFull, want.Delta) {
		return fmt.Errorf("Full: expected %s, got %s", safetext.Shortly(wantFull), safetext.Shortly(gotFull))
	}
	return nil
}

// compareFields compares two structs of one type, field by field.
func compareFields(want, got reflect.Value) error {
	for i := range want.NumField() {
		field := want.Type().Field(i)
		w, g := want.Field(i), got.Field(i)
		switch {
		case field.Type == reflect.TypeFor[*adk.TurnGate]():
			continue
		case field.Anonymous:
			if err := compareFields(w, g); err != nil {
				return err
			}
			continue
		}
		if !equalValues(w, g) {
			return fmt.Errorf("%s: expected %s, got %s", field.Name, safetext.Shortly(w.Interface()), safetext.Shortly(g.Interface()))
		}
	}
	return nil
}

// equalValues compares two values of one field.
func equalValues(want, got reflect.Value) bool {
	switch want.Kind() {
	case reflect.String, reflect.Bool, reflect.Int:
		return want.Equal(got)
	}
	g := got.Interface()
	switch w := want.Interface().(type) {
	case time.Time:
		return w.Equal(g.(time.Time))
	case *adk.Error:
		g := g.(*adk.Error)
		return w == g || w != nil && g != nil && safetext.ErrorWords(w) == safetext.ErrorWords(g)
	case error:
		g, ok := g.(error)
		return ok && safetext.ErrorWords(w) == safetext.ErrorWords(g)
	case adk.ToolResult:
		g, ok := g.(adk.ToolResult)
		return ok && EqualResults(w, g)
	case adk.Record:
		g, ok := g.(adk.Record)
		return ok && w.RecordKind() == g.RecordKind() && w.Digest() == g.Digest()
	default:
		return plain.Equal(w, g)
	}
}

// EqualResults reports whether two tools gave the same result.
func EqualResults(want, got adk.ToolResult) bool {
	switch w := want.(type) {
	case adk.Bytes:
		g, ok := got.(adk.Bytes)
		return ok && bytes.Equal(w, g)
	case adk.MediaList:
		g, ok := got.(adk.MediaList)
		return ok && slices.EqualFunc(w, g, func(w, g *adk.Media) bool {
			return w == g || w != nil && g != nil && w.Digest() == g.Digest()
		})
	case adk.Record:
		g, ok := got.(adk.Record)
		return ok && w.RecordKind() == g.RecordKind() && w.Digest() == g.Digest()
	}
	return false
}

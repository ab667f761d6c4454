package replay

import (
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// The members of an event that user code emits.
const (
	eventTurn        = "turn"
	eventDispatch    = "dispatch"
	eventIteration   = "iteration"
	eventID          = "id"
	eventDelta       = "delta"
	eventFull        = "full"
	eventTool        = "tool"
	eventArgs        = "args"
	eventChecksum    = "checksum"
	eventResults     = "results"
	eventIsError     = "isError"
	eventCreatedAt   = "createdAt"
	eventUpdatedAt   = "updatedAt"
	eventComplete    = "complete"
	eventCompletedAt = "completedAt"
)

// payloadField writes the event that an emit operation was given. What is no
// such event, or has a time that cannot be written, is opaque.
func (e *encoder) payloadField(label string, payload any) error {
	if payload == nil {
		return nil
	}
	e.key(label)
	switch event := payload.(type) {
	case adk.MessageEvent:
		e.streamEvent(event, adk.StreamUpdate(event))
	case adk.ThoughtEvent:
		e.streamEvent(event, adk.StreamUpdate(event))
	case adk.ToolCallEvent:
		return e.toolCallEvent(event)
	default:
		e.opaque(payload)
	}
	return nil
}

// opaque writes that something was there which cannot be written.
func (e *encoder) opaque(v any) {
	opaque, ok := v.(plain.Opaque)
	if !ok {
		opaque.Type = fmt.Sprintf("%T", v)
	}
	e.out = plain.AppendJSON(e.out, opaque)
}

// writable tells whether RFC 3339 can hold the times.
func writable(times ...time.Time) bool {
	for _, at := range times {
		if _, err := appendTime(nil, at); err != nil {
			return false
		}
	}
	return true
}

func (e *encoder) streamEvent(event any, u adk.StreamUpdate) {
	if !writable(u.CreatedAt, u.UpdatedAt, u.CompletedAt) {
		e.opaque(event)
		return
	}
	e.out = append(e.out, '{')
	e.origin(u.Origin)
	e.string(eventID, u.ID)
	e.time(eventCreatedAt, u.CreatedAt)
	e.time(eventUpdatedAt, u.UpdatedAt)
	e.string(eventDelta, u.Delta)
	e.string(eventFull, u.Full)
	e.bool(eventComplete, u.Complete)
	e.time(eventCompletedAt, u.CompletedAt)
	e.out = append(e.out, '}')
}

func (e *encoder) toolCallEvent(t adk.ToolCallEvent) error {
	if !writable(t.CreatedAt, t.UpdatedAt, t.CompletedAt) {
		e.opaque(t)
		return nil
	}
	e.out = append(e.out, '{')
	e.origin(t.Origin)
	e.string(eventID, t.ID)
	e.string(eventTool, t.Tool)
	if t.Args != nil {
		e.argsField(eventArgs, t.Args)
	}
	e.string(eventChecksum, t.Checksum)
	if err := e.resultField(eventResults, t.Results); err != nil {
		return err
	}
	e.bool(eventIsError, t.IsError)
	e.time(eventCreatedAt, t.CreatedAt)
	e.time(eventUpdatedAt, t.UpdatedAt)
	e.bool(eventComplete, t.Complete)
	e.time(eventCompletedAt, t.CompletedAt)
	e.out = append(e.out, '}')
	return nil
}

func (e *encoder) origin(o adk.Origin) {
	e.string(eventTurn, o.TurnID)
	e.string(eventDispatch, o.DispatchID)
	e.int(eventIteration, o.Iteration)
}

// time writes a time that is known to be writable.
func (e *encoder) time(name string, at time.Time) {
	if !at.IsZero() {
		e.key(name)
		e.out, _ = appendTime(e.out, at)
	}
}

// payload reads the event that an emit operation was given.
func (d *decoder) payload(kind adk.Kind, raw []byte) (any, error) {
	members, err := scanMembers(nil, raw)
	if err != nil {
		return nil, err
	}
	if len(members) == 1 && string(members[0].name) == "$opaque" {
		return plain.Parse(raw, nil)
	}
	switch kind {
	case adk.KindEmitMessage:
		u, err := d.streamEvent(members)
		return adk.MessageEvent(u), err
	case adk.KindEmitThought:
		u, err := d.streamEvent(members)
		return adk.ThoughtEvent(u), err
	case adk.KindEmitToolCall:
		return d.toolCallEvent(members)
	}
	return nil, fmt.Errorf("%s has no payload", kind)
}

// eventMembers gives the members of an event to read.
func eventMembers(members []member, read func(name string, raw []byte) (known bool, err error)) error {
	for _, m := range members {
		known, err := read(string(m.name), m.value)
		if !known {
			err = errors.New("is no member of the event")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", clip(string(m.name)), err)
		}
	}
	return nil
}

func (d *decoder) streamEvent(members []member) (u adk.StreamUpdate, err error) {
	err = eventMembers(members, func(name string, raw []byte) (_ bool, err error) {
		switch name {
		case eventID:
			u.ID, err = d.shared(raw)
		case eventCreatedAt:
			u.CreatedAt, err = timeOfJSON(raw)
		case eventUpdatedAt:
			u.UpdatedAt, err = timeOfJSON(raw)
		case eventDelta:
			u.Delta, err = textOfJSON(raw)
		case eventFull:
			u.Full, err = textOfJSON(raw)
		case eventComplete:
			u.Complete, err = boolOfJSON(raw)
		case eventCompletedAt:
			u.CompletedAt, err = timeOfJSON(raw)
		default:
			return d.originMember(&u.Origin, name, raw)
		}
		return true, err
	})
	return u, err
}

func (d *decoder) toolCallEvent(members []member) (t adk.ToolCallEvent, err error) {
	err = eventMembers(members, func(name string, raw []byte) (_ bool, err error) {
		switch name {
		case eventID:
			t.ID, err = d.shared(raw)
		case eventTool:
			t.Tool, err = d.shared(raw)
		case eventArgs:
			t.Args, err = d.object(raw)
		case eventChecksum:
			t.Checksum, err = d.shared(raw)
		case eventResults:
			t.Results, err = d.result(raw)
		case eventIsError:
			t.IsError, err = boolOfJSON(raw)
		case eventCreatedAt:
			t.CreatedAt, err = timeOfJSON(raw)
		case eventUpdatedAt:
			t.UpdatedAt, err = timeOfJSON(raw)
		case eventComplete:
			t.Complete, err = boolOfJSON(raw)
		case eventCompletedAt:
			t.CompletedAt, err = timeOfJSON(raw)
		default:
			return d.originMember(&t.Origin, name, raw)
		}
		return true, err
	})
	return t, err
}

func (d *decoder) originMember(o *adk.Origin, name string, raw []byte) (known bool, err error) {
	switch name {
	case eventTurn:
		o.TurnID, err = d.shared(raw)
	case eventDispatch:
		o.DispatchID, err = d.shared(raw)
	case eventIteration:
		o.Iteration, err = intOfJSON(raw)
	default:
		return false, nil
	}
	return true, err
}

// object reads arguments that are an object.
func (d *decoder) object(raw []byte) (map[string]any, error) {
	args, err := d.args(raw)
	if err != nil {
		return nil, err
	}
	object, ok := args.(map[string]any)
	if !ok {
		return nil, errWant("an object", raw)
	}
	return object, nil
}

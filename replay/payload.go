package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// The members of an event that user code emits.
const (
	eventTurn         = "turn"
	eventDispatch     = "dispatch"
	eventDispatchName = "dispatchName"
	eventIteration    = "iteration"
	eventID           = "id"
	eventDelta        = "delta"
	eventFull         = "full"
	eventTool         = "tool"
	eventArgs         = "args"
	eventChecksum     = "checksum"
	eventResults      = "results"
	eventIsError      = "isError"
	eventCreatedAt    = "createdAt"
	eventUpdatedAt    = "updatedAt"
	eventComplete     = "complete"
	eventCompletedAt  = "completedAt"
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
		return appendEvent(e, (*adk.StreamUpdate)(&event), streamFields, payload, event.CreatedAt, event.UpdatedAt, event.CompletedAt)
	case adk.ThoughtEvent:
		return appendEvent(e, (*adk.StreamUpdate)(&event), streamFields, payload, event.CreatedAt, event.UpdatedAt, event.CompletedAt)
	case adk.ToolCallEvent:
		return appendEvent(e, &event, toolCallFields, payload, event.CreatedAt, event.UpdatedAt, event.CompletedAt)
	}
	e.opaque(payload)
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

// eventField is one field of an event: its name in a trace, and what a row of
// fieldRows has for a field of a crossing.
type eventField[E any] struct {
	name   string
	append func(e *encoder, name string, event *E) error
	read   func(d *decoder, event *E, raw []byte) error
}

// streamFields and toolCallFields are the fields of the events, in the order in
// which they are written.
var (
	streamFields = append(originFields(func(u *adk.StreamUpdate) *adk.Origin { return &u.Origin }),
		wordField(eventID, func(u *adk.StreamUpdate) *string { return &u.ID }),
		timeField(eventCreatedAt, func(u *adk.StreamUpdate) *time.Time { return &u.CreatedAt }),
		timeField(eventUpdatedAt, func(u *adk.StreamUpdate) *time.Time { return &u.UpdatedAt }),
		textField(eventDelta, func(u *adk.StreamUpdate) *string { return &u.Delta }),
		textField(eventFull, func(u *adk.StreamUpdate) *string { return &u.Full }),
		flagField(eventComplete, func(u *adk.StreamUpdate) *bool { return &u.Complete }),
		timeField(eventCompletedAt, func(u *adk.StreamUpdate) *time.Time { return &u.CompletedAt }))
	toolCallFields = append(originFields(func(t *adk.ToolCallEvent) *adk.Origin { return &t.Origin }),
		wordField(eventID, func(t *adk.ToolCallEvent) *string { return &t.ID }),
		wordField(eventTool, func(t *adk.ToolCallEvent) *string { return &t.Tool }),
		eventField[adk.ToolCallEvent]{eventArgs,
			func(e *encoder, name string, t *adk.ToolCallEvent) error {
				if t.Args != nil {
					e.argsField(name, t.Args)
				}
				return nil
			},
			func(d *decoder, t *adk.ToolCallEvent, raw []byte) (err error) {
				t.Args, err = d.object(raw)
				return err
			}},
		wordField(eventChecksum, func(t *adk.ToolCallEvent) *string { return &t.Checksum }),
		eventField[adk.ToolCallEvent]{eventResults,
			func(e *encoder, name string, t *adk.ToolCallEvent) error { return e.resultField(name, t.Results) },
			func(d *decoder, t *adk.ToolCallEvent, raw []byte) (err error) {
				t.Results, err = d.result(raw)
				return err
			}},
		flagField(eventIsError, func(t *adk.ToolCallEvent) *bool { return &t.IsError }),
		timeField(eventCreatedAt, func(t *adk.ToolCallEvent) *time.Time { return &t.CreatedAt }),
		timeField(eventUpdatedAt, func(t *adk.ToolCallEvent) *time.Time { return &t.UpdatedAt }),
		flagField(eventComplete, func(t *adk.ToolCallEvent) *bool { return &t.Complete }),
		timeField(eventCompletedAt, func(t *adk.ToolCallEvent) *time.Time { return &t.CompletedAt }))
)

func originFields[E any](of func(*E) *adk.Origin) []eventField[E] {
	return []eventField[E]{
		wordField(eventTurn, func(event *E) *string { return &of(event).TurnID }),
		wordField(eventDispatch, func(event *E) *string { return &of(event).DispatchID }),
		wordField(eventDispatchName, func(event *E) *string { return &of(event).DispatchName }),
		{eventIteration,
			func(e *encoder, name string, event *E) error { e.int(name, of(event).Iteration); return nil },
			func(_ *decoder, event *E, raw []byte) (err error) {
				of(event).Iteration, err = intOfJSON(raw)
				return err
			}},
	}
}

// wordField is a text that lines tend to say again, such as an id.
func wordField[E any](name string, of func(*E) *string) eventField[E] {
	return eventField[E]{name,
		func(e *encoder, name string, event *E) error { e.string(name, *of(event)); return nil },
		func(d *decoder, event *E, raw []byte) (err error) { *of(event), err = d.shared(raw); return err }}
}

func textField[E any](name string, of func(*E) *string) eventField[E] {
	return eventField[E]{name,
		func(e *encoder, name string, event *E) error { e.string(name, *of(event)); return nil },
		func(_ *decoder, event *E, raw []byte) (err error) { *of(event), err = textOfJSON(raw); return err }}
}

func flagField[E any](name string, of func(*E) *bool) eventField[E] {
	return eventField[E]{name,
		func(e *encoder, name string, event *E) error { e.bool(name, *of(event)); return nil },
		func(_ *decoder, event *E, raw []byte) (err error) { *of(event), err = boolOfJSON(raw); return err }}
}

func timeField[E any](name string, of func(*E) *time.Time) eventField[E] {
	return eventField[E]{name,
		func(e *encoder, name string, event *E) error { return e.time(name, *of(event)) },
		func(_ *decoder, event *E, raw []byte) (err error) { *of(event), err = timeOfJSON(raw); return err }}
}

// appendEvent writes an event. One that has a time which cannot be written is
// opaque, which is seen before anything of it is written: what is written numbers
// records.
func appendEvent[E any](e *encoder, event *E, fields []eventField[E], given any, times ...time.Time) error {
	for _, at := range times {
		if _, err := appendTime(nil, at); err != nil {
			e.opaque(given)
			return nil
		}
	}
	e.out = append(e.out, '{')
	for _, f := range fields {
		if err := f.append(e, f.name, event); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// readEvent reads what appendEvent wrote.
func readEvent[E any](d *decoder, members []member, fields []eventField[E]) (event E, err error) {
	for _, m := range members {
		at := slices.IndexFunc(fields, func(f eventField[E]) bool { return f.name == string(m.name) })
		if at < 0 {
			return event, fmt.Errorf("%s: is no member of the event", clip(string(m.name)))
		}
		if err := fields[at].read(d, &event, m.value); err != nil {
			return event, fmt.Errorf("%s: %w", clip(string(m.name)), err)
		}
	}
	return event, nil
}

func (e *encoder) time(name string, at time.Time) (err error) {
	if !at.IsZero() {
		e.key(name)
		e.out, err = appendTime(e.out, at)
	}
	return err
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
		u, err := readEvent(d, members, streamFields)
		return adk.MessageEvent(u), err
	case adk.KindEmitThought:
		u, err := readEvent(d, members, streamFields)
		return adk.ThoughtEvent(u), err
	case adk.KindEmitToolCall:
		return readEvent(d, members, toolCallFields)
	}
	return nil, fmt.Errorf("%s has no payload", kind)
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

package wire

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
	EventIteration    = "iteration"
	eventID           = "id"
	EventDelta        = "delta"
	EventFull         = "full"
	eventTool         = "tool"
	EventArgs         = "args"
	eventChecksum     = "checksum"
	EventResults      = "results"
	EventIsError      = "isError"
	EventCreatedAt    = "createdAt"
	EventUpdatedAt    = "updatedAt"
	EventComplete     = "complete"
	EventCompletedAt  = "completedAt"
)

// PayloadField writes the event that was given to an emit operation. A payload that is not such an
// event, or that has a time that cannot be written, becomes opaque.
func (e *Encoder) PayloadField(label string, payload any) error {
	if payload == nil {
		return nil
	}
	e.Key(label)
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

// opaque writes that there was a value of some type that cannot be written.
func (e *Encoder) opaque(v any) {
	opaque, ok := v.(plain.Opaque)
	if !ok {
		opaque.Type = fmt.Sprintf("%T", v)
	}
	e.Out = plain.AppendJSON(e.Out, opaque)
}

// eventField is one field of an event: its name in a trace, and how it is written and read, as in a
// row of FieldRows.
type eventField[E any] struct {
	name   string
	append func(e *Encoder, name string, event *E) error
	read   func(d *Decoder, event *E, raw []byte) error
}

// streamFields and toolCallFields are the fields of the events, in the order in which they are
// written.
var (
	streamFields = append(originFields(func(u *adk.StreamUpdate) *adk.Origin { return &u.Origin }),
		wordField(eventID, func(u *adk.StreamUpdate) *string { return &u.ID }),
		timeField(EventCreatedAt, func(u *adk.StreamUpdate) *time.Time { return &u.CreatedAt }),
		timeField(EventUpdatedAt, func(u *adk.StreamUpdate) *time.Time { return &u.UpdatedAt }),
		textField(EventDelta, func(u *adk.StreamUpdate) *string { return &u.Delta }),
		textField(EventFull, func(u *adk.StreamUpdate) *string { return &u.Full }),
		flagField(EventComplete, func(u *adk.StreamUpdate) *bool { return &u.Complete }),
		timeField(EventCompletedAt, func(u *adk.StreamUpdate) *time.Time { return &u.CompletedAt }))
	toolCallFields = append(originFields(func(t *adk.ToolCallEvent) *adk.Origin { return &t.Origin }),
		wordField(eventID, func(t *adk.ToolCallEvent) *string { return &t.ID }),
		wordField(eventTool, func(t *adk.ToolCallEvent) *string { return &t.Tool }),
		eventField[adk.ToolCallEvent]{EventArgs,
			func(e *Encoder, name string, t *adk.ToolCallEvent) error {
				if t.Args != nil {
					e.argsField(name, t.Args)
				}
				return nil
			},
			func(d *Decoder, t *adk.ToolCallEvent, raw []byte) (err error) {
				t.Args, err = d.object(raw)
				return err
			}},
		wordField(eventChecksum, func(t *adk.ToolCallEvent) *string { return &t.Checksum }),
		eventField[adk.ToolCallEvent]{EventResults,
			func(e *Encoder, name string, t *adk.ToolCallEvent) error { return e.ResultField(name, t.Results) },
			func(d *Decoder, t *adk.ToolCallEvent, raw []byte) (err error) {
				t.Results, err = d.result(raw)
				return err
			}},
		flagField(EventIsError, func(t *adk.ToolCallEvent) *bool { return &t.IsError }),
		timeField(EventCreatedAt, func(t *adk.ToolCallEvent) *time.Time { return &t.CreatedAt }),
		timeField(EventUpdatedAt, func(t *adk.ToolCallEvent) *time.Time { return &t.UpdatedAt }),
		flagField(EventComplete, func(t *adk.ToolCallEvent) *bool { return &t.Complete }),
		timeField(EventCompletedAt, func(t *adk.ToolCallEvent) *time.Time { return &t.CompletedAt }))
)

func originFields[E any](of func(*E) *adk.Origin) []eventField[E] {
	return []eventField[E]{
		wordField(eventTurn, func(event *E) *string { return &of(event).TurnID }),
		wordField(eventDispatch, func(event *E) *string { return &of(event).DispatchID }),
		wordField(eventDispatchName, func(event *E) *string { return &of(event).DispatchName }),
		{EventIteration,
			func(e *Encoder, name string, event *E) error { e.Int(name, int64(of(event).Iteration)); return nil },
			func(_ *Decoder, event *E, raw []byte) (err error) {
				of(event).Iteration, err = IntOfJSON(raw)
				return err
			}},
	}
}

// wordField is a text that lines tend to repeat, such as an id.
func wordField[E any](name string, of func(*E) *string) eventField[E] {
	return eventField[E]{name,
		func(e *Encoder, name string, event *E) error { e.String(name, *of(event)); return nil },
		func(d *Decoder, event *E, raw []byte) (err error) { *of(event), err = d.shared(raw); return err }}
}

func textField[E any](name string, of func(*E) *string) eventField[E] {
	return eventField[E]{name,
		func(e *Encoder, name string, event *E) error { e.String(name, *of(event)); return nil },
		func(_ *Decoder, event *E, raw []byte) (err error) { *of(event), err = TextOfJSON(raw); return err }}
}

func flagField[E any](name string, of func(*E) *bool) eventField[E] {
	return eventField[E]{name,
		func(e *Encoder, name string, event *E) error { e.Bool(name, *of(event)); return nil },
		func(_ *Decoder, event *E, raw []byte) (err error) { *of(event), err = BoolOfJSON(raw); return err }}
}

func timeField[E any](name string, of func(*E) *time.Time) eventField[E] {
	return eventField[E]{name,
		func(e *Encoder, name string, event *E) error { return e.time(name, *of(event)) },
		func(_ *Decoder, event *E, raw []byte) (err error) { *of(event), err = TimeOfJSON(raw); return err }}
}

// appendEvent writes an event, or an opaque value if one of its times cannot be written. It checks
// the times first, because writing a record numbers it and cannot be undone.
func appendEvent[E any](e *Encoder, event *E, fields []eventField[E], given any, times ...time.Time) error {
	for _, at := range times {
		if _, err := AppendTime(nil, at); err != nil {
			e.opaque(given)
			return nil
		}
	}
	e.Out = append(e.Out, '{')
	for _, f := range fields {
		if err := f.append(e, f.name, event); err != nil {
			return err
		}
	}
	e.Out = append(e.Out, '}')
	return nil
}

// readEvent reads what appendEvent wrote.
func readEvent[E any](d *Decoder, members []ScannedMember, fields []eventField[E]) (event E, err error) {
	for _, m := range members {
		at := slices.IndexFunc(fields, func(f eventField[E]) bool { return f.name == string(m.Name) })
		if at < 0 {
			return event, fmt.Errorf("%s: is no member of the event", Clip(string(m.Name)))
		}
		if err := fields[at].read(d, &event, m.Value); err != nil {
			return event, fmt.Errorf("%s: %w", Clip(string(m.Name)), err)
		}
	}
	return event, nil
}

func (e *Encoder) time(name string, at time.Time) (err error) {
	if !at.IsZero() {
		e.Key(name)
		e.Out, err = AppendTime(e.Out, at)
	}
	return err
}

// payload reads the event that was given to an emit operation.
func (d *Decoder) payload(kind adk.Kind, raw []byte) (any, error) {
	members, err := ScanMembers(nil, raw)
	if err != nil {
		return nil, err
	}
	if len(members) == 1 && string(members[0].Name) == "$opaque" {
		return plain.Parse(raw, nil)
	}
	switch kind.Event().Payload().(type) {
	case adk.MessageEvent:
		u, err := readEvent(d, members, streamFields)
		return adk.MessageEvent(u), err
	case adk.ThoughtEvent:
		u, err := readEvent(d, members, streamFields)
		return adk.ThoughtEvent(u), err
	case adk.ToolCallEvent:
		return readEvent(d, members, toolCallFields)
	}
	return nil, fmt.Errorf("%s has no payload", kind)
}

// object reads arguments that must be an object.
func (d *Decoder) object(raw []byte) (map[string]any, error) {
	args, err := d.args(raw)
	if err != nil {
		return nil, err
	}
	object, ok := args.(map[string]any)
	if !ok {
		return nil, ErrWant("an object", raw)
	}
	return object, nil
}

package state

import (
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file derives the payloads of events each of whose fields says, by its tag in
// package adk, which field of a crossing gives it. Only an event that tells of more than
// one line before it, as of a stream or of what it ends, has a case in derive.go.

// saidBy is the tag of a field of a payload: the field of a crossing that says it.
const saidBy = "crossing"

// heardEvent is how the payload of such an event is put together.
type heardEvent struct {
	origin []int       // of the field that is the Origin; nil where there is none
	caused []heardPart // what the line of the operation says that causes it
	own    []heardPart // what the event's own line says
	rooms  sync.Pool   // of payloads to be filled
}

// heardPart is one field of a payload, and the field of a crossing that says it.
type heardPart struct{ to, from []int }

// heardEvents has them by the kind of the event.
var heardEvents = everyHeardEvent()

func everyHeardEvent() (all [math.MaxUint8 + 1]*heardEvent) {
	for _, kind := range adk.Kinds() {
		if payload := kind.Payload(); payload != nil {
			all[kind] = heardOf(kind, reflect.TypeOf(payload))
		}
	}
	return all
}

// heardOf is nil where a field of the payload does not say where it stands.
func heardOf(kind adk.Kind, payload reflect.Type) *heardEvent {
	h := &heardEvent{rooms: sync.Pool{New: func() any { return reflect.New(payload).Interface() }}}
	for to := range payload.Fields() {
		if to.Type == reflect.TypeFor[adk.Origin]() {
			h.origin = to.Index
			continue
		}
		from, known := reflect.TypeFor[adk.Crossing]().FieldByName(to.Tag.Get(saidBy))
		if !known {
			return nil
		}
		if part := (heardPart{to.Index, from.Index}); isOfOperation(kind, from.Name) {
			h.caused = append(h.caused, part)
		} else {
			h.own = append(h.own, part)
		}
	}
	return h
}

// isOfOperation reports whether a field of an event stands in the line of the operation
// that causes it, and not in its own. What lies within an operation has a time of its own.
func isOfOperation(event adk.Kind, field string) bool {
	if field == "At" {
		return alone[event] && !slices.ContainsFunc(adk.Kinds(), func(k adk.Kind) bool {
			return k.Spanning() && slices.Contains(k.Causes(), event)
		})
	}
	return alone[event] && !slices.ContainsFunc(event.Fields(adk.Whole), func(use adk.FieldUse) bool {
		return use.Field.String() == field
	})
}

// ofOperation is what listeners hear of an event, as far as the operation that causes it
// says so.
func (h *heardEvent) ofOperation(from adk.Origin, x *adk.Crossing) any {
	return h.payload(nil, from, h.caused, x)
}

// whole is what listeners hear of an event: what its operation says, nil where none causes
// it, and what its own line does.
func (h *heardEvent) whole(ofOperation any, from adk.Origin, x *adk.Crossing) any {
	if ofOperation != nil && len(h.own) == 0 {
		return ofOperation
	}
	return h.payload(ofOperation, from, h.own, x)
}

func (h *heardEvent) payload(known any, from adk.Origin, parts []heardPart, x *adk.Crossing) any {
	room := h.rooms.Get()
	defer h.rooms.Put(room)
	payload := reflect.ValueOf(room).Elem()
	defer payload.SetZero()
	if known != nil {
		payload.Set(reflect.ValueOf(known))
	} else if h.origin != nil {
		*payload.FieldByIndex(h.origin).Addr().Interface().(*adk.Origin) = from
	}
	line := reflect.ValueOf(x).Elem()
	for _, part := range parts {
		hear(payload.FieldByIndex(part.to), line.FieldByIndex(part.from))
	}
	return payload.Interface()
}

// hear sets a field to what a crossing says, of which nothing is kept that its owner may
// change. What is not of the field's type is not there.
func hear(to, from reflect.Value) {
	switch {
	case from.Type() == reflect.TypeFor[any]():
		from = reflect.ValueOf(plain.Copy(from.Interface()))
	case from.Kind() == reflect.Interface:
		from = from.Elem()
	case from.Kind() == reflect.Slice && !from.IsNil():
		from = reflect.AppendSlice(reflect.MakeSlice(from.Type(), 0, from.Len()), from)
	}
	switch {
	case !from.IsValid():
	case from.Type().AssignableTo(to.Type()):
		to.Set(from)
	case from.Kind() == reflect.String && to.Kind() == reflect.String: // a text of a type of its own
		to.Set(from.Convert(to.Type()))
	}
}

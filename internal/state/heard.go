package state

import (
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file derives the payloads of events in which each field names, by its tag in package adk,
// the field of a crossing that supplies it. Only an event that depends on more than one earlier
// line, such as the event of a stream or of an end, needs a case in derive.go.

// saidBy is the key of that tag.
const saidBy = "crossing"

// heardEvent describes how to build the payload of such an event.
type heardEvent struct {
	origin []int       // the index of the Origin field; nil if there is none
	caused []heardPart // fields that the line of the causing operation supplies
	own    []heardPart // fields that the event's own line supplies
	rooms  sync.Pool   // reusable payloads
}

// heardPart is the index of a field of a payload, and of the crossing's field that supplies it.
type heardPart struct{ to, from []int }

// heardEvents holds the descriptions by the kind of the event; nil where there is none.
var heardEvents = everyHeardEvent()

func everyHeardEvent() (all [math.MaxUint8 + 1]*heardEvent) {
	for _, kind := range adk.Kinds() {
		if payload := kind.Payload(); payload != nil {
			all[kind] = heardOf(kind, reflect.TypeOf(payload))
		}
	}
	return all
}

// heardOf returns nil if a field of the payload has no such tag.
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

// isOfOperation reports whether the line of the causing operation supplies a field of an event, and
// not the event's own line. An event within a spanning operation has its own time.
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

// ofOperation returns the payload of an event, filled as far as the operation that causes it
// supplies it.
func (h *heardEvent) ofOperation(from adk.Origin, x *adk.Crossing) any {
	return h.payload(nil, from, h.caused, x)
}

// whole returns the payload of an event. ofOperation is the part that its operation supplied, or
// nil if no operation causes it; the event's own line supplies the rest.
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

// hear sets a payload's field to a crossing's field, without keeping anything that the crossing's
// owner may change. A value that does not fit the field's type is left out.
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
	case from.Kind() == reflect.String && to.Kind() == reflect.String: // a text of a named type
		to.Set(from.Convert(to.Type()))
	}
}

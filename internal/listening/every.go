// Package listening makes listeners for all events.
package listening

import (
	"reflect"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Every returns listeners for all events of both buses. They call hear with the kind of the event
// and its payload, which has the type that the listener of that event takes.
func Every(hear func(kind adk.Kind, event any)) (functional adk.Functional, observability adk.Observability) {
	for _, listeners := range []reflect.Value{reflect.ValueOf(&functional).Elem(), reflect.ValueOf(&observability).Elem()} {
		for field, listener := range listeners.Fields() {
			kind := adk.KindByName(strings.ToLower(field.Name[:1]) + field.Name[1:])
			listener.Set(reflect.MakeFunc(field.Type, func(in []reflect.Value) []reflect.Value {
				hear(kind, in[0].Interface())
				return nil
			}))
		}
	}
	return functional, observability
}

package adk

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

// EVT-1: a listener of any functional event counts as a listener. The engine skips events without
// listeners, so a listener that it overlooked would get nothing unless another one listens.
func TestEveryFunctionalListenerIsAskedFor(t *testing.T) {
	assert.True(t, (&run{shared: &buses{}}).unheard())
	for i := range reflect.TypeFor[Functional]().NumField() {
		r := &run{shared: &buses{}}
		listener := reflect.ValueOf(&r.own.functional.Listeners).Elem().Field(i)
		listener.Set(reflect.MakeFunc(listener.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		assert.False(t, r.unheard(), reflect.TypeFor[Functional]().Field(i).Name)
	}
}

package replay

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/replay/trace"
)

// What a trace is written with is what it is read with, in every option that both have: one that
// is new is not left out of a run that is made again.
func TestRecordOptionsAreThoseOfTraces(t *testing.T) {
	t.Parallel()
	var read trace.Options
	var both int
	options := reflect.ValueOf(&read).Elem()
	for i := range options.NumField() {
		name := options.Type().Field(i).Name
		if _, too := reflect.TypeFor[RecordOptions]().FieldByName(name); !too || name == "MaxBytes" { // the recorder itself keeps to that
			continue
		}
		both++
		switch field := options.Field(i).Addr().Interface().(type) {
		case *int64:
			*field = int64(i + 1)
		case *map[string]error:
			*field = map[string]error{"shop.ErrSoldOut": errors.ErrUnsupported}
		case *map[string]trace.ErrorType:
			*field = map[string]trace.ErrorType{"shop.Error": {}}
		default:
			t.Fatalf("no value of %s is known", name)
		}
	}
	assert.GreaterOrEqual(t, both, 6)
	assert.Equal(t, read, recordingAs(read).writing())
}

package replay

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/replay/trace"
)

// Every option that recorders and traces share has the same value for reading as for writing: a
// new option is not forgotten when a run is made again.
func TestRecordOptionsAreThoseOfTraces(t *testing.T) {
	t.Parallel()
	var read trace.Options
	var both int
	options := reflect.ValueOf(&read).Elem()
	for i := range options.NumField() {
		name := options.Type().Field(i).Name
		if _, too := reflect.TypeFor[RecordOptions]().FieldByName(name); !too || name == "MaxBytes" { // the recorder itself enforces MaxBytes
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

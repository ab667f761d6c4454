package wire_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// The list of all names of seams is complete: a name that is missing from it would be in no header, and no
// replay would build it.
func TestAllNamesOfSeamsAreListed(t *testing.T) {
	var info adk.RunInfo
	listed := map[any]bool{}
	for _, n := range wire.Named(&info) {
		_, err := adk.ParseSeam(n.Label + "/name#0")
		assert.NoError(t, err, "a label")
		if listed[n.One], listed[n.List] = true, true; n.One == nil {
			assert.NotNil(t, n.List, n.Label)
		}
	}
	fields := reflect.ValueOf(&info).Elem()
	for i := range fields.NumField() {
		switch of := fields.Field(i).Addr().Interface().(type) {
		case *string, *[]string:
			assert.True(t, listed[of], fields.Type().Field(i).Name)
		}
	}
}

// Names that are read and put back are unchanged, and an empty name is left out.
func TestNamesOfSeamsArePutBack(t *testing.T) {
	for _, info := range []adk.RunInfo{{}, {Executor: "model", TurnInput: []string{"a", "b"}, DispatchOutput: []string{"c"}}} {
		got := info
		for _, n := range wire.Named(&got) {
			names := n.All()
			for i := range names {
				assert.NotEmpty(t, names[i], n.Label)
				names[i] += "x"
			}
			n.Put(names)
		}
		want := adk.RunInfo{}
		if info.Executor != "" {
			want = adk.RunInfo{Executor: "modelx", TurnInput: []string{"ax", "bx"}, DispatchOutput: []string{"cx"}}
			assert.Equal(t, []string{"a", "b"}, info.TurnInput, "the list is its own")
		}
		assert.Equal(t, want, got)
	}
}

// The seam that an operation calls in user code is in the table of kinds.
func TestSeamsThatOperationsLeadTo(t *testing.T) {
	for label, want := range map[string]bool{
		adk.LabelStorage: true, adk.LabelTool: true, adk.LabelOnAck: true, adk.LabelStrand: true,
		adk.LabelRun: false, adk.LabelDispatch: false, adk.LabelExecutor: false, adk.LabelTurnInput: false,
	} {
		assert.Equal(t, want, wire.IsLedTo(adk.Seam{Label: label}), label)
	}
}

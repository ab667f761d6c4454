package wire_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Every name of a run's seams is in the one list of them: what is left out of it is in no
// header, and no replay builds it.
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

// What is read and put back is as it was; of a name that is empty there is none.
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

// What an operation calls for user code is a row of the table of kinds.
func TestSeamsThatOperationsLeadTo(t *testing.T) {
	for label, want := range map[string]bool{
		adk.LabelStorage: true, adk.LabelTool: true, adk.LabelOnAck: true, adk.LabelStrand: true,
		adk.LabelRun: false, adk.LabelDispatch: false, adk.LabelExecutor: false, adk.LabelTurnInput: false,
	} {
		assert.Equal(t, want, wire.IsLedTo(adk.Seam{Label: label}), label)
	}
}

package gen_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/scenarios"
)

// subjectOf returns a scenario as a subject.
func subjectOf(t testing.TB, name string) turn.Subject {
	t.Helper()
	s, ok := scenarios.Named(name)
	require.True(t, ok, name)
	return turn.Subject{Name: name, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return s.Build(scenarios.Outside{Cancel: cancel})
	}}
}

// A fault that an explorer injects can be written into a turn. The turn fails as well, and its shortest form
// has the fault in its user code.
func TestTurnUnder(t *testing.T) {
	subject := subjectOf(t, "tool-round-trip")
	whole, err := gen.TurnUnder(context.Background(), subject, turn.Schedule{})
	require.NoError(t, err)
	crossings := 0
	for at := 2; at < 60; at++ {
		broken, err := gen.TurnUnder(context.Background(), subject, turn.Schedule{Faults: []turn.Fault{{Kind: turn.Panic, At: at}}})
		if err != nil {
			continue // no user code runs there
		}
		keeps := turntest.Shows(turntest.AnyLine(turntest.Failed(adk.E_LLM_EXECUTION_EXECUTOR_ERROR)))
		require.False(t, keeps(whole))
		if !keeps(broken) {
			continue
		}
		crossings++
		small, _ := shrink.Shrink(broken, keeps)
		assert.LessOrEqual(t, small.Operations(), 1, "%#v", small)
	}
	assert.Positive(t, crossings)
}

package describe_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// The text of a line is the same whichever line is asked for first, and the same as from a namer that has
// been given all crossings before it.
func TestLinesOfARun(t *testing.T) {
	for _, f := range tracetest.AllFixtures(t) {
		run := describe.Of(calls.Of(f.Trace))
		for i := len(run.Lines) - 1; i >= 0; i -= 7 {
			n := describe.New(state.New())
			for _, earlier := range run.Lines[:i] {
				_ = n.Pass(earlier)
			}
			assert.Equal(t, n.Line(run.Lines[i]), run.Line(run.Lines[i]), "%s at %d", f.Name, i+1)
		}
	}
}

package transcript

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// No control sequence of a hostile text reaches the terminal (design: "a viewer treats every
// string as hostile"), and no crossings make a state panic.
func TestStateIsSafe(t *testing.T) {
	hostile := "\x1b[2J\u202e\u2066\u200b\u0085\u2028\r\n\t\x7f\xff\u00ad"
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		for _, x := range told {
			tracetest.Poison(x, hostile)
		}
		for i := 0; i < len(told); i += 5 {
			for _, from := range []int{0, i / 2} {
				b := newStateBuilder()
				for j, x := range told[from:i] {
					b.pass(j+1, x)
				}
				tracetest.RequirePrintable(t, b.state(i-from+1, told[i]).String())
			}
		}
	}
}

// A trace of hostile lines is shown without a panic.
func TestShownIsSafe(t *testing.T) {
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		var text bytes.Buffer
		_, err := tracetest.TraceOf(told).WriteTo(&text)
		require.NoError(t, err)
		for x := range Expand(&text) {
			if x != nil {
				tracetest.RequirePrintable(t, x.Line)
			}
		}
	}
}

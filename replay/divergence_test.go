package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The name of a seam comes from the trace: it must not be able to add a line
// that reads like the verdict's own, or to act upon a terminal.
func TestDivergenceKeepsHostileSeamsOnItsLine(t *testing.T) {
	d := &Divergence{Class: Missing, Crossing: 3, Seam: "turn-input/x\n0 divergences\x1b[2J"}
	assert.Equal(t, `missing at crossing 3, in turn-input/x\n0 divergences\x1b[2J, 0s into the turn`+"\n", d.String())
}

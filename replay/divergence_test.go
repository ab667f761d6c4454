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

// A crossing of a damaged trace may belong to no call.
func TestDivergenceWithoutASeam(t *testing.T) {
	d := &Divergence{Class: Missing, Crossing: 3}
	assert.Equal(t, "missing at crossing 3, 0s into the turn\n", d.String())
}

// A call that ended early is told by how it ended, and not by the operation that it
// did not come to, with which nothing is wrong.
func TestCauseOfACallThatEnded(t *testing.T) {
	d := &Divergence{Class: ChangedError, Seam: "turn-input/load", Expected: `stash a = 1`, Got: "turn-input/load returns → error: down",
		Fields: []FieldDiff{{Field: "outcome", Got: `"error"`}, {Field: "err", Got: `{"text":"down"}`}}}
	assert.Equal(t, `error in turn-input/load: turn-input/load returns, err: now with "down"; outcome: now with "error"`, newCause(d).String())
}

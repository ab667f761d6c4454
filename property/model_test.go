package property

import (
	"strings"
	"testing"
)

// The engine does what the model of the contract says.
func TestModel(t *testing.T) {
	checkTurns(t, Turns(Knobs{OneStrand: true, NoGoexit: true, Operations: 14}), asPredicted)
}

// asPredicted holds a turn of one strand, in which no goroutine is ended, to the
// model.
func asPredicted(turn Turn) string {
	said := turn.GoString()
	if strings.Contains(said, `"op":"fork"`) || strings.Contains(said, `goexit"`) {
		return ""
	}
	return Disagree(turn)
}

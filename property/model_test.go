package property

import (
	"testing"

	"pgregory.net/rapid"
)

// The engine does what the model of the contract says.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turn := Turns(Knobs{OneStrand: true, NoGoexit: true, Operations: 14}).Draw(t, "turn")
		if text := Disagree(turn); text != "" {
			t.Fatalf("%s\n%#v", text, turn)
		}
	})
}

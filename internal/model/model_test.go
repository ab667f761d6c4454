package model_test

import (
	"testing"

	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
)

// The engine does what the model of the contract says.
func TestModel(t *testing.T) {
	turntest.CheckTurns(t, gen.Turns(gen.Knobs{OneStrand: true, NoGoexit: true, Operations: 14}), turntest.AsPredicted)
}

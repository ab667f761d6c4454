package gen_test

import (
	"fmt"

	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Any turn that is drawn, legal or not, runs, replays and keeps all invariants. In a test
// rapid.Check draws them; here is one.
func ExampleTurns() {
	one := gen.Turns(gen.Knobs{}).Example(1)
	fmt.Println(len(turn.CheckTurn(one)), "findings")
	// Output: 0 findings
}

package turn_test

import (
	"fmt"

	"github.com/adkreplay/adkreplay/property/turn"
)

// A turn as data: what the seam calls of it do. It runs as any other, and can be checked.
func ExampleCheckTurn() {
	one := turn.Turn{Prompt: "Be brief.", Scripts: []turn.Script{
		{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{{Kind: "ack"}}}},
	}}
	fmt.Println(one.Operations(), "operation,", len(turn.CheckTurn(one)), "findings")
	// Output: 1 operation, 0 findings
}

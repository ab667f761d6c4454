package shrink_test

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// What does not matter to what a turn shows is taken away: here it has to abort.
func ExampleShrink() {
	long := turn.Turn{Prompt: "Be brief, and kind, and quick.", TurnInput: []string{"hydrate"}, Scripts: []turn.Script{
		{Seam: "turn-input/hydrate", Body: turn.Body{Ops: []turn.Op{{Kind: "new-id"}, {Kind: "next"}}}},
		{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{{Kind: "now"}, {Kind: "abort"}, {Kind: "new-id"}}}},
	}}
	aborts := func(t turn.Turn) bool {
		return slices.ContainsFunc(t.Scripts, func(s turn.Script) bool {
			return slices.ContainsFunc(s.Ops, func(op turn.Op) bool { return op.Kind == "abort" })
		})
	}
	small, _ := shrink.Shrink(long, aborts)
	fmt.Println("from", long.Operations(), "operations to", small.Operations())
	// Output: from 5 operations to 1
}

package property

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// found are turns that once failed, as shrinking left them.
var found = map[string]Turn{
	// A goroutine that ended told its cancel in the replay when its strand had
	// run, and in the recording before that (PIP-11).
	"goexit with a strand": {Prompt: "p", Scripts: []Script{{Seam: "executor/model#0", Body: Body{
		Ops: []Op{{Kind: "fork", Name: "s"}}, End: End{How: adk.OutcomeGoexit}}}}},
	// And so where it had waited for the strand.
	"goexit behind a strand": {Prompt: "p", TurnInput: []string{"a"}, Scripts: []Script{{Seam: "turn-input/a", Body: Body{
		Ops: []Op{{Kind: "fork", Name: "s", Do: &Body{}}, {Kind: OpJoin, Name: "s"}}, End: End{How: adk.OutcomeGoexit}}}}},
	// A strand that waits settled the gate that had the id before, since nobody
	// had heard of the new one yet (GAT-1).
	"two gates of one id beside a strand": {Prompt: "p", TurnInput: []string{"a"}, Scripts: []Script{{Seam: "turn-input/a", Body: Body{Ops: []Op{
		{Kind: "fork", Name: "s", Do: &Body{Ops: []Op{twoGates, twoGates, twoGates}}},
		{Kind: "fork", Name: "t", Do: &Body{Ops: []Op{{Kind: "sleep", Duration: 1}, {Kind: "new-id"}}}},
		{Kind: "next"},
		{Kind: OpJoin, Name: "s"}}}}}},
	// The strand and the waiter both came to the recorded offer in the replay, and
	// each made it: a refused one is made twice (GAT-3).
	"refused offer beside a strand": {Prompt: "p", TurnInput: []string{"a"}, Scripts: []Script{{Seam: "turn-input/a", Body: Body{Ops: []Op{
		{Kind: "fork", Name: "s", Do: &Body{Ops: []Op{{Kind: "wait-for", Name: "g", Text: "may I?", Duration: 1, Schema: json.RawMessage(`{"type":"boolean"}`),
			Settle: []Settlement{{By: "bob", Result: adk.GateResolved, Value: ValueOf("yes")}}}}}},
		{Kind: "next"},
		{Kind: "fork", Name: "t", Do: &Body{}},
		{Kind: OpJoin, Name: "s"}}}}}},
}

// twoGates is one of several waits for gates of one id.
var twoGates = Op{Kind: "wait-for", Name: "g", Text: "may I?", Duration: 1,
	Settle: []Settlement{{By: "bob", Result: adk.GateResolved, Value: ValueOf(true)}}}

func TestFound(t *testing.T) {
	for name, turn := range found {
		t.Run(name, func(t *testing.T) {
			for range 50 { // where goroutines raced
				assert.Empty(t, CheckTurn(turn))
			}
		})
	}
}

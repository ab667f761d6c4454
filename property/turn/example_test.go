package turn_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
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

// A check holds what the world was asked for against one another, by what became of it. What nobody
// can know it accuses nobody of.
func ExampleRun_Asks() {
	agent := turn.Subject{Name: "agent", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			writes := adk.AskOptions{Effect: adk.EffectWrites}
			_, paid := adk.Ask(ctx, "bank", "pay", func(context.Context, string) (string, error) { return "paid", nil }, writes)
			return errors.Join(paid, dc.Ack()) // and nobody sends anything
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Sell."}
	}, Check: func(r turn.Run) error {
		fates := map[string]turn.Fate{"bank": turn.NotDone, "post": turn.NotDone}
		for _, ask := range r.Asks() {
			fates[ask.Of] = ask.Fate
		}
		if paid, sent := fates["bank"], fates["post"]; paid != sent && paid != turn.Unknown && sent != turn.Unknown {
			return fmt.Errorf("paid: %s, sent: %s", paid, sent)
		}
		return nil
	}}
	for _, found := range turn.CheckSubject(agent) {
		fmt.Println(found.Text)
	}
	// Output: paid: done, sent: not done
}

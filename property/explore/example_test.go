package explore_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
)

// answer is an executor with a mistake: where storing its answer fails, it stores
// it once more, as another message. The first one may be there all the same.
var answer = adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	store := func() error {
		said, err := adk.NewMessage(adk.MessageInit{
			ID: dc.NewID(), Role: adk.RoleAssistant, Content: "It is 4 °C in Oslo.",
			CreatedAt: dc.Now(), UpdatedAt: dc.Now(),
		})
		if err != nil {
			return err
		}
		return dc.Messages().Store(ctx, said)
	}
	if store() != nil {
		if err := store(); err != nil {
			return dc.Nack(err)
		}
	}
	return dc.Ack()
}}

// An agent's own config is broken at every crossing, and a check of its own is
// held against every run beside the invariants. It finds the retry that writes
// twice, and how to see that again.
func ExampleExplore() {
	agent := turn.Subject{Name: "agent", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: answer, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Be brief."}
	}}
	onlyOne := func(run turn.Run) error {
		kept, err := run.Config.Storage.Messages.Fetch(context.Background(), adk.Scope{})
		if err == nil && len(kept) > 1 {
			err = fmt.Errorf("one answer is stored %d times", len(kept))
		}
		return err
	}
	agent.Check = onlyOne
	found, err := explore.Explore(context.Background(), agent, explore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range found.Violations {
		fmt.Printf("%s: %s, and %d more\n", v.Schedule, v.Text, v.Schedules-1)
	}
	// Output:
	// storage-after@13: one answer is stored 2 times, and 1 more
}

// Every trace can be held against what is true of every turn.
func ExampleExamine() {
	var trace bytes.Buffer
	config := adk.Config{Executor: answer, Storage: fakes.NewStorage().Storage()}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
		log.Fatal(err)
	}
	found, err := property.Examine(&trace)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Crossings, "crossings,", len(found.Violations), "violations")
	for _, hint := range found.Hints {
		fmt.Println(hint.Advice+":", hint.Text)
	}
	// Output:
	// 23 crossings, 0 violations
	// sets-never-hydrated: the model is asked without a message: none was fetched
}

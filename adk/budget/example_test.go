package budget_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/fakes"
)

// A memory that is too long for the window. An executor enforces the limits before it asks
// the model; an observer finds the figures in the error.
func ExampleLimits_Enforce() {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	memory, err := adk.NewMemory(adk.MemoryInit{ID: "m-1", Content: strings.Repeat("tea ", 100), Confidence: new(0.9), Importance: new(0.1), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	view := prompt.View{SystemPrompt: "You help.", Memories: []*adk.Memory{memory}}
	limits := budget.Limits{Encoding: adk.EncodingO200kBase, Window: 50}
	if overflow, found := budget.OverflowOf(limits.Enforce(nil, view, nil)); found {
		fmt.Println(overflow.Total(), "of", overflow.Window, "tokens, memories:", overflow.Memories)
	}
	// Output: 104 of 50 tokens, memories: 101
}

// A runner whose turns shed what does not fit, behind the middleware that fills them.
func ExampleShed() {
	load := adk.TurnMiddleware{Name: "load", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		memories, err := tc.Memories().Fetch(ctx)
		if err != nil {
			return err
		}
		for _, m := range memories {
			if _, err := tc.Memories().Add(m); err != nil {
				return err
			}
		}
		next(ctx)
		return nil
	}}
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	memory, err := adk.NewMemory(adk.MemoryInit{ID: "m-1", Content: strings.Repeat("tea ", 100), Confidence: new(0.9), Importance: new(0.1), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	config := adk.Config{
		Executor: fakes.Script{{fakes.Ack()}}.Executor("model"),
		Storage:  fakes.NewStorage(memory).Storage(),
		TurnInput: []adk.TurnMiddleware{load, budget.Shed(budget.ShedOptions{
			Limits: budget.Limits{Encoding: adk.EncodingO200kBase, Window: 50}, Reserve: 20,
		})},
	}
	runner, err := adk.NewRunner(config)
	if err != nil {
		log.Fatal(err)
	}
	heard := adk.Observability{Log: func(e adk.LogEvent) { fmt.Println(e.Level, e.Kind, e.Message) }}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You help.", Observability: heard}); err != nil {
		log.Fatal(err)
	}
	// Output: info budget-shed the turn fits now: 1 of its records went
}

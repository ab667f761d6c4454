package scenarios

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var storages = []Scenario{
	{
		Name:  "hydration",
		About: "a turn begins empty: a middleware loads messages, memories, instructions and tools from storage",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"Welcome back, Ada."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			storage := fakes.NewStorage(
				asked("q0", "I am Ada."), answered("a0", "Nice to meet you."), asked("q1", "Do you know me?"),
				remembered("fact1", "The user is called Ada."), adk.NewTokenizable("Be brief."), weather(),
			)
			config := adk.Config{
				Executor:  answer("Welcome back, Ada.").Executor("model"),
				Storage:   storage.Storage(),
				TurnInput: []adk.TurnMiddleware{hydrate, recall},
			}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "memory-written",
		About: "after the answer, a turn output middleware writes a memory and forgets an older one",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"I will remember: you live in Oslo."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("I will remember: you live in Oslo."), "I moved to Oslo.")
			config.TurnOutput = []adk.TurnMiddleware{{Name: "memorize", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				memory := remembered("home", "The user lives in Oslo.")
				if err := tc.Memories().Store(ctx, memory); err != nil {
					return err
				}
				if _, err := tc.Memories().Add(memory); err != nil {
					return err
				}
				if err := tc.Memories().Delete(ctx, "old-home"); err != nil {
					return err
				}
				next(ctx)
				return nil
			}}}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "edited-answer",
		About: "stored, mutated and deleted in one dispatch: the turn sees what is left when the dispatch is acked",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"A draft.", "A second thought."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Say("A draft.").As("reply"),
				fakes.Say("A second thought.").As("aside"),
				fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					if err := dc.Messages().Mutate(ctx, answered("reply", "The final text.")); err != nil {
						return err
					}
					return dc.Messages().Delete(ctx, "aside")
				}),
				fakes.Ack(),
			}}
			return agent(script, "Write me something."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "storage-failure",
		About: "a store that fails has not happened: the executor gets the error, lets it escape, and nothing reaches the turn",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_EXECUTOR_ERROR}, Said: []string{"Hello.", "Are you there?"}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			storage := fakes.NewStorage(asked("q1", "Hello?"))
			storage.Fail(fakes.Fault{Collection: adk.Messages, Op: fakes.OpStore, Occurrence: 2, Err: errors.New("disk full")})
			config := agent(fakes.Script{{fakes.Say("Hello."), fakes.Say("Are you there?"), fakes.Ack()}}, "Hello?")
			config.Storage = storage.Storage()
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// recall loads memories, standing instructions and tools from the storage.
var recall = adk.TurnMiddleware{Name: "recall", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	memories, err := tc.Memories().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range memories {
		if _, err := tc.Memories().Add(m); err != nil {
			return err
		}
	}
	instructions, err := tc.Instructions().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, i := range instructions {
		if _, err := tc.Instructions().Add(i); err != nil {
			return err
		}
	}
	tools, err := tc.Tools().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if err := tc.Tools().Register(t); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

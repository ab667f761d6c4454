package scenarios

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var conversations = []Scenario{
	{
		Name:  "hello",
		About: "the smallest useful turn: load the question, answer, store the answer, ack",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"Hello, Ada!"}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			return agent(answer("Hello, Ada!"), "Hello, I am Ada."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "streamed-reply",
		About: "a reply in many chunks: every delta is an event, the record is stored once",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"One by one the words arrive, and the message is whole."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Think("They want to see streaming."),
				fakes.Stream("One ", "by ", "one ", "the ", "words ", "arrive, ", "and ", "the ", "message ", "is ", "whole."),
				fakes.Ack(),
			}}
			return agent(script, "Stream me something."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "sealed-stream",
		About: "reporting on a message that was complete is an error to the executor, which lets it escape",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_EXECUTOR_ERROR}, Said: []string{"Done."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Say("Done.").As("reply"),
				fakes.Do(func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers) error {
					_, err := h.ReportMessage("reply", " One more thing.", true)
					return err
				}),
			}}
			return agent(script, "Say one thing."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "stash",
		About: "the dispatch works on a copy of the turn's stash: neither sees what the other writes",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"Noted."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					if err := dc.Stash().Set("user.mood", "curious"); err != nil {
						return err
					}
					return dc.Stash().Set("draft", []any{"first", "second"})
				}),
				fakes.Say("Noted."), fakes.Ack(),
			}}
			config := agent(script, "Remember that I live in Oslo.")
			config.TurnInput = append(config.TurnInput, adk.TurnMiddleware{Name: "locate",
				Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
					next(ctx)
					return tc.Stash().Set("user.city", "Oslo")
				}})
			config.TurnOutput = []adk.TurnMiddleware{{Name: "look",
				Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
					next(ctx)
					return tc.Stash().Set("keys", len(tc.Stash().Keys()))
				}}}
			return config, adk.RawTurn{SystemPrompt: prompt, Instructions: []string{"Answer in one sentence."},
				Stash: map[string]any{"user": map[string]any{"name": "Ada"}}}
		},
	},
}

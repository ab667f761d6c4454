package scenarios

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var dispatches = []Scenario{
	{
		Name:  "planner",
		About: "a middleware calls a dispatch of its own before the turn's: it sees what the turn sees, and an ack flushes to it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"First the map, then the tent.", "Take a map and a tent."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Take a map and a tent."), "What do I need to camp?")
			config.TurnInput = append(config.TurnInput, calls(adk.DispatchInput{
				Name:     "planner",
				Executor: fakes.Script{{fakes.Say("First the map, then the tent.").As("plan"), fakes.Ack()}}.Executor("planner-model"),
				Input:    []adk.DispatchMiddleware{cleanUpDispatch("clean-up")},
			}))
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "planner-nacked",
		About: "a dispatch called by a middleware is nacked: nothing of it reaches the turn, and the middleware goes on without a plan",
		Must: Ending{Dispatch: adk.StatusAck, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_NACKED},
			Said: []string{"I have no idea.", "Take whatever you like."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Take whatever you like."), "What do I need to camp?")
			config.TurnInput = append(config.TurnInput, calls(adk.DispatchInput{
				Name:     "planner",
				Executor: fakes.Script{{fakes.Say("I have no idea.").As("plan"), fakes.Nack(errors.New("no plan"))}}.Executor("planner-model"),
			}))
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "write-behind",
		About: "with write-behind the storage is called when a dispatch is flushed, and not at all for an iteration that is refused",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 2, Errors: []adk.Code{adk.E_LLM_EXECUTION_NACKED}, Said: []string{"Kept.", "Lost."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Say("Kept.")}, {fakes.Say("Lost."), fakes.Nack(errors.New("better not"))}}
			config := agent(script, "Say two things.")
			config.WriteBehind = true
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// calls is a middleware that calls a dispatch, whatever comes of it, and goes
// on.
func calls(in adk.DispatchInput) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: "plan", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		in := in
		in.Source = tc
		end, err := adk.Dispatch(ctx, in)
		if err := tc.Stash().Set("plan", map[string]any{"status": end.Status, "failed": err != nil}); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

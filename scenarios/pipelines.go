package scenarios

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var shortCircuits = []Scenario{
	{
		Name:  "short-circuit-turn-input",
		About: "a turn input middleware forgets next: the turn ends before the model is asked",
		Must:  Ending{Errors: []adk.Code{adk.E_PIPELINE_SHORT_CIRCUITED}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.TurnInput = append(config.TurnInput, turnStep("forgetful", func(*adk.TurnContext) error { return nil }), cleanUpTurn("unreached"))
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "short-circuit-dispatch-input",
		About: "a dispatch input middleware forgets next: the dispatch is nacked",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_PIPELINE_SHORT_CIRCUITED}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.DispatchInput = []adk.DispatchMiddleware{dispatchStep("forgetful", func(*adk.DispatchContext) error { return nil })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "short-circuit-dispatch-output",
		About: "a dispatch output middleware forgets next: the answer was given, and the dispatch is nacked all the same",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_PIPELINE_SHORT_CIRCUITED}, Said: []string{"Said in vain."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(fakes.Script{{fakes.Say("Said in vain.")}}, "Hello?")
			config.DispatchOutput = []adk.DispatchMiddleware{dispatchStep("forgetful", func(*adk.DispatchContext) error { return nil })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "short-circuit-turn-output",
		About: "a turn output middleware forgets next: it ends that pipeline, and nothing else",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Errors: []adk.Code{adk.E_PIPELINE_SHORT_CIRCUITED}, Said: []string{"Hello."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Hello."), "Hello?")
			config.TurnOutput = []adk.TurnMiddleware{cleanUpTurn("clean-up"), turnStep("forgetful", func(*adk.TurnContext) error { return nil })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

var errBroken = errors.New("the index is broken")

var failures = []Scenario{
	{
		Name:  "failure-turn-input",
		About: "a turn input middleware fails: the one before it cleans up, the model is not asked",
		Must:  Ending{Errors: []adk.Code{adk.E_INPUT_PIPELINE_ERROR}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.TurnInput = []adk.TurnMiddleware{cleanUpTurn("clean-up"), turnStep("retrieve", func(*adk.TurnContext) error { return errBroken })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "failure-dispatch-input",
		About: "a dispatch input middleware fails: the one before it cleans up, the dispatch is nacked",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_DISPATCH_PIPELINE_ERROR}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.DispatchInput = []adk.DispatchMiddleware{cleanUpDispatch(), dispatchStep("retrieve", func(*adk.DispatchContext) error { return errBroken })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "failure-dispatch-output",
		About: "a dispatch output middleware fails: what the iteration stored does not reach the turn",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_DISPATCH_PIPELINE_ERROR}, Said: []string{"Said in vain."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(fakes.Script{{fakes.Say("Said in vain.")}}, "Hello?")
			config.DispatchOutput = []adk.DispatchMiddleware{cleanUpDispatch(), dispatchStep("review", func(*adk.DispatchContext) error { return errBroken })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "failure-turn-output",
		About: "a turn output middleware fails, and so does a post-step: one error event, both in it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Errors: []adk.Code{adk.E_OUTPUT_PIPELINE_ERROR}, Said: []string{"Hello."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Hello."), "Hello?")
			config.TurnOutput = []adk.TurnMiddleware{
				cleanUpTurn("clean-up"),
				{Name: "notify", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
					next(ctx)
					return errors.New("nobody to notify")
				}},
				turnStep("archive", func(*adk.TurnContext) error { return errBroken }),
			}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "executor-panic",
		About: "the executor panics in mid-stream: the turn survives it, and the error says what happened",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_EXECUTOR_ERROR}, Said: []string{"So far so good."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Say("So far so good."), fakes.Panic("index out of range")}}
			return agent(script, "Go on."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

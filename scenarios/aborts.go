package scenarios

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var errLeft = errors.New("the user has left")

var aborts = []Scenario{
	{
		Name:  "abort-by-middleware",
		About: "a turn input middleware aborts and calls next: no later body runs, post-steps do, and there is no error",
		Must:  Ending{},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.TurnInput = []adk.TurnMiddleware{
				cleanUpTurn("clean-up"),
				{Name: "policy", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
					if err := tc.Abort(errors.New("outside office hours")); err != nil {
						return err
					}
					next(ctx)
					return nil
				}},
				hydrate,
			}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-from-outside",
		About: "the caller cancels in mid-stream: the executor sees its context end, and what it stored does not reach the turn",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Said: []string{"Let me think."}},
		Build: func(outside Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Say("Let me think."),
				fakes.Do(func(ctx context.Context, _ *adk.DispatchContext, h *adk.Helpers) error {
					if _, err := h.ReportMessage("reply", "The answer ", false); err != nil {
						return err
					}
					outside.Cancel(errLeft)
					return context.Cause(ctx)
				}),
			}}
			return agent(script, "What is the answer?"), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-by-error",
		About: "the executor returns an abort error: the turn is aborted though nobody had cancelled it",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Said: []string{"I had better stop."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Say("I had better stop."), fakes.Fail(adk.Aborted(errors.New("the model refused")))}}
			config := agent(script, "Do something unwise.")
			config.TurnOutput = []adk.TurnMiddleware{cleanUpTurn("unreached")}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-in-output",
		About: "a dispatch output middleware aborts: the iteration ends, and what it stored stays out of the turn",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Said: []string{"Too late."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(fakes.Script{{fakes.Say("Too late.")}}, "Are you there?")
			config.DispatchOutput = []adk.DispatchMiddleware{cleanUpDispatch(), {Name: "deadline", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				if err := dc.Abort(errLeft); err != nil {
					return err
				}
				next(ctx)
				return nil
			}}}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-after-ack",
		About: "an ack, and an abort before the executor returned: the abort wins, nothing reaches the turn",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Said: []string{"Almost done."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Say("Almost done."), fakes.Ack(), fakes.Abort(errLeft)}}
			return agent(script, "Be quick."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

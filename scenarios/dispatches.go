package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

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
				Input:    []adk.DispatchMiddleware{cleanUpDispatch()},
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
		Name:  "sub-agents",
		About: "a planner calls two sub-agents as tools: one answers, the other is not begun, as nothing is left of the budget for it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"There are two trains a day.", "Take the morning train. Nobody has checked that."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("researcher", `{"task":"How do I get to Oslo?"}`), fakes.Call("critic", `{"task":"Is the plan any good?"}`)},
				{fakes.Say("Take the morning train. Nobody has checked that."), fakes.Ack()},
			}
			left := 1
			paid := func(ctx context.Context) context.Context {
				if left--; left < 0 {
					own, end := context.WithCancelCause(ctx)
					end(errors.New("the budget is spent"))
					return own
				}
				return ctx
			}
			return agent(script, "Plan a trip to Oslo.",
				subAgent("researcher", "Finds things out.", paid, replies("researcher", "There are two trains a day.")),
				subAgent("critic", "Finds faults.", paid, replies("critic", "Never said."))), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "sub-agents-side-by-side",
		About: "two sub-agents run in strands: one has a sub-agent of its own, the other is nacked, and nothing of it reaches the planner",
		Must: Ending{Dispatch: adk.StatusAck, Iterations: 2, Errors: []adk.Code{adk.E_LLM_EXECUTION_NACKED},
			Said: []string{"Page 7: trains at 8 and 14.", "I cannot say.", "There are two trains a day.", "Take the morning train."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Parallel(fakes.Call("researcher", `{"task":"How do I get to Oslo?"}`), fakes.Call("critic", `{"task":"Is the plan any good?"}`))},
				{fakes.Say("Take the morning train."), fakes.Ack()},
			}
			return agent(script, "Plan a trip to Oslo.",
				subAgent("researcher", "Finds things out.", unlimited, fakes.Script{
					{fakes.Call("reader", `{"task":"Look up the trains."}`).As("look-up")},
					{fakes.Wait(30 * time.Millisecond), fakes.Say("There are two trains a day.").As("researcher"), fakes.Ack()},
				}),
				subAgent("reader", "Reads a timetable.", unlimited, fakes.Script{{fakes.Wait(10 * time.Millisecond), fakes.Say("Page 7: trains at 8 and 14.").As("reader"), fakes.Ack()}}),
				subAgent("critic", "Finds faults.", unlimited, fakes.Script{{fakes.Wait(20 * time.Millisecond), fakes.Say("I cannot say.").As("critic"), fakes.Nack(errors.New("no opinion"))}}),
			), adk.RawTurn{SystemPrompt: prompt}
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

// subAgent makes a tool that is an agent: it calls a dispatch from the context of its caller. The
// message with the agent's name as id is the result; the ack of the dispatch has brought it into
// the caller's set. limit makes the context of the dispatch.
func subAgent(name, about string, limit func(context.Context) context.Context, script fakes.Script) *adk.Tool {
	tool := fakes.NewTool(name, about)
	tool.Init.InputSchema = []byte(`{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}`)
	return tool.Tool().WithHandler(func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
		end, err := adk.Dispatch(limit(ctx), adk.DispatchInput{Name: name, Source: dc, Executor: script.Executor(name + "-model")})
		switch {
		case err != nil:
			return nil, err
		case end.Status != adk.StatusAck:
			return nil, fmt.Errorf("%s was %s: %w", name, end.Status, end.Error)
		}
		said, _ := dc.Messages().Get(name)
		return adk.Text(said.Content().String()), nil
	})
}

// replies is the script of a sub-agent that says one thing and acks.
func replies(name, text string) fakes.Script {
	return fakes.Script{{fakes.Say(text).As(name), fakes.Ack()}}
}

func unlimited(ctx context.Context) context.Context { return ctx }

// calls makes a middleware that calls a dispatch and goes on, whatever the result.
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

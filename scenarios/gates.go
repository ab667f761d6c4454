package scenarios

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var gates = []Scenario{
	{
		Name:  "gate-approved",
		About: "a destructive tool waits for approval, gets it, and runs",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Deleted."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			return guarded("Deleted.", fakes.Approve(map[string]any{"approved": true}))
		},
	},
	{
		Name:  "gate-denied",
		About: "a destructive tool waits for approval, is denied, and the model is told",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"I was not allowed to."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			return guarded("I was not allowed to.", fakes.Deny(errors.New("not on a Friday")))
		},
	},
	{
		Name:  "gate-invalid-then-valid",
		About: "a resolution that the gate's schema refuses leaves the gate open; a valid one opens it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Deleted."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config, turn := guarded("Deleted.", fakes.Ignore())
			turn.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
				_, _ = e.Gate.Resolve("form", map[string]any{"approved": "yes"}) // refused; the transcript shows why
				_, _ = e.Gate.Resolve("form", map[string]any{"approved": true})
			}
			return config, turn
		},
	},
	{
		Name:  "gate-timeout",
		About: "nobody answers: the gate's time passes on the turn's clock, and the model is told",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Nobody answered."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) { return guarded("Nobody answered.", fakes.Ignore()) },
	},
	{
		Name:  "gates-aborted",
		About: "three strands wait at three gates when the turn is aborted: the gates close in the order they were opened",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				for _, name := range []string{"legal", "finance", "security"} {
					if _, err := dc.Fork(ctx, name, func(ctx context.Context, dc *adk.DispatchContext) error {
						_, err := dc.WaitFor(ctx, adk.Gate{ID: name, Reason: "sign-off"})
						return err
					}); err != nil {
						return err
					}
				}
				if err := dc.Sleep(ctx, time.Minute); err != nil {
					return err
				}
				return dc.Abort(errors.New("the offer was withdrawn"))
			})}}
			return agent(script, "Get me three signatures."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// guarded makes an agent with a tool that asks before it deletes, and an approver that answers.
func guarded(finally string, answer fakes.Answer) (adk.Config, adk.RawTurn) {
	script := fakes.Script{{fakes.Call("delete", `{"path":"/tmp/report"}`)}, {fakes.Say(finally), fakes.Ack()}}
	approver := fakes.NewApprover(map[string]fakes.Answer{"delete a file?": answer})
	turn := adk.RawTurn{SystemPrompt: prompt, Observability: approver.Observability()}
	return agent(script, "Delete the old report.", deleteTool()), turn
}

// deleteTool has no state, and is made once, because compiling its schema takes longer than running
// a turn.
var deleteTool = sync.OnceValue(func() *adk.Tool {
	return must(adk.NewTool(adk.ToolInit{
		Name: "delete", Description: "Deletes a file, when somebody approves.", Effect: adk.EffectWrites,
		InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			_, err := dc.WaitFor(ctx, adk.Gate{
				ID: "delete-file", Reason: "delete a file?", Payload: args, Timeout: time.Hour,
				Schema: []byte(`{"type":"object","properties":{"approved":{"const":true}},"required":["approved"]}`),
			})
			if err != nil {
				return nil, err
			}
			return adk.Text("deleted"), nil
		},
	}))
})

package adk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// DSP-1: a sub-agent is a tool whose handler calls a dispatch from the context that
// it is given. What that stored is in the caller's sets once it has acked; its events
// bear its name.
func ExampleDispatch_subAgent() {
	researcher, err := adk.NewTypedTool(adk.ToolInit{Name: "researcher", Description: "Finds things out."},
		func(ctx context.Context, dc *adk.DispatchContext, in struct{ Task string }) (adk.ToolResult, error) {
			model := fakes.Script{{fakes.Say("Trains leave at 8 and 14.").As("found"), fakes.Ack()}}.Executor("small-model")
			end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "researcher", Source: dc, Executor: model})
			if err != nil {
				return nil, err
			}
			if end.Status != adk.StatusAck {
				return nil, fmt.Errorf("the researcher was %s: %v", end.Status, end.Error)
			}
			found, _ := dc.Messages().Get("found")
			return adk.Text(found.Content().String()), nil
		})
	if err != nil {
		log.Fatal(err)
	}
	planner := fakes.Script{
		{fakes.Call("researcher", `{"Task":"When do trains leave?"}`)},
		{fakes.Say("Take the one at 8."), fakes.Ack()},
	}
	runner, err := adk.NewRunner(adk.Config{Executor: planner.Executor("model"), Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{researcher}})
	if err != nil {
		log.Fatal(err)
	}
	runner.On(adk.Functional{Message: func(e adk.MessageEvent) { fmt.Printf("%q: %s\n", e.DispatchName, e.Full) }})
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You plan trips."}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// "researcher": Trains leave at 8 and 14.
	// "": Take the one at 8.
}

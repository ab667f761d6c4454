package adk_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// A tool asks a person before it writes: the turn waits at a gate, which whoever hears of it
// settles, now or hours later, and which fails by itself when its time is over. What the tool says
// meanwhile reaches who watches the turn. The owner of this shop answers at once, as whoever
// stands in for one in a test has to: under a clock of package fakes, whose time goes on when all
// wait, a goroutine may come when the gate has timed out.
func ExampleHandle_WaitFor() {
	refund, err := adk.NewTool(adk.ToolInit{Name: "refund", Description: "Pays an order back.", Effect: adk.EffectWrites,
		InputSchema: []byte(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`),
		Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			dc.Log(adk.LevelInfo, "progress", "asking somebody", args)
			yes, err := dc.WaitFor(ctx, adk.Gate{ID: dc.NewID(), Reason: fmt.Sprint("refund order ", args["order"], "?"), Timeout: time.Hour})
			if err != nil {
				return nil, err // nobody answered, or the turn is over
			}
			if yes != true {
				return adk.Text("refused"), nil
			}
			return adk.Text("paid back"), nil
		}})
	if err != nil {
		log.Fatal(err)
	}
	script := fakes.Script{{fakes.Call("refund", `{"order":"17"}`)}, {fakes.Say("Done."), fakes.Ack()}}
	runner, err := adk.NewRunner(adk.Config{Executor: script.Executor("model"), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{refund}})
	if err != nil {
		log.Fatal(err)
	}
	err = runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Help.", Observability: adk.Observability{
		TurnGateOpen: func(e adk.TurnGateOpen) {
			fmt.Println("somebody is asked:", e.Gate.Reason())
			// For a queue, a mail or a page the gate is kept, and settled when the answer comes.
			if _, err := e.Gate.Resolve("the shop's owner", true); err != nil {
				fmt.Println(err)
			}
		},
		Log:              func(e adk.LogEvent) { fmt.Println("progress:", e.Message) },
		ToolExecutionEnd: func(e adk.ToolExecutionEnd) { fmt.Println(e.ToolName, "has run, failed:", e.IsError) },
	}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// progress: asking somebody
	// somebody is asked: refund order 17?
	// refund has run, failed: false
}

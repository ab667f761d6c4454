package fakes_test

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// A turn of two iterations: the model calls a tool, reads its answer and says
// what it found.
func ExampleScript() {
	records := fakes.NewStorage()
	weather := fakes.NewTool("weather", "Tells the weather of a city.", "rain, 8°")
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: fakes.Script{
			{fakes.Think("I should look."), fakes.Call("weather", `{"city":"Oslo"}`)},
			{fakes.Stream("It rains", " in Oslo."), fakes.Ack()},
		}.Executor("model"),
		Storage: records.Storage(),
		Tools:   []*adk.Tool{weather.Tool()},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
		fmt.Println(err)
	}
	for _, m := range records.Messages() {
		fmt.Println(m.ID(), m.Content())
	}
	for _, c := range records.ToolCalls() {
		fmt.Println(c.ID(), c.Tool(), c.Args(), c.Results())
	}
	// Output:
	// m1.0 It rains in Oslo.
	// c0.1 weather map[city:Oslo] rain, 8°
}

// The second store of a message fails, and the dispatch with it.
func ExampleStorage_Fail() {
	storage := fakes.NewStorage()
	storage.Fail(fakes.Fault{Collection: adk.Messages, Op: fakes.OpStore, Occurrence: 2})
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: fakes.Script{{fakes.Say("one"), fakes.Say("two"), fakes.Ack()}}.Executor("model"),
		Storage:  storage.Storage(),
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	runner.Observe(adk.Observability{Error: func(e adk.ErrorEvent) { fmt.Println(e.Error) }})
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(storage.Messages()), "stored")
	// Output:
	// E_LLM_EXECUTION_EXECUTOR_ERROR: executor model failed: fakes: messages.store was made to fail
	// 1 stored
}

package adk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// A turn whose model says one thing. The front page of the package shows this example.
func ExampleRunner() {
	model := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if _, err := h.ReportMessage(dc.NewID(), "It is 4 °C in Oslo.", true); err != nil {
			return err
		}
		return dc.Ack()
	}
	runner, err := adk.NewRunner(adk.Config{
		Executor: adk.Executor{Name: "model", Run: model},
		Storage:  fakes.NewStorage().Storage(),
	})
	if err != nil {
		log.Fatal(err)
	}
	runner.On(adk.Functional{Message: func(e adk.MessageEvent) { fmt.Println(e.Full) }})
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
		log.Fatal(err)
	}
	// Output: It is 4 °C in Oslo.
}

package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// A turn is recorded and run again. The README shows this example.
func Example() {
	script := fakes.Script{
		{fakes.Call("weather", `{"city":"Oslo"}`)},
		{fakes.Say("It is 4 °C in Oslo."), fakes.Ack()},
	}
	config := adk.Config{
		Executor: script.Executor("model"),
		Storage:  fakes.NewStorage().Storage(),
		Tools:    []*adk.Tool{fakes.NewTool("weather", "Tells the weather in a city.", "4 °C").Tool()},
	}
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You are a helpful assistant."}); err != nil {
		log.Fatal(err)
	}
	report, err := replay.Verify(context.Background(), &trace, replay.Live{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Crossings, "crossings, diverged:", report.Divergence != nil)
	// Output: 41 crossings, diverged: false
}

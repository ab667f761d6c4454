package times_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/times"
	"github.com/adkreplay/adkreplay/fakes"
)

// A model asks for the day a month later.
func Example() {
	storage := fakes.NewStorage()
	model := fakes.Script{{fakes.Call("date_add", `{"date":"2024-01-31","direction":"add","months":1}`), fakes.Ack()}}
	config := adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(), Tools: times.All(times.Options{})}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Use your tools."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.ToolCalls()[0].Results())
	// Output: Adding 1 month to 2024-01-31: Thursday, February 29, 2024
}

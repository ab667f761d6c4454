package data_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/data"
	"github.com/adkreplay/adkreplay/fakes"
)

// A model asks what two lists do not share.
func Example() {
	storage := fakes.NewStorage()
	model := fakes.Script{{fakes.Call("set_operations", `{"data_a":"[1,2,3]","data_b":"[3,4]","operation":"symmetric_difference"}`), fakes.Ack()}}
	config := adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(), Tools: data.All()}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Use your tools."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.ToolCalls()[0].Results())
	// Output: [1,2,4]
}

package misc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/misc"
	"github.com/adkreplay/adkreplay/fakes"
)

// A model asks which of two values is larger.
func Example() {
	storage := fakes.NewStorage()
	model := fakes.Script{{fakes.Call("compare_values", `{"a":"10","b":"9"}`), fakes.Ack()}}
	config := adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(), Tools: misc.All()}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Use your tools."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.ToolCalls()[0].Results())
	// Output: greater_than
}

package texts_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/texts"
	"github.com/adkreplay/adkreplay/fakes"
)

// A model asks for the numbers in a text.
func Example() {
	storage := fakes.NewStorage()
	model := fakes.Script{{fakes.Call("string_extract", `{"text":"a1 b22","pattern":"\\d+"}`), fakes.Ack()}}
	config := adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(), Tools: texts.All()}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Use your tools."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.ToolCalls()[0].Results())
	// Output: ["1","22"]
}

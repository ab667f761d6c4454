package numbers_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
	"github.com/adkreplay/adkreplay/fakes"
)

// A model that wants a sum asks for it.
func Example() {
	storage := fakes.NewStorage()
	model := fakes.Script{{fakes.Call("calculate", `{"expression":"2 + 3 * sqrt(16)"}`), fakes.Ack()}}
	config := adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(), Tools: numbers.All()}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Use your tools."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.ToolCalls()[0].Results())
	// Output:
	// Result: 14
	// KaTeX: $2 + 3 \cdot \sqrt{16} = 14$
}

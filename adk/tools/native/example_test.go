package native_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/native"
	"github.com/adkreplay/adkreplay/fakes"
)

// A model keeps what it should remember.
func Example() {
	storage := fakes.NewStorage()
	model := fakes.Script{{fakes.Call("store_memory", `{"content":"Ann likes it brief.","confidence":1,"importance":0.5}`), fakes.Ack()}}
	config := adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(), Tools: native.Memory()}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Remember."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.Memories()[0].Content())
	// Output: Ann likes it brief.
}

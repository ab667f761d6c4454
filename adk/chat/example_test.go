package chat_test

import (
	"context"
	"fmt"
	"log"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

// The smallest agent: a model and a storage. In the place of the provider stands one that
// answers from a script; without Transport it is the one at BaseURL.
func Example() {
	provider := fakes.NewTransport(fakes.Converse(fakes.StreamReply("It is ", "cold in Oslo.")))

	model, err := chat.New(chat.Options{Model: "gpt-4o", AutoAck: new(true), Transport: provider})
	if err != nil {
		log.Fatal(err)
	}
	storage := fakes.NewStorage()
	agent, err := adk.NewRunner(adk.Config{Executor: model.Executor("model"), Storage: storage.Storage()})
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Run(context.Background(), adk.RawTurn{SystemPrompt: "How is the weather in Oslo?"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(storage.Messages()[0].Content())
	// Output: It is cold in Oslo.
}

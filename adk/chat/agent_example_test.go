package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// remember loads what is known of the user, and what was said.
func remember(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	memories, err := tc.Memories().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, memory := range memories {
		if _, err := tc.Memories().Add(memory); err != nil {
			return err
		}
	}
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, message := range messages {
		if _, err := tc.Messages().Add(message); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// place is what the tool is asked.
type place struct {
	City string `json:"city" jsonschema:"the name of a city"`
}

// An agent with a memory, a budget and a tool: recorded, and run again with its own code live,
// where nobody asks the provider.
func Example_agent() {
	provider := fakes.NewTransport(fakes.Converse(
		fakes.StreamToolCall("call_1", "weather", `{"city":`, `"Oslo"}`),
		fakes.StreamReply("Take ", "a coat.")))
	model, err := chat.New(chat.Options{
		Model: "gpt-4o", AutoAck: new(true), Transport: provider,
		Retry:         chat.Retry{MaxAttempts: new(3)},
		TokenEncoding: "o200k_base", ContextWindow: new(128_000),
	})
	if err != nil {
		log.Fatal(err)
	}
	weather, err := adk.NewTypedTool(adk.ToolInit{Name: "weather", Description: "Tells the weather in a city.", Effect: adk.EffectReads},
		func(_ context.Context, _ *adk.DispatchContext, in place) (adk.ToolResult, error) {
			return adk.Text("4 °C in " + in.City), nil
		})
	if err != nil {
		log.Fatal(err)
	}
	shed := budget.Shed(budget.ShedOptions{Limits: budget.Limits{Encoding: "o200k_base", Window: 128_000}, Reserve: 4_000})
	config := adk.Config{
		Executor:  model.Executor("model"),
		Storage:   storageOfAda().Storage(),
		Tools:     []*adk.Tool{weather},
		TurnInput: []adk.TurnMiddleware{{Name: "remember", Run: remember}, shed},
	}

	var trace bytes.Buffer
	agent, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
	if err != nil {
		log.Fatal(err)
	}
	agent.On(adk.Functional{Message: func(e adk.MessageEvent) { fmt.Print(e.Delta) }})
	if err := agent.Run(context.Background(), adk.RawTurn{SystemPrompt: "You help people dress."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println()

	report, err := replay.Verify(context.Background(), &trace, replay.Live{Config: config, Seams: []string{replay.Middleware, replay.Executor, "tool/*"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("diverged:", report.Divergence != nil, "requests:", len(provider.Requests()))
	// Output:
	// Take a coat.
	// diverged: false requests: 2
}

// storageOfAda is a storage that holds a question and what is known of who asks.
func storageOfAda() *fakes.Storage {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	asked, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "What shall I wear?", CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	known, err := adk.NewMemory(adk.MemoryInit{ID: "home", Content: "Ada lives in Oslo.", Confidence: new(0.9), Importance: new(0.5), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	return fakes.NewStorage(asked, known)
}

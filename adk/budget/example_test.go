package budget_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/fakes"
)

// A memory that is too long for the window. An executor enforces the limits before it asks
// the model; an observer finds the figures in the error.
func ExampleLimits_Enforce() {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	memory, err := adk.NewMemory(adk.MemoryInit{ID: "m-1", Content: strings.Repeat("tea ", 100), Confidence: new(0.9), Importance: new(0.1), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	view := prompt.View{SystemPrompt: "You help.", Memories: []*adk.Memory{memory}}
	limits := budget.Limits{Encoding: adk.EncodingO200kBase, Window: 50}
	if overflow, found := budget.OverflowOf(limits.Enforce(nil, view, nil)); found {
		fmt.Println(overflow.Total(), "of", overflow.Window, "tokens, memories:", overflow.Memories)
	}
	// Output: 104 of 50 tokens, memories: 101
}

// A runner whose turns shed what does not fit, behind the middleware that fills them.
func ExampleShed() {
	load := adk.TurnMiddleware{Name: "load", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		memories, err := tc.Memories().Fetch(ctx)
		if err != nil {
			return err
		}
		for _, m := range memories {
			if _, err := tc.Memories().Add(m); err != nil {
				return err
			}
		}
		next(ctx)
		return nil
	}}
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	memory, err := adk.NewMemory(adk.MemoryInit{ID: "m-1", Content: strings.Repeat("tea ", 100), Confidence: new(0.9), Importance: new(0.1), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	config := adk.Config{
		Executor: fakes.Script{{fakes.Ack()}}.Executor("model"),
		Storage:  fakes.NewStorage(memory).Storage(),
		TurnInput: []adk.TurnMiddleware{load, budget.Shed(budget.ShedOptions{
			Limits: budget.Limits{Encoding: adk.EncodingO200kBase, Window: 50}, Reserve: 20,
		})},
	}
	runner, err := adk.NewRunner(config)
	if err != nil {
		log.Fatal(err)
	}
	heard := adk.Observability{Log: func(e adk.LogEvent) { fmt.Println(e.Level, e.Kind, e.Message) }}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You help.", Observability: heard}); err != nil {
		log.Fatal(err)
	}
	// Output: info budget-shed the turn fits now: 1 of its records went
}

// A conversation and the long log that a tool read in it. The log is shown by a handle, and that is
// what Shed counts: the dispatch's Handles and the turn's Shed have the same options.
func ExampleShedOptions_shown() {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	text, err := artifact.Text(context.Background(), adk.Text(strings.Repeat("node 3: all is well\n", 5000)))
	if err != nil {
		log.Fatal(err)
	}
	read, err := adk.NewToolCall(adk.ToolCallInit{ID: "call_1", Tool: "read_log", Args: map[string]any{}, Results: text, CreatedAt: at, UpdatedAt: at, CompletedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	records := []adk.Record{read}
	for i := range 20 {
		message, err := adk.NewMessage(adk.MessageInit{ID: fmt.Sprint("m-", i), Role: adk.RoleUser, Content: "How is node 3?", CreatedAt: at, UpdatedAt: at})
		if err != nil {
			log.Fatal(err)
		}
		records = append(records, message)
	}
	load := adk.TurnMiddleware{Name: "load", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		for _, r := range records {
			var err error
			switch r := r.(type) {
			case *adk.Message:
				_, err = tc.Messages().Add(r)
			case *adk.ToolCall:
				_, err = tc.ToolCalls().Add(r)
			}
			if err != nil {
				return err
			}
		}
		next(ctx)
		return nil
	}}
	provider := fakes.NewTransport(fakes.Converse(fakes.StreamReply("Well.")))
	model, err := chat.New(chat.Options{Model: "gpt-4o", AutoAck: new(true), Transport: provider, TokenEncoding: adk.EncodingO200kBase, ContextWindow: new(8000)})
	if err != nil {
		log.Fatal(err)
	}
	handles := artifact.HandleOptions{From: 4 << 10}
	runner, err := adk.NewRunner(adk.Config{
		TurnInput: []adk.TurnMiddleware{load, budget.Shed(budget.ShedOptions{
			Limits: budget.Limits{Encoding: adk.EncodingO200kBase, Window: 8000}, Reserve: 1000, Shown: handles.Shown,
		})},
		DispatchInput: []adk.DispatchMiddleware{artifact.Handles(handles)},
		Executor:      model.Executor("model"),
		Storage:       fakes.NewStorage().Storage(),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You help."}); err != nil {
		log.Fatal(err)
	}
	request := string(provider.Requests()[0].Body)
	fmt.Println("messages:", strings.Count(request, "How is node 3?"), "handle:", strings.Contains(request, "byteLength: 100000"), "log:", strings.Contains(request, "all is well"))
	// Output: messages: 20 handle: true log: false
}

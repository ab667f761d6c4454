package artifact_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

// The log is too long for the prompt: the model is shown a handle, and asks for the lines that
// it needs with a tool that was forged for it.
func ExampleHandles() {
	provider := fakes.NewTransport(fakes.Converse(
		fakes.StreamToolCall("call_1", "read_log", `{}`),
		fakes.StreamToolCall("call_2", "artifact_grep", `{"callId":"call_1","pattern":"ERROR"}`),
		fakes.StreamReply("The disk of node 7 was full.")))
	model, err := chat.New(chat.Options{Model: "gpt-4o", AutoAck: new(true), Transport: provider})
	if err != nil {
		log.Fatal(err)
	}
	readLog, err := adk.NewTool(adk.ToolInit{Name: "read_log", Description: "Reads the log.", Effect: adk.EffectReads, InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text(strings.Repeat("INFO node 3: all is well\n", 1000) + "ERROR node 7: the disk is full\n"), nil
		}})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewRunner(adk.Config{
		DispatchInput: []adk.DispatchMiddleware{artifact.Handles(artifact.HandleOptions{From: 4 << 10})},
		Executor:      model.Executor("model"),
		Tools:         []*adk.Tool{readLog},
		Storage:       fakes.NewStorage().Storage(),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Run(context.Background(), adk.RawTurn{SystemPrompt: "What is wrong with the cluster?"}); err != nil {
		log.Fatal(err)
	}
	for i, request := range provider.Requests() {
		text := string(request.Body)
		fmt.Println(i+1, "handle:", strings.Contains(text, "byteLength: 25031"), "log:", strings.Contains(text, "all is well"), "error:", strings.Contains(text, "the disk is full"))
	}
	// Output:
	// 1 handle: false log: false error: false
	// 2 handle: true log: false error: false
	// 3 handle: true log: false error: true
}

// Package catalogue is an agent that answers from a result too large for any prompt: its tool
// fetches some MiB of JSON, and the model asks questions about it by JSON paths.
//
// The tool writes what it fetches to a spool and returns an artifact. The executor forges tools for
// the artifact, and the prompt shows a handle. A trace has the questions and their answers, but
// never the body: a replay needs neither the shop nor the spool.
package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/chat"
)

// Shop returns all products as JSON: {"products": [{"name", "price", "stock"}, …]}.
type Shop func(ctx context.Context) (io.ReadCloser, error)

// Prompt is the system prompt.
const Prompt = "You help people who work in a shop. Fetch the products, and ask them with the artifact tools: never guess what there is."

// longestAnswer is the maximal size in bytes of an answer to one question.
const longestAnswer = 8 << 10

// Config makes the config of the agent. transport reaches the model, and spool keeps what the tool
// fetches.
func Config(transport http.RoundTripper, shop Shop, spool artifact.Spool, storage adk.Storage) (adk.Config, error) {
	model, err := chat.New(chat.Options{
		Model: "small", BaseURL: "https://model.example/v1", Transport: transport,
		Artifacts: artifact.Config{Spool: spool, MaxResult: longestAnswer},
	})
	if err != nil {
		return adk.Config{}, err
	}
	products, err := productsTool(shop, spool)
	if err != nil {
		return adk.Config{}, err
	}
	return adk.Config{
		Executor:       model.Executor("model"),
		TurnInput:      []adk.TurnMiddleware{{Name: "history", Run: history}},
		DispatchInput:  []adk.DispatchMiddleware{{Name: "cap", Run: limit}, {Name: "handles", Run: artifact.Handles(artifact.HandleOptions{}).Run}},
		DispatchOutput: []adk.DispatchMiddleware{{Name: "finish", Run: finish}},
		Tools:          []*adk.Tool{products},
		Storage:        storage,
	}, nil
}

// productsTool makes the tool that fetches all products into the spool. Its effect is to write, so
// a replay uses the recorded result.
func productsTool(shop Shop, spool artifact.Spool) (*adk.Tool, error) {
	return adk.NewTool(adk.ToolInit{
		Name:        "products",
		Description: "Fetches all products with their name, price and stock, as JSON that the artifact tools can be asked about: $.products[?@.stock == 0].name, for instance.",
		InputSchema: []byte(`{"type":"object"}`),
		Effect:      adk.EffectWrites,
		Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			body, err := shop(ctx)
			if err != nil {
				return nil, err
			}
			entry, err := spool.Write(ctx, "products/"+dc.NewID(), body)
			if err := errors.Join(err, body.Close()); err != nil {
				return nil, err
			}
			reader, found, err := spool.Read(ctx, entry.Key)
			if err != nil || !found {
				return nil, errors.Join(err, errors.New("the spool does not have what it was given"))
			}
			return artifact.New(artifact.Init{ID: entry.Key, Flavour: artifact.JSONFlavour, Filename: "products.json",
				Reader: reader, TrustTier: adk.TrustFirstParty, Known: &entry})
		},
	})
}

// history loads the conversation.
func history(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
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

// mostIterations is how often the model may be asked in one turn.
const mostIterations = 8

// limit ends a dispatch in which the model goes in circles.
func limit(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	if dc.Iteration() >= mostIterations {
		return dc.Nack(fmt.Errorf("the model was asked %d times and wants more", mostIterations))
	}
	next(ctx)
	return nil
}

// finish acks the dispatch when there is an answer. While the newest record is the result of a
// tool, or nothing was said, the model is asked again. (chat.Options.AutoAck would not do: it also
// acks a stream that broke off before its first word.)
func finish(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	next(ctx)
	messages, calls := dc.Messages().All(), dc.ToolCalls().All()
	if len(messages) == 0 {
		return nil
	}
	last := messages[len(messages)-1]
	if last.Role() != adk.RoleAssistant || len(calls) > 0 && !last.CreatedAt().After(calls[len(calls)-1].CreatedAt()) {
		return nil
	}
	return dc.Ack()
}

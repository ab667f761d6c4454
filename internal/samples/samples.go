// Package samples provides records and tools for generated turns.
package samples

import (
	"context"
	"encoding/json"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// Collections are the collections of records, in the order in which they are drawn.
var Collections = []adk.CollectionName{adk.Messages, adk.Memories, adk.Instructions, adk.ToolCalls, adk.Thoughts, adk.Retrievables}

// Tools are a tool that accepts any arguments, and an ephemeral one with a stricter schema.
var Tools = []*adk.Tool{
	someTool(adk.ToolInit{Name: "peek", Description: "Gives the next line.", InputSchema: json.RawMessage(`{"type":"object"}`)}),
	someTool(adk.ToolInit{Name: "weather", Description: "Tells the weather.", Ephemeral: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":1}},"required":["city"]}`)}),
}

func someTool(init adk.ToolInit) *adk.Tool {
	init.Handler = func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.Text("ok"), nil
	}
	return Must(adk.NewTool(init))
}

// Must returns v, and panics on an error. It is for values made from constants.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Records are three records of each collection, two of which share a key, except for instructions.
var Records = makeRecords()

func makeRecords() map[adk.CollectionName][]adk.Record {
	at := fakes.Epoch
	all := map[adk.CollectionName][]adk.Record{}
	for _, one := range []struct{ Id, Text string }{{"r1", "one"}, {"r2", "two"}, {"r1", "ONE"}} {
		all[adk.Messages] = append(all[adk.Messages], Must(adk.NewMessage(adk.MessageInit{ID: one.Id, Role: adk.RoleUser, Content: one.Text, CreatedAt: at, UpdatedAt: at})))
		all[adk.Memories] = append(all[adk.Memories], Must(adk.NewMemory(adk.MemoryInit{ID: one.Id, Content: one.Text, Confidence: new(0.5), Importance: new(0.5), CreatedAt: at, UpdatedAt: at})))
		all[adk.Thoughts] = append(all[adk.Thoughts], Must(adk.NewThought(adk.ThoughtInit{ID: one.Id, Content: one.Text, CreatedAt: at, UpdatedAt: at})))
		all[adk.ToolCalls] = append(all[adk.ToolCalls], Must(adk.NewToolCall(adk.ToolCallInit{ID: one.Id, Tool: "peek", Args: map[string]any{"n": one.Text},
			Results: adk.Text(one.Text), CreatedAt: at, UpdatedAt: at, CompletedAt: at})))
		all[adk.Retrievables] = append(all[adk.Retrievables], Must(adk.NewRetrievable(adk.RetrievableInit{ID: one.Id, Content: one.Text, TrustTier: adk.TrustFirstParty, CreatedAt: at, UpdatedAt: at})))
	}
	for _, text := range []string{"Be brief.", "Be exact.", "Be kind."} {
		all[adk.Instructions] = append(all[adk.Instructions], adk.NewTokenizable(text))
	}
	return all
}

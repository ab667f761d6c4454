package native_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/native"
	"github.com/adkreplay/adkreplay/fakes"
)

// conversation executes calls one after the other in one dispatch and returns the answers. A call is a
// tool's name and the JSON of its arguments.
func conversation(t *testing.T, storage adk.Storage, tools []*adk.Tool, calls ...string) (answers []string) {
	t.Helper()
	registry, err := adk.NewRegistry(tools...)
	require.NoError(t, err)
	_, err = trial.In(t.Context(), storage, func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
		for i := 0; i < len(calls); i += 2 {
			tool, known := registry.Get(calls[i])
			require.True(t, known, calls[i])
			answer, err := trial.Execute(ctx, dc, tool, calls[i+1])
			if err != nil {
				answer = err.Error()
			}
			answers = append(answers, answer)
			if err := dc.Sleep(ctx, time.Second); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	require.NoError(t, err)
	return answers
}

func fits(t *testing.T, answers []string, want ...string) {
	t.Helper()
	require.Len(t, answers, len(want))
	for i := range want {
		assert.True(t, trial.Fits(answers[i], want[i]), "%d: want %q\ngot %q", i, want[i], answers[i])
	}
}

// BAT-8: memories are stored, updated in part, and deleted.
func TestMemory(t *testing.T) {
	answers := conversation(t, fakes.NewStorage().Storage(), native.Memory(),
		"list_memories", `{}`, // B-197
		"store_memory", `{"content":"likes tea","confidence":0.9,"importance":0.5,"id":"m1"}`, // B-198
		"store_memory", `{"content":"lives in Oslo","confidence":1,"importance":0}`,
		"store_memory", `{"content":"x","confidence":1.5,"importance":0}`,
		"update_memory", `{"id":"m1","content":"likes coffee"}`, // B-199
		"update_memory", `{"id":"nobody","content":"x"}`,
		"list_memories", `{}`,
		"delete_memory", `{"id":"m1"}`, // B-200
		"delete_memory", `{"id":"nobody"}`,
		"list_memories", `{}`,
	)
	fits(t, answers,
		`[]`,
		"{\n  \"ok\": true,\n  \"memory\": {\n    \"id\": \"m1\",\n    \"content\": \"likes tea\",\n    \"confidence\": 0.9,\n    \"importance\": 0.5,\n    \"createdAt\": \"2025-01-01T00:00:01.000Z\",\n    \"updatedAt\": \"2025-01-01T00:00:01.000Z\"\n  }\n}",
		`…"id": "…"lives in Oslo"…`, `E_INVALID_TOOL_ARGS…`,
		`…"likes coffee"…"confidence": 0.9…"importance": 0.5…"createdAt": "2025-01-01T00:00:01.000Z"…"updatedAt": "2025-01-01T00:00:04.000Z"…`,
		`Error: no memory with id "nobody".`, `[…"m1"…"lives in Oslo"…]`, "{\n  \"ok\": true,\n  \"id\": \"m1\"\n}", "{\n  \"ok\": true,\n  \"id\": \"nobody\"\n}", `[…"lives in Oslo"…]`,
	)
	assert.NotContains(t, answers[9], "coffee")
}

// BAT-8: retrievables, whose trust tier has to be given.
func TestRetrievables(t *testing.T) {
	answers := conversation(t, fakes.NewStorage().Storage(), native.Retrievables(),
		"store_retrievable", `{"content":"a page","trustTier":"third-party-public","source":"https://example.org","kind":"page","score":0.5,"id":"r1"}`, // B-202
		"store_retrievable", `{"content":"b","trustTier":"first-party"}`, "store_retrievable", `{"content":"c","trustTier":"third-party-private"}`,
		"store_retrievable", `{"content":"d","trustTier":"user-supplied"}`, "store_retrievable", `{"content":"d"}`,
		"update_retrievable", `{"id":"r1","content":"the page","score":0.9}`, "update_retrievable", `{"id":"r1","trustTier":"first-party"}`, "update_retrievable", `{"id":"x"}`, // B-203
		"delete_retrievable", `{"id":"r1"}`, "delete_retrievable", `{"id":"r1"}`, "list_retrievables", `{}`, // B-204
	)
	fits(t, answers,
		`…"trustTier": "third-party-public",…"source": "https://example.org",…"kind": "page",…"score": 0.5…`, `…"first-party"…`, `…"third-party-private"…`, `E_INVALID_TOOL_ARGS…`, `E_INVALID_TOOL_ARGS…`,
		`…"the page"…"third-party-public"…"score": 0.9…"createdAt": "2025-01-01T00:00:00.000Z"…"updatedAt": "2025-01-01T00:00:05.000Z"…`, `…"first-party"…`, `Error: no retrievable with id "x".`, `…"r1"…`, `…"r1"…`, `[…"b"…"c"…]`,
	)
	assert.NotContains(t, answers[1], "score", "what is absent is left out")
	narrow := conversation(t, fakes.NewStorage().Storage(), native.Retrievables(adk.TrustThirdPartyPublic), "store_retrievable", `{"content":"x","trustTier":"first-party"}`)
	fits(t, narrow, `E_INVALID_TOOL_ARGS…`)
}

// BAT-8: standing instructions are identified by their text.
func TestInstructions(t *testing.T) {
	fits(t, conversation(t, fakes.NewStorage().Storage(), native.Instructions(),
		"add_standing_instruction", `{"content":"be short"}`, "add_standing_instruction", `{"content":"be short"}`, "add_standing_instruction", `{"content":""}`, "list_standing_instructions", `{}`, // B-206
		"remove_standing_instruction", `{"content":"be short"}`, "remove_standing_instruction", `{"content":"be short"}`, "list_standing_instructions", `{}`), // B-207
		`…"be short"…`, `…"be short"…`, `E_INVALID_TOOL_ARGS…`, "[\n  \"be short\"\n]", `…"ok": true…`, `…"ok": true…`, `[]`)
}

// BAT-2: a refusal of the storage becomes the tool's answer. An abort, and the end of the context,
// are returned as errors.
func TestStorageFailures(t *testing.T) {
	failing := func(err error) adk.Storage {
		storage := fakes.NewStorage().Storage()
		storage.Memories = failingMemories{err}
		return storage
	}
	fits(t, conversation(t, failing(errors.New("boom")), native.Memory(),
		"list_memories", `{}`, "store_memory", `{"content":"x","confidence":1,"importance":1}`, "update_memory", `{"id":"x"}`, "delete_memory", `{"id":"x"}`),
		"Error: boom", "Error: boom", "Error: boom", "Error: boom")
	answer, err := trial.In(t.Context(), failing(adk.Aborted(errors.New("stop"))), func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
		return trial.Execute(ctx, dc, native.Memory()[0], `{}`)
	})
	assert.Empty(t, answer)
	assert.ErrorIs(t, err, adk.E_TURN_ABORTED)
	ended, end := context.WithCancelCause(context.Background())
	end(errors.New("over"))
	_, err = trial.In(t.Context(), failing(errors.New("broken off")), func(_ context.Context, dc *adk.DispatchContext) (string, error) {
		return trial.Execute(ended, dc, native.Memory()[0], `{}`)
	})
	assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR)
	assert.ErrorContains(t, err, "broken off")
}

// failingMemories is a collection whose obligations all fail.
type failingMemories struct{ err error }

func (f failingMemories) Fetch(context.Context, adk.Scope) ([]*adk.Memory, error) { return nil, f.err }
func (f failingMemories) Store(context.Context, adk.Scope, *adk.Memory) error     { return f.err }
func (f failingMemories) Mutate(context.Context, adk.Scope, *adk.Memory) error    { return f.err }
func (f failingMemories) Delete(context.Context, adk.Scope, string) error         { return f.err }

// BAT-1: the names of the native tools, in order.
func TestNames(t *testing.T) {
	var names []string
	for _, tool := range native.All() {
		names = append(names, tool.Name())
		writes := tool.Name()[:4] != "list"
		assert.Equal(t, writes, tool.Effect() == adk.EffectWrites, tool.Name())
		assert.NotNil(t, tool.ArtifactConstructor(), tool.Name())
	}
	assert.Equal(t, []string{
		"list_memories", "store_memory", "update_memory", "delete_memory", "list_retrievables", "store_retrievable", "update_retrievable", "delete_retrievable",
		"list_standing_instructions", "add_standing_instruction", "remove_standing_instruction",
	}, names)
}

package adk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// These tests pass values that the package's types cannot keep out and that no trace could restore:
// records that no constructor made, foreign types that embed a member of a union, and nil
// contexts. Each is refused where it is passed in, and is not recorded.

// inExecutor runs a turn whose executor calls run, and checks that no crossing is recorded between
// the executor's call and its ack.
func inExecutor(t *testing.T, run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers)) {
	t.Helper()
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		run(ctx, dc, h)
		return dc.Ack()
	}), hello)
	from, to := 0, 0
	for i, line := range lines {
		switch line {
		case "> executor/model#0":
			from = i
		case "ack(":
			to = i
		}
	}
	assert.Equal(t, from+1, to, "%q", lines)
}

// strangers are results that embed a member of the union, and therefore have its methods.
func strangers() []adk.ToolResult {
	return []adk.ToolResult{
		struct{ *adk.Tokenizable }{adk.Text("x")}, struct{ *adk.Tokenizable }{}, &struct{ adk.Bytes }{adk.Bytes("x")},
		struct{ *adk.Media }{emptyPicture()}, struct{ adk.MediaList }{adk.MediaList{emptyPicture()}}, struct{ adk.ToolResult }{adk.Text("x")},
		&adk.Media{}, adk.MediaList{emptyPicture(), {}},
	}
}

func emptyPicture() *adk.Media {
	return picture("p", adk.MediaBytes(nil).Open)
}

// TOL-5: a type that embeds a member of the union is not a member, wherever a result is passed in.
func TestResultsAreClosed(t *testing.T) {
	for _, stranger := range strangers() {
		t.Run(fmt.Sprintf("%T", stranger), func(t *testing.T) {
			_, err := adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "t", Args: "{}", Results: stranger, CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon})
			assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TOOL_CALL_VALUE)
			inExecutor(t, func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) {
				_, err := h.ReportToolCall("c", adk.ToolCallReport{Tool: "t", Args: "{}", Results: stranger})
				assert.ErrorContains(t, err, "the result ")
				assert.ErrorContains(t, dc.EmitToolCall(adk.ToolCallEvent{ID: "c", Results: stranger}), "the result ")
			})
			lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				result, err := dc.Execute(ctx, tool("t", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
					return stranger, nil
				}), "{}")
				assert.Nil(t, result)
				assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR)
				return dc.Ack()
			}), hello)
			assert.Contains(t, lines, "< tool/t error")
		})
	}
}

// refuses checks that a collection refuses values that are not records.
func refuses[T interface {
	comparable
	adk.Record
}](t *testing.T, ctx context.Context, set adk.Records[T], unmade ...T) {
	for _, record := range unmade {
		_, err := set.Add(record)
		assert.ErrorContains(t, err, "the record is ", "%T", record)
		assert.ErrorContains(t, set.Store(ctx, record), "the record is ", "%T", record)
		assert.ErrorContains(t, set.Mutate(ctx, record), "the record is ", "%T", record)
	}
	assert.Zero(t, set.Len())
}

// RUN-12, TOL-6, PRM-8: a record that no constructor made is refused like nil, on every
// handle.
func TestUnmadeRecordsAreRefused(t *testing.T) {
	inExecutor(t, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) {
		refuses(t, ctx, dc.Messages(), nil, &adk.Message{})
		refuses(t, ctx, dc.Memories(), nil, &adk.Memory{})
		refuses(t, ctx, dc.Retrievables(), nil, &adk.Retrievable{})
		refuses(t, ctx, dc.Thoughts(), nil, &adk.Thought{})
		refuses(t, ctx, dc.ToolCalls(), nil, &adk.ToolCall{})
		refuses(t, ctx, dc.Instructions(), nil, &adk.Tokenizable{}, adk.Text("\xff"))
		for _, unmade := range []*adk.Tool{nil, {}, (&adk.Tool{}).Around(nil)} {
			assert.ErrorIs(t, dc.Tools().Register(unmade), adk.E_INVALID_INITIAL_TOOL_VALUE)
			assert.ErrorIs(t, dc.Tools().Replace(unmade), adk.E_INVALID_INITIAL_TOOL_VALUE)
			_, err := dc.Execute(ctx, unmade, "{}")
			assert.ErrorContains(t, err, "or a zero one")
			_, err = adk.NewRegistry(unmade)
			assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TOOL_VALUE)
		}
		for _, unmade := range []*adk.Media{nil, {}} {
			_, err := dc.OpenMedia(ctx, unmade)
			assert.ErrorContains(t, err, "or a zero one")
			_, err = unmade.Bytes(ctx)
			assert.ErrorIs(t, err, adk.E_NOT_A_MEDIA_READER)
			_, err = adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Attachments: []*adk.Media{unmade}, CreatedAt: noon, UpdatedAt: noon})
			assert.ErrorContains(t, err, "attachments[0]")
		}
	})
}

// RUN-3, DSP-12, RUN-4: the same holds in a config and in the input of a run.
func TestUnmadeInputIsRefused(t *testing.T) {
	config := newConfig()
	config.Tools = []*adk.Tool{{}}
	_, err := adk.NewRunner(config)
	require.ErrorIs(t, err, adk.E_INVALID_TURN_RUNNER_CONFIG)
	assert.ErrorContains(t, err, "Tools[0] is a zero *adk.Tool")
	raw := &adk.RawDispatch{SystemPrompt: "\xff", Storage: (&book{}).storage(), Instructions: []string{"be kind", "\xff"},
		Messages: []*adk.Message{{}}, Memories: []*adk.Memory{{}}, Retrievables: []*adk.Retrievable{{}}, Thoughts: []*adk.Thought{{}},
		ToolCalls: []*adk.ToolCall{{}}, Tools: []*adk.Tool{{}}}
	_, err = adk.Dispatch(context.Background(), adk.DispatchInput{Name: "d", Executor: ackAt(0), Raw: raw})
	require.ErrorIs(t, err, adk.E_INVALID_LLM_EXECUTION_CONTEXT)
	for _, field := range []string{"SystemPrompt", "Instructions[1]", "Messages[0]", "Memories[0]", "Retrievables[0]", "Thoughts[0]", "ToolCalls[0]", "Tools[0]"} {
		assert.ErrorContains(t, err, field+" is ")
	}
	err = newRunner(t, newConfig()).Run(context.Background(), adk.RawTurn{SystemPrompt: "\xff", Instructions: []string{"a\xff"}})
	require.ErrorIs(t, err, adk.E_INVALID_TURN_CONTEXT)
	assert.ErrorContains(t, err, "SystemPrompt is not valid UTF-8 from byte 0 on")
	assert.ErrorContains(t, err, "Instructions[0] is not valid UTF-8 from byte 1 on")
}

// RUN-13: a storage fails if it returns a record that no constructor made.
func TestUnmadeRecordsAreNotFetched(t *testing.T) {
	storage := (&book{}).storage()
	storage.Messages = &benchStore[*adk.Message]{kept: []*adk.Message{message("m"), {}}}
	storage.Tools = toolShelf{&book{tools: []*adk.Tool{{}}}}
	config := newConfig()
	config.Storage = storage
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		messages, err := dc.Messages().Fetch(ctx)
		assert.Empty(t, messages)
		assert.ErrorContains(t, err, "gave a record at 1 that is a zero *adk.Message")
		_, err = dc.Tools().Fetch(ctx)
		assert.ErrorContains(t, err, "gave a record at 0 that is a zero *adk.Tool")
		return dc.Ack()
	})
	runTurn(t, config, hello)
}

// STA-3, DET-8: plain data accept every value; one that only looks like a record is opaque there.
func TestUnmadeRecordsAreNotPlain(t *testing.T) {
	for _, v := range []any{&adk.Message{}, &adk.Memory{}, &adk.Retrievable{}, &adk.Thought{}, &adk.ToolCall{}, &adk.Tool{}, &adk.Media{},
		(*adk.Message)(nil), struct{ *adk.Message }{message("m")}, &struct{ *adk.Tool }{}, struct{ adk.Record }{message("m")}} {
		assert.NotEmpty(t, plain.OpaquePaths(v), "%T", v)
		lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return errors.Join(dc.Stash().Set("v", v), dc.Ack())
		}), hello)
		assert.Contains(t, lines, "! dispatchEnd ack 1", "%T", v)
	}
	assert.Empty(t, plain.OpaquePaths(message("m")))
}

// DET-1, GAT-5: every operation that takes a context returns an error for a nil context.
func TestNilContexts(t *testing.T) {
	var none context.Context
	nothing := func(context.Context, *adk.DispatchContext) error { return nil }
	inExecutor(t, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) {
		_, fetches := dc.Messages().Fetch(none)
		_, fetchesTools := dc.Tools().Fetch(none)
		_, executes := dc.Execute(none, tool("t", done), "{}")
		_, forks := dc.Fork(none, "s", nothing)
		_, waits := dc.WaitFor(none, adk.Gate{ID: "g", Reason: "r"})
		_, opens := dc.OpenMedia(none, emptyPicture())
		_, reads := emptyPicture().Base64(none)
		for name, err := range map[string]error{
			"sleep": dc.Sleep(none, time.Second), "store": dc.Messages().Store(none, message("m")),
			"mutate": dc.Messages().Mutate(none, message("m")), "delete": dc.Messages().Delete(none, "m"),
			"fetch": fetches, "fetch of tools": fetchesTools, "execute": executes, "fork": forks, "wait-for": waits,
			"open-media": opens, "base64": reads,
		} {
			assert.ErrorContains(t, err, "the context is nil", name)
		}
	})
	config := newConfig()
	config.TurnInput = []adk.TurnMiddleware{{Name: "m", Run: func(_ context.Context, tc *adk.TurnContext, next adk.Next) error {
		_, err := tc.Fork(none, "s", func(context.Context, *adk.TurnContext) error { return nil })
		assert.ErrorContains(t, err, "the context is nil")
		next(none) // nil means the middleware's own context (PIP-2)
		return nil
	}}}
	assert.Contains(t, runTurn(t, config, hello), "! dispatchEnd ack 1")
}

// TOL-4: Arguments that NewArguments did not make are refused.
func TestZeroArguments(t *testing.T) {
	inExecutor(t, func(_ context.Context, _ *adk.DispatchContext, _ *adk.Helpers) {
		_, err := adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "t", Args: &adk.Arguments{}, Results: adk.Text("x"), CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon})
		assert.ErrorContains(t, err, "args: ")
	})
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.Execute(ctx, tool("t", done), &adk.Arguments{})
		assert.ErrorIs(t, err, adk.E_INVALID_TOOL_ARGS)
		return dc.Ack()
	}), hello)
	assert.Empty(t, with(lines, "> tool"))
}

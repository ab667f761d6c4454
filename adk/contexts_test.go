package adk_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// callerKey is the key of a value in a caller's context.
type callerKey struct{}

// ABT-11, DET-7, PRM-8: user code gets a context derived from its caller's: with its values, such
// as a tenant or a span, and its deadline. No trace holds a context.
func TestUserCodeHasItsCallersContext(t *testing.T) {
	const caller = "the caller"
	until := time.Now().Add(time.Hour)
	reached := map[string]int{}
	reach := func(ctx context.Context, what string) {
		reached[what]++
		assert.Equal(t, caller, ctx.Value(callerKey{}), what)
		deadline, set := ctx.Deadline()
		assert.True(t, set && deadline.Equal(until), "%s has the deadline %s", what, deadline)
	}
	given := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithDeadline(context.WithValue(ctx, callerKey{}, caller), until)
	}
	config := newConfig()
	config.Storage.Messages = watchedMessages{config.Storage.Messages, func(ctx context.Context) { reach(ctx, "an obligation") }}
	config.Storage.Tools = watchedTools{config.Storage.Tools, func(ctx context.Context) { reach(ctx, "the obligation of tools") }}
	config.DispatchInput = []adk.DispatchMiddleware{dispatchStep("before", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		own, cancel := given(ctx)
		defer cancel()
		next(own)
		return nil
	}), dispatchStep("behind", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		reach(ctx, "a middleware")
		next(ctx)
		return nil
	})}
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		own, cancel := given(ctx)
		defer cancel()
		look := tool("look", func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			reach(ctx, "a tool")
			return adk.Text("seen"), nil
		})
		must(dc.Execute(own, look, "{}"))
		strand := must(dc.Fork(own, "strand", func(ctx context.Context, _ *adk.DispatchContext) error { reach(ctx, "a strand"); return nil }))
		require.NoError(t, strand.Wait())
		must(dc.OpenMedia(own, picture("p", func(ctx context.Context) (io.ReadCloser, error) {
			reach(ctx, "a reader of media")
			return bytesOf("bytes")(ctx)
		})))
		must(dc.Messages().Fetch(own))
		must(dc.Tools().Fetch(own))
		require.NoError(t, dc.Messages().Store(own, message("m")))
		require.NoError(t, dc.Messages().Mutate(own, message("m")))
		require.NoError(t, dc.Messages().Delete(own, "m"))
		return dc.Ack()
	})
	config.TurnInput = []adk.TurnMiddleware{{Name: "forks", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		own, cancel := given(ctx)
		defer cancel()
		strand := must(tc.Fork(own, "strand", func(ctx context.Context, _ *adk.TurnContext) error { reach(ctx, "a strand of the turn"); return nil }))
		require.NoError(t, strand.Wait())
		next(ctx)
		return nil
	}}}
	runTurn(t, config, hello)
	assert.Equal(t, map[string]int{"a middleware": 1, "a tool": 1, "a strand": 1, "a strand of the turn": 1, "a reader of media": 1,
		"an obligation": 4, "the obligation of tools": 1}, reached)
}

// watchedMessages reports the context of each call.
type watchedMessages struct {
	adk.Collection[*adk.Message]
	called func(context.Context)
}

func (w watchedMessages) Fetch(ctx context.Context, s adk.Scope) ([]*adk.Message, error) {
	w.called(ctx)
	return w.Collection.Fetch(ctx, s)
}

func (w watchedMessages) Store(ctx context.Context, s adk.Scope, m *adk.Message) error {
	w.called(ctx)
	return w.Collection.Store(ctx, s, m)
}

func (w watchedMessages) Mutate(ctx context.Context, s adk.Scope, m *adk.Message) error {
	w.called(ctx)
	return w.Collection.Mutate(ctx, s, m)
}

func (w watchedMessages) Delete(ctx context.Context, s adk.Scope, key string) error {
	w.called(ctx)
	return w.Collection.Delete(ctx, s, key)
}

// watchedTools does the same for the source of tools.
type watchedTools struct {
	adk.ToolSource
	called func(context.Context)
}

func (w watchedTools) Fetch(ctx context.Context, s adk.Scope) ([]*adk.Tool, error) {
	w.called(ctx)
	return w.ToolSource.Fetch(ctx, s)
}

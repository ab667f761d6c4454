package adk_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// TOL-2, TOL-3, TOL-4: the call id comes from the raw arguments. The handler gets the validated ones
// and its own handle, and both events are emitted around it.
func TestExecute(t *testing.T) {
	var own *adk.DispatchContext
	echo := tool("echo", func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		own = dc
		assert.Equal(t, map[string]any{"n": 7.0}, args, "TOL-2: defaults")
		args["n"] = "spoiled"
		return adk.NewTokenizable("out"), dc.Stash().Set("seen", true)
	})
	var start adk.ToolExecutionStart
	raw := hello
	raw.Observability.ToolExecutionStart = func(e adk.ToolExecutionStart) { start = e }
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, args := range []any{"{}", map[string]any{}, []byte("{}")} {
			result := must(dc.Execute(ctx, echo, args))
			assert.Equal(t, adk.NewTokenizable("out"), result)
			assert.Equal(t, checksum("echo", "{}"), start.CallID)
		}
		assert.Equal(t, map[string]any{"n": 7.0}, start.Args, "EVT-4: the handler's map is its own")
		assert.NotSame(t, dc, own)
		assert.ErrorIs(t, own.Stash().Set("late", 1), adk.E_CONTEXT_ENDED, "DET-5")
		assert.Equal(t, true, dc.Stash().Get("seen", nil))
		return dc.Ack()
	}), raw)
	assert.Contains(t, strings.Join(lines, "|"), "execute(|! toolExecutionStart echo|> tool/echo|stash seen|< tool/echo ok|! toolExecutionEnd echo|)execute")
}

// TOL-2, TOL-3: invalid arguments run no handler and emit no event.
func TestExecuteBadArguments(t *testing.T) {
	ran := false
	strict := tool("strict", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		ran = true
		return adk.NewTokenizable("x"), nil
	})
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, bad := range []any{nil, "", "no json", "[1]", 5, `{"n":"secret"}`, map[string]any{"zz": 1}, map[string]any{"n": make(chan int)}} {
			_, err := dc.Execute(ctx, strict, bad)
			assert.ErrorIs(t, err, adk.E_INVALID_TOOL_ARGS)
			assert.NotContains(t, err.Error(), "secret", "ERR-3")
		}
		_, err := dc.Execute(ctx, nil, "{}")
		assert.Error(t, err)
		return dc.Ack()
	}), hello)
	assert.False(t, ran)
	assert.Empty(t, with(lines, "! toolExecution"))
	assert.Empty(t, with(lines, "> tool"))
	assert.Len(t, with(lines, ")execute E_INVALID_TOOL_ARGS"), 8)
}

// TOL-3, TOL-5: which error the caller gets when a handler fails.
func TestExecuteFails(t *testing.T) {
	for name, c := range map[string]struct {
		handler func() (adk.ToolResult, error)
		cause   error
	}{
		"error":              {func() (adk.ToolResult, error) { return nil, errBoom }, errBoom},
		"error beside value": {func() (adk.ToolResult, error) { return adk.NewTokenizable("x"), errBoom }, errBoom},
		"panic":              {func() (adk.ToolResult, error) { panic(errBoom) }, errBoom},
		"nothing":            {func() (adk.ToolResult, error) { return nil, nil }, nil},
		"nil text":           {func() (adk.ToolResult, error) { return (*adk.Tokenizable)(nil), nil }, nil},
		"no media":           {func() (adk.ToolResult, error) { return adk.MediaList{}, nil }, nil},
		"nil media":          {func() (adk.ToolResult, error) { return adk.MediaList{nil}, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bad := tool("bad", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return c.handler()
			})
			lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				result, err := dc.Execute(ctx, bad, "{}")
				assert.Nil(t, result)
				assert.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR)
				if c.cause != nil {
					assert.ErrorIs(t, err, c.cause)
				}
				return dc.Ack()
			}), hello)
			assert.Equal(t, []string{"! toolExecutionStart bad", "! toolExecutionEnd bad failed"}, with(lines, "! tool"))
			assert.Empty(t, with(lines, "! error"), "EVT-9")
		})
	}
}

// TOL-6: using the registry through a handle, and which crossings that makes.
func TestToolSet(t *testing.T) {
	ephemeral := func(init *adk.ToolInit) { init.Ephemeral = true }
	var late adk.ToolSet
	lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		set := dc.Tools()
		late = set
		require.NoError(t, set.Register(tool("a", done)))
		require.NoError(t, set.Register(tool("b", done, ephemeral)))
		assert.ErrorIs(t, set.Register(tool("a", done)), adk.E_TOOL_ALREADY_REGISTERED)
		newer := tool("a", done, ephemeral)
		require.NoError(t, set.Replace(newer))
		got, ok := set.Get("a")
		assert.True(t, ok && set.Has("a"))
		assert.Same(t, newer, got)
		assert.ErrorIs(t, set.Register(nil), adk.E_INVALID_INITIAL_TOOL_VALUE)
		assert.True(t, must(set.Unregister("b")))
		assert.False(t, must(set.Unregister("b")))
		require.NoError(t, set.Register(tool("c", done)))
		assert.Equal(t, []string{"a"}, must(set.PruneEphemeral()))
		assert.Equal(t, []string{"c"}, keysOf(set.All()))
		return dc.Ack()
	}), hello)
	assert.Contains(t, lines, "register E_TOOL_ALREADY_REGISTERED")
	_, err := late.Unregister("c")
	assert.ErrorIs(t, errors.Join(late.Register(tool("d", done)), err), adk.E_CONTEXT_ENDED, "DET-5")
	assert.True(t, late.Has("c"))
}

// TOL-8, TOL-9: a binding prunes ephemeral tools on ack only, unless it is undone.
func TestBind(t *testing.T) {
	ephemeral := func(init *adk.ToolInit) { init.Ephemeral = true }
	for name, c := range map[string]struct {
		end  func(dc *adk.DispatchContext, unbind func()) error
		want []string
	}{
		"ack":    {func(dc *adk.DispatchContext, _ func()) error { return dc.Ack() }, []string{"base"}},
		"nack":   {func(dc *adk.DispatchContext, _ func()) error { return dc.Nack(errBoom) }, []string{"base", "e"}},
		"undone": {func(dc *adk.DispatchContext, unbind func()) error { unbind(); return dc.Ack() }, []string{"base", "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				require.NoError(t, dc.Tools().Register(tool("e", done, ephemeral)))
				err := c.end(dc, must(dc.Tools().Bind()))
				assert.Equal(t, c.want, keysOf(dc.Tools().All()))
				return err
			})
			config.Tools = []*adk.Tool{tool("base", done)}
			config.TurnInput = []adk.TurnMiddleware{{Name: "turn", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				_, err := tc.Tools().Bind()
				assert.Error(t, err, "a turn is not acked")
				next(ctx)
				return nil
			}}}
			runTurn(t, config, hello)
		})
	}
}

// TOL-6, TOL-8: a caller's own registry can be bound to a dispatch like a context's registry. The
// dispatch's own tools stay.
func TestBindOwnRegistry(t *testing.T) {
	ephemeral := func(init *adk.ToolInit) { init.Ephemeral = true }
	for name, c := range map[string]struct {
		end  func(dc *adk.DispatchContext, unbind func()) error
		want []string
	}{
		"ack":    {func(dc *adk.DispatchContext, _ func()) error { return dc.Ack() }, []string{"base"}},
		"nack":   {func(dc *adk.DispatchContext, _ func()) error { return dc.Nack(errBoom) }, []string{"base", "e"}},
		"undone": {func(dc *adk.DispatchContext, unbind func()) error { unbind(); return dc.Ack() }, []string{"base", "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			own := must(adk.NewRegistry(tool("base", done), tool("e", done, ephemeral)))
			lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				require.NoError(t, dc.Tools().Register(tool("context's", done, ephemeral)))
				err := c.end(dc, must(own.Bind(dc)))
				assert.Equal(t, c.want, keysOf(own.All()))
				assert.Equal(t, []string{"context's"}, keysOf(dc.Tools().All()))
				return err
			}), hello)
			assert.Empty(t, with(lines, "prune"), "a registry of the caller's own is not told of")
		})
	}
	for _, none := range []*adk.DispatchContext{nil, {}} {
		_, err := must(adk.NewRegistry()).Bind(none)
		assert.ErrorContains(t, err, "give the one that a seam call was given")
	}
}

// TOL-7: merging the tools of a context with registries gives a new registry, whose tools can be
// executed. The context and the other registries stay unchanged.
func TestMergeOfAContextsTools(t *testing.T) {
	said := func(text string) adk.ToolHandler {
		return func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text(text), nil
		}
	}
	keep := func(init *adk.ToolInit) { init.OnCollision = adk.CollisionKeep }
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, errors.Join(dc.Tools().Register(tool("a", said("context's"))), dc.Tools().Register(tool("b", said("context's")))))
		left, right := must(adk.NewRegistry(tool("b", said("left's")))), must(adk.NewRegistry(tool("c", done), tool("a", said("right's"), keep)))
		_, err := dc.Tools().Merge(adk.CollisionThrow, left, right)
		require.ErrorIs(t, err, adk.E_TOOL_ALREADY_REGISTERED)
		merged := must(dc.Tools().Merge(adk.CollisionReplace, left, nil, right))
		assert.Equal(t, []string{"a", "b", "c"}, keysOf(merged.All()))
		assert.Equal(t, []string{"a", "b"}, keysOf(dc.Tools().All()))
		assert.Equal(t, [][]string{{"b"}, {"c", "a"}}, [][]string{keysOf(left.All()), keysOf(right.All())})
		for name, want := range map[string]string{"a": "context's", "b": "left's"} {
			chosen, _ := merged.Get(name)
			assert.Equal(t, adk.ToolResult(adk.Text(want)), must(dc.Execute(ctx, chosen, "{}")))
		}
		merged.Unregister("a")
		assert.True(t, dc.Tools().Has("a"))
		return dc.Ack()
	}), hello)
	assert.Len(t, with(lines, "register"), 2, "a merge is no operation")
}

// RUN-2, RUN-13: Fetch gets tools from their source and registers none.
func TestFetchTools(t *testing.T) {
	store := &book{tools: []*adk.Tool{tool("stored", done)}}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		assert.Equal(t, []string{"stored"}, keysOf(must(dc.Tools().Fetch(ctx))))
		assert.Empty(t, dc.Tools().All())
		store.tools = []*adk.Tool{nil}
		_, err := dc.Tools().Fetch(ctx)
		assert.ErrorContains(t, err, "is nil")
		return dc.Ack()
	})
	config.Storage = store.storage()
	runTurn(t, config, hello)
}

// TOL-3, TOL-5: no bytes are a result too, also the nil bytes of a buffer that was never written to,
// such as the output of a command that printed nothing.
func TestExecuteGivesNoBytes(t *testing.T) {
	var printed bytes.Buffer
	silent := tool("silent", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.Bytes(printed.Bytes()), nil
	})
	var got adk.ToolResult
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
		if got, err = dc.Execute(ctx, silent, "{}"); err != nil {
			return err
		}
		return dc.Ack()
	}), hello)
	assert.Equal(t, adk.Bytes{}, got)
	assert.Contains(t, lines, "! toolExecutionEnd silent")
}

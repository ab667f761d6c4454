package adk_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// inTurn runs a function in a turn input middleware.
func inTurn(t *testing.T, raw adk.RawTurn, run func(ctx context.Context, tc *adk.TurnContext)) []string {
	t.Helper()
	config := newConfig()
	config.TurnInput = []adk.TurnMiddleware{{Name: "in", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		run(ctx, tc)
		next(ctx)
		return nil
	}}}
	return runTurn(t, config, raw)
}

// STA-1, STA-2, STA-4: dotted paths build nested maps, setting nil deletes, and setting a path
// replaces the subtree below it.
func TestStash(t *testing.T) {
	inTurn(t, hello, func(_ context.Context, tc *adk.TurnContext) {
		s := tc.Stash()
		assert.Equal(t, map[string]any{}, s.All())
		require.NoError(t, s.Set("b.y", 1))
		require.NoError(t, s.Set("b.x.z", "deep"))
		require.NoError(t, s.Set("a", []any{1}))
		assert.Equal(t, []string{"a", "b.x.z", "b.y"}, s.Keys())
		assert.Equal(t, map[string]any{"a": []any{1}, "b": map[string]any{"y": 1, "x": map[string]any{"z": "deep"}}}, s.All())
		assert.Equal(t, map[string]any{"z": "deep"}, s.Get("b.x", nil))
		assert.Equal(t, "fallback", s.Get("b.q", "fallback"))

		for path, has := range map[string]bool{"a": true, "b": true, "b.x.z": true, "b.q": false, "": false, "b.": false, ".b": false, "a.0": false, "b.y.q": false} {
			assert.Equal(t, has, s.Has(path), path)
			assert.Equal(t, has, s.Get(path, nil) != nil, path)
		}
		require.NoError(t, s.Set("b.y", nil))
		assert.False(t, s.Has("b.y"))
		require.NoError(t, s.Set("b", "leaf now"))
		assert.Equal(t, []string{"a", "b"}, s.Keys())
		require.NoError(t, s.Set("c.d", map[string]any{"gone": nil, "kept": map[string]any{"k": 1}}))
		assert.False(t, s.Has("c.d.gone"), "STA-2")
		assert.Equal(t, 1, s.Get("c.d.kept.k", nil))
		require.NoError(t, s.Set("never.was", nil))
		assert.False(t, s.Has("never"))
	})
}

// STA-4, STA-5, STA-7: invalid paths are refused, and change nothing.
func TestStashRefuses(t *testing.T) {
	for path, c := range map[string]struct {
		value any
		want  []string
	}{
		"":          {1, []string{"empty segment"}},
		"a..b":      {1, []string{`"a..b"`}},
		".a":        {1, []string{`".a"`}},
		"leaf.b":    {1, []string{`"leaf.b"`, `"leaf"`}},
		"leaf.b.c":  {nil, []string{`"leaf.b.c"`, `"leaf"`}},
		"list.0":    {1, []string{`"list.0"`, `"list"`}},
		"map":       {map[string]any{"a.b": 1}, []string{`"map.a.b"`, "{a: {b: …}}"}},
		"deep":      {map[string]any{"d": map[string]any{"x.y": 1}}, []string{`"deep.d.x.y"`}},
		"empty.key": {map[string]any{"": 1}, []string{"empty"}},
	} {
		t.Run(path, func(t *testing.T) {
			lines := inTurn(t, hello, func(_ context.Context, tc *adk.TurnContext) {
				s := tc.Stash()
				require.NoError(t, s.Set("leaf", 1))
				require.NoError(t, s.Set("list", []any{1}))
				before := s.All()
				err := s.Set(path, c.value)
				require.ErrorIs(t, err, adk.E_INVALID_STASH_PATH)
				for _, want := range c.want {
					assert.ErrorContains(t, err, want)
				}
				assert.Equal(t, before, s.All())
			})
			assert.Len(t, with(lines, "stash "), 3)
			assert.Contains(t, with(lines, "stash ")[2], "E_INVALID_STASH_PATH", "a refusal is told")
		})
	}
}

// STA-3: maps and slices are copied when they are set and when they are read, at every depth. Other
// values are shared.
func TestStashCopies(t *testing.T) {
	shared := &struct{ n int }{1}
	given := map[string]any{"list": []any{map[string]any{"k": 1}}, "typed": map[string]int{"n": 1}, "shared": shared}
	raw := hello
	raw.Stash = given
	inTurn(t, raw, func(_ context.Context, tc *adk.TurnContext) {
		s := tc.Stash()
		spoil := func(tree map[string]any) {
			tree["list"].([]any)[0].(map[string]any)["k"] = 2
			tree["typed"].(map[string]int)["n"] = 2
			tree["more"] = true
		}
		intact := func() {
			assert.Equal(t, map[string]any{"list": []any{map[string]any{"k": 1}}, "typed": map[string]int{"n": 1}, "shared": shared}, s.Get("own", s.All()))
		}
		spoil(given) // the map of the raw turn
		intact()
		spoil(s.All())
		intact()
		own := s.All()
		require.NoError(t, s.Set("own", own))
		spoil(own)
		intact()
		spoil(s.Get("own", nil).(map[string]any))
		intact()
		assert.Same(t, shared, s.Get("own.shared", nil))
	})
}

// STA-8, RUN-11: a stash can be used concurrently; the race detector checks it.
func TestStashIsSafe(t *testing.T) {
	inTurn(t, hello, func(ctx context.Context, tc *adk.TurnContext) {
		var begun sync.WaitGroup
		begun.Add(4)
		for range 4 {
			must(tc.Fork(ctx, "uses", func(_ context.Context, tc *adk.TurnContext) error {
				begun.Done()
				begun.Wait()
				for range 500 {
					_ = tc.Stash().Set("a.b", []any{1})
					_, _, _, _ = tc.Stash().Get("a", nil), tc.Stash().Has("a.b"), tc.Stash().Keys(), tc.Stash().All()
				}
				assert.Equal(t, []string{"a.b"}, tc.Stash().Keys())
				return nil
			}))
		}
	})
}

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// WLD-6: a changed request of a few words is recognized by the parts of its words, and one with a random id by
// everything else in it. The only request of a call is matched with the only recorded one, whatever it says today.
func TestShortRequestsThatChanged(t *testing.T) {
	t.Parallel()
	type lock struct {
		Key, Token string
		TTL        int
	}
	agent := func(requests []any, got *[]string) adk.Config {
		return doing(func(ctx context.Context, _ *adk.DispatchContext) error {
			for _, request := range requests {
				answer, err := adk.Ask(ctx, "redis", request, func(_ context.Context, request any) (string, error) {
					if _, ok := request.(lock); ok {
						return "locked", nil
					}
					return fmt.Sprint("answer to ", request), nil
				})
				if errors.Is(err, replay.ErrUnanswered) {
					answer = "nothing"
				}
				*got = append(*got, answer)
			}
			return nil
		})
	}
	for name, c := range map[string]struct {
		was, is []any
		answers []string
		class   replay.Class
		says    string
	}{
		"a key of parts":          {[]any{"cache:docs:login", "user:7"}, []any{"cache:login", "user:7"}, []string{"answer to cache:docs:login", "answer to user:7"}, replay.ChangedInput, `request: expected "cache:docs:login", got "cache:login"`},
		"the only number":         {[]any{42}, []any{43}, []string{"answer to 42"}, replay.ChangedInput, "request: expected 42, got 43"},
		"one of two numbers":      {[]any{7, 42}, []any{7, 43}, []string{"answer to 7", "nothing"}, replay.Unanswered, ""},
		"what is no few words":    {[]any{"one two three four"}, []any{"five six seven eight nine"}, []string{"nothing"}, replay.Unanswered, ""},
		"beside another token":    {[]any{lock{"k", "0b0f9d6e-3f5a-4c0e-9f0e-5d0a1c2b3d4e", 30}, 7}, []any{lock{"k", "7c9e6679-7425-40de-944b-e07fc1f90ae7", 3}, 7}, []string{"locked", "answer to 7"}, replay.ChangedInput, "request.TTL: expected 30, got 3"},
		"one question of the two": {[]any{"docs:login", "code:login"}, []any{"docs:zebra", "code:login"}, []string{"answer to docs:login", "answer to code:login"}, replay.ChangedInput, `request: expected "docs:login", got "docs:zebra"`},
	} {
		var recorded, got []string
		trace := turnOf(t, agent(c.was, &recorded), adk.RawTurn{})
		d := divergenceOf(t, trace, replay.LiveExecutor(agent(c.is, &got).Executor.Run))
		require.NotNil(t, d, name)
		assert.Equal(t, c.class, d.Class, "%s: %s", name, d)
		assert.Contains(t, d.String(), c.says, name)
		assert.Equal(t, c.answers, got, name)
	}
}

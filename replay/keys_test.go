package replay_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

type keyed struct{ Key, Says string }

func asksModel(ctx context.Context, key, says string) error {
	_, err := adk.Ask(ctx, "model", keyed{key, says}, func(context.Context, keyed) (string, error) { return "answered", nil })
	return err
}

// If a key was the same for all tries and is now made for each of them, that is what the report
// says, and it does not call it chance: that random ids differ in a second run is no news.
func TestAKeyThatIsMadeForEachTry(t *testing.T) {
	t.Parallel()
	agent := func(once bool, says string) adk.Config {
		return doing(func(ctx context.Context, _ *adk.DispatchContext) error {
			key := uuid.NewString()
			if err := asksModel(ctx, key, says); err != nil {
				return err
			}
			if !once {
				key = uuid.NewString()
			}
			return asksModel(ctx, key, says)
		})
	}
	trace := turnOf(t, agent(true, "hello there"), adk.RawTurn{})
	verify := func(once bool, says string) *replay.Divergence {
		live := replay.LiveExecutor(agent(once, says).Executor.Run)
		live.Twice = true
		return divergenceOf(t, trace, live)
	}
	assert.Nil(t, verify(true, "hello there"))
	d := verify(false, "hello there")
	require.NotNil(t, d)
	assert.Equal(t, replay.ChangedInput, d.Class, d)
	assert.Contains(t, d.String(), "the id of the ask before it: expected the same, got another one")
	d = verify(true, "hello you")
	require.NotNil(t, d)
	assert.Equal(t, replay.ChangedInput, d.Class, d)
	assert.NotContains(t, d.String(), "the id of the ask before it")
}

// If an additional id, made earlier, takes the recorded one, a later operation gets an id of the
// replay's own. That difference follows from the additional id.
func TestIDsOfTheReplayFollow(t *testing.T) {
	t.Parallel()
	agent := func(own bool) adk.Config {
		return doing(func(ctx context.Context, dc *adk.DispatchContext) error {
			if own {
				dc.NewID()
			}
			if err := asksModel(ctx, "lock", "hello there"); err != nil {
				return err
			}
			_, err := adk.Ask(ctx, "queue", keyed{"done-" + dc.NewID(), "it is done"}, func(context.Context, keyed) (string, error) { return "kept", nil })
			return err
		})
	}
	d := divergenceOf(t, turnOf(t, agent(false), adk.RawTurn{}), replay.LiveExecutor(agent(true).Executor.Run))
	require.NotNil(t, d)
	assert.Empty(t, d.After.Apart, d)
}

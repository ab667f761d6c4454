package replay_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// doing is an agent whose executor does these one after the other.
func doing(steps ...func(context.Context, *adk.DispatchContext) error) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, step := range steps {
			if err := step(ctx, dc); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

func sleepsAMinute(ctx context.Context, dc *adk.DispatchContext) error {
	return dc.Sleep(ctx, time.Minute)
}

func setsTheStash(_ context.Context, dc *adk.DispatchContext) error {
	return dc.Stash().Set("waited", true)
}

func makesAnID(_ context.Context, dc *adk.DispatchContext) error { _ = dc.NewID(); return nil }

func forksA(name string) func(context.Context, *adk.DispatchContext) error {
	return func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.Fork(ctx, name, func(context.Context, *adk.DispatchContext) error { return nil })
		return err
	}
}

func asksThat(question string) func(context.Context, *adk.DispatchContext) error {
	return func(ctx context.Context, _ *adk.DispatchContext) error {
		_, err := adk.Ask(ctx, "model", map[string]string{"say": question, "with": "a few words that do not change"},
			func(context.Context, map[string]string) (string, error) { return "yes", nil })
		return err
	}
}

func heldAgainst(t *testing.T, recorded, live adk.Config) *replay.Divergence {
	t.Helper()
	d := divergenceOf(t, turnOf(t, recorded, adk.RawTurn{}), replay.Live{Config: live, Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	return d
}

// Where one side has nothing, the report says what the call did next there.
func TestReportsSayHowTheCallGoesOn(t *testing.T) {
	for name, one := range map[string]struct {
		recorded, live adk.Config
		class          replay.Class
		goesOn, says   string
	}{
		"what is missing is passed over":   {doing(sleepsAMinute, setsTheStash), doing(setsTheStash), replay.Missing, "stash waited = true", "    goes on with stash waited = true\n"},
		"ids say nothing":                  {doing(sleepsAMinute, makesAnID, setsTheStash), doing(makesAnID, setsTheStash), replay.Missing, "stash waited = true", "    goes on with stash waited = true\n"},
		"the last is missing":              {doing(setsTheStash, sleepsAMinute), doing(setsTheStash), replay.Missing, "ack", "    goes on with ack\n"},
		"what is new comes between":        {doing(setsTheStash), doing(sleepsAMinute, setsTheStash), replay.Extra, "stash waited = true", "    recorded: goes on with stash waited = true\n"},
		"what is new comes at the end":     {executing(acks), executing(acksAndAsks), replay.Unanswered, "executor/e#0 returns", "    recorded: goes on with executor/e#0 returns\n"},
		"an answer stands before the next": {doing(asksThat("a"), sleepsAMinute), doing(asksThat("a")), replay.Missing, "ack", "    goes on with ack\n"},
		"both sides have something":        {doing(asksThat("a")), doing(asksThat("b")), replay.ChangedInput, "", "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			d := heldAgainst(t, one.recorded, one.live)
			assert.Equal(t, one.class, d.Class, d)
			assert.Equal(t, one.goesOn, d.GoesOn, d)
			assert.Contains(t, d.String(), one.says)
		})
	}
}

func acks(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }

func acksAndAsks(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
	return errors.Join(dc.Ack(), asksThat("more")(ctx, dc))
}

// Of several of a kind that are gone together the report names each, and of those that are
// recorded elsewhere none.
func TestReportsNameWhatElseIsMissing(t *testing.T) {
	recorded := doing(forksA("a"), forksA("b"), makesAnID, forksA("c"), forksA("d"), sleepsAMinute, forksA("e"))
	d := heldAgainst(t, recorded, doing(sleepsAMinute, forksA("e")))
	assert.Equal(t, replay.Missing, d.Class)
	assert.Equal(t, []string{"fork b as s2", "fork c as s3", "fork d as s4"}, d.Also)
	assert.Len(t, d.Evidence.Also, 3)
	assert.Contains(t, d.String(), "  - fork a as s1\n  - fork b as s2\n  - fork c as s3\n    and 1 more\n")

	assert.Empty(t, heldAgainst(t, recorded, doing(forksA("b"), makesAnID, forksA("c"), forksA("d"), sleepsAMinute, forksA("e"))).Also)
}

// The same change in code that comes by again is no other one.
func TestTheSameChangeAgainIsNoOtherOne(t *testing.T) {
	d := heldAgainst(t, doing(asksThat("a"), sleepsAMinute, asksThat("a"), sleepsAMinute, asksThat("a")), doing(asksThat("b"), sleepsAMinute, asksThat("b"), sleepsAMinute, asksThat("c")))
	assert.Equal(t, replay.ChangedInput, d.Class)
	assert.Equal(t, 2, d.After.Again+d.After.Own+d.After.Follow, d)
	assert.Zero(t, d.After.Again, "in one call the second follows from the first")

	seams := func(first, second, third string) adk.Config {
		config := executing(acks)
		for i, question := range []string{first, second, third} {
			config.DispatchInput = append(config.DispatchInput, adk.DispatchMiddleware{Name: string(rune('a' + i)), Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				defer next(ctx)
				return asksThat(question)(ctx, dc)
			}})
		}
		return config
	}
	d = divergenceOf(t, turnOf(t, seams("old", "old", "old"), adk.RawTurn{}), replay.Live{Config: seams("new", "new", "newer"), Seams: []string{replay.Middleware}})
	require.NotNil(t, d)
	assert.Equal(t, replay.Impact{Equal: d.After.Equal, Again: 1, Own: 1, Causes: d.After.Causes}, *d.After)
	require.Len(t, d.After.Causes, 1)
	assert.Contains(t, d.String(), "0 follow from it, the same again in 1, 1 differs on its own\n")
}

// Of the recorded gates that come near to a new one it is no reason against them that each has
// an id of its own.
func TestIDsOfGatesTellThemApartLast(t *testing.T) {
	gate := func(reason string) func(context.Context, *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			_, _ = adk.WaitFor[bool](ctx, dc, adk.Gate{ID: dc.NewID(), Reason: reason, Timeout: time.Minute}) // it expires
			return nil
		}
	}
	recorded := turnOf(t, doing(gate("restart?"), setsTheStash), adk.RawTurn{})
	d := divergenceOf(t, recorded, replay.Live{Config: doing(gate("restart?"), gate("really?"), setsTheStash), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	require.Len(t, d.Candidates, 1, d)
	assert.Equal(t, []string{`has the reason "restart?" and not "really?"`}, d.Candidates[0].Refused)
}

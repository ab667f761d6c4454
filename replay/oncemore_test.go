package replay_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// If code repeats an operation once more than recorded, the report says so in words that need no
// other context.
func TestOnceMoreThanRecorded(t *testing.T) {
	told := func(times int) adk.Config {
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for range times {
				if _, err := dc.Messages().Fetch(ctx); err != nil {
					return err
				}
			}
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}
	}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(told(2), replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
	report, err := replay.Verify(t.Context(), &recorded, replay.Live{Config: told(3), Seams: []string{replay.Executor}})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	said := strings.Join(strings.Fields(report.Divergence.String()), " ")
	assert.Contains(t, said, ", which has answered already: today's code does this once more")
}

// A recorded ask that is similar to an unanswered one is shown with the members that differ,
// however long the request is. It is not listed again as a candidate.
func TestNearAskNamesTheMember(t *testing.T) {
	type request struct{ Text, Path string }
	asking := func(path string) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := adk.Ask(ctx, "shop", request{strings.Repeat("Where is it? ", 20), path}, func(context.Context, request) (string, error) { return "here", nil })
			return errors.Join(err, dc.Ack())
		}
	}
	var recorded bytes.Buffer
	config := adk.Config{Executor: adk.Executor{Name: "model", Run: asking("/orders")}, Storage: fakes.NoOpStorage()}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	live := replay.LiveExecutor(asking("/order"))
	live.Strict = true
	report, err := replay.Verify(t.Context(), &recorded, live)
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	said := strings.Join(strings.Fields(report.Divergence.String()), " ")
	assert.Contains(t, said, `request.Path: expected "/orders", got "/order"`)
	assert.Empty(t, report.Divergence.Candidates)
}

// A recorded operation that has less in common with a new one than it differs in is not similar to
// it: a strand with another name is not shown.
func TestFarOperationsAreNotNear(t *testing.T) {
	forking := func(names ...string) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, name := range names {
				strand, err := dc.Fork(ctx, name, func(context.Context, *adk.DispatchContext) error { return nil })
				if err != nil {
					return err
				}
				if err := strand.Wait(); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
	}
	recorded := turnOf(t, forking("a"), adk.RawTurn{})
	for name, near := range map[string]int{"b": 0, "a": 1} {
		d := divergenceOf(t, recorded, replay.Live{Config: forking("a", name), Seams: []string{replay.Executor}})
		require.NotNil(t, d)
		assert.Len(t, d.Candidates, near, "a strand %s more", name)
	}
}

// One additional id, or one id less, is reported as just that, anywhere in the turn. The later
// ids, which now get the next recorded values, have not changed places.
func TestOneIDMoreIsNoOrder(t *testing.T) {
	paying := func(ids int) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
			ask := func(of, what string) {
				_, failed := adk.Ask(ctx, of, what, func(context.Context, string) (string, error) { return "Well.", nil })
				err = errors.Join(err, failed)
			}
			for range ids {
				dc.NewID()
			}
			ask("pay", "now")
			ask("note", "of "+dc.NewID())
			return errors.Join(err, dc.Ack())
		})
	}
	for name, c := range map[string]struct {
		was, is int
		class   replay.Class
		line    string
		times   int
		at      int
	}{
		"one more":  {1, 2, replay.Extra, "new-id → id2", 0, 9},
		"two more":  {1, 3, replay.Extra, "new-id → id2", 2, 9},
		"one less":  {2, 1, replay.Missing, "new-id → id2", 0, 9},
		"two less":  {3, 1, replay.Missing, "new-id → id2", 2, 9},
		"no longer": {1, 0, replay.Missing, "new-id → id1", 0, 8},
	} {
		t.Run(name, func(t *testing.T) {
			d := divergenceOf(t, turnOf(t, paying(c.was), adk.RawTurn{}), replay.Live{Config: paying(c.is), Seams: []string{replay.Executor}})
			require.NotNil(t, d)
			assert.Equal(t, c.class, d.Class, "%s", d)
			assert.Contains(t, d.Expected+d.Got, c.line, "%s", d)
			assert.Equal(t, c.times, d.Times, "%s", d)
			assert.Equal(t, c.at, d.Crossing, "%s", d)
		})
	}
}

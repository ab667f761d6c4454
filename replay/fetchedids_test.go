package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// Live code stores a record under an id that it made itself. When the recorded storage returns the
// record, it has that id in place of the recorded one.
func TestFetchedRecordsHaveTheIDsOfLiveCode(t *testing.T) {
	keeping := func(also string) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			mine := uuid.NewString()
			message, err := adk.NewMessage(adk.MessageInit{ID: mine, Role: adk.RoleUser, Content: "Hello.", CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
			if err == nil {
				err = dc.Messages().Store(ctx, message)
			}
			if err != nil {
				return err
			}
			all, err := dc.Messages().Fetch(ctx)
			if err != nil {
				return err
			}
			found := 0
			for _, m := range all {
				if m.ID() == mine {
					found++
				}
				if _, err := dc.Messages().Add(m); err != nil {
					return err
				}
			}
			h.Log(adk.LevelInfo, "kept", fmt.Sprint(found, " of mine", also), nil)
			return errors.Join(dc.Messages().Delete(ctx, mine), dc.Ack())
		}
	}
	var recorded bytes.Buffer
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: keeping("")}}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Keep."}))

	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.LiveExecutor(keeping("")))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%v", report.Divergence)

	report, err = replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.LiveExecutor(keeping(", today")))
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Contains(t, report.Divergence.String(), `expected "1 of mine", got "1 of mine, today"`)
}

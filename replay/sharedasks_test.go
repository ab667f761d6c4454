package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// looksUp asks for the orders one after the other until an answer is missing, and stores the answers.
func looksUp(name string, orders ...string) func(context.Context, *adk.DispatchContext) error {
	return func(ctx context.Context, dc *adk.DispatchContext) error {
		for i, order := range orders {
			answer, err := adk.Ask(ctx, "orders", order, func(_ context.Context, order string) (string, error) { return "order " + order, nil })
			if err := errors.Join(err, dc.Stash().Set(fmt.Sprint(name, i), answer)); err != nil {
				return err
			}
		}
		return nil
	}
}

// If a strand makes the same request as another strand, it gets the same answer and does not use that
// answer up, whichever of the two comes first. The strand whose request has changed is reported, and the
// other is not. The change cannot be accepted, since the recording has one answer for two requests. (WLD-6)
func TestEqualRequestsOfTwoAreShared(t *testing.T) {
	t.Parallel()
	strands := func(first, second []string) adk.Config {
		return strandsOf(looksUp("a", first...), looksUp("b", second...))
	}
	var trace bytes.Buffer
	config := fakes.Deterministic(strands([]string{"1001"}, []string{"1002"}), replay.Record(&trace))
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
	for name, c := range map[string]struct {
		first, second []string
		says          string
	}{
		"the first":  {[]string{"1002"}, []string{"1002"}, `request: expected "1001", got "1002"`},
		"the second": {[]string{"1001"}, []string{"1001"}, `request: expected "1002", got "1001"`},
		"once more":  {[]string{"1001", "1002"}, []string{"1002"}, `+ ask orders "1002"`},
	} {
		live := replay.Live{Config: strands(c.first, c.second), Seams: []string{replay.Executor}}
		d := inTime(t, trace.Bytes(), live)
		require.NotNil(t, d, name)
		assert.Contains(t, d.String(), c.says, name)
		assert.NotContains(t, d.String(), "E_UNANSWERED", name)
		assert.Empty(t, d.Also, name)
		assert.Contains(t, d.String(), "2 follow from it; the turn ends as recorded", name)
		live.Turn.SystemPrompt = "Go."
		_, err := replay.Rerecord(t.Context(), bytes.NewReader(trace.Bytes()), &bytes.Buffer{}, live)
		require.ErrorIs(t, err, replay.ErrUnanswered, name)
		live.Outside = []string{"orders"}
		var accepted bytes.Buffer
		_, err = replay.Rerecord(t.Context(), bytes.NewReader(trace.Bytes()), &accepted, live)
		require.NoError(t, err, name)
		live.Outside = nil
		assert.Nil(t, inTime(t, accepted.Bytes(), live), name)
		live.Strict = true
		strict := strings.Join(strings.Fields(inTime(t, trace.Bytes(), live).String()), " ")
		assert.Contains(t, strict, "the turn ends in another state", "%s: one of the two hears nothing", name)
	}
}

// A request that a call repeats gets no second answer, so that a loop which continues as long as
// it gets answers ends. (WLD-6)
func TestNobodySharesForEver(t *testing.T) {
	t.Parallel()
	var trace bytes.Buffer
	config := fakes.Deterministic(strandsOf(looksUp("a", "1001"), looksUp("b", "1002")), replay.Record(&trace))
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
	var asked atomic.Int32
	forEver := func(ctx context.Context, dc *adk.DispatchContext) error {
		for ctx.Err() == nil {
			asked.Add(1)
			if err := looksUp("c", "1002")(ctx, dc); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	for name, c := range map[string]struct {
		now  adk.Config
		most int32 // the number of its asks, the last of which has no answer
	}{
		"its own":   {strandsOf(looksUp("a", "1001"), forEver), 2},
		"another's": {strandsOf(forEver, looksUp("b", "1002")), 3},
	} {
		asked.Store(0)
		d := inTime(t, trace.Bytes(), replay.Live{Config: c.now, Seams: []string{replay.Executor}})
		require.NotNil(t, d, name)
		assert.LessOrEqual(t, asked.Load(), c.most, name)
	}
}

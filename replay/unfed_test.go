package replay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// After a changed prompt, requests differ too. A part of a request that occurs in nothing the turn was
// given is reported separately, and only once; a part that was derived from the prompt follows from it.
func TestWhatNothingFeedsIsTold(t *testing.T) {
	type request struct {
		System string
		Model  string         `json:",omitempty"`
		Heat   float64        `json:",omitempty"`
		Count  int            `json:",omitempty"`
		Key    string         `json:",omitempty"`
		Think  map[string]any `json:",omitempty"`
		Said   []string       `json:",omitempty"`
	}
	const was, is = "Find the traveller a room in a house that is small.", "Find the traveller a room in a house that is large."
	run := func(prompt string, asks int, with func(prompt string, n int) request) (adk.Config, adk.RawTurn) {
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for n := range asks {
				r := with(dc.SystemPrompt().String(), n)
				r.System = dc.SystemPrompt().String()
				if _, err := adk.Ask(ctx, "model", r, func(context.Context, request) (string, error) { return "fine", nil }); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
		return config, adk.RawTurn{SystemPrompt: prompt}
	}
	either := func(prompt, one, other string) string {
		if prompt == was {
			return one
		}
		return other
	}
	for name, c := range map[string]struct {
		asks  int
		today func(prompt string, n int) request
		tells []string
	}{
		"the prompt alone": {2, func(string, int) request { return request{} }, nil},
		"a word":           {1, func(p string, _ int) request { return request{Model: either(p, "old-1", "new-2")} }, []string{"request.Model, which nothing before it says"}},
		"a word in some asks": {2, func(p string, n int) request {
			return request{Model: []string{"old-1", either(p, "old-1", "new-2")}[n]}
		}, nil},
		"a word that the prompt has":     {1, func(p string, _ int) request { return request{Model: strings.Trim(strings.Fields(p)[10], ".")} }, nil},
		"a number in two asks":           {2, func(p string, _ int) request { return request{Heat: map[string]float64{was: 0.1, is: 0.9}[p]} }, []string{"request.Heat, the same in all its asks"}},
		"a number in one, maybe counted": {1, func(p string, _ int) request { return request{Heat: map[string]float64{was: 0.1, is: 0.9}[p]} }, nil},
		"a number that grows":            {2, func(p string, n int) request { return request{Count: len(either(p, "a", "abc")) + n} }, nil},
		"a digest":                       {2, func(p string, _ int) request { return request{Key: fmt.Sprintf("%x", sha256.Sum256([]byte(p)))} }, nil},
		"a member of a member": {1, func(p string, _ int) request {
			return request{Think: map[string]any{"effort": either(p, "low", "high")}}
		}, []string{"request.Think.effort, which nothing before it says"}},
		"what is in a list":          {2, func(p string, _ int) request { return request{Said: []string{either(p, "yes", "no")}} }, nil},
		"what is gone from two asks": {2, func(p string, _ int) request { return request{Model: either(p, "old-1", "")} }, []string{"request.Model, the same in all its asks"}},
		"two of them": {2, func(p string, _ int) request {
			return request{Model: either(p, "old-1", "new-2"), Heat: float64(len(either(p, "a", "ab")))}
		}, []string{"request.Heat request.Model, which nothing before it says"}},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded bytes.Buffer
			config, turn := run(was, c.asks, c.today)
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded))))
			require.NoError(t, runner.Run(t.Context(), turn))
			config, turn = run(is, c.asks, c.today)
			report, err := replay.Verify(t.Context(), &recorded, replay.Live{Config: config, Turn: turn, Seams: []string{replay.Prompt, replay.Executor}})
			require.NoError(t, err)
			require.NotNil(t, report.Divergence)
			var tells []string
			for _, a := range report.Divergence.After.Apart {
				_, members, _ := strings.Cut(a.What, ": ask model ")
				tells = append(tells, members)
			}
			assert.Equal(t, c.tells, tells, "%s", report)
		})
	}
}

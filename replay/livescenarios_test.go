package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
)

// seamSets are the typical choices of what is live.
var seamSets = [][]string{
	{replay.Middleware},
	{replay.Executor},
	{replay.ToolCode},
	{replay.Storage},
	{replay.Prompt, replay.Tools, "run/stash"},
	{replay.Prompt, replay.Middleware},
	{replay.Middleware, replay.Executor, replay.ToolCode},
	{replay.Executor, replay.ToolCode, replay.Storage},
	{replay.Everything},
}

// Today's code is the recorded code, so nothing differs, whatever part of it is live.
func TestLiveScenariosAreAsRecorded(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, seams := range seamSets {
		for _, s := range scenarios.All() {
			t.Run(s.Name+" with "+strings.Join(seams, " "), func(t *testing.T) {
				trace, err := fixtures.Traces.ReadFile(s.Name + ".jsonl")
				require.NoError(t, err)
				config, raw := s.Build(scenarios.Outside{Cancel: func(error) {}})
				report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{Config: config, Turn: raw, Seams: seams, Writes: true})
				require.NoError(t, err)
				assert.Nil(t, report.Divergence, "%s", report.Divergence)
				assert.Equal(t, bytes.Count(trace, []byte("\n"))-2, report.Crossings)
			})
		}
	}
}

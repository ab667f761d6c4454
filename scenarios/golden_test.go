package scenarios_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/scenarios"
)

// contained are the scenarios that show how the engine keeps a failure out of the turn,
// with the failures.
var contained = map[string][]string{
	"loud-listener": {"listener of message: the screen is gone"},
}

// The golden file of each scenario is its transcript, which explains it. A difference means that the
// engine, or its wording, has changed, and has to be reviewed as such.
func TestScenarioTranscripts(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			golden.Transcript(t, s.Name, func(probe adk.Probe) error {
				return s.Run(context.Background(), probe)
			}, golden.Options{Contained: contained[s.Name]})
		})
	}
}

// The same holds for every session: for its story, and for its turns.
func TestSessionTranscripts(t *testing.T) {
	for _, s := range scenarios.Sessions() {
		t.Run(s.Name, func(t *testing.T) {
			golden.Session(t, s.Name, func(record func(string) *sessions.HostRecorder) error {
				return s.Run(t.Context(), scenarios.Watch{
					Probe:   func(host string) adk.Probe { return record(host) },
					Journal: func(host string) func(session.Step) { return record(host).Step },
				})
			})
		})
	}
}

// There is no golden file without a scenario or session.
func TestNoTranscriptIsLeftOver(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".golden")
		_, isTurn := scenarios.Named(name)
		_, isSession := scenarios.SessionNamed(name)
		assert.True(t, isTurn || isSession, "%s belongs to no scenario", file)
	}
	reasons, err := filepath.Glob("testdata/*.golden" + corpus.ReasonEnding)
	require.NoError(t, err)
	others, err := os.ReadDir("testdata")
	require.NoError(t, err)
	assert.Len(t, others, len(scenarios.All())+len(scenarios.Sessions())+len(reasons))
}

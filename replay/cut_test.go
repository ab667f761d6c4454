package replay_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// cuts returns a trace cut after each of its lines, keyed by the number of crossings that are left.
func cuts(file []byte) (all map[int][]byte) {
	all = map[int][]byte{}
	lines := bytes.SplitAfter(file, []byte("\n"))
	for n := 2; n < len(lines)-1; n++ {
		all[n-1] = bytes.Join(lines[:n], nil)
	}
	return all
}

// verifyCut verifies live code against a cut trace. The report must mention the cut, whatever differs.
func verifyCut(t *testing.T, file []byte, live replay.Live) *replay.Report {
	t.Helper()
	report, err := replay.Verify(t.Context(), bytes.NewReader(file), live)
	var format *trace.FormatError
	require.ErrorAs(t, err, &format)
	assert.Equal(t, trace.FaultTruncated, format.Fault)
	require.NotNil(t, report)
	return report
}

// As far as a cut trace goes, it equals what the code does that recorded it. What came after the
// cut is unknown, wherever the file was cut.
func TestLiveCodeIsAsACutRecording(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, name := range []string{"tool-round-trip", "parallel-tools", "sub-agents", "gate-approved", "streamed-reply", "waits-cut-short"} {
		scenario := slices.IndexFunc(scenarios.All(), func(s scenarios.Scenario) bool { return s.Name == name })
		require.GreaterOrEqual(t, scenario, 0, name)
		file, err := fixtures.Traces.ReadFile(name + ".jsonl")
		require.NoError(t, err)
		for n, cut := range cuts(file) {
			config, raw := scenarios.All()[scenario].Build(scenarios.Outside{Cancel: func(error) {}})
			report := verifyCut(t, cut, replay.Live{Config: config, Turn: raw, Seams: []string{replay.Everything}, Writes: true})
			assert.Nil(t, report.Divergence, "%s, cut behind crossing %d: %s", name, n, report.Divergence)
		}
	}
}

// logging is a middleware that logs words.
func logging(words ...string) adk.Config {
	return adk.Config{Executor: fakes.Script{{fakes.Ack()}}.Executor("model"), Storage: fakes.NewStorage().Storage(),
		TurnInput: []adk.TurnMiddleware{{Name: "words", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			for _, word := range words {
				tc.Log(adk.LevelInfo, "word", word, nil)
			}
			next(ctx)
			return nil
		}}}}
}

// A difference before the place where a trace was cut is reported, and nothing after it.
func TestOnlyWhatDiffersBeforeTheCutIsTold(t *testing.T) {
	var b bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(logging("one", "two", "three"), replay.Record(&b)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	whole, err := trace.Read(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	at := func(word string) int {
		return 1 + slices.IndexFunc(whole.Lines(), func(l trace.Line) bool { return l.Text == word })
	}
	for _, c := range []struct {
		name, said string
		now        []string
		class      replay.Class
		from       int // the first cut after which the difference is reported
	}{
		{"another word", `message: expected "two", got "other"`, []string{"one", "other", "three"}, replay.ChangedInput, at("two")},
		{"the last word is gone", `- report-log info word: "three"`, []string{"one", "two"}, replay.Missing, at("three")},
		{"one word more", `+ report-log info word: "more"`, []string{"one", "two", "more", "three"}, replay.Extra, at("three")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n, cut := range cuts(b.Bytes()) {
				report := verifyCut(t, cut, replay.Live{Config: logging(c.now...), Seams: []string{replay.Middleware}})
				d := report.Divergence
				if n < c.from {
					assert.Nil(t, d, "cut behind crossing %d: %s", n, d)
					continue
				}
				require.NotNil(t, d, "cut behind crossing %d", n)
				assert.Equal(t, c.class, d.Class, "cut behind crossing %d: %s", n, d)
				assert.Contains(t, d.String(), c.said, "cut behind crossing %d", n)
				assert.Zero(t, d.After.Own, "cut behind crossing %d: %s", n, d)
			}
		})
	}
}

package corpus_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// atWork is a corpus of turns, of which two call the tool. Today's agent has another prompt, and
// its tool returns the text weather.
func atWork(t *testing.T, weather string) (sources []corpus.Source, live func(name string) replay.Live) {
	t.Helper()
	home := t.TempDir()
	code := func(city string) livetest.Agent { return livetest.Agent{NoTool: city != "Rome" && city != "Lima"} }
	for _, city := range cities {
		name := filepath.Join(home, city+".jsonl")
		require.NoError(t, os.WriteFile(name, recordTurn(t, city, code(city).Of(city)), 0o600))
		sources = append(sources, corpus.Source{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return sources, func(name string) replay.Live {
		city := strings.TrimSuffix(filepath.Base(name), ".jsonl")
		return replay.Live{
			Config: adk.Config{Executor: adk.Executor{Name: "model", Run: code(city).Of(city)}, Storage: fakes.NoOpStorage(),
				Tools: []*adk.Tool{fakes.NewTool("weather", "Tells the weather in a city.", weather).Tool()}},
			Turn:  adk.RawTurn{SystemPrompt: "You live far from " + city + "."},
			Seams: []string{replay.Prompt, replay.Executor, replay.ToolCode}, Writes: true,
		}
	}
}

// All traces have a changed prompt; in two of them the tool's answer has changed as well. The changed
// answer is named beside the prompt although the trace shown does not call the tool: in the report, in
// the pending review (but not as part of the change of the other traces), and in the recorded reason.
func TestWhatDiffersOnItsOwnIsSaidOfAllTraces(t *testing.T) {
	thorough.Long(t)
	sources, live := atWork(t, "snow")
	report, err := corpus.Verify(t.Context(), sources, live)
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	c := report.Causes[0]
	assert.Len(t, c.Traces, len(cities))
	assert.NotContains(t, []string{sources[3].Name, sources[5].Name}, c.First.Trace)
	require.Len(t, c.Apart, 1)
	assert.Equal(t, "changed result in tool/weather", c.Apart[0].What)
	assert.Equal(t, []string{sources[3].Name, sources[5].Name}, c.Apart[0].Traces)
	said := strings.Join(strings.Fields(c.String()), " ")
	assert.Contains(t, said, "besides, on their own: changed result in tool/weather, at crossing ")
	assert.Contains(t, said, "of the first, in 2 traces of ")
	assert.Contains(t, said, ": Rome.jsonl, Lima.jsonl ")
	assert.Contains(t, said, `expected "rain", got "snow"`)
	assert.Contains(t, said, "after it in Oslo.jsonl: ", "what is true of one trace is said of that")
	read, err := corpus.ReadReport(strings.NewReader(asJSON(t, report)))
	require.NoError(t, err)
	assert.Equal(t, c.String(), read.Causes[0].String())

	changes := map[string]int{}
	for _, p := range report.Pending(t.Context(), live) {
		changes[strings.Join(p.Causes, "\n")]++
		assert.Equal(t, len(p.Causes) > 1, strings.Contains(p.Shown, `expected "rain", got "snow"`), p.Shown)
	}
	assert.Equal(t, map[string]int{c.Text: len(cities) - 2, c.Text + "\nbesides, on its own: changed result in tool/weather": 2}, changes)

	a, err := corpus.NewAcceptance("Another home.", time.Now(), nobodysEnv)
	require.NoError(t, err)
	for _, result := range report.Accept(context.Background(), a, live) {
		require.NoError(t, result.Refused)
	}
	reason, err := os.ReadFile(sources[3].Name + corpus.ReasonEnding)
	require.NoError(t, err)
	assert.Contains(t, string(reason), "besides, on its own: changed result in tool/weather\n")
}

// If nothing differs independently of the cause, the report names nothing apart.
func TestWhatFollowsIsNotOnItsOwn(t *testing.T) {
	sources, live := atWork(t, "rain")
	report, err := corpus.Verify(t.Context(), sources, live)
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	assert.Empty(t, report.Causes[0].Apart)
	assert.NotContains(t, report.String(), "on their own:")
}

// The report counts how the turns of the traces end, including those whose end is unknown.
func TestEndsAreCounted(t *testing.T) {
	assert.Equal(t, "in another state in 2 traces, nobody knows how in 1 trace", corpus.EndsOf("in another state", "", "in another state"))
	assert.Empty(t, corpus.EndsOf("as recorded", "as recorded"))
}

// The agent now does something before it is allowed to. In some traces it was never allowed, so there it is done
// for the first time. The report says so beside the order, which is the only difference in the other traces.
func TestWhatIsAskedForTheFirstTimeIsSaid(t *testing.T) {
	agent := func(city string, payFirst bool) livetest.ExecutorFunc {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			allow := func() (bool, error) {
				_, err := dc.Memories().Fetch(ctx) // the operation that needed the approval
				return city != "Rome" && city != "Lima", err
			}
			pay := func() error {
				_, err := adk.Ask(ctx, "payments", city, func(context.Context, string) (string, error) { return "paid", nil })
				return err
			}
			if payFirst {
				if err := pay(); err != nil {
					return err
				}
			}
			allowed, err := allow()
			if err == nil && allowed && !payFirst {
				err = pay()
			}
			return errors.Join(err, dc.Ack())
		}
	}
	sources := []corpus.Source{}
	for _, city := range cities {
		sources = append(sources, livetest.Source(city, recordTurn(t, city, agent(city, false))))
	}
	live := func(city string) replay.Live {
		return replay.Live{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: agent(city, true)}}, Seams: []string{replay.Executor}}
	}
	report, err := corpus.Verify(t.Context(), sources, live)
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	c := report.Causes[0]
	assert.Equal(t, `order in executor/model: ask payments, before fetch memories`, c.Text)
	assert.Len(t, c.Traces, len(cities))
	require.Len(t, c.Apart, 1)
	assert.Equal(t, "unanswered in executor/model: ask payments", c.Apart[0].What)
	assert.Equal(t, []string{"Rome", "Lima"}, c.Apart[0].Traces)
	assert.Contains(t, strings.Join(strings.Fields(c.String()), " "), "besides, on their own: unanswered in executor/model: ask payments, at crossing ")
}

// A trace that waits for a review shows its own divergence, and apart from it only other changes.
func TestWhatIsReviewedIsNotBesidesItself(t *testing.T) {
	sources, live := atWork(t, "snow")
	at := slices.IndexFunc(sources, func(s corpus.Source) bool { return filepath.Base(s.Name) == "Rome.jsonl" })
	asks := func(name string) replay.Live {
		today := live(name)
		today.Turn = adk.RawTurn{SystemPrompt: "You live in Rome."}
		agent := livetest.Agent{}.Of("Rome")
		today.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_, _ = adk.Ask(ctx, "payments", "Rome", func(context.Context, string) (string, error) { return "paid", nil })
			return agent(ctx, dc, h)
		}
		return today
	}
	report, err := corpus.Verify(t.Context(), sources[at:at+1], asks)
	require.NoError(t, err)
	pending := report.Pending(t.Context(), asks)
	require.Len(t, pending, 1)
	assert.Contains(t, pending[0].Shown, "unanswered at crossing ")
	assert.Contains(t, pending[0].Shown, `expected "rain", got "snow"`)
	assert.NotContains(t, pending[0].Shown, "unanswered in ")
	assert.NotContains(t, pending[0].Shown, "in 1 trace", "it is known which that is")
}

// If live code is run a second time, the agent is built anew: an agent that remembers the asks of
// its first run would seem nondeterministic.
func TestASecondRunIsOfANewAgent(t *testing.T) {
	agent := func(said string) livetest.ExecutorFunc {
		remembers := map[string]string{}
		return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) (err error) {
			if remembers["page"] == "" {
				if remembers["page"], err = adk.Ask(ctx, "pages", "", func(context.Context, string) (string, error) { return "a page", nil }); err != nil {
					return err
				}
			}
			_, err = h.ReportMessage("m1", said+remembers["page"], true)
			return errors.Join(err, dc.Ack())
		}
	}
	sources := []corpus.Source{livetest.Source("Oslo", recordTurn(t, "Oslo", agent("It is ")))}
	var made atomic.Int64
	report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
		made.Add(1)
		return replay.Live{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: agent("That is ")}}, Seams: []string{replay.Executor}, Twice: true}
	})
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	assert.Equal(t, replay.ChangedInput, report.Causes[0].Class, report)
	assert.EqualValues(t, 2, made.Load())
}

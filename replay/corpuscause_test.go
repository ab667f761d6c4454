package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// agent is a program that people change: each field is one change of it.
type agent struct {
	hello    string // another greeting
	insert   func(city string) string
	replaced func(city string) string // another answer altogether
	unit     string                   // another argument of the tool
	mood     bool                     // one stash entry more
	quiet    bool                     // no log line
	noTool   bool                     // the tool is not called
	fails    bool                     // it returns an error
	log      string                   // another log line
}

// of is the executor of the agent for a turn about one city.
func (a agent) of(city string) executorFunc {
	return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if !a.quiet {
			h.Log(adk.LevelInfo, "progress", orElse(a.log, "looking up the weather"), nil)
		}
		if !a.noTool {
			tool, _ := dc.Tools().Get("weather")
			if _, err := dc.Execute(ctx, tool, map[string]any{"city": city, "unit": orElse(a.unit, "celsius")}); err != nil {
				return err
			}
		}
		if a.mood {
			if err := dc.Stash().Set("mood", "curious about "+city); err != nil {
				return err
			}
		}
		if a.fails {
			return errors.New("no answer for " + city)
		}
		if _, err := h.ReportMessage("m1", a.answer(city), true); err != nil {
			return err
		}
		return dc.Ack()
	}
}

func (a agent) answer(city string) string {
	if a.replaced != nil {
		return a.replaced(city)
	}
	inserted := ""
	if a.insert != nil {
		inserted = a.insert(city)
	}
	return fmt.Sprintf("%s to you%s in %s! It will rain for %d hours, take an umbrella.", orElse(a.hello, "Hello"), inserted, city, 3*len(city))
}

// orElse is a text, or the usual one where it is empty.
func orElse(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

// changed verifies a corpus of turns, of which those of each agent are replayed
// with that agent's code, and gives the causes.
func changed(t *testing.T, agents ...agent) *replay.CorpusReport {
	var sources []replay.Source
	lives := map[string]replay.Live{}
	for i, city := range cities {
		for n, a := range agents {
			name := fmt.Sprintf("agent%d/%d-%s.jsonl", n, i, city)
			sources = append(sources, source(name, recordTurn(t, city, agent{}.of(city))))
			lives[name] = replay.LiveExecutor(a.of(city))
		}
	}
	report, err := replay.VerifyAll(t.Context(), sources, func(name string) replay.Live { return lives[name] })
	require.NoError(t, err)
	return report
}

// texts are the causes of a report, with how many traces each hits.
func texts(r *replay.CorpusReport) (all []string) {
	for _, c := range r.Causes {
		all = append(all, fmt.Sprintf("%d %s", len(c.Traces), c.Text))
	}
	return all
}

// One change is one cause, whatever is another in every trace: the city, the
// numbers, the ids.
func TestOneChangeIsOneCause(t *testing.T) {
	n := len(cities)
	for want, a := range map[string]agent{
		`changed input in executor/model: report-message, delta: "Hello" → "Hi"`:                                                                                         {hello: "Hi"},
		`changed input in executor/model: report-message, delta: other words in every trace, between "you" and "in"`:                                                     {insert: func(city string) string { return " dear " + strings.ToLower(city) + "er" }},
		`changed input in executor/model: report-message, delta: now with "folks"`:                                                                                       {insert: func(string) string { return " folks" }},
		`changed input in executor/model: report-message, delta: various → "Service unavailable."`:                                                                       {replaced: func(string) string { return "Service unavailable." }},
		`changed input in executor/model: report-message, delta: "Hello to you in ‹data›! It will rain for ‹number› hours, take an umbrella." → "‹data›!‹data›!‹data›!"`: {replaced: func(city string) string { return strings.Repeat(city+"!", 3) }},
		`changed input in executor/model: report-message, delta: another text in every trace`:                                                                            {replaced: func(city string) string { return fmt.Sprintf("%x", city) + "-" + city[1:] + "ish" }},
		`changed input in executor/model: execute, args.unit: "celsius" → "kelvin"`:                                                                                      {unit: "kelvin"},
		`extra in executor/model: stash mood`:                                            {mood: true},
		`missing in executor/model: report-log, info progress: "looking up the weather"`: {quiet: true},
		`changed input in executor/model: report-log, message: "weather" → "rain"`:       {log: "looking up the rain"},
	} {
		report := changed(t, a)
		assert.Equal(t, []string{fmt.Sprint(n, " ", want)}, texts(report))
		if len(report.Causes) == 1 {
			assert.Len(t, report.Causes[0].Traces, n)
			assert.Equal(t, report.Traces[0], report.Causes[0].First)
		}
	}
}

// Several changes, each in some of the traces, are as many causes.
func TestTwoChangesAreTwoCauses(t *testing.T) {
	agents := []agent{
		{hello: "Hi"}, {hello: "Good day"}, {unit: "kelvin"}, {unit: "fahrenheit"}, {mood: true}, {quiet: true},
		{noTool: true}, {fails: true}, {log: "thinking"}, {log: "waiting"},
	}
	report := changed(t, agents...)
	for _, c := range report.Causes {
		folder, _, _ := strings.Cut(c.Traces[0], "/")
		assert.Len(t, c.Traces, len(cities), c.Text)
		for _, name := range c.Traces {
			assert.True(t, strings.HasPrefix(name, folder+"/"), "%s also hits %s of another cause", c.Text, name)
		}
	}
	require.Equal(t, len(agents), len(texts(report)), strings.Join(texts(report), "\n"))
}

// What today's code makes of a trace's own data is one cause, however often each
// piece of data is in the corpus.
func TestDataIsNotPartOfACause(t *testing.T) {
	weather := func(answer func(city string) (string, error)) []string {
		init := fakes.NewTool("weather", "Tells the weather in a city.", "rain").Init
		init.Handler = func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			text, err := answer(args["city"].(string))
			return adk.Text(text), err
		}
		tool, err := adk.NewTool(init)
		require.NoError(t, err)
		var sources []replay.Source
		for i := range 3 * len(cities) {
			sources = append(sources, source(fmt.Sprint(i), recordTurn(t, cities[i%len(cities)], agent{}.of(cities[i%len(cities)]))))
		}
		report, err := replay.VerifyAll(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: adk.Config{Tools: []*adk.Tool{tool}}, Seams: []string{replay.ToolCode}, Writes: true}
		})
		require.NoError(t, err)
		return texts(report)
	}
	const returns = "changed input in tool/weather: tool/weather returns, result.text: "
	assert.Equal(t, []string{"24 " + returns + `now with "in ‹data›"`},
		weather(func(city string) (string, error) { return "rain in " + city, nil }))
	assert.Equal(t, []string{`24 error in tool/weather: tool/weather returns, err: now with "no weather for ‹data›"; outcome: now with "error"; result: without "rain"`},
		weather(func(city string) (string, error) { return "", errors.New("no weather for " + city) }))
	assert.Equal(t, []string{"18 " + returns + `"rain" → "sun"`, "6 " + returns + `"rain" → "snow"`},
		weather(func(city string) (string, error) {
			if city == "Oslo" || city == "Lima" {
				return "snow", nil
			}
			return "sun", nil
		}))
}

// Where one error came in the place of whatever was recorded, that is one cause: a
// result and other errors that are gone, and what made those up, follow from it.
func TestOneErrorIsOneCause(t *testing.T) {
	errClosed := errors.New("the service is closed")
	tool := func(answer func(city string) (string, error)) *adk.Tool {
		init := fakes.NewTool("weather", "Tells the weather in a city.", "rain").Init
		init.Handler = func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			text, err := answer(args["city"].(string))
			return adk.Text(text), err
		}
		return must(adk.NewTool(init))
	}
	recorded := func(city string) (string, error) {
		switch {
		case len(city) < 5:
			return "rain over " + city, nil
		case city == "New York":
			return "", fmt.Errorf("no weather for %s: %w", city, errClosed)
		}
		return "", fmt.Errorf("no weather for %s: the service is busy", city)
	}
	causes := func(today func(city string) (string, error)) []string {
		var sources []replay.Source
		for _, city := range cities {
			sources = append(sources, source(city, recordWith(t, city, agent{}.of(city), tool(recorded))))
		}
		report, err := replay.VerifyAll(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: adk.Config{Tools: []*adk.Tool{tool(today)}}, Seams: []string{replay.ToolCode}, Writes: true}
		})
		require.NoError(t, err)
		return texts(report)
	}
	const returns = "error in tool/weather: tool/weather returns, "
	assert.Equal(t, []string{`8 ` + returns + `err: various → "no weather for ‹data›: there is no answer ‹number›"`},
		causes(func(city string) (string, error) {
			return "", fmt.Errorf("no weather for %s: there is no answer %d", city, len(city))
		}))
	assert.Equal(t, []string{`4 ` + returns + `err: various → "gone"`, `4 ` + returns + `err: various → "the roads to ‹data› are closed"`},
		causes(func(city string) (string, error) {
			if city == "Oslo" || city == "Rome" || city == "New York" || city == "Paris" {
				return "", errors.New("gone")
			}
			return "", fmt.Errorf("the roads to %s are closed", city)
		}), "two errors are two causes")
	assert.Equal(t, []string{`3 ` + returns + `err.text: "busy" → "slow"`},
		causes(func(city string) (string, error) {
			text, err := recorded(city)
			if err != nil && city != "New York" {
				err = errors.New(strings.Replace(err.Error(), "busy", "slow", 1))
			}
			return text, err
		}), "a word of an error is told as a word")
}

// A trace with two changes is hit by both causes, as long as there is one without
// the other.
func TestATraceMayBeHitByTwoCauses(t *testing.T) {
	var sources []replay.Source
	for _, city := range cities {
		sources = append(sources, source(city, recordTurn(t, city, agent{}.of(city))))
	}
	verify := func(otherTool func(city string) bool) []string {
		report, err := replay.VerifyAll(t.Context(), sources, func(city string) replay.Live {
			tool := fakes.NewTool("weather", "Tells the weather in a city.", "rain")
			if otherTool(city) {
				tool.Init.InputSchema = json.RawMessage(`{"type":"object","required":["city"]}`)
			}
			return replay.Live{
				Config: adk.Config{Tools: []*adk.Tool{tool.Tool()}},
				Turn:   adk.RawTurn{SystemPrompt: "You dwell in " + city + "."},
				Seams:  []string{replay.Prompt, replay.Tools},
			}
		})
		require.NoError(t, err)
		return texts(report)
	}
	const prompt, tools = `prompt: "live" → "dwell"`, `tool weather.inputSchema.required: now with "city"`
	assert.Equal(t, []string{"8 changed input in run: run, " + prompt, "4 changed input in run: run, " + tools},
		verify(func(city string) bool { return len(city) > 4 }))
	assert.Equal(t, []string{"8 changed input in run: run, " + prompt + "; " + tools}, verify(func(string) bool { return true }),
		"what always comes together is one")
	assert.Equal(t, []string{"8 changed input in run: run, " + prompt}, verify(func(string) bool { return false }))
}

// Two traces are enough for two causes, and one for one.
func TestSingleTracesStayApart(t *testing.T) {
	d := func(want, got string) *replay.Divergence {
		return &replay.Divergence{Class: replay.ChangedInput, Seam: "executor/model#0", Expected: `report-message m1 "x"`,
			Fields: []replay.FieldDiff{{Field: "delta", Want: want, Got: got, Input: true}}}
	}
	for _, c := range []struct {
		name   string
		causes int
		all    []*replay.Divergence
	}{
		{"two words", 2, []*replay.Divergence{d(`"a red car"`, `"a blue car"`), d(`"a big house"`, `"a small house"`)}},
		{"one word", 1, []*replay.Divergence{d(`"a red car"`, `"a blue car"`), d(`"the red house is 3 m high"`, `"the blue house is 3 m high"`)}},
		{"wholly other texts", 2, []*replay.Divergence{d(`"yes"`, `"no key"`), d(`"of course"`, `"try later"`)}},
		{"ids and times", 1, []*replay.Divergence{
			d(`"run 6d9a1c1e-1111-4222-8333-123456789abc at 2025-01-01T10:00:00Z"`, `"run 7d9a1c1e-1111-4222-8333-123456789abc at 2025-01-02T10:00:00Z"`),
			d(`"run 8d9a1c1e-1111-4222-8333-123456789abc at 2025-03-01T10:00:00Z"`, `"run 9d9a1c1e-1111-4222-8333-123456789abc at 2025-04-02T10:00:00Z"`)}},
		{"numbers beside other words", 2, []*replay.Divergence{d(`"at most 4 tries"`, `"at most 5 tries"`), d(`"wait 4 seconds"`, `"wait 9 seconds"`)}},
	} {
		assert.Equal(t, c.causes, replay.CountCauses(c.all), c.name)
	}
}

// Without an iteration the seams of all traces are one.
func TestIterationsAreNotPartOfACause(t *testing.T) {
	var all []*replay.Divergence
	for i := range 3 {
		all = append(all, &replay.Divergence{Class: replay.Missing, Crossing: 10 + i, Seam: fmt.Sprint("dispatch-input/cap#", i), Expected: fmt.Sprintf("stash seen%d = %d", i, i)})
	}
	assert.Equal(t, 3, replay.CountCauses(all), "another key of the stash is another cause")
	for _, d := range all {
		d.Expected = fmt.Sprintf("stash seen = %d", d.Crossing)
	}
	assert.Equal(t, 1, replay.CountCauses(all))
	all[0].Class = replay.Extra
	all[0].Got = all[0].Expected
	assert.Equal(t, 2, replay.CountCauses(all))
}

// A sight tells what is seen, and the first place where it is seen is no cause.
func TestSightsGroupByWhatTheyShow(t *testing.T) {
	d := func(seam, want, got string) *replay.Divergence {
		return &replay.Divergence{Class: replay.ChangedSight, Seam: seam, Expected: want, Got: got,
			Fields: []replay.FieldDiff{{Field: "digest", Want: `"` + strings.Repeat("ab", 16) + `"`, Got: `"` + strings.Repeat("cd", 16) + `"`}}}
	}
	all := []*replay.Divergence{
		d("dispatch", "sight: prompt, 1 message (m1), 1 tool (weather)", "sight: prompt, 1 message (m1), 2 tools (weather peek)"),
		d("run", "sight at the end: prompt, 3 messages (m1 m2 m3), 2 tools (delete weather)", "sight at the end: prompt, 3 messages (m1 m2 m3), 3 tools (delete weather peek)"),
		d("dispatch", "sight: prompt, 2 messages (m1 m2)", "sight: prompt, 1 message (m1)"),
		d("dispatch", "sight: prompt, 4 messages (m1 m2 m3 m4)", "sight: prompt, 3 messages (m1 m2 m4)"),
		d("dispatch", "sight: prompt", "sight: prompt"),
	}
	assert.Equal(t, 1, replay.CountCauses(all[:2]), "a tool more")
	assert.Equal(t, 1, replay.CountCauses(all[2:4]), "a message less")
	assert.Equal(t, 3, replay.CountCauses(all))
}

// The order in which traces come decides who is first, and nothing else.
func TestCausesDoNotDependOnTheOrder(t *testing.T) {
	report := changed(t, agent{hello: "Hi"}, agent{mood: true}, agent{replaced: strings.ToUpper})
	want := texts(report)
	require.Len(t, want, 3)
	slices.Reverse(report.Traces)
	got := texts(replay.Regrouped(report))
	slices.Sort(want)
	slices.Sort(got)
	assert.Equal(t, want, got)
}

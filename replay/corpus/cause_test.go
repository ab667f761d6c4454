package corpus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// changed verifies a corpus of turns, replays those of each agent with that agent's code, and
// returns the report with its causes.
func changed(t *testing.T, agents ...livetest.Agent) *corpus.Report {
	var sources []corpus.Source
	lives := map[string]replay.Live{}
	for i, city := range cities {
		for n, a := range agents {
			name := fmt.Sprintf("agent%d/%d-%s.jsonl", n, i, city)
			sources = append(sources, livetest.Source(name, recordTurn(t, city, livetest.Agent{}.Of(city))))
			lives[name] = replay.LiveExecutor(a.Of(city))
		}
	}
	report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live { return lives[name] })
	require.NoError(t, err)
	return report
}

// Panics at the same line are one cause, whatever their messages say in each trace. The headline
// quotes the first message in full, with no placeholder for its numbers.
func TestAPanicIsOneCause(t *testing.T) {
	panics := func(city string) string { return string([]byte("ab")[len(city)]) }
	report := changed(t, livetest.Agent{Replaced: panics})
	require.Len(t, report.Causes, 1)
	c := report.Causes[0]
	assert.Len(t, c.Traces, len(cities))
	assert.Regexp(t, `^panic in executor/model at replay/corpus/cause_test\.go:\d+: runtime error: index out of range \[4\] with length 2$`, c.Text)
	said := strings.Join(strings.Fields(c.String()), " ")
	assert.Equal(t, 2, strings.Count(said, "index out of range [4] with length 2"), "the headline, and the line of the crossing: %s", said)
	assert.Equal(t, c.Text, report.Traces[0].Cause.String())
	var read *corpus.Report
	read, err := corpus.ReadReport(strings.NewReader(asJSON(t, report)))
	require.NoError(t, err)
	assert.Equal(t, report.String(), read.String())
}

// One change is one cause, whatever differs from
// trace to trace: the city, the numbers, the ids.
func TestOneChangeIsOneCause(t *testing.T) {
	n := len(cities)
	for want, a := range map[string]livetest.Agent{
		`changed input in executor/model: report-message, delta: "Hello" → "Hi"`:                                                                                {Hello: "Hi"},
		`changed input in executor/model: report-message, delta: other words in every trace, between "you" and "in"`:                                            {Insert: func(city string) string { return " dear " + strings.ToLower(city) + "er" }},
		`changed input in executor/model: report-message, delta: now with "folks"`:                                                                              {Insert: func(string) string { return " folks" }},
		`changed input in executor/model: report-message, delta: "Service unavailable." in place of whatever was recorded`:                                      {Replaced: func(string) string { return "Service unavailable." }},
		`changed input in executor/model: report-message, delta: "Hello to you in ‹data›! It will rain for ‹number› hours, take an…" → "‹data›!‹data›!‹data›!"`: {Replaced: func(city string) string { return strings.Repeat(city+"!", 3) }},
		`changed input in executor/model: report-message, delta: another text in every trace`:                                                                   {Replaced: func(city string) string { return fmt.Sprintf("%x", city) + "-" + city[1:] + "ish" }},
		`changed input in executor/model: execute weather, args.unit: "celsius" → "kelvin"`:                                                                     {Unit: "kelvin"},
		`extra in executor/model: stash mood`:                                            {Mood: true},
		`missing in executor/model: report-log, info progress: "looking up the weather"`: {Quiet: true},
		`changed input in executor/model: report-log, message: "weather" → "rain"`:       {Log: "looking up the rain"},
	} {
		report := changed(t, a)
		assert.Equal(t, []string{fmt.Sprint(n, " ", want)}, livetest.Texts(report))
		if len(report.Causes) == 1 {
			assert.Len(t, report.Causes[0].Traces, n)
			assert.Equal(t, report.Traces[0], report.Causes[0].First)
		}
	}
}

// A text that is now in capitals is one change, whatever the text is. So is an id that is made in
// another way, and an id with a name appended.
func TestOneChangeOfLettersOrIDsIsOneCause(t *testing.T) {
	quote := func(wrap func(i int, city string) string) *corpus.Report {
		var sources []corpus.Source
		lives := map[string]replay.Live{}
		asks := func(body string) livetest.ExecutorFunc {
			return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				tool, _ := dc.Tools().Get("weather")
				_, err := dc.Execute(ctx, tool, map[string]any{"said": body, "call_id": body})
				return errors.Join(err, dc.Ack())
			}
		}
		for i, city := range cities {
			sources = append(sources, livetest.Source(city, recordTurn(t, city, asks(city))))
			lives[city] = replay.LiveExecutor(asks(wrap(i, city)))
		}
		report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live { return lives[name] })
		require.NoError(t, err)
		return report
	}
	for want, wrap := range map[string]func(i int, city string) string{
		"the same in capitals":      func(_ int, city string) string { return strings.ToUpper(city) },
		"the same in small letters": func(_ int, city string) string { return strings.ToLower(city) },
		`"‹id›"`:                    func(i int, _ string) string { return fmt.Sprintf("q%cX%dPm7Rz", 'a'+i, i) },
		`"peer_‹id›"`:               func(i int, _ string) string { return fmt.Sprintf("peer_01a21f94-f516-71c9-ad6c-98d338e43b%02d", i) },
	} {
		report := quote(wrap)
		require.Len(t, report.Causes, 1, "%s: %q", want, livetest.Texts(report))
		assert.Len(t, report.Causes[0].Traces, len(cities))
		assert.Contains(t, report.Causes[0].Text, want)
	}
	ids := quote(func(i int, city string) string { return city + []string{" first", " second"}[i%2] })
	assert.Len(t, ids.Causes, 2, "words that somebody has written are two changes, in an id too: %q", livetest.Texts(ids))
	letters := quote(func(i int, city string) string {
		return []func(string) string{strings.ToUpper, strings.ToLower}[i%2](city)
	})
	assert.Len(t, letters.Causes, 2, "%q", livetest.Texts(letters))
}

// An agent that now tries only once makes no pause, and returns an error instead. The recorded
// second try succeeded in one trace and failed in another; its answer is data, and the cause is one.
func TestGivingUpIsOneCause(t *testing.T) {
	forecast := func(tries, failures int) livetest.ExecutorFunc {
		asked := 0
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for try := 1; ; try++ {
				_, err := adk.Ask(ctx, "forecasts", "Oslo", func(context.Context, string) (string, error) {
					if asked++; asked > failures {
						return "rain", nil
					}
					return "", errors.New("the weather service is busy")
				})
				switch {
				case err == nil:
					return dc.Ack()
				case try == tries:
					return fmt.Errorf("no forecast: %w", err)
				}
				if err := dc.Sleep(ctx, time.Second); err != nil {
					return err
				}
			}
		}
	}
	var sources []corpus.Source
	for failures, name := range []string{"never", "once", "twice"} {
		var recorded bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Executor: adk.Executor{Name: "model", Run: forecast(2, failures)}, Storage: fakes.NoOpStorage()}, replay.Record(&recorded)))
		require.NoError(t, err)
		_ = runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "You are brief."}) // the trace holds the outcome
		sources = append(sources, livetest.Source(name, recorded.Bytes()))
	}
	report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live { return replay.LiveExecutor(forecast(1, 0)) })
	require.NoError(t, err)
	assert.Equal(t, []string{"2 missing in executor/model: sleep and ask forecasts again"}, livetest.Texts(report))
	assert.Equal(t, []string{"once", "twice"}, report.Causes[0].Traces)
	assert.Equal(t, replay.Missing, report.Causes[0].First.Divergence.Class, "the headline and what is told below it are of one trace")
}

// A new error shows wherever a goroutine waits, so at another place in each trace, and is one
// cause. A generic error, which any code may have made, is one cause for each place.
func TestOneNewErrorIsOneCause(t *testing.T) {
	agent := func(early bool, cause error, probe adk.Probe) adk.Config {
		sleep := func(ctx context.Context, sleep func(context.Context, time.Duration) error) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			if cause != nil {
				cancel(cause)
			}
			return sleep(ctx, time.Second)
		}
		pace := func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			if early {
				if err := sleep(ctx, dc.Sleep); err != nil {
					return err
				}
			}
			next(ctx)
			return nil
		}
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if !early {
				if err := sleep(ctx, dc.Sleep); err != nil {
					return err
				}
			}
			return dc.Ack()
		}
		return fakes.Deterministic(adk.Config{DispatchInput: []adk.DispatchMiddleware{{Name: "pace", Run: pace}},
			Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NoOpStorage()}, probe)
	}
	raw := adk.RawTurn{SystemPrompt: "You are brief."}
	verify := func(cause error) []string {
		var sources []corpus.Source
		for _, name := range []string{"early", "late", "later"} {
			var recorded bytes.Buffer
			runner, err := adk.NewRunner(agent(name == "early", nil, replay.Record(&recorded)))
			require.NoError(t, err)
			require.NoError(t, runner.Run(t.Context(), raw))
			sources = append(sources, livetest.Source(name, recorded.Bytes()))
		}
		report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
			return replay.Live{Config: agent(name == "early", cause, nil), Turn: raw, Seams: []string{"dispatch-input/*", replay.Executor}}
		})
		require.NoError(t, err)
		return livetest.Texts(report)
	}
	assert.Equal(t, []string{`3 error in executor/model: sleep, error "one answer is enough"`}, verify(errors.New("one answer is enough")))
	assert.Len(t, verify(context.Canceled), 2)
}

// Several changes, each in some of the traces, are as many causes.
func TestTwoChangesAreTwoCauses(t *testing.T) {
	agents := []livetest.Agent{
		{Hello: "Hi"}, {Hello: "Good day"}, {Unit: "kelvin"}, {Unit: "fahrenheit"}, {Mood: true}, {Quiet: true},
		{NoTool: true}, {Fails: true}, {Log: "thinking"}, {Log: "waiting"},
	}
	report := changed(t, agents...)
	for _, c := range report.Causes {
		folder, _, _ := strings.Cut(c.Traces[0], "/")
		assert.Len(t, c.Traces, len(cities), c.Text)
		for _, name := range c.Traces {
			assert.True(t, strings.HasPrefix(name, folder+"/"), "%s also hits %s of another cause", c.Text, name)
		}
	}
	require.Equal(t, len(agents), len(livetest.Texts(report)), strings.Join(livetest.Texts(report), "\n"))
}

// What today's code derives from the data of a trace is one cause, however often each value occurs
// in the corpus.
func TestDataIsNotPartOfACause(t *testing.T) {
	weather := func(answer func(city string) (string, error)) []string {
		init := fakes.NewTool("weather", "Tells the weather in a city.", "rain").Init
		init.Handler = func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			text, err := answer(args["city"].(string))
			return adk.Text(text), err
		}
		tool, err := adk.NewTool(init)
		require.NoError(t, err)
		var sources []corpus.Source
		for i := range 3 * len(cities) {
			sources = append(sources, livetest.Source(fmt.Sprint(i), recordTurn(t, cities[i%len(cities)], livetest.Agent{}.Of(cities[i%len(cities)]))))
		}
		report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: adk.Config{Tools: []*adk.Tool{tool}}, Seams: []string{replay.ToolCode}, Writes: true}
		})
		require.NoError(t, err)
		return livetest.Texts(report)
	}
	const returns = "changed result in tool/weather: returns, result.text: "
	assert.Equal(t, []string{"24 " + returns + `now with "in ‹data›"`},
		weather(func(city string) (string, error) { return "rain in " + city, nil }))
	assert.Equal(t, []string{`24 error in tool/weather: returns, error "no weather for ‹data›"`},
		weather(func(city string) (string, error) { return "", errors.New("no weather for " + city) }))
	assert.Equal(t, []string{"18 " + returns + `"rain" → "sun"`, "6 " + returns + `"rain" → "snow"`},
		weather(func(city string) (string, error) {
			if city == "Oslo" || city == "Lima" {
				return "snow", nil
			}
			return "sun", nil
		}))
}

// If one error took the place of various recorded outcomes, that is one cause: the missing results
// and errors, and the records made from them, follow from it.
func TestOneErrorIsOneCause(t *testing.T) {
	errClosed := errors.New("the service is closed")
	tool := func(answer func(city string) (string, error)) *adk.Tool {
		init := fakes.NewTool("weather", "Tells the weather in a city.", "rain").Init
		init.Handler = func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			text, err := answer(args["city"].(string))
			return adk.Text(text), err
		}
		return tracetest.Must(adk.NewTool(init))
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
		var sources []corpus.Source
		for _, city := range cities {
			sources = append(sources, livetest.Source(city, recordWith(t, city, livetest.Agent{}.Of(city), tool(recorded))))
		}
		report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: adk.Config{Tools: []*adk.Tool{tool(today)}}, Seams: []string{replay.ToolCode}, Writes: true}
		})
		require.NoError(t, err)
		read, err := corpus.ReadReport(strings.NewReader(asJSON(t, report)))
		require.NoError(t, err)
		assert.Equal(t, livetest.Texts(report), livetest.Texts(read), "as it was read")
		for _, c := range append(report.Causes, read.Causes...) {
			if strings.Contains(c.Text, ", where results ") {
				assert.Contains(t, strings.Join(strings.Fields(c.String()), " "), "err: expected nothing", "a trace is shown in which none was recorded")
			}
		}
		return livetest.Texts(report)
	}
	const returns = "error in tool/weather: returns, "
	assert.Equal(t, []string{`8 ` + returns + `error "no weather for ‹data›: there is no answer ‹number›", where results or other errors were recorded`},
		causes(func(city string) (string, error) {
			return "", fmt.Errorf("no weather for %s: there is no answer %d", city, len(city))
		}))
	assert.Equal(t, []string{`4 ` + returns + `error "gone", where results or other errors were recorded`, `4 ` + returns + `error "the roads to ‹data› are closed", where results or other errors were recorded`},
		causes(func(city string) (string, error) {
			if city == "Oslo" || city == "Rome" || city == "New York" || city == "Paris" {
				return "", errors.New("gone")
			}
			return "", fmt.Errorf("the roads to %s are closed", city)
		}), "two errors are two causes")
	assert.Equal(t, []string{`7 ` + returns + `error "gone", where results or other errors were recorded`},
		causes(func(city string) (string, error) {
			if city == "Oslo" {
				return recorded(city)
			}
			return "", errors.New("gone")
		}), "the first has an error, and no other shows that today's is new")
	assert.Equal(t, []string{`3 ` + returns + `err.text: "busy" → "slow"`},
		causes(func(city string) (string, error) {
			text, err := recorded(city)
			if err != nil && city != "New York" {
				err = errors.New(strings.Replace(err.Error(), "busy", "slow", 1))
			}
			return text, err
		}), "a word of an error is told as a word")
}

// A trace with two changes is listed under both causes, provided that other traces have one
// without the other.
func TestATraceMayBeHitByTwoCauses(t *testing.T) {
	var sources []corpus.Source
	for _, city := range cities {
		sources = append(sources, livetest.Source(city, recordTurn(t, city, livetest.Agent{}.Of(city))))
	}
	verify := func(otherTool func(city string) bool) []string {
		report, err := corpus.Verify(t.Context(), sources, func(city string) replay.Live {
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
		return livetest.Texts(report)
	}
	const prompt, tools = `prompt: "live" → "dwell"`, `tool weather.inputSchema.required: now with "city"`
	assert.Equal(t, []string{"8 changed input in run: " + prompt, "4 changed input in run: " + tools},
		verify(func(city string) bool { return len(city) > 4 }))
	assert.Equal(t, []string{"8 changed input in run: " + prompt + "; " + tools}, verify(func(string) bool { return true }),
		"what always comes together is one")
	assert.Equal(t, []string{"8 changed input in run: " + prompt}, verify(func(string) bool { return false }))
}

// If several times at one crossing differ, one of them only in some traces, the clock is one cause.
func TestTimesOfACrossingAreOneCause(t *testing.T) {
	storing := func(created, updated time.Duration) livetest.ExecutorFunc {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			m, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "Hello.", CreatedAt: fakes.Epoch.Add(created), UpdatedAt: fakes.Epoch.Add(updated)})
			if err != nil {
				return err
			}
			return errors.Join(dc.Messages().Store(ctx, m), dc.Ack())
		}
	}
	var sources []corpus.Source
	for _, city := range cities {
		sources = append(sources, livetest.Source(city, recordTurn(t, city, storing(time.Second, 2*time.Second))))
	}
	verify := func(some time.Duration) []string {
		report, err := corpus.Verify(t.Context(), sources, func(city string) replay.Live {
			updated := 2 * time.Second
			if len(city) > 4 {
				updated = some
			}
			return replay.Live{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: storing(time.Millisecond, updated)}}, Seams: []string{replay.Executor}}
		})
		require.NoError(t, err)
		return livetest.Texts(report)
	}
	want := []string{"8 changed input in executor/model: store messages, record.createdAt"}
	assert.Equal(t, want, verify(2*time.Second))
	assert.Equal(t, want, verify(3*time.Second))
}

// A renamed member that keeps its value is reported by its two names.
func TestRenamedMember(t *testing.T) {
	schema := func(members string) *adk.Tool {
		tool := fakes.NewTool("weather", "Tells the weather in a city.", "rain")
		tool.Init.InputSchema = json.RawMessage(`{"type":"object","properties":` + members + `}`)
		return tool.Tool()
	}
	var sources []corpus.Source
	for _, city := range cities {
		sources = append(sources, livetest.Source(city, recordWith(t, city, livetest.Agent{}.Of(city), schema(`{"days":{"type":"number"}}`))))
	}
	causes := func(members string) []string {
		report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
			return replay.Live{Config: adk.Config{Tools: []*adk.Tool{schema(members)}}, Seams: []string{replay.Tools}}
		})
		require.NoError(t, err)
		return livetest.Texts(report)
	}
	const properties = "8 changed input in run: tool weather.inputSchema.properties"
	assert.Equal(t, []string{properties + `: "days" → "nights"`}, causes(`{"nights":{"type":"number"}}`))
	assert.Equal(t, []string{properties + `.days: without "type number"; tool weather.inputSchema.properties.nights: now with "type integer"`}, causes(`{"nights":{"type":"integer"}}`), "it holds something else")
	two := causes(`{"nights":{"type":"number"},"weeks":{"type":"number"}}`)
	require.Len(t, two, 1)
	for _, member := range []string{"days", "nights", "weeks"} {
		assert.Contains(t, two[0], "properties."+member+": ", "nobody knows which of two it is")
	}
	assert.Equal(t, []string{properties + `.nights: now with "type number"`}, causes(`{"days":{"type":"number"},"nights":{"type":"number"}}`), "both are there")
}

// Two traces suffice for two causes, and one trace for one.
func TestSingleTracesStayApart(t *testing.T) {
	d := func(want, got string) *replay.Divergence {
		return &replay.Divergence{Class: replay.ChangedInput, Seam: "executor/model#0", Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindReportMessage, Name: "m1", Text: "x"}},
			Fields: []compare.FieldDiff{{Field: "delta", Want: want, Got: got, Input: true}}}
	}
	for _, c := range []struct {
		name   string
		causes int
		all    []*replay.Divergence
	}{
		{"two words", 2, []*replay.Divergence{d(`"a red car"`, `"a blue car"`), d(`"a big house"`, `"a small house"`)}},
		{"one word", 1, []*replay.Divergence{d(`"a red car"`, `"a blue car"`), d(`"the red house is 3 m high"`, `"the blue house is 3 m high"`)}},
		{"wholly other texts", 2, []*replay.Divergence{d(`"yes"`, `"no key"`), d(`"of course"`, `"try later"`)}},
		{"the same sign behind other words", 1, []*replay.Divergence{d(`"Oslo"`, `"Oslo!"`), d(`"Rome"`, `"Rome!"`)}},
		{"another sign", 2, []*replay.Divergence{d(`"Oslo"`, `"Oslo!"`), d(`"Rome"`, `"Rome?"`)}},
		{"ids and times", 1, []*replay.Divergence{
			d(`"run 6d9a1c1e-1111-4222-8333-123456789abc at 2025-01-01T10:00:00Z"`, `"run 7d9a1c1e-1111-4222-8333-123456789abc at 2025-01-02T10:00:00Z"`),
			d(`"run 8d9a1c1e-1111-4222-8333-123456789abc at 2025-03-01T10:00:00Z"`, `"run 9d9a1c1e-1111-4222-8333-123456789abc at 2025-04-02T10:00:00Z"`)}},
		{"numbers beside other words", 2, []*replay.Divergence{d(`"at most 4 tries"`, `"at most 5 tries"`), d(`"wait 4 seconds"`, `"wait 9 seconds"`)}},
	} {
		assert.Equal(t, c.causes, corpus.CountCauses(c.all), c.name)
	}
}

// If the change of a value differs in each trace, the report lists the values; of long values it
// only says that they differ.
func TestValuesOfEachTrace(t *testing.T) {
	text := func(pairs ...string) string {
		r := &corpus.Report{}
		for i := 0; i < len(pairs); i += 2 {
			d := &replay.Divergence{Class: replay.ChangedInput, Seam: "tool/forecast", Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindAsk, Name: "forecasts"}},
				Fields: []compare.FieldDiff{{Field: "request.days", Want: pairs[i], Got: pairs[i+1], Input: true}}}
			name := fmt.Sprint(i)
			r.Traces = append(r.Traces, &corpus.TraceReport{Trace: name, Number: i + 1, Report: replay.Report{Divergence: d}, Cause: corpus.CauseOf(d)})
		}
		causes := corpus.Regrouped(r).Causes
		require.Len(t, causes, 1)
		_, said, _ := strings.Cut(causes[0].Text, "request.days: ")
		return said
	}
	long := func(n int) string { return fmt.Sprint(n) + "000000000.0000000001" }
	assert.Equal(t, "1 → 2", text("1", "2", "1", "2"))
	assert.Equal(t, "1 → 2, 3 → 4", text("1", "2", "3", "4", "1", "2"))
	assert.Equal(t, "1 → 2, 3 → 4, …", text("1", "2", long(1), long(2), "3", "4"))
	assert.Equal(t, "another ‹number›", text(long(1), long(2), long(3), long(4)))
	assert.Equal(t, "another ‹number›, as 1 → 2, 3 → 4, 5 → 6", text("1", "2", "3", "4", "5", "6", "7", "8"))
}

// If each trace has other replaced words, at several places of one text, the report quotes some of
// them.
func TestValuesOfTheTracesThemselves(t *testing.T) {
	r := &corpus.Report{}
	for i := range 3 {
		asking := func(ids ...int) *adk.Crossing {
			var request strings.Builder
			for _, id := range ids {
				fmt.Fprintf(&request, `{"tool_call_id":"call%d_%d"},`, i, id)
			}
			return &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Name: "model", JSON: json.RawMessage(`{"messages":[` + strings.TrimSuffix(request.String(), ",") + `]}`)}
		}
		was, is := asking(0, 1, 2), asking(0, 0, 0)
		d := &replay.Divergence{Class: replay.ChangedInput, Seam: "executor/agent", Evidence: &replay.Evidence{Recorded: was, Replayed: is}}
		d.Fields = compare.InDetail(was, is, compare.CompareInputs(wire.Comparer{Sentinels: wire.OnlyCommon}, was, is))
		r.Traces = append(r.Traces, &corpus.TraceReport{Trace: fmt.Sprint(i), Number: i + 1, Report: replay.Report{Divergence: d}, Cause: corpus.CauseOf(d)})
	}
	causes := corpus.Regrouped(r).Causes
	require.Len(t, causes, 1)
	assert.Equal(t, `changed input in executor/agent: ask model, request.messages[].tool_call_id: another text, as "call0_1" → "call0_0", "call0_2" → "call0_0", "call1_1" → "call1_0"`, causes[0].Text)
}

// A change in one line of code is one cause, whichever tools call it. Another line, or another
// change, is another cause.
func TestOneLineIsOneCause(t *testing.T) {
	causes := func(places ...string) (all []string) {
		r := &corpus.Report{}
		for i, place := range places {
			seam, rest, _ := strings.Cut(place, " ")
			line, now, _ := strings.Cut(rest, " ")
			d := &replay.Divergence{Class: replay.ChangedInput, Seam: "tool/" + seam, Place: line, Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindAsk, Name: "shop"}},
				Fields: []compare.FieldDiff{{Field: "request.team", Got: `"` + now + `"`, Input: true}}}
			r.Traces = append(r.Traces, &corpus.TraceReport{Trace: fmt.Sprint(i), Number: i + 1, Report: replay.Report{Divergence: d}, Cause: corpus.CauseOf(d)})
		}
		for _, c := range corpus.Regrouped(r).Causes {
			all = append(all, fmt.Sprint(len(c.Traces), " ", c.Text))
		}
		return all
	}
	said := func(text string) string {
		return " changed input in " + text + `: ask, request.team: nothing → "red"`
	}
	assert.Equal(t, []string{"3" + said("tool/buy and tool/sell")}, causes("buy shop.go:7 red", "sell shop.go:7 red", "buy shop.go:7 red"))
	assert.Equal(t, []string{"3" + said("tool/buy and tool/sell, tool/look")}, causes("buy shop.go:7 red", "sell shop.go:7 red", "look shop.go:7 red"))
	assert.Equal(t, []string{"5" + said("tool/buy and tool/a, tool/b, tool/c and 1 more")}, causes("buy shop.go:7 red", "a shop.go:7 red", "b shop.go:7 red", "c shop.go:7 red", "d shop.go:7 red"))
	assert.Equal(t, []string{"1" + said("tool/buy"), "1" + said("tool/sell")}, causes("buy shop.go:7 red", "sell shop.go:9 red"))
	assert.Len(t, causes("buy shop.go:7 red", "sell shop.go:7 blue"), 2)
	assert.Len(t, causes("buy  red", "sell  red"), 2, "where no line is known")
}

// The number of additional retries differs in each trace, but the change is one.
func TestAsksOnceMoreAreOneCause(t *testing.T) {
	d := func(fields ...compare.FieldDiff) *replay.Divergence {
		return &replay.Divergence{Class: replay.Unanswered, Seam: "tool/forecast", Fields: fields,
			Evidence: &replay.Evidence{Replayed: &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Name: "forecasts", JSON: []byte(`{"city":"Oslo"}`)}}}
	}
	often := compare.FieldDiff{Field: "asked 3 times", Want: "an answer", Got: "none"}
	assert.Equal(t, 1, corpus.CountCauses([]*replay.Divergence{d(), d(often)}))
	other := d(often) // what it is, and not how often, distinguishes it from the recorded ask
	other.Evidence.Recorded = &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Name: "alerts", JSON: []byte(`{"city":"Oslo"}`)}
	assert.Equal(t, "unanswered in tool/forecast: ask forecasts", corpus.CauseOf(other).String())
}

// If an error comes from an ask concurrent with the call, the headline says so, since the wrapped error does not.
func TestAnErrorOfAnAskBesideTheCallSaysSo(t *testing.T) {
	for _, refused := range [][]string{nil, {"shop"}} {
		d := &replay.Divergence{Class: replay.ChangedError, Seam: "executor/desk", Refused: refused,
			Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindReturn}, Replayed: &adk.Crossing{Kind: adk.KindReturn}}}
		r := &corpus.Report{Traces: []*corpus.TraceReport{{Trace: "a", Number: 1, Report: replay.Report{Divergence: d}, Cause: corpus.CauseOf(d)}}}
		said := corpus.Regrouped(r).Causes[0].Text
		assert.Equal(t, refused != nil, strings.Contains(said, ", after asking with a context that is no call's"), said)
	}
}

// Values that swapped their places among the elements of a list are reported as exchanged, and are
// not quoted from one trace; two different values are not exchanged.
func TestExchangedValues(t *testing.T) {
	d := func(results ...string) *replay.Divergence {
		d := &replay.Divergence{Class: replay.ChangedInput, Seam: "executor/trips", Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindAsk, Name: "model"}}}
		for i := 0; i < len(results); i += 2 {
			want, got, _ := strings.Cut(results[i+1], "→")
			of := func(text string) string {
				return fmt.Sprintf(`{"body":{"input":[{"call":%q,"output":%q}]}}`, results[i], text)
			}
			fields := compare.InDetail(&adk.Crossing{Kind: adk.KindAsk, JSON: []byte(of(want))}, &adk.Crossing{Kind: adk.KindAsk, JSON: []byte(of(got))},
				[]compare.FieldDiff{{Field: "request", Want: of(want), Got: of(got), Input: true, Of: adk.FieldJSON}})
			d.Fields = append(d.Fields, fields...)
		}
		return d
	}
	const said = "changed input in executor/trips: ask, request.body.input[].output: "
	assert.Equal(t, said+"exchanged", corpus.CauseOf(d("a", "Rome: 90→Bonn: 60", "b", "Bonn: 60→Rome: 90")).String())
	assert.Equal(t, 1, corpus.CountCauses([]*replay.Divergence{d("a", "Rome: 90→Bonn: 60", "b", "Bonn: 60→Rome: 90"), d("c", "Oslo: 5→Rome: 1", "b", "Rome: 1→Oslo: 5")}))
	assert.NotContains(t, corpus.CauseOf(d("a", "Rome: 90→Bonn: 60", "b", "Bonn: 60→Paris: 90")).String(), "exchanged")
	assert.NotContains(t, corpus.CauseOf(d("a", "Rome: 90→Bonn: 60")).String(), "exchanged")
}

// What one line computes differently is one cause, whatever surrounds it: in a result, and at the
// line itself. What a person or model says is not computed.
func TestWhatALineComputesIsOneCause(t *testing.T) {
	d := func(class replay.Class, place, want, got string) *replay.Divergence {
		return &replay.Divergence{Class: class, Seam: "tool/convert", Place: place, Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindReturn}},
			Fields: []compare.FieldDiff{{Field: "result.text", Want: want, Got: got}}}
	}
	const line, other = "tools.go:184 (agent.convert)", "tools.go:190 (agent.convert)"
	kroner, dollars := [2]string{`"1149.94 NOK"`, `"1149.95 NOK"`}, [2]string{`"110.00 USD"`, `"110.01 USD"`}
	for name, c := range map[string]struct {
		class  replay.Class
		at     [2]string
		second [2]string
		causes int
	}{
		"one line":                  {replay.ChangedResult, [2]string{line, line}, dollars, 1},
		"two lines":                 {replay.ChangedResult, [2]string{line, other}, dollars, 2},
		"no line":                   {replay.ChangedResult, [2]string{}, dollars, 2},
		"what somebody says":        {replay.ChangedInput, [2]string{line, line}, dollars, 2},
		"words in the place of it":  {replay.ChangedResult, [2]string{line, line}, [2]string{`"110.00 USD"`, `"none USD"`}, 2},
		"a word in place of a word": {replay.ChangedResult, [2]string{line, line}, [2]string{`"10 USD"`, `"10 EUR"`}, 2},
	} {
		all := []*replay.Divergence{d(c.class, c.at[0], kroner[0], kroner[1]), d(c.class, c.at[1], c.second[0], c.second[1])}
		assert.Equal(t, c.causes, corpus.CountCauses(all), name)
	}
}

// If records are no longer added, the remaining ones are not taken for replacements, and the
// headline names what is missing once.
func TestFewerOfTheSame(t *testing.T) {
	history := func(keep, most int) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), TurnInput: []adk.TurnMiddleware{{Name: "history", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			for i := most - keep; i < most; i++ {
				if _, err := tc.Messages().Add(tracetest.Must(adk.NewMessage(adk.MessageInit{ID: fmt.Sprint("q", i), Role: adk.RoleUser, Content: fmt.Sprint("Question ", i), CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)}))); err != nil {
					return err
				}
			}
			if err := tc.Stash().Set("asked", "much"); err != nil {
				return err
			}
			next(ctx)
			return nil
		}}}, Executor: adk.Executor{Name: "e", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }}}
	}
	for name, c := range map[string]struct {
		recorded, kept int
		says           string
	}{
		"one of them is gone":     {8, 7, "missing in turn-input/history: add messages, once less than recorded"},
		"several of them are":     {8, 2, "missing in turn-input/history: add messages, several times less than recorded"},
		"all of them are":         {8, 0, "missing in turn-input/history: add messages, several times"},
		"the only one is missing": {1, 0, "missing in turn-input/history: add messages"},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(history(c.recorded, 8), replay.Record(&recorded))))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
			report, err := corpus.Verify(t.Context(), []corpus.Source{livetest.Source("a.jsonl", recorded.Bytes())}, func(string) replay.Live {
				return replay.Live{Config: history(c.kept, 8), Seams: []string{replay.Middleware}}
			})
			require.NoError(t, err)
			require.Len(t, report.Causes, 1)
			assert.Equal(t, c.says, report.Causes[0].Text)
		})
	}
}

// Seams are compared without their iteration, so that they are the same in all traces.
func TestIterationsAreNotPartOfACause(t *testing.T) {
	stash := func(class replay.Class, i int, path string) *replay.Divergence {
		return &replay.Divergence{Class: class, Crossing: 10 + i, Seam: fmt.Sprint("dispatch-input/cap#", i),
			Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindStash, Name: path, Value: i}}}
	}
	var others, all []*replay.Divergence
	for i := range 3 {
		others = append(others, stash(replay.Missing, i, fmt.Sprint("seen", i)))
		all = append(all, stash(replay.Missing, i, "seen"))
	}
	assert.Equal(t, 3, corpus.CountCauses(others), "another key of the stash is another cause")
	assert.Equal(t, 1, corpus.CountCauses(all))
	all[0].Class = replay.Extra
	assert.Equal(t, 2, corpus.CountCauses(all))
}

// A divergence of a state is grouped by what the state shows; the place where it first shows is not part of the cause.
func TestStatesGroupByWhatTheyShow(t *testing.T) {
	d := func(seam string, fields ...compare.FieldDiff) *replay.Divergence {
		return &replay.Divergence{Class: replay.ChangedState, Seam: seam, Fields: fields,
			Evidence: &replay.Evidence{Recorded: &adk.Crossing{Kind: adk.KindState}, Replayed: &adk.Crossing{Kind: adk.KindState}}}
	}
	peek := compare.FieldDiff{Field: "tools", Got: `{"name":"peek","description":"Looks."}`}
	message := compare.FieldDiff{Field: "messages", Want: `{"id":"m2","content":"Hello."}`}
	digest := compare.FieldDiff{Field: "digest", Want: `"` + strings.Repeat("ab", 16) + `"`, Got: `"` + strings.Repeat("cd", 16) + `"`}
	all := []*replay.Divergence{d("dispatch", peek), d("run", peek), d("dispatch", message), d("run", message), d("dispatch", digest)}
	assert.Equal(t, 1, corpus.CountCauses(all[:2]), "a tool more")
	assert.Equal(t, 1, corpus.CountCauses(all[2:4]), "a message less")
	assert.Equal(t, 3, corpus.CountCauses(all))
}

// The text of a cause is derived from crossings and fields, never from a printed line about them,
// which may be worded in any way.
func TestCausesDoNotComeOfLines(t *testing.T) {
	for i, a := range []livetest.Agent{{Hello: "Hi"}, {Mood: true}, {Quiet: true}, {Unit: "kelvin"}, {Fails: true}} {
		recorded := recordTurn(t, "Oslo", livetest.Agent{}.Of("Oslo"))
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.LiveExecutor(a.Of("Oslo")))
		require.NoError(t, err)
		d := *report.Divergence
		want := corpus.CauseOf(&d)
		d.Expected, d.Got, d.Before = "none", "of the", []string{"words", "m1"}
		assert.Equal(t, want, corpus.CauseOf(&d), "agent %d", i)
	}
}

// A report that was written and read back has the same causes in the same words, though it no
// longer holds any crossings.
func TestCausesOfAReportThatWasRead(t *testing.T) {
	for _, report := range []*corpus.Report{
		changed(t, livetest.Agent{Hello: "Hi"}, livetest.Agent{Mood: true}, livetest.Agent{Fails: true}, livetest.Agent{Quiet: true}),
		changed(t, livetest.Agent{Replaced: strings.ToUpper}, livetest.Agent{Unit: "kelvin"}),
	} {
		want := asJSON(t, report)
		read, err := corpus.ReadReport(strings.NewReader(want))
		require.NoError(t, err)
		assert.Equal(t, want, asJSON(t, read))
		assert.Equal(t, report.String(), read.String())
	}
}

// The order of the traces decides which trace is listed first, and nothing else.
func TestCausesDoNotDependOnTheOrder(t *testing.T) {
	report := changed(t, livetest.Agent{Hello: "Hi"}, livetest.Agent{Mood: true}, livetest.Agent{Replaced: strings.ToUpper})
	want := livetest.Texts(report)
	require.Len(t, want, 3)
	slices.Reverse(report.Traces)
	got := livetest.Texts(corpus.Regrouped(report))
	slices.Sort(want)
	slices.Sort(got)
	assert.Equal(t, want, got)
}

// A value that is quoted in full is not quoted in pieces as well.
func TestACauseSaysAValueOnce(t *testing.T) {
	c := corpus.Cause{Class: replay.ChangedResult, Seam: "tool/list", Kind: "returns", Changes: []corpus.Change{
		{Field: "result.text", Removed: "(", Added: "status="},
		{Field: "result.text", Removed: "#‹number›", Added: "id=‹number›", Was: `"#1 (closed)"`, Now: `"id=1 status=closed"`},
		{Field: "result.text", Removed: "#‹number›", Added: "id=‹number›", Right: "x", Was: `"#1 (closed)"`, Now: `"id=1 status=closed"`},
		{Field: "result.note", Added: "twice"},
	}}
	assert.Equal(t, `changed result in tool/list: returns, result.text: "#1 (closed)" → "id=1 status=closed"; result.note: now with "twice"`, c.String())

	moved := corpus.Cause{Class: replay.ChangedResult, Seam: "tool/list", Kind: "returns", Changes: []corpus.Change{{Field: "result.text", Was: `"latency 2, errors 3"`, Now: `"errors 3, latency 2"`}}}
	assert.Equal(t, `changed result in tool/list: returns, result.text: the same words in another order: "latency 2, errors 3" → "errors 3, latency 2"`, moved.String())

	renamed := corpus.Cause{Class: replay.ChangedInput, Seam: "run", Kind: "run", Changes: []corpus.Change{{Field: "tool", Added: "search_runbooks"}, {Field: "tool", Removed: "runbook"}}}
	assert.Equal(t, `changed input in run: tool: "runbook" → "search_runbooks"`, renamed.String())
	renamed.Changes = append(renamed.Changes, corpus.Change{Field: "tool", Removed: "pager"})
	assert.Equal(t, `changed input in run: tool: now with "search_runbooks"; tool: without "runbook"; tool: without "pager"`, renamed.String())
}

// An error is named as an error, whether it is new or gone, together with what it replaced or what replaced it.
func TestCausesSayErrors(t *testing.T) {
	const nothing = "nothing"
	came := &adk.Crossing{Kind: adk.KindReturn, Seam: adk.Seam{Label: adk.LabelExecutor, Name: "model"}}
	why := []replay.FieldDiff{{Field: "err", Got: `"busy"`, Of: adk.FieldErr}}
	of := func(was *adk.Crossing) string {
		d := &replay.Divergence{Class: replay.ChangedError, Seam: "executor/model#0", Fields: why, Evidence: &replay.Evidence{Recorded: was, Replayed: came}}
		report := &corpus.Report{Traces: []*corpus.TraceReport{{Trace: "a.jsonl", Report: replay.Report{Divergence: d}, Cause: corpus.CauseOf(d)}}}
		return livetest.Texts(corpus.Regrouped(report))[0]
	}
	assert.Equal(t, `1 error in executor/model: returns, error "busy", where sleep was recorded`, of(&adk.Crossing{Kind: adk.KindSleep}))
	assert.Equal(t, `1 error in executor/model: returns, error "busy"`, of(came))
	gone := corpus.Cause{Class: replay.ChangedError, Seam: "tool/list", Kind: "returns", Changes: []corpus.Change{{Field: "err", Was: `"404"`, Now: nothing}}}
	assert.Equal(t, `error in tool/list: returns, no error any more, which was "404"`, gone.String())
	other := corpus.Cause{Class: replay.ChangedError, Seam: "tool/list", Kind: "returns", Changes: []corpus.Change{{Field: "err", Was: `"404"`, Now: `"500"`}}}
	assert.Equal(t, `error in tool/list: returns, err: "404" → "500"`, other.String())
}

// If an error has the same words but no longer wraps another error, the cause is the wrapped error, not the words.
func TestAnErrorOfTheSameWordsIsToldByWhatItWraps(t *testing.T) {
	failing := func(err error) livetest.ExecutorFunc {
		return func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return err }
	}
	sources := []corpus.Source{livetest.Source("oslo.jsonl", recordTurn(t, "Oslo", failing(fmt.Errorf("read the page: %w", io.EOF))))}
	report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
		return replay.Live{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: failing(errors.New("read the page: EOF"))}}, Seams: []string{replay.Executor}}
	})
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	assert.Equal(t, `error in executor/model: returns, err.cause: without "io.EOF"`, report.Causes[0].Text)
	assert.Contains(t, report.Causes[0].String(), `err.cause: expected "io.EOF", got nothing`)
}

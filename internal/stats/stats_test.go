package stats

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/eachtrace"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

func source(name string, content []byte) corpus.Source {
	return corpus.Source{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func fixture(t *testing.T, name string) corpus.Source {
	t.Helper()
	content, err := fixtures.Traces.ReadFile(name + corpus.Ending)
	require.NoError(t, err)
	return source(name, content)
}

func gathered(t *testing.T, o Options, sources ...corpus.Source) *Figures {
	t.Helper()
	f, err := Gather(context.Background(), sources, o)
	require.NoError(t, err)
	return f
}

// exchange is an ask of a model, with the pieces of its answer.
type exchange struct {
	request string
	pieces  []string
	failed  bool
}

// asking returns a trace of exchanges, each of which takes a second.
func asking(t *testing.T, exchanges ...exchange) corpus.Source {
	t.Helper()
	at := tracetest.TestStart
	all := []adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
	for i, e := range exchanges {
		all = append(all, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: 1, Op: i + 1, Name: "host", JSON: json.RawMessage(e.request)})
		for _, piece := range e.pieces {
			all = append(all, adk.Crossing{Kind: adk.KindPiece, Call: 1, Op: i + 1, JSON: json.RawMessage(piece)})
		}
		done := adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: i + 1}
		if e.failed {
			done.Err = io.ErrUnexpectedEOF
		}
		all = append(all, done)
	}
	all = append(all, adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})
	for i := range all {
		if all[i].Phase == adk.Done {
			at = at.Add(time.Second)
		}
		all[i].At = at
	}
	return source("asking", tracetest.WriteTrace(t, all...))
}

const completions = `{"path":"/v1/chat/completions","body":{"model":"small","messages":[{"role":"user","content":"How warm is it?"}]}}`

// The tokens and the finish reason of an answer are read from the answer, in any of the forms.
func TestAnswersSayTheirTokens(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		pieces  []string
		model   string
		tokens  Tokens
		stop    string
	}{
		"completions": {completions, []string{`{"status":200}`, `{"body":{"choices":[{"message":{"content":"4 °C"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}}}`},
			"small", Tokens{In: 100, Cached: 64, Out: 7}, "stop"},
		"completions, streamed": {completions, []string{`{"status":200}`, `{"data":{"choices":[{"delta":{"content":"4"},"finish_reason":null}]}}`, `{"data":{"choices":[{"delta":{},"finish_reason":"length"}]}}`,
			`{"data":{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}}`, `{"data":"[DONE]"}`}, "small", Tokens{In: 10, Out: 1}, "length"},
		"messages, streamed": {`{"path":"/v1/messages","body":{"model":"big","system":"Be brief.","messages":[{"role":"user","content":"?"}]}}`,
			[]string{`{"event":"message_start","data":{"type":"message_start","message":{"usage":{"input_tokens":20,"cache_read_input_tokens":50,"cache_creation_input_tokens":5,"output_tokens":1}}}}`,
				`{"data":{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":30}}}`}, "big", Tokens{In: 75, Cached: 50, Out: 30}, "tool_use"},
		"responses": {`{"body":{"model":"r","input":"?"}}`, []string{`{"data":{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":2}}}}`},
			"r", Tokens{In: 9, Cached: 4, Out: 2}, "completed"},
		"gemini": {`{"path":"/v1beta/models/flash:streamGenerateContent","body":{"contents":[{"role":"user","parts":[{"text":"?"}]}]}}`,
			[]string{`{"data":{"candidates":[{"content":{"parts":[{"text":"4"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"cachedContentTokenCount":8,"candidatesTokenCount":3,"thoughtsTokenCount":20}}}`},
			"flash", Tokens{In: 12, Cached: 8, Out: 23}, "STOP"},
		"none that can be": {completions, []string{`{"body":{"choices":[{"message":{"content":"four"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1,"completion_tokens":1e300}}}`},
			"small", Tokens{}, "stop"},
	} {
		f := gathered(t, Options{}, asking(t, exchange{c.request, c.pieces, false}))
		assert.Equal(t, c.tokens, f.Tokens, name)
		assert.Equal(t, map[string]Model{c.model: {Calls: Calls{Count: 1}, Tokens: c.tokens}}, f.Models, name)
		assert.Equal(t, map[string]int{c.stop: 1}, f.Stops, name)
	}
}

// If an answer does not say its tokens, they are counted, and the figures say so. Only the texts that a model
// reads and writes are counted, and not the JSON around them.
func TestTokensAreCounted(t *testing.T) {
	said := `{"data":{"choices":[{"delta":{"content":"It is four degrees."}}]}}`
	f := gathered(t, Options{}, asking(t, exchange{completions, []string{said, said}, false}))
	assert.Equal(t, Tokens{In: adk.EstimateTokens("How warm is it?\n", adk.EncodingO200kBase), Out: adk.EstimateTokens("It is four degrees.It is four degrees.", adk.EncodingO200kBase), Counted: 1}, f.Tokens)
	image := strings.Replace(completions, `"How warm is it?"`, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+strings.Repeat("A", 9000)+`"}}]`, 1)
	assert.Less(t, gathered(t, Options{}, asking(t, exchange{image, []string{said}, false})).Tokens.In, 5)
	// If an executor asks in a way that no trace shows, the tokens of what it was shown are counted.
	f = gathered(t, Options{}, fixture(t, "hello"))
	assert.Equal(t, 1, f.Tokens.Counted)
	assert.Positive(t, f.Tokens.In)
	assert.Positive(t, f.Tokens.Out)
	assert.Equal(t, []string{"executor/model"}, namesIn(f.Models, nil))
}

// An ask that repeats the one before it, which failed, is a retry. An ask that failed without an answer
// used no tokens.
func TestRetries(t *testing.T) {
	busy := exchange{strings.Replace(completions, `{"path"`, `{"headers":{"x-retry":"1"},"path"`, 1), []string{`{"status":429}`, `{"body":{"error":{"message":"slow down"}}}`}, false}
	good := exchange{completions, []string{`{"body":{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}}`}, false}
	other := exchange{strings.Replace(completions, "warm", "cold", 1), good.pieces, false}
	broken := exchange{completions, nil, true}
	f := gathered(t, Options{}, asking(t, busy, broken, good, good, busy, other))
	assert.Equal(t, Calls{Count: 6, Failed: 3}, f.Asks)
	assert.Equal(t, 2, f.Retries, "the second and the third; the fourth follows one that did not fail, the sixth asks something else")
	assert.Equal(t, Tokens{In: 30, Out: 3}, f.Tokens)
	assert.Equal(t, 6, f.Ask.count)
	assert.Equal(t, time.Second, f.Ask.At(0.5))
	assert.Equal(t, 6*time.Second, f.Turn.At(0.99))
}

// An answer that was read until it was complete has not failed, even if it was not read to its end.
func TestAnswersThatAreReadNoFurther(t *testing.T) {
	content, err := os.ReadFile("../../example/testdata/turns/greeting.jsonl")
	require.NoError(t, err)
	require.Contains(t, string(content), "E_ASK_STOPPED", "the client closes the stream behind [DONE]")
	f := gathered(t, Options{}, source("greeting", content))
	assert.Equal(t, Calls{Count: 1}, f.Asks)
	assert.Zero(t, f.Retries)
}

// The figures of a turn are counted from its crossings.
func TestFixtures(t *testing.T) {
	f := gathered(t, Options{}, fixture(t, "tool-round-trip"), fixture(t, "tool-failure"), fixture(t, "abort-from-outside"), fixture(t, "asks-again"))
	assert.Equal(t, 4, f.Traces)
	assert.Equal(t, 4, f.Turns)
	assert.Equal(t, 1, f.Tools["weather"].Failed)
	assert.Equal(t, 1, f.Ends[adk.StatusAborted])
	assert.Equal(t, f.Tools["weather"].Count, f.Tool.count)
	iterations := 0
	for _, recorded := range []string{"tool-round-trip", "tool-failure", "abort-from-outside", "asks-again"} {
		content, err := fixtures.Traces.ReadFile(recorded + corpus.Ending)
		require.NoError(t, err)
		iterations += bytes.Count(content, []byte(`"kind":"iterationStart"`))
	}
	assert.Equal(t, iterations, f.Iterations)
}

// A trace that breaks off is counted up to there, and the figures say so. A trace that cannot be opened does
// not prevent the others from being counted.
func TestTracesThatBreakOff(t *testing.T) {
	content, err := fixtures.Traces.ReadFile("tool-round-trip" + corpus.Ending)
	require.NoError(t, err)
	half := content[:bytes.LastIndexByte(content[:len(content)-200], '\n')+1]
	faults := map[string]error{}
	absent := corpus.Source{Name: "absent", Open: func() (io.ReadCloser, error) { return nil, io.ErrClosedPipe }}
	f := gathered(t, Options{Options: eachtrace.Options{Each: func(name string, err error) { faults[name] = err }}}, source("half", half), absent, source("none", []byte("{")), fixture(t, "hello"))
	assert.Equal(t, []int{4, 3, 2}, []int{f.Traces, f.Unreadable, f.Turns})
	assert.Equal(t, 1, f.Tools["weather"].Count)
	assert.ErrorIs(t, faults["absent"], io.ErrClosedPipe)
	assert.ErrorContains(t, faults["half"], "cut short")
	assert.NoError(t, faults["hello"])
}

// If the context is cancelled, the figures cover what was read until then.
func TestGatherIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	f, err := Gather(ctx, []corpus.Source{fixture(t, "hello"), fixture(t, "hello")}, Options{Options: eachtrace.Options{Each: func(string, error) { cancel(io.ErrNoProgress) }}})
	assert.ErrorIs(t, err, io.ErrNoProgress)
	assert.Equal(t, 1, f.Traces)
}

// A percentile is the value at its rank, within one percent, whatever values were added.
func TestSpread(t *testing.T) {
	assert.Zero(t, (&Spread{}).At(0.5))
	rapid.Check(t, func(t *rapid.T) {
		told := rapid.SliceOfN(rapid.Int64Range(0, int64(1000*time.Hour)), 1, 300).Draw(t, "told")
		share := rapid.SampledFrom([]float64{0.01, 0.5, 0.9, 0.99, 1}).Draw(t, "share")
		var s Spread
		for _, d := range told {
			s.Add(time.Duration(d))
		}
		slices.Sort(told)
		want := float64(told[int(math.Ceil(share*float64(len(told))))-1])
		assert.InDelta(t, want, float64(s.At(share)), want/100+1)
		assert.EqualValues(t, told[len(told)-1], s.most)
	})
}

// Memory does not grow with the number of values: durations are counted in a fixed number of sizes.
func TestMemoryIsFlat(t *testing.T) {
	var s Spread
	for d := time.Duration(1); d < 10_000*time.Hour; d += d/1000 + 1 {
		s.Add(d)
	}
	assert.Less(t, len(s.durations), 2000)
	hello := fixture(t, "tool-round-trip")
	names := func(n int) []int {
		f := gathered(t, Options{}, slices.Repeat([]corpus.Source{hello}, n)...)
		return []int{len(f.Models), len(f.Tools), len(f.Ends), len(f.Turn.durations)}
	}
	assert.Equal(t, names(1), names(20))
}

// Costs use the price of the model, by the closest pattern. Cached tokens have their own price if there is one.
// The figures say how many tokens have no price.
func TestCosts(t *testing.T) {
	prices, err := ReadPrices(strings.NewReader(`{"currency":"EUR","models":{"s*":{"in":9,"out":9},"sm*":{"in":2,"cached":1,"out":10},"big":{"in":4,"out":40}}}`))
	require.NoError(t, err)
	ask := func(model string) exchange {
		return exchange{strings.Replace(completions, "small", model, 1), []string{`{"body":{"choices":[],"usage":{"prompt_tokens":1000000,"completion_tokens":100000,"prompt_tokens_details":{"cached_tokens":500000}}}}`}, false}
	}
	for model, want := range map[string]Cost{"small": {"EUR", 1 + 0.5 + 1, 0}, "big": {"EUR", 4 + 4, 0}, "sun": {"EUR", 9 + 0.9, 0}, "other": {"EUR", 0, 1}} {
		f := gathered(t, Options{Prices: prices}, asking(t, ask(model)))
		assert.InDelta(t, want.Amount, f.Cost.Amount, 1e-9, model)
		assert.Equal(t, want.Unpriced, f.Cost.Unpriced, model)
	}
	for text, says := range map[string]string{
		`{`: "these are no prices", `{}`: `"currency"`, `{"currency":"EUR","models":{"[":{"in":1}}}`: "no pattern", `{"currency":"EUR","models":{"a":{"in":-1}}}`: "less than nothing",
		`{"currency":"EUR","models":{"a":{"input":1}}}`: `there is no member "input"`, `{"currency":"EUR","models":{"a":{}}} x`: "more behind",
	} {
		_, err := ReadPrices(strings.NewReader(text))
		assert.ErrorContains(t, err, says, text)
	}
}

// A condition is on a figure, on a change or on a share, and holds once the limit is reached.
func TestConditions(t *testing.T) {
	table := Table{Figures: []Difference{{"tokens.out", Number, 100, 111}, {"time.ask.p90", Duration, 1e9, 3e9}, {"asks.failed", Number, 0, 2}}, Compared: true}
	for text, holds := range map[string]bool{
		"tokens.out > +10%": true, "tokens.out > +11%": false, "tokens.out >= +11%": true, "tokens.out < 111": false, "tokens.out<=111": true, "tokens.out > 110": true,
		"tokens.out < -10%": false, "tokens.out > -20": true, "time.ask.p90 > 2s": true, "time.ask.p90 > +2500ms": false, "asks.failed > +10%": true, "asks.failed < -10%": false,
		"tools.any.failed > 0": false, "tools.any.calls < 1": true, "errors.E_X > +0": false, "time.ask.p90 > 0": true, "time.ask.p90 > +10%": true,
		"time.ask.p90 > 0m2.5s": true, "time.ask.p90 >+1s999ms": true, "time.ask.p90 < 1h0m3s": true, "time.ask.p90 > .5s": true,
		"models.x.tokens.in > 0": false, "stops.length > 0": false, "ends.nack > 0": false,
	} {
		condition, err := ParseCondition(text)
		require.NoError(t, err, text)
		words, ok, err := condition.Holds(table)
		require.NoError(t, err, text)
		assert.Equal(t, holds, ok, text)
		assert.Equal(t, holds, strings.HasPrefix(words, text+": it is "), words)
	}
	for _, text := range []string{"", "tokens.out", "tokens.out > ", "tokens.out = 3", "tokens.out > 10%", "tokens.out > +10 apples", "> 3", "tokens.out > 1e9x", "time.ask.p90 > 1m30", "time.ask.p90 > +-2s", "time.ask.p90 > +2s%"} {
		_, err := ParseCondition(text)
		assert.Error(t, err, text)
	}
	for text, says := range map[string]string{"tokens.out > 2s": "tokens.out is no time: give a bound without a unit", "time.ask.p90 > 2": "time.ask.p90 is a time: give a bound with a unit",
		"time.ask.p90 > +5": "is a time", "asks.failed > 0s": "is no time"} {
		condition, err := ParseCondition(text)
		require.NoError(t, err, text)
		_, _, err = condition.Holds(table)
		assert.ErrorContains(t, err, says, text)
	}
	for name, says := range map[string]string{"tokens.outs": "", "tools.weather.falied": ": want one of tools.*.calls, tools.*.failed", "models.small.tokens": ": want one of models.*.asks,",
		"ends.aborts": ": want one of ends.ack,", "tools.": ": want one of", "endings.ack": ""} {
		condition, err := ParseCondition(name + " > 3")
		require.NoError(t, err, name)
		_, _, err = condition.Holds(table)
		require.ErrorIs(t, err, errNoFigure, name)
		assert.ErrorContains(t, err, name+`": there is no such figure`+says)
	}
}

// Two folders are compared side by side, including what only one of them has.
func TestCompare(t *testing.T) {
	was, now := gathered(t, Options{}, fixture(t, "tool-round-trip")), gathered(t, Options{}, fixture(t, "hello"), fixture(t, "failure-turn-input"))
	table := TableOf(was, now)
	changes := map[string][2]float64{}
	for _, d := range table.Figures {
		assert.NotContains(t, changes, d.Name)
		changes[d.Name] = [2]float64{d.Was, d.Now}
	}
	assert.Equal(t, [2]float64{1, 2}, changes["traces"])
	assert.Equal(t, [2]float64{1, 0}, changes["tools.weather.calls"])
	assert.Equal(t, [2]float64{0, 1}, changes["errors.E_INPUT_PIPELINE_ERROR"])
}

// Figures are written for people and for programs. A hostile name does not break out of its table cell.
func TestTables(t *testing.T) {
	table := Table{Figures: []Difference{{"tools.a|b\n\x1b.calls", Number, 2, 1}, {"time.ask.p50", Duration, 1_234_567_890, 1_234_567_890}, {"cost", Money, 0, 0.5}, {"asks", Number, 0, 0}}, Compared: true, Currency: "EUR"}
	var out bytes.Buffer
	require.NoError(t, table.WriteMarkdown(&out))
	assert.Equal(t, ""+
		"| figure                 |        was |        now |      change |\n"+
		"| ---------------------- | ---------: | ---------: | ----------: |\n"+
		"| tools.a\\|b\\n\\x1b.calls |          2 |          1 | -1 (-50.0%) |\n", onlyLines(out.String(), 3))
	assert.Contains(t, out.String(), "1.23s")
	assert.Contains(t, out.String(), "+0.5000 EUR")
	assert.NotContains(t, out.String(), "asks |")
	out.Reset()
	require.NoError(t, table.WriteCSV(&out))
	assert.Equal(t, "figure,unit,was,now,change,percent\n"+`tools.a|b\n\x1b.calls,number,2,1,-1,-50`+"\ntime.ask.p50,ns,1234567890,1234567890,0,0\ncost,money,0,0.5,0.5,\nasks,number,0,0,0,0\n", out.String())
	table.Compared = false
	out.Reset()
	require.NoError(t, table.WriteCSV(&out))
	assert.Contains(t, out.String(), "figure,unit,value\n")
}

func onlyLines(text string, n int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:n], "")
}

// The JSON of a spread has the same values as the spread.
func TestSpreadAsJSON(t *testing.T) {
	var s Spread
	for i := range 100 {
		s.Add(time.Duration(i+1) * time.Millisecond)
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var read SpreadText
	require.NoError(t, json.Unmarshal(text, &read), string(text))
	assert.Equal(t, SpreadText{100, s.At(0.5), s.At(0.9), s.At(0.99), 100 * time.Millisecond}, read)
}

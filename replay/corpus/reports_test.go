package corpus_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// clerks are changes that people make to a clerk: the cause of each, what else its report says,
// and the text of the code line that the report names.
var clerks = []struct {
	name  string
	clerk livetest.Clerk
	cause string
	says  []string
	at    string
}{
	{"a request that lost its memories", livetest.Clerk{Forgetful: true}, `changed input in executor/model: ask POST /v1/chat, request.body.messages[]: {"content":"The user likes windows.","role":"system"} → nothing`,
		[]string{`request.body.messages[1]`, `The user likes windows.`}, `.Do(request)`},
	{"other arguments of a tool", livetest.Clerk{Seats: 2}, `changed input in executor/model: execute book, args.seats: 1 → 2`,
		[]string{"args.seats: expected 1, got 2"}, `dc.Execute(ctx, tool, args)`},
	{"another result of a tool", livetest.Clerk{Fare: " for 50 euro."}, `changed result in tool/book: returns, result.text: 40 → 50`,
		[]string{"40 euro", "50 euro"}, `func(_ context.Context, _ *adk.DispatchContext, in struct {`},
	{"the order of two operations", livetest.Clerk{Early: true}, `order in executor/model: stash clerk.booked, before execute book`,
		nil, `dc.Stash().Set("clerk.booked", true)`},
	{"a tool that is asked again", livetest.Clerk{Twice: true}, `extra in executor/model: execute book, once more than recorded`,
		[]string{"+ execute book"}, `result, err = dc.Execute(ctx, tool, args)`},
	{"a model that is asked again", livetest.Clerk{Again: true}, `unanswered in executor/model: ask model.example POST /v1/chat, once more than recorded`,
		[]string{"+ ask model.example"}, `c.ask(ctx, dc, city)`},
	{"a write, under a new id", livetest.Clerk{Notes: true}, `unanswered in executor/model: store memories, where ack was recorded`,
		[]string{"- ack", "+ store"}, `dc.Memories().Store(ctx, `},
	{"no ack", livetest.Clerk{Unacked: true}, `missing in executor/model: ack`, []string{"- ack"}, `dc.Messages().Store(ctx, m)`},
	{"another picture", livetest.Clerk{Picture: "plan.png"}, `changed input in executor/model: store messages, record.attachments[].filename: "map" → "plan"`,
		[]string{`"map.png"`, `"plan.png"`}, `dc.Messages().Store(ctx, m)`},
	{"a record that is added and not stored", livetest.Clerk{Adds: true}, `missing in executor/model: store messages, in its place add messages`,
		[]string{"- store", "+ add"}, `dc.Messages().Add(m)`},
	{"no gate", livetest.Clerk{Ungated: true}, `missing in executor/model: wait-for "`, []string{"- wait-for"}, `.Do(request)`},
	{"a clock of its own", livetest.Clerk{Watch: true}, `missing in executor/model: now (dc.Now)`,
		[]string{"- now", "only this is missing: is time.Now used, which no replay sees?"}, `h.ReportMessage("m1", piece`},
	{"a text in pieces", livetest.Clerk{Pieces: true}, `changed input in executor/model: report-message, said in 12 pieces instead of 1, the same text`, nil, `h.ReportMessage("m1", piece`},
}

// A change of an agent is one cause. Its first lines say what changed, in which line of code, in
// which traces, and what to do next, on a screen of 80 columns.
func TestReportsOfAClerk(t *testing.T) {
	var usual livetest.Clerk
	cities := map[string]string{"oslo.jsonl": "Oslo", "rome.jsonl": "Rome", "bergen.jsonl": "Bergen"}
	sources := []corpus.Source{
		livetest.Source("oslo.jsonl", usual.Record(t, "Oslo", fakes.Approve(true))),
		livetest.Source("rome.jsonl", usual.Record(t, "Rome", fakes.Approve(true))),
		livetest.Source("bergen.jsonl", usual.Record(t, "Bergen", fakes.Deny(errors.New("too far")))),
	}
	verify := func(c livetest.Clerk) *corpus.Report {
		report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
			return replay.Live{Config: c.Config(cities[name]), Turn: c.Turn(), Seams: []string{replay.Executor, replay.ToolCode}}
		})
		require.NoError(t, err)
		return report
	}
	require.NoError(t, verify(usual).Err())
	for _, c := range clerks {
		t.Run(c.name, func(t *testing.T) {
			report := verify(c.clerk)
			require.Len(t, report.Causes, 1, report)
			text := report.Causes[0].String()
			t.Log("\n" + text)
			assert.Contains(t, report.Causes[0].Text, c.cause)
			for _, says := range c.says {
				assert.Contains(t, text, says)
			}
			for line := range strings.Lines(text) {
				assert.LessOrEqual(t, utf8.RuneCountInString(line), 73, "with what go test puts before it: %s", line)
			}
			assert.Contains(t, lineOfCode(t, text), c.at)
			assert.NotContains(t, text, "- tool/book returns", "the result stands once")
			varies := strings.HasPrefix(c.cause, "order ")
			assert.Equal(t, varies, strings.Contains(text, "\n      run once: Live.Twice shows whether the order varies\n"))
			assert.Equal(t, c.clerk.Watch, strings.Contains(text, "only this is missing"))
			gone := strings.HasPrefix(c.cause, "missing ") && !strings.Contains(text, "\n    + ")
			assert.Equal(t, gone, strings.Contains(text, "code: after "), "the line before it is named where there is no other")
			assert.Equal(t, 1, strings.Count(report.String(), "not compared: "), "what was not compared stands once")
		})
	}
}

// For live code that may cost money and does something in another order, the report says that it
// was run once. If more runs are allowed, it says in how many the order was that one.
func TestReportsOfWhatWasRunTwice(t *testing.T) {
	clerk := livetest.Clerk{Early: true}
	source := livetest.Source("oslo.jsonl", livetest.Clerk{}.Record(t, "Oslo", fakes.Approve(true)))
	for _, twice := range []bool{false, true} {
		report, err := corpus.Verify(t.Context(), []corpus.Source{source}, func(string) replay.Live {
			return replay.Live{Config: clerk.Config("Oslo"), Turn: clerk.Turn(), Seams: []string{replay.Executor, replay.ToolCode}, Twice: twice}
		})
		require.NoError(t, err)
		require.Equal(t, 1, report.Divergent)
		assert.Equal(t, !twice, strings.Contains(report.String(), "run once: "))
		assert.Equal(t, !twice, report.Traces[0].Divergence.Once)
		assert.Equal(t, twice, strings.Contains(report.String(), "the same in each of 5 runs of today's code\n"))
	}
}

// lineOfCode is the line of our code that a report names.
func lineOfCode(t *testing.T, report string) string {
	t.Helper()
	named := regexp.MustCompile(`\n +code: (?:after |asked at |handed in by )?(\S+\.go):(\d+) `).FindStringSubmatch(report)
	require.NotNil(t, named, report)
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(named[1])))
	require.NoError(t, err)
	number, err := strconv.Atoi(named[2])
	require.NoError(t, err)
	return strings.Split(string(text), "\n")[number-1]
}

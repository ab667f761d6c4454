package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
	"github.com/adkreplay/adkreplay/scenarios"
)

// allFixtures returns the traces of all scenarios.
func allFixtures(t *testing.T) []page.Source {
	t.Helper()
	found, err := corpus.Sources(fixtures.Traces)
	require.NoError(t, err)
	var sources []page.Source
	for _, s := range found {
		sources = append(sources, source(s.Name, fixture(t, strings.TrimSuffix(s.Name, corpus.Ending))))
	}
	return sources
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	content, err := fixtures.Traces.ReadFile(name + corpus.Ending)
	require.NoError(t, err)
	return content
}

// one opens the page of one fixture.
func one(t *testing.T, name, hash string) *tab {
	t.Helper()
	return opened(t, written(t, &page.Page{Title: name, Sources: []page.Source{source(name, fixture(t, name))}}), hash)
}

// Every scenario's turn can be viewed, in every view, without a message on the console.
func TestEveryScenarioOpens(t *testing.T) {
	sources := allFixtures(t)
	b := opened(t, written(t, &page.Page{Title: "all", Sources: sources}), "")
	assert.Equal(t, fmt.Sprintf("%d traces", len(sources)), b.text("#traces"))
	type opens struct {
		Title       string
		Rows, Panel bool
	}
	for i, s := range sources {
		last := is[int](b, fmt.Sprintf(`app.contents.traces[%d].crossings`, i))
		for _, hash := range []string{"1", fmt.Sprint(last), fmt.Sprintf("%d/state", last), fmt.Sprintf("%d/conversation", (last+1)/2)} {
			b.goTo(fmt.Sprintf("#%d.%s", i+1, hash))
			assert.Equal(t, opens{s.Name, true, true}, is[opens](b, `({
				Title: document.querySelector("#top h1")?.textContent,
				Rows: document.querySelectorAll(".rows .row").length > 0,
				Panel: document.querySelector(".panel")?.textContent > "",
			})`), "%s #%s", s.Name, hash)
		}
		assert.Equal(t, last, is[int](b, `app.turn.trace.length`), s.Name)
	}
}

// heldIn computes the page's state at a crossing, in the form of transcript.State.
const heldIn = `(() => {
	const trace = app.turn.trace;
	const context = (view, d) => {
		const c = {prompt: view.prompt};
		for (const [name, set] of view.sets) if (set.size) c[name] = [...set.values()].map((one) => one.ref ? trace.records.get(one.ref).value : one.text);
		if (Object.keys(view.stash).length) c.stash = JSON.parse(JSON.stringify(view.stash));
		if (!d) return c;
		if (d.id) c.id = d.id;
		c.seam = d.seam;
		if (d.iteration) c.iteration = d.iteration;
		if (d.iterations) c.iterations = d.iterations;
		if (d.signal) c.signal = d.signal;
		if (d.queue.length) c.waiting = d.queue.length;
		if (d.streams.size) c.streams = [...d.streams.values()].map((s) => [s.kind, s.id, s.complete, s.text]);
		return c;
	};
	const all = [];
	for (let n = 1; n <= trace.length; n++) {
		const held = heldAt(trace, n), x = trace.at(n), s = {at: x.at, seam: trace.seamOf(x), cancelled: held.cancelled > 0};
		s.calls = openAt(trace, n).filter((row) => row.crossing.kind === "call").map((row) => [row.crossing.data.id, row.seq]);
		if (!held.dispatches.some((d) => d.view === held.turn) && held.turn) { s.turn = context(held.turn); if (held.turnID) s.turn.id = held.turnID; }
		s.dispatches = held.dispatches.filter((d) => !d.ended).map((d) => context(d.view, d));
		all.push(s);
	}
	return JSON.stringify(all);
})()`

// expected returns the same form of a transcript.State.
func expected(t *testing.T, s *transcript.State) any {
	t.Helper()
	document, err := json.Marshal(s)
	require.NoError(t, err)
	all := decoded(t, document).(map[string]any)
	want := map[string]any{"at": float64(s.At), "seam": s.Seam, "cancelled": s.Cancelled, "calls": []any{}, "dispatches": []any{}}
	for _, c := range s.Calls {
		want["calls"] = append(want["calls"].([]any), []any{float64(c.Call), float64(c.Since)})
	}
	if all["turn"] != nil {
		want["turn"] = all["turn"]
	}
	for i, d := range s.Dispatches {
		held := all["dispatches"].([]any)[i].(map[string]any)
		var streams []any
		for _, stream := range d.Streams {
			kind := map[string]string{"toolCall": "tool-call"}[stream.Kind]
			if kind == "" {
				kind = stream.Kind
			}
			streams = append(streams, []any{kind, stream.ID, stream.Sealed, stream.Text})
		}
		if delete(held, "streams"); streams != nil {
			held["streams"] = streams
		}
		want["dispatches"] = append(want["dispatches"].([]any), held)
	}
	return want
}

// At every crossing of every scenario, the page shows the same state as the engine's own fold
// (DET-8).
func TestStateIsTheFolds(t *testing.T) {
	sources := allFixtures(t)
	b := opened(t, written(t, &page.Page{Title: "all", Sources: sources}), "")
	for i, s := range sources {
		b.goTo(fmt.Sprintf("#%d.1", i+1))
		got := decoded(t, []byte(is[string](b, heldIn))).([]any)
		content := fixture(t, strings.TrimSuffix(s.Name, corpus.Ending))
		for n := range got {
			state, err := transcript.At(bytes.NewReader(content), n+1)
			require.NoError(t, err)
			require.Equal(t, expected(t, state), got[n], "%s at crossing %d: %s", s.Name, n+1, state.Line)
		}
	}
}

// The page has the same phases as show --phases prints.
func TestPhasesAreThoseInWords(t *testing.T) {
	sources := allFixtures(t)
	b := opened(t, written(t, &page.Page{Title: "all", Sources: sources}), "")
	for i, s := range sources {
		b.goTo(fmt.Sprintf("#%d.2/phases", i+1))
		var words strings.Builder
		require.NoError(t, transcript.WritePhases(&words, bytes.NewReader(fixture(t, strings.TrimSuffix(s.Name, corpus.Ending)))))
		var want []string
		for line := range strings.Lines(words.String()) {
			if number := strings.Fields(line)[0]; strings.HasPrefix(line, " ") {
				want = append(want, "#"+number)
			} else {
				want = append(want, strings.TrimSuffix(line, "\n"))
			}
		}
		assert.Equal(t, want, is[[]string](b, `phasesOf(app.turn.trace).flatMap((p) => [p.title, ...p.crossings.map((x) => "#" + x.seq)])`), s.Name)
		assert.Positive(t, b.count(".phase li"), s.Name)
	}
}

// Each key does what the help says.
func TestKeys(t *testing.T) {
	b := one(t, "tool-round-trip", "")
	seq := func() int { return is[int](b, `app.turn.seq`) }
	assert.Equal(t, "rows", is[string](b, `document.activeElement.className`), "one can go on at once")
	b.press(kb.ArrowDown, kb.ArrowDown)
	assert.Equal(t, 3, seq())
	assert.Equal(t, "#3", is[string](b, `location.hash`))
	b.press(kb.ArrowUp)
	assert.Equal(t, 2, seq())
	b.press(kb.End)
	assert.Equal(t, 49, seq(), "the last row; what returns behind it is in the first")
	b.press(kb.Home)
	assert.Equal(t, 1, seq())
	b.press("n", "n", "n", "n", "n", "p")
	assert.Equal(t, 5, seq(), "every crossing has its turn")
	b.press(kb.ArrowLeft)
	assert.Equal(t, 4, seq(), "storage/messages.fetch lies below fetch")
	rows := is[int](b, `app.turn.visible.length`)
	b.press(kb.ArrowLeft)
	assert.Equal(t, rows-1, is[int](b, `app.turn.visible.length`), "fetch is folded")
	b.press(kb.ArrowRight)
	assert.Equal(t, rows, is[int](b, `app.turn.visible.length`))
	b.press("2")
	assert.Equal(t, "Held after #4", b.text(".panel h2"))
	b.press("3")
	assert.Contains(t, b.text(".panel h2"), "executor/model#0")
	b.press("]")
	assert.Equal(t, 16, seq(), "before the first ask one goes to it")
	b.press("]")
	assert.Equal(t, 35, seq())
	b.press("[")
	assert.Equal(t, 16, seq())
	b.press("?")
	assert.True(t, is[bool](b, `document.getElementById("help").open`))
	b.press(kb.Escape)
	assert.False(t, is[bool](b, `document.getElementById("help").open`))
	b.press("/")
	assert.Equal(t, "search", is[string](b, `document.activeElement.type`))
	b.press("f")
	assert.Equal(t, "f", is[string](b, `app.search.value`), "in the search keys are letters")
	b.press(kb.Escape, "f")
	assert.True(t, is[bool](b, `app.turn.filters.open`))
}

// In a list of traces, the keys lead to the search box, through the rows, and into the chosen row. The help
// lists only keys that do something there.
func TestKeysOfAList(t *testing.T) {
	sources := allFixtures(t)
	b := opened(t, written(t, &page.Page{Title: "all", Sources: sources}), "")
	focused := func() string {
		return is[string](b, `document.activeElement.placeholder || document.activeElement.textContent`)
	}
	b.press("/")
	assert.Equal(t, "find a trace", focused())
	b.press("j")
	assert.Equal(t, "j", is[string](b, `document.activeElement.value`), "where one writes keys are letters")
	b.press(kb.Backspace, kb.ArrowDown)
	assert.Equal(t, sources[0].Name, focused())
	b.press("j", kb.ArrowDown, "k")
	assert.Equal(t, sources[1].Name, focused())
	b.press("?")
	assert.Equal(t, []string{"the row before, the next", "open it", "find", "this help", "close"}, is[[]string](b, `[...document.querySelectorAll("#help dd")].map((e) => e.textContent)`))
	b.press(kb.Escape)
	for range len(sources) + 5 {
		b.press("j")
	}
	assert.Equal(t, sources[len(sources)-1].Name, focused())
	assert.True(t, is[bool](b, `(() => { const row = document.activeElement.getBoundingClientRect(), box = document.querySelector(".traces").getBoundingClientRect(); return row.top >= box.top && row.bottom <= box.bottom; })()`), "it is in sight")
	b.press(kb.Enter)
	b.until(`app.turn !== null`)
	b.ready()
	assert.Equal(t, sources[len(sources)-1].Name, b.text("#top h1"))
	b.press("j")
	assert.Equal(t, 2, is[int](b, `app.turn.seq`))
}

// One key leads to the failures.
func TestFailures(t *testing.T) {
	b := one(t, "tool-failure", "")
	b.press("e")
	assert.True(t, is[bool](b, `isFailure(app.turn.trace.row(app.turn.seq))`))
	assert.Positive(t, b.count(".panel .err"), "its error is shown with its causes")
}

// An answer that was read only as far as needed has not failed. An answer with a status that refuses has.
func TestAnswersThatFail(t *testing.T) {
	request := json.RawMessage(`{"method":"POST","path":"/v1/chat/completions","body":{"model":"small","messages":[{"role":"user","content":"Hi"}]}}`)
	ask := func(op int, pieces ...string) (all []*adk.Crossing) {
		all = append(all, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: 1, Op: op, Name: "model", JSON: request})
		for _, piece := range pieces {
			all = append(all, &adk.Crossing{Kind: adk.KindPiece, Call: 1, Op: op, JSON: json.RawMessage(piece)})
		}
		return all
	}
	crossings := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
	crossings = append(crossings, ask(1, `{"status":200}`, `{"data":{"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}}`, `{"data":"[DONE]"}`)...)
	crossings = append(crossings, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: 1, Err: &adk.Error{Code: adk.E_ASK_STOPPED}})
	crossings = append(crossings, ask(2, `{"status":429}`)...)
	crossings = append(crossings, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: 2})
	crossings = append(crossings, ask(3)...)
	crossings = append(crossings, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: 3, JSON: json.RawMessage(`{"status":500,"headers":{},"body":{}}`)})
	crossings = append(crossings, ask(4)...)
	crossings = append(crossings, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: 4, JSON: json.RawMessage(`{"status":200,"headers":{},"body":{}}`)},
		&adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})
	b := opened(t, written(t, &page.Page{Title: "asks", Sources: []page.Source{source("asks", recorded(t, crossings...))}}), "#2")
	assert.Equal(t, []bool{false, true, true, false}, is[[]bool](b, `app.turn.trace.rows.filter((row) => row.crossing.kind === "ask").map(isFailure)`))
	assert.Contains(t, b.text(".panel .ask"), "read no further")
	assert.Zero(t, b.count(".panel .err"))
	assert.Equal(t, []string{"→ 429", "→ 500, {}"}, is[[]string](b, `[...document.querySelectorAll(".row .answer.bad")].map((e) => e.textContent)`))
}

// Search finds the text of a crossing and the text of the records that it refers to. Filters hide
// rows.
func TestSearchAndFilters(t *testing.T) {
	b := one(t, "tool-round-trip", "#1")
	all := is[int](b, `app.turn.visible.length`)
	search := b.search
	assert.Equal(t, []int{1, 19, 21, 25, 27, 28}[2:3], search("4 °C, RAIN")[:1], "a case is no difference")
	assert.Equal(t, []int{5, 8}, search("What is the weather"), "the add says it by the record's number alone")
	assert.Equal(t, "What is the weather", b.text(".row mark"))
	b.press(kb.Enter)
	assert.Equal(t, 5, is[int](b, `app.turn.seq`), "the first that is found behind where one is")
	b.press(kb.Enter)
	assert.Equal(t, 8, is[int](b, `app.turn.seq`))
	assert.Empty(t, search("nothing of the kind"))
	assert.Equal(t, "0 matches", b.text("#status"))
	b.press(kb.Escape)
	assert.Len(t, is[[]int](b, `app.turn.visible.map((row) => row.seq)`), all)
	b.press("f")
	b.do(chromedp.Click(chromedp.Search(`//label[contains(., "storage")]/input`)))
	assert.Equal(t, all-3, is[int](b, `app.turn.visible.length`))
	b.do(chromedp.Click(chromedp.Search(`//label[contains(., "failures only")]/input`)))
	assert.Zero(t, is[int](b, `app.turn.visible.length`))
}

// search searches in the page of a turn, and returns the crossings of the rows that it finds.
func (b *tab) search(text string) []int {
	b.t.Helper()
	is[bool](b, fmt.Sprintf(`(app.search.focus(), app.search.value = %q, app.search.dispatchEvent(new Event("input")), true)`, text))
	b.until(fmt.Sprintf(`app.turn.needle === %q`, text))
	return is[[]int](b, `app.turn.visible.map((row) => row.seq)`)
}

// Search finds what a row shows, even if no member of its lines contains that text, and finds an answer in
// pieces by the text of all its pieces.
func TestSearchFindsWhatRowsShow(t *testing.T) {
	ask := func(path, messages string) string {
		return `{"method":"POST","path":"` + path + `","body":{"model":"small","messages":[` + messages + `]}}`
	}
	said := func(text string) string { return `{"data":{"choices":[{"delta":{"content":"` + text + `"}}]}}` }
	long := strings.Repeat("und so weiter ", 20)
	first := `{"role":"user","content":"` + strings.Repeat("why? ", 60) + `"}`
	content := asked(t, []string{`{"method":"POST","path":"/fail","body":"x"}`, `{"status":500}`},
		[]string{ask("/chat", first), `{"status":200}`, said("Hal"), said("lo "), said(long), said("En"), said("de")},
		[]string{ask("/chat", first+`,{"role":"user","content":"and now?"}`)})
	b := opened(t, written(t, &page.Page{Title: "asks", Sources: []page.Source{source("asks", content)}}), "#1")
	assert.Contains(t, is[[]string](b, `app.turn.visible.map((row) => textsOf(app.turn.trace, row).join(" "))`), "ask model POST /fail → 500")
	for text, want := range map[string][]int{
		"POST /fail": {2}, "ask MODEL post /f": {2}, "/fail → 5": {2}, "ask model": {2, 5, 13}, "Hallo": {5}, "weiter Ende": {5}, "POST /chat, small": {5, 13}, "1 message": {5},
	} {
		assert.Equal(t, want, b.search(text), text)
	}
	b.search("model POST /fail → 5")
	assert.Equal(t, []string{"model POST /fail", "→", "5"}, is[[]string](b, `[...document.querySelectorAll(".row mark")].map((e) => e.textContent)`))

	b = one(t, "parallel-tools", "#1")
	for _, text := range []string{"sleep 20ms", "execute weather", "fork c0.0.0", "fetch messages", "prompt, 1 message"} {
		assert.NotEmpty(t, b.search(text), text)
	}
}

// A click chooses a row, and a click in the timeline chooses the call there.
func TestClicks(t *testing.T) {
	b := one(t, "tool-round-trip", "")
	b.do(chromedp.Click(chromedp.Search(`//div[@role="treeitem"][contains(., "tool/weather")]`)))
	b.until(`location.hash === "#21"`)
	b.ready()
	assert.Contains(t, b.text(".panel h2"), "tool/weather")
	assert.Contains(t, b.text(".panel"), "4 °C, rain")
	b.do(chromedp.Click(chromedp.Search(`//a[text()="executor/model#0"]`)))
	b.until(`location.hash === "#16"`)
	b.ready()
	is[bool](b, `(() => { const box = app.turn.overview.canvas.getBoundingClientRect();
		const bar = app.turn.overview.bars.find((one) => one.row.seq === 35);
		app.turn.overview.picture.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: box.left + (bar.from + bar.to) / 2, clientY: box.top + bar.y + 3}));
		return true; })()`)
	b.until(`location.hash === "#35"`)
	b.do(chromedp.NavigateBack())
	b.until(`app.turn.seq === 16`)
}

// The conversation shows the messages of an ask, which of them are new since the ask before, and the
// answer.
func TestConversation(t *testing.T) {
	b := one(t, "asks-a-model", "#17/conversation")
	assert.Equal(t, "Asked model.example", b.text(".panel h2"))
	assert.Equal(t, []string{"system", "user"}, is[[]string](b, `[...document.querySelectorAll(".messages > li")].map((e) => e.dataset.role)`))
	assert.Contains(t, b.text(".reply"), "It rains in Oslo.")
	b = one(t, "tool-round-trip", "#35/conversation")
	assert.Contains(t, b.text(".messages > li.new"), "calls weather", "what the executor could see that it could not see before")
	assert.Equal(t, 1, b.count(".messages > li.new"))
	assert.Contains(t, b.text(".reply"), "It is 4 °C and raining in Oslo.")
}

// recorded returns a trace with these crossings.
func recorded(t *testing.T, crossings ...*adk.Crossing) []byte {
	t.Helper()
	var content bytes.Buffer
	w := trace.NewWriter(&content, trace.Header{})
	for _, x := range crossings {
		require.NoError(t, w.Write(x))
	}
	require.NoError(t, w.Close())
	return content.Bytes()
}

// askedAgain returns asks of three conversations that take turns. They include an image that was opened, a text
// that is no JSON, and a text that looks like a mark of the format.
func askedAgain() (all []*adk.Crossing) {
	image := bytes.Repeat([]byte{0x89, 'P', 'N', 'G'}, 100)
	all = append(all, &adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Begin, Op: 900},
		&adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, Op: 900, Value: image},
		&adk.Crossing{Kind: adk.KindReturn, ID: 70, Outcome: adk.OutcomeOK, Result: adk.Text(strings.Repeat("é🌧\n", 300))},
		&adk.Crossing{Kind: adk.KindReturn, ID: 71, Outcome: adk.OutcomeOK, Result: adk.Bytes(bytes.Repeat([]byte{0xff, 0}, 600))},
		&adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, Op: 901, Value: image},
		&adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, Op: 902, Value: []byte(strings.Repeat("é🌧\n", 300))},
		&adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, Op: 903, Value: bytes.Repeat([]byte{0xff, 0}, 600)})
	odd := []string{`{"$from":1,"head":2}`, `{"$json":"x"}`, "no JSON", `"` + strings.Repeat(`\\\"[{`, 90) + `"`}
	messages := make([][]string, 3)
	for op := 1; op <= 150; op++ {
		one := &messages[op%3]
		content := fmt.Sprintf(`"Frage %d: wie ist \"das\" Wetter in Ålesund \\ 🌧? %s"`, op, strings.Repeat("…", op%7))
		if op%20 == 1 {
			content = `"data:image/png;base64,` + base64.StdEncoding.EncodeToString(image) + `"`
		}
		*one = append(*one, `{"role":"user","content":`+content+`}`)
		request := fmt.Sprintf(`{"n":%d.0,"body":{"messages":[%s],"tools":["%s"]}}`, op%3, strings.Join(*one, ","), strings.Repeat("Tells the weather. ", 20))
		if op%30 < len(odd) {
			request = odd[op%30]
		}
		all = append(all, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Op: op, Name: `a "request":{`, JSON: json.RawMessage(request), Status: "reads"})
		for i, word := range []string{"It", "is", "four", "°C", "", "{"} {
			piece := fmt.Sprintf(`{"data":{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1735689600,"choices":[{"index":0,"delta":{"content":%q}}]}}`, op, word)
			all = append(all, &adk.Crossing{Kind: adk.KindPiece, Op: op, JSON: json.RawMessage(piece), Flag: i == 5})
		}
		all = append(all, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Op: op})
	}
	return all
}

// Messages that asks repeat are shown in full, whichever ask is looked at first.
func TestAskedAgain(t *testing.T) {
	all := askedAgain()
	content := recorded(t, all...)
	assert.Greater(t, bytes.Count(content, []byte(`"$from":`)), 800, "it is a test of what says it again")
	assert.Contains(t, string(content), `{"media":900}`)
	assert.Contains(t, string(content), `"bytes":{"$from":900}`)
	assert.Contains(t, string(content), `"bytes":{"$result":71}`)
	b := opened(t, written(t, &page.Page{Title: "again", Sources: []page.Source{source("again", content)}}), "")
	saying := map[adk.Kind]string{adk.KindAsk: "request", adk.KindPiece: "piece"}
	for _, order := range []func(int) int{func(i int) int { return len(all) - 1 - i }, func(i int) int { return i * 7 % len(all) }, func(i int) int { return i }} {
		b.do(chromedp.Reload())
		b.ready()
		got := map[string]any{}
		var numbers []int
		for i := range all {
			numbers = append(numbers, order(i)+1)
		}
		asked, err := json.Marshal(numbers)
		require.NoError(t, err)
		expression := fmt.Sprintf(`JSON.stringify(Object.fromEntries(%s.map((n) => [n, app.turn.trace.at(n).data.request ?? app.turn.trace.at(n).data.piece ?? app.turn.trace.at(n).data.bytes?.$bytes ?? null])))`, asked)
		require.NoError(t, json.Unmarshal([]byte(is[string](b, expression)), &got))
		for i, x := range all {
			var want any
			if len(x.JSON) > 0 && json.Unmarshal(x.JSON, &want) != nil {
				want = string(x.JSON)
			}
			if data, ok := x.Value.([]byte); ok {
				want = base64.StdEncoding.EncodeToString(data)
			}
			require.Equal(t, want, got[fmt.Sprint(i+1)], "the %s of crossing %d", saying[x.Kind], i+1)
		}
	}
}

// A history that every ask sends again grows with the square of what was said. The page puts it together only
// for the asks that are looked at.
func TestLongConversation(t *testing.T) {
	var all []*adk.Crossing
	var messages []string
	for op := 1; op <= 1_500; op++ {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"question %d: %s"}`, op, strings.Repeat("why? ", 60)))
		request := `{"method":"POST","path":"/v1/chat/completions","body":{"model":"small","messages":[` + strings.Join(messages, ",") + `]}}`
		all = append(all, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Op: op, Name: "model", JSON: json.RawMessage(request)},
			&adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Op: op, JSON: json.RawMessage(`{"choices":[{"message":{"content":"Because."}}]}`)})
	}
	b := opened(t, written(t, &page.Page{Title: "long", Sources: []page.Source{source("long", recorded(t, all...))}}), "")
	made := func() int { return is[int](b, `app.turn.trace.texts.made`) }
	opening := made()
	assert.Less(t, opening, 100, "those that are in sight")
	is[bool](b, `(app.search.value = "question 1400:", app.search.dispatchEvent(new Event("input")), true)`)
	b.until(`app.turn.visible.length === 1`)
	assert.Less(t, made()-opening, 60, "what is searched is what each adds; the one that is found is shown")
	b.goTo("#2999/conversation")
	assert.Equal(t, 1, b.count(".messages > li.new"))
	assert.Contains(t, b.text(".messages > li.new"), "question 1500:")
	assert.Less(t, made()-opening, 60+200)
	assert.Equal(t, 1_500, is[int](b, `momentsOf(app.turn.trace).length`))
}

// hostile are texts that must not do anything.
var hostile = []string{
	`<script>window.hacked = 1</script>`, `<img src=x onerror="window.hacked = 1">`, `"><svg onload=window.hacked=1>`,
	`javascript:window.hacked=1`, `</script><script>window.hacked=1</script>`, `<!--<script>`, "a\u202eb\u2066c\u200bd\x00e\u2028f",
	`https://example.com/`, `__proto__`, `constructor`, `${window.hacked=1}`, strings.Repeat("\u0301", 500), "\xff\xfe",
}

// hostileTrace returns a trace with these texts in every place that takes a text.
func hostileTrace(t *testing.T) []byte {
	t.Helper()
	crossings := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}, Text: hostile[0], Texts: hostile[:6]}}
	op := 0
	for i, text := range hostile {
		name := strings.ToValidUTF8(text, "?")
		message, err := adk.NewMessage(adk.MessageInit{ID: fmt.Sprint(i, name), Role: adk.RoleUser, Content: name, CreatedAt: time.Unix(0, 0), UpdatedAt: time.Unix(0, 0)})
		require.NoError(t, err)
		op++
		request, err := json.Marshal(map[string]any{"path": name, "method": name, "body": map[string]any{"model": name, name: name,
			"messages": []any{map[string]any{"role": name, "content": name}, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": name, "function": map[string]any{"name": name, "arguments": name}}}}}}})
		require.NoError(t, err)
		answer, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": name}, "finish_reason": name}}})
		require.NoError(t, err)
		crossings = append(crossings,
			&adk.Crossing{Kind: adk.KindAdd, Call: 1, Collection: adk.Messages, Record: message},
			&adk.Crossing{Kind: adk.KindStash, Call: 1, Name: name, Value: map[string]any{name: map[string]any{name: text}}},
			&adk.Crossing{Kind: adk.KindStash, Call: 1, Name: "__proto__.polluted." + fmt.Sprint(i), Value: text},
			&adk.Crossing{Kind: adk.KindReportLog, Call: 1, Key: "info", Name: name, Text: text, Value: text},
			&adk.Crossing{Kind: adk.KindErrorEvent, Call: 1, Err: fmt.Errorf("%s: %w", text, fmt.Errorf("%s", text))},
			&adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: 1, Op: op, Name: text, JSON: request},
			&adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: op, JSON: answer, Err: fmt.Errorf("%s", text)})
	}
	return recorded(t, append(crossings, &adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})...)
}

// No text from a trace, a name or a report runs anything, or looks like something else.
func TestHostileTexts(t *testing.T) {
	content := hostileTrace(t)
	p := &page.Page{Title: hostile[0] + hostile[6], Sources: []page.Source{source(hostile[4]+hostile[6], content), source("b", content)}}
	report := &corpus.Report{Divergent: 1}
	for _, text := range hostile {
		text = strings.ToValidUTF8(text, "?")
		report.Causes = append(report.Causes, &corpus.CauseReport{Text: text, Traces: []string{text, "b"},
			Cause: corpus.Cause{Class: "error", Changes: []corpus.Change{{Field: text, Removed: text, Added: text, Left: text}}}})
		report.Traces = append(report.Traces, &corpus.TraceReport{Trace: text, Error: text})
	}
	p.Verified = report
	p.Explored = map[string]any{"explorations": []any{map[string]any{"subject": hostile[1], "violations": []any{map[string]any{"text": hostile[1], "stretch": hostile[4], "command": hostile[3]}}}}}
	b := opened(t, written(t, p), "")
	type harm struct {
		Hacked, Hidden bool
		Active, Links  int
	}
	harmless := func(where string) {
		assert.Equal(t, harm{}, is[harm](b, `({
			Hacked: "hacked" in window || "polluted" in {},
			Active: document.querySelectorAll("#main script, #main img, #main svg, #main iframe, #main object, #main [onerror], #main [onload], base").length,
			Links: [...document.querySelectorAll("a")].filter((a) => !a.getAttribute("href").startsWith("#")).length,
			Hidden: /[\u202a-\u202e\u2066-\u2069\u200b\u2028\0]/.test(document.body.innerText + document.title),
		})`), where)
	}
	harmless("front")
	last := is[int](b, `app.contents.traces[0].crossings`)
	for n := 1; n <= last; n++ {
		for _, tab := range []string{"", "/state", "/conversation"} {
			b.goTo(fmt.Sprintf("#1.%d%s", n, tab))
			harmless(fmt.Sprint(n, tab))
		}
	}
}

// Of a text of ten megabytes the page shows the beginning; a click shows more.
func TestLongText(t *testing.T) {
	content := recorded(t, &adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}, Text: strings.Repeat("ten words that say nothing and go on and on ", 10<<20/44)},
		&adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})
	b := opened(t, written(t, &page.Page{Title: "long", Sources: []page.Source{source("long", content)}}), "")
	assert.Less(t, is[int](b, `document.body.innerText.length`), 20_000)
	b.do(chromedp.Click(chromedp.CSS(".panel .more")))
	assert.Greater(t, is[int](b, `document.body.innerText.length`), 200_000)
	b.press("2")
	assert.Less(t, is[int](b, `document.body.innerText.length`), 20_000)
}

// Of a large trace, only the visible rows are in the document, wherever the page is scrolled to.
func TestLargeTrace(t *testing.T) {
	for _, shape := range []string{"streams", "nesting", "parallel"} {
		made, found := large.Named(shape)
		require.True(t, found)
		var content bytes.Buffer
		require.NoError(t, made.Write(&content, 100_000))
		file := written(t, &page.Page{Title: shape, Sources: []page.Source{source(shape, content.Bytes())}})
		b := opened(t, file, "")
		t.Logf("%s: %d crossings, shown after %.0f ms", shape, is[int](b, `app.turn.trace.length`),
			is[float64](b, `performance.getEntriesByName("shown")[0]?.startTime ?? 0`))
		assert.Less(t, b.count("*"), 2_000)
		b.press(kb.End)
		assert.True(t, is[bool](b, `app.turn.seq > app.turn.trace.length - 10`))
		assert.Less(t, b.count(".row"), 100)
		assert.Equal(t, 1, b.count(`.row[aria-selected="true"]`), "what is chosen is in sight")
		for _, share := range []string{"0.1", "0.5", "0.9", "0"} {
			is[bool](b, fmt.Sprintf(`(app.turn.tree.scrollTop = app.turn.tree.scrollHeight * %s, new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`, share))
			assert.Less(t, b.count(".row"), 100)
			assert.True(t, is[bool](b, `(() => { const box = app.turn.tree.getBoundingClientRect(), rows = [...document.querySelectorAll(".row")].map((e) => e.getBoundingClientRect());
				return rows.some((r) => r.top <= box.top + 1 && r.bottom >= box.top) && rows.some((r) => r.bottom >= Math.min(box.bottom, box.top + app.turn.visible.length * 26) - 1); })()`), "no gap at "+share)
		}
	}
}

// Of a list of ten thousand traces, only the visible rows are in the document.
func TestManyTraces(t *testing.T) {
	p := &page.Page{Title: "many", MostBytes: 1}
	for i := range 10_000 {
		p.Sources = append(p.Sources, source(fmt.Sprintf("turns/%05d.jsonl", i), fixture(t, "hello")))
	}
	b := opened(t, written(t, p), "")
	assert.Equal(t, "10,000 traces", b.text("#traces"))
	assert.Less(t, b.count(".trace-row"), 100)
	is[bool](b, `(() => { const find = document.querySelector(".report input"); find.value = "09999"; find.dispatchEvent(new Event("input")); return true; })()`)
	b.until(`document.querySelectorAll(".trace-row").length === 1`)
	assert.Contains(t, b.text(".trace-row"), "not in this file")
}

// The page of a damaged trace says that it is damaged.
func TestDamaged(t *testing.T) {
	whole := fixture(t, "hello")
	half := whole[:bytes.LastIndexByte(whole[:len(whole)/2], '\n')+1]
	b := opened(t, written(t, &page.Page{Title: "half", Sources: []page.Source{source("half.jsonl", half)}}), "")
	assert.Contains(t, b.text(".notice"), "cut short")
	assert.Positive(t, b.count(".row"))
	b = opened(t, written(t, &page.Page{Title: "none", Sources: []page.Source{source("none.jsonl", []byte("{"))}}), "")
	assert.Contains(t, b.text("#main"), "cannot be read")
	header, _, _ := bytes.Cut(whole, []byte("\n"))
	b = opened(t, written(t, &page.Page{Title: "header", Sources: []page.Source{source("header.jsonl", append(header[:len(header):len(header)], "\n{"...))}}), "")
	assert.Contains(t, b.text(".notice"), "cut short")
	assert.Contains(t, b.text(".panel"), "no crossing")
	b = opened(t, written(t, &page.Page{Title: "empty"}), "")
	assert.Contains(t, b.text("#main"), "nothing in this page")
	b = opened(t, written(t, &page.Page{Title: "header", Sources: []page.Source{source("header.jsonl", recorded(t))}}), "")
	assert.Contains(t, b.text(".panel"), "no crossing")
}

// Without scripts the page says that it needs them, and offers nothing else.
func TestWithoutScripts(t *testing.T) {
	file := written(t, &page.Page{Title: "hello", Sources: []page.Source{source("hello.jsonl", fixture(t, "hello"))}})
	b := raw(t, file)
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	b.do(chromedp.Reload())
	assert.Contains(t, is[string](b, `document.body.innerText`), "This page needs JavaScript")
	assert.NotContains(t, is[string](b, `document.body.innerText`), "Unpacking")
}

// Text that is read from right to left does not split an escape, and does not move the arrow before an
// answer.
func TestEscapesAmongOtherDirections(t *testing.T) {
	const hebrew = "שלום\u202eעולם"
	content := asked(t, []string{`{"method":"POST","path":"/x","body":"` + hebrew + `"}`, `{"data":{"choices":[{"delta":{"content":"` + hebrew + `"}}]}}`})
	b := opened(t, written(t, &page.Page{Title: "asks", Sources: []page.Source{source("asks", content)}}), "#2")
	places := is[[][]float64](b, `(() => {
		const places = [];
		for (const e of [document.querySelector('.row[aria-selected="true"] .answer'), document.querySelector(".panel .answer .prose")]) {
			const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), chars = [];
			for (let node = walk.nextNode(); node; node = walk.nextNode())
				for (let i = 0; i < node.length; i++) { const r = new Range(); r.setStart(node, i); r.setEnd(node, i + 1); chars.push([node.data[i], r.getBoundingClientRect().left]); }
			const at = chars.findIndex(([c]) => c === "\\");
			places.push(chars.slice(at, at + 6).map(([, left]) => left));
			if (chars[0][0] === "→") places.push([chars[0][1], Math.min(...chars.slice(1).map(([, left]) => left))]);
		}
		return places;
	})()`)
	require.Len(t, places, 3)
	for _, place := range places {
		assert.IsIncreasing(t, place)
	}
}

// A page whose file was cut short anywhere says so, provided that a script is left in it.
func TestPageIsCut(t *testing.T) {
	file := written(t, &page.Page{Title: "cut", Sources: []page.Source{source("hello.jsonl", fixture(t, "hello"))}})
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, behind := range []string{`id="trace-0">`, `id="contents">`} {
		at := bytes.Index(whole, []byte(behind)) + len(behind) + 40
		require.NoError(t, os.WriteFile(file, whole[:at], 0o600))
		b := raw(t, file)
		b.until(`document.querySelector("[role=alert]") !== null`)
		assert.Contains(t, b.text("#main"), "may have been cut short", behind)
		b.mu.Lock()
		b.messages = nil // the console reports the cut as well
		b.mu.Unlock()
	}
}

// An address that leads nowhere shows the nearest place.
func TestAddresses(t *testing.T) {
	b := one(t, "hello", "#99999/nonsense")
	assert.Equal(t, is[int](b, `app.turn.trace.length`), is[int](b, `app.turn.seq`))
	assert.Equal(t, "There is no crossing 99999: the turn has 31 crossings.", b.text(".panel .notice"))
	b.press(kb.Home)
	assert.Zero(t, b.count(".panel .notice"))
	for _, hash := range []string{"#0", "#-1", "#2.1", "#<script>", "#1/__proto__"} {
		b.goTo(hash)
		assert.Positive(t, b.count("#main *"), hash)
	}
}

// roles returns the names that a screen reader is given, by role.
func (b *tab) roles() map[string][]string {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(b.t, err)
	roles := map[string][]string{}
	for _, node := range tree.Nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		var role, name string
		require.NoError(b.t, json.Unmarshal(node.Role.Value, &role))
		if node.Name != nil {
			require.NoError(b.t, json.Unmarshal(node.Name.Value, &name))
		}
		roles[role] = append(roles[role], name)
	}
	return roles
}

// For a screen reader, every control has a role and a name, and the rows are a tree.
func TestScreenReader(t *testing.T) {
	b := one(t, "tool-failure", "#1")
	var roles map[string][]string
	require.True(t, patience.Until(func() bool { // the rows are rendered when there is room, and reach a screen reader only after that
		roles = b.roles()
		return strings.Contains(strings.Join(roles["treeitem"], "\n"), ", failed: ")
	}), roles["treeitem"])
	assert.Equal(t, []string{"crossings"}, roles["tree"])
	require.NotEmpty(t, roles["treeitem"])
	assert.Contains(t, roles["treeitem"][0], "1: run “You are a helpful assistant.”")
	assert.Equal(t, []string{"Crossing", "State", "Conversation", "Phases"}, roles["tab"])
	for _, role := range []string{"button", "searchbox", "checkbox", "combobox", "link", "tab", "tabpanel", "treeitem"} {
		assert.NotContains(t, roles[role], "", "a %s without a name", role)
	}
	assert.Equal(t, "row-0", is[string](b, `app.turn.tree.getAttribute("aria-activedescendant")`))
}

func (b *tab) emulate(width int64, features ...emulation.MediaFeature) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 720))
	var list []*emulation.MediaFeature
	for i := range features {
		list = append(list, &features[i])
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
	require.NoError(b.t, err)
}

// Every view has a picture, if pictures are asked for.
func TestPictures(t *testing.T) {
	b := opened(t, written(t, &page.Page{Title: "all", Sources: allFixtures(t)}), "")
	number := is[int](b, `app.numberOf("parallel-tools.jsonl") + 1`)
	for _, look := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			b.emulate(width, emulation.MediaFeature{Name: "prefers-color-scheme", Value: look})
			for view, seq := range map[string]int{"crossing": 40, "state": 51, "conversation": 90, "phases": 48} {
				b.goTo(fmt.Sprintf("#%d.%d/%s", number, seq, view))
				assert.Equal(t, view, is[string](b, `app.turn.tab`))
				b.shot(fmt.Sprintf("%s-%s-%d", view, look, width))
			}
			b.goTo("#")
			b.shot(fmt.Sprintf("front-%s-%d", look, width))
		}
	}
}

// At a width of 360 pixels nothing sticks out, and everything can be reached.
func TestNarrow(t *testing.T) {
	b := opened(t, written(t, &page.Page{Title: "all", Sources: allFixtures(t)}), "")
	b.emulate(360)
	parallel := fmt.Sprintf("#%d.48", is[int](b, `app.numberOf("parallel-tools.jsonl") + 1`))
	for _, hash := range []string{"#", "#3.20", "#5.30/state", "#12.20/conversation", parallel + "/phases", parallel + "/conversation"} {
		b.goTo(hash)
		assert.Zero(t, is[int](b, `[...document.querySelectorAll(".row > *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > 361).length`), "%s: what is cut off says so", hash)
		assert.Zero(t, is[int](b, `[...document.querySelectorAll(".tabs button")].filter((e) => e.getBoundingClientRect().height > 36).length`), "%s: no tab is broken within a word", hash)
		assert.LessOrEqual(t, is[int](b, `document.documentElement.scrollWidth`), 360, hash)
		assert.Zero(t, is[int](b, `[...document.querySelectorAll("button, a, input, .row")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().width > 0 && (e.getBoundingClientRect().left < -1 || e.getBoundingClientRect().right > 361)).length`), hash)
	}
}

// contrasts finds the texts whose colour is too close to their background to be readable.
const contrasts = `(() => {
	const probe = document.createElement("i");
	document.body.append(probe);
	const colour = (name) => { probe.style.color = "var(--" + name + ")"; const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number); return [r, g, b]; };
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const wrong = [];
	for (const ground of ["ground", "card", "chosen", "hover"]) {
		for (const ink of ["ink", "faint", "accent", "error", "executor", "ask", "tool", "storage", "strand", "run", "dispatch", "turn-input", "event", "fact"]) {
			const [a, b] = [light(colour(ink)), light(colour(ground))], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < 4.5) wrong.push(ink + " on " + ground + ": " + ratio.toFixed(2));
		}
	}
	probe.remove();
	return wrong;
})()`

// Every text is readable in light mode and in dark mode.
func TestLightAndDark(t *testing.T) {
	b := one(t, "hello", "")
	for _, look := range []string{"light", "dark"} {
		b.emulate(1280, emulation.MediaFeature{Name: "prefers-color-scheme", Value: look})
		assert.Empty(t, is[[]string](b, contrasts), look)
	}
	dark := is[string](b, `getComputedStyle(document.body).backgroundColor`)
	b.do(chromedp.Click(chromedp.CSS(`#top button[title="light or dark"]`)))
	assert.NotEqual(t, dark, is[string](b, `getComputedStyle(document.body).backgroundColor`), "one can turn it round")
}

// The picture has the colours of the page, also if they change while it is open.
func TestPictureTurnsWithTheLights(t *testing.T) {
	b := one(t, "parallel-tools", "")
	drawn := func(look string) string {
		b.emulate(1280, emulation.MediaFeature{Name: "prefers-color-scheme", Value: look})
		is[bool](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
		return is[string](b, `document.querySelector(".picture canvas").toDataURL()`)
	}
	light, dark := drawn("light"), drawn("dark")
	assert.NotEqual(t, light, dark)
	assert.Equal(t, light, drawn("light"))
}

// Each of many strands has a lane, and the lane of the chosen crossing is visible.
func TestManyStrands(t *testing.T) {
	crossings := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
	for i := 1; i <= 50; i++ {
		crossings = append(crossings, &adk.Crossing{Kind: adk.KindFork, Call: 1, ID: i, Name: fmt.Sprintf("page %d", i)},
			&adk.Crossing{Kind: adk.KindNow, Call: 1, Strand: i})
	}
	crossings = append(crossings, &adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})
	b := opened(t, written(t, &page.Page{Title: "strands", Sources: []page.Source{source("strands", recorded(t, crossings...))}}), "")
	assert.Equal(t, 51, b.count(".lane-names li"))
	for _, strand := range []int{50, 1, 30} {
		b.goTo(fmt.Sprintf("#%d", 1+2*strand))
		assert.Equal(t, fmt.Sprintf("s%d page %d", strand, strand), b.text(".lane-names .here"))
		assert.True(t, is[bool](b, `(() => { const lane = document.querySelector(".lane-names .here").getBoundingClientRect(), box = document.querySelector(".overview").getBoundingClientRect();
			return lane.top >= box.top && lane.bottom <= box.bottom; })()`), strand)
	}
}

// parallelTools returns a trace of tools that run concurrently, each in its own strand. The last one that begins
// ends first, and the turn's own goroutine then runs two at the same time.
func parallelTools(t *testing.T, strands int) []byte {
	t.Helper()
	at := 1000
	all := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
	execute := func(strand, number int) []*adk.Crossing {
		made, err := adk.NewTool(adk.ToolInit{Name: fmt.Sprintf("tool%d", number), Description: "d", InputSchema: []byte(`{"type":"object"}`),
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return adk.Text(""), nil
			}})
		require.NoError(t, err)
		at++
		return []*adk.Crossing{
			{Kind: adk.KindExecute, Phase: adk.Begin, Call: 1, Strand: strand, Op: at, Record: made, Args: map[string]any{}},
			{Kind: adk.KindToolExecutionStart, Call: 1, Strand: strand},
			{Kind: adk.KindToolExecutionEnd, Call: 1, Strand: strand},
			{Kind: adk.KindExecute, Phase: adk.Done, Call: 1, Strand: strand, Op: at},
		}
	}
	var ends [][]*adk.Crossing
	for i := 1; i <= strands; i++ {
		all = append(all, &adk.Crossing{Kind: adk.KindFork, Call: 1, ID: i, Name: fmt.Sprintf("par%d", i)})
		lines := execute(i, i)
		all, ends = append(all, lines[:2]...), append(ends, lines[2:])
	}
	for i := range ends {
		all = append(all, ends[len(ends)-1-i]...)
	}
	one, other := execute(0, 1), execute(0, 2)
	for i := range one {
		all = append(all, one[i], other[i])
	}
	return recorded(t, append(all, &adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})...)
}

// An event of a tool says which tool it belongs to, as a transcript does, and each row says its strand, because
// with concurrent tools the row above may belong to another tool.
func TestParallelTools(t *testing.T) {
	b := opened(t, written(t, &page.Page{Title: "tools", Sources: []page.Source{source("tools", parallelTools(t, 6))}}), "#20")
	assert.Contains(t, is[[]string](b, `[...document.querySelectorAll(".summary span")].map((e) => e.textContent)`), "6 strands")
	rows := is[[]string](b, `[...document.querySelectorAll(".row")].map((e) => [".strand", ".verb", ".what"].map((name) => e.querySelector(name).textContent).join("|"))`)
	assert.Contains(t, rows, "s4|toolExecutionStart|tool4")
	assert.Contains(t, rows, "s6|toolExecutionEnd|tool6")
	assert.Contains(t, rows, "s1|toolExecutionEnd|tool1")
	assert.Contains(t, rows, "|toolExecutionEnd|", "of two at once it may be either's")
	assert.Equal(t, "toolExecutionEnd tool6", b.text(".panel h2"))
	assert.Contains(t, b.text(".panel .facts"), "strand s6 par6")
	assert.Contains(t, is[string](b, `document.querySelector('.row[aria-selected="true"]').getAttribute("aria-label")`), "20, s6: toolExecutionEnd tool6")
	b.shot("parallel-tools")

	b = opened(t, written(t, &page.Page{Title: "many", Sources: []page.Source{source("many", parallelTools(t, 600))}}), "#1802")
	assert.Equal(t, "s600", b.text(`.row[aria-selected="true"] .strand`))
	b.emulate(360)
	assert.Zero(t, is[int](b, `[...document.querySelectorAll(".row")].filter((e) => e.querySelector(".strand").scrollWidth > e.querySelector(".strand").clientWidth + 1 || e.querySelector(".verb").clientWidth < 20).length`))
	b.shot("many-tools-360")
}

// A printed page has all rows.
func TestPrint(t *testing.T) {
	b := one(t, "tool-round-trip", "#21")
	paper, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(paper, []byte("%PDF")))
	is[bool](b, `(dispatchEvent(new Event("beforeprint")), true)`)
	assert.Equal(t, is[int](b, `app.turn.visible.length`), b.count(".paper .row"))
	is[bool](b, `(dispatchEvent(new Event("afterprint")), true)`)
	assert.Zero(t, b.count(".paper"))
}

// The page of a failed corpus begins with the causes. Each shows the differences side by side, with links to
// their places in the trace.
func TestVerified(t *testing.T) {
	changed := bytes.Replace(fixture(t, "tool-round-trip"), []byte(`"prompt":"You are a helpful assistant."`), []byte(`"prompt":"You are a terse assistant."`), 1)
	turns := []corpus.Source{{Name: "turns/a.jsonl", Open: source("", changed).Open}, {Name: "turns/b.jsonl", Open: source("", fixture(t, "hello")).Open}}
	report, err := corpus.Verify(context.Background(), turns, nil)
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	b := opened(t, written(t, page.OfCorpus("verified", report, turns, trace.Options{})), "")
	assert.Equal(t, "1 cause of 1 divergence", b.text("#verified"))
	assert.Equal(t, report.Causes[0].Text, strings.TrimPrefix(b.text("#cause-1 h3"), "1 "))
	assert.Contains(t, b.text(".sides del"), is[string](b, `app.contents.verified.traces[0].divergence.fields[0].want.slice(1, 8)`))
	b.do(chromedp.Click(chromedp.CSS(`.hits a`)))
	b.until(fmt.Sprintf(`app.turn?.seq === %d`, report.Traces[0].Divergence.Crossing))
	b.ready()
	b.do(chromedp.Click(chromedp.CSS(`.home`)))
	b.until(`app.turn === null`)
	b.ready()
	assert.Equal(t, 2, b.count(".trace-row"))
}

// A finding of an exploration links to the crossing that shows it, in the run that it was found in.
func TestExplored(t *testing.T) {
	hello, found := scenarios.Named("hello")
	require.True(t, found)
	subject := turn.Subject{Name: "hello", Scripted: true, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return hello.Build(scenarios.Outside{Cancel: cancel})
	}, Check: func(run turn.Run) error {
		crossings := 0
		for range run.Crossings {
			crossings++
		}
		if crossings < 20 {
			return errors.New("it is over early")
		}
		return nil
	}}
	x, err := explore.Explore(t.Context(), subject, explore.Options{Schedules: 60})
	require.NoError(t, err)
	require.NotEmpty(t, x.Violations)
	first := x.Violations[0]
	var run bytes.Buffer
	_, err = first.Run.WriteTo(&run)
	require.NoError(t, err)
	b := opened(t, written(t, &page.Page{Title: "explored", Explored: map[string]any{"explorations": []any{x}, "violations": len(x.Violations), "schedules": x.Schedules},
		Sources: []page.Source{source("hello "+first.Schedule.String(), run.Bytes())}}), "")
	b.shot("explored")
	assert.Contains(t, b.text(".finding"), "it is over early")
	assert.Contains(t, b.text(".finding"), first.Schedule.String())
	b.do(chromedp.Click(chromedp.CSS(".finding a")))
	b.until(`app.turn !== null`)
	b.ready()
	assert.Equal(t, min(first.Crossing, first.Run.Len()), is[int](b, `app.turn.seq`))
	assert.Zero(t, b.count(".notice"), "the run is whole")
}

// A trace with a missing line can be viewed, whichever line it is (a plain run tries every third). The remaining
// lines are linked as far as possible.
func TestDamagedLines(t *testing.T) {
	p := &page.Page{Title: "damaged"}
	for _, name := range []string{"tool-round-trip", "asks-a-model", "gate-approved"} {
		whole, err := trace.Read(bytes.NewReader(fixture(t, name)))
		require.NoError(t, err)
		step := thorough.Of(1, 3, 3)
		for at := 0; at < len(whole.Lines()); at += step {
			var crossings []*adk.Crossing
			for i := range whole.Lines() {
				if i != at {
					crossings = append(crossings, &whole.Lines()[i].Crossing)
				}
			}
			p.Sources = append(p.Sources, source(fmt.Sprint(name, "-", at+1), recorded(t, crossings...)))
		}
	}
	b := opened(t, written(t, p), "")
	broken := is[[]string](b, `(async () => {
		const broken = [];
		for (const [i, one] of app.contents.traces.entries()) {
			const turn = await app.unpack(i);
			for (const seq of [1, turn.trace.length >> 1, turn.trace.length]) {
				for (const [tab] of tabs) {
					try { app.go(turn.hash(seq, tab), true); } catch (e) { broken.push(one.name + " #" + seq + "/" + tab + ": " + e.stack); }
					if (!document.querySelector(".panel").textContent) broken.push(one.name + " #" + seq + "/" + tab);
				}
			}
			for (const x of turn.trace.crossings) if (!turn.trace.row(x.seq)) broken.push(one.name + ": no row for #" + x.seq);
			app.turns.delete(i);
		}
		return broken;
	})()`)
	assert.Empty(t, broken)
}

// asked returns a trace of asks: what each asked, and the pieces of its answer.
func asked(t *testing.T, asks ...[]string) []byte {
	t.Helper()
	crossings := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
	for i, one := range asks {
		crossings = append(crossings, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: 1, Op: i + 1, Name: "model", JSON: json.RawMessage(one[0])})
		for _, piece := range one[1:] {
			crossings = append(crossings, &adk.Crossing{Kind: adk.KindPiece, Call: 1, Op: i + 1, JSON: json.RawMessage(piece)})
		}
		crossings = append(crossings, &adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: i + 1})
	}
	return recorded(t, append(crossings, &adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})...)
}

// A request shows what is new in it since the one before, and what of that one is missing.
func TestWhatIsNewInAnAsk(t *testing.T) {
	message := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	request := func(messages ...string) string {
		return `{"method":"POST","path":"/v1/chat/completions","body":{"model":"small","messages":[` + strings.Join(messages, ",") + `]}}`
	}
	system, hello, hi := message("system", "Be brief."), message("user", "Hello?"), message("assistant", "Hi.")
	content := asked(t, []string{request(system, hello)}, []string{request(system, hello, hi, message("user", "And now?"))}, []string{request(system, message("user", "Summary."))})
	b := opened(t, written(t, &page.Page{Title: "asks", Sources: []page.Source{source("asks", content)}}), "#2/conversation")
	said := func() []string {
		return is[[]string](b, `[...document.querySelectorAll(".messages > li")].map((e) => (e.classList.contains("new") ? "+" : "") + e.querySelector(".prose").textContent)`)
	}
	assert.Equal(t, []string{"Be brief.", "Hello?"}, said(), "of the first nothing is new, since all is")
	b.press("]")
	assert.Equal(t, []string{"Be brief.", "Hello?", "+Hi.", "+And now?"}, said())
	b.press("]")
	assert.Equal(t, []string{"Be brief.", "+Summary."}, said())
	assert.Contains(t, b.text(".conversation"), "3 messages of the ask before are gone")
}

// The panel of a request also shows what it contains besides its messages: its query and headers too.
func TestSettingsOfAnAsk(t *testing.T) {
	content := asked(t, []string{`{"method":"POST","path":"/v1/chat/completions","query":{"key":"left out","x":"1"},"headers":{"x-trace":"7"},"body":{"model":"small","path":"p","messages":[{"role":"user","content":"Hi"}]}}`})
	b := opened(t, written(t, &page.Page{Title: "asks", Sources: []page.Source{source("asks", content)}}), "#2")
	assert.Equal(t, []string{"query", "headers", "model", "path"}, is[[]string](b, `[...document.querySelectorAll(".ask dl:first-of-type > dt")].map((e) => e.textContent)`))
	assert.Contains(t, b.text(".ask dl"), "left out")
}

// A number that a line omits because it is 0 is shown as 0: in the rows, in the panel beside them, and in what
// a check says about it.
func TestZeroIsShown(t *testing.T) {
	b := one(t, "iteration-cap", "#14")
	assert.Contains(t, is[[]string](b, `app.turn.trace.rows.map((row) => textsOf(app.turn.trace, row).join(" "))`), "iterationStart 0")
	assert.Equal(t, "iterationStart 0", b.text(".panel h2"))
	assert.Equal(t, "iteration0", b.text(".panel .line dl"))

	whole, err := trace.Read(bytes.NewReader(fixture(t, "iteration-cap")))
	require.NoError(t, err)
	var seven bytes.Buffer
	w := trace.NewWriter(&seven, whole.Header)
	for _, line := range whole.Lines() {
		if line.Kind == adk.KindIterationStart && line.N == 0 {
			line.N = 7
		}
		require.NoError(t, w.Write(&line.Crossing))
	}
	require.NoError(t, w.Close())
	turns := []corpus.Source{{Name: "seven.jsonl", Open: source("", seven.Bytes()).Open}}
	report, err := corpus.Verify(context.Background(), turns, nil)
	require.NoError(t, err)
	b = opened(t, written(t, page.OfCorpus("verified", report, turns, trace.Options{})), "")
	assert.Equal(t, "iteration 7 0", b.text(".change"))
}

// Answers of every API are put together: their text, their calls, the reason why they end, and
// what they cost.
func TestAnswers(t *testing.T) {
	const want = `["It is cold.",[["weather",{"city":"Oslo"}]],"%s",[12,7]]`
	cases := []struct {
		name, request, finish string
		pieces                []string
	}{
		{"completions", `{"body":{"messages":[]}}`, "tool_calls", []string{`{"status":200,"headers":{}}`,
			`{"body":{"choices":[{"message":{"content":"It is cold.","tool_calls":[{"id":"c","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":12,"completion_tokens":7}}}`}},
		{"completions in pieces", `{"body":{"messages":[]}}`, "tool_calls", []string{`{"status":200,"headers":{}}`,
			`{"data":{"choices":[{"delta":{"content":"It is "}}]}}`, `{"data":{"choices":[{"delta":{"content":"cold."}}]}}`,
			`{"data":{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":"{\"city\""}}]}}]}}`,
			`{"data":{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}}`,
			`{"data":{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":7}}}`, `{"data":"[DONE]"}`}},
		{"messages", `{"body":{"messages":[],"system":"x"}}`, "tool_use", []string{`{"status":200,"headers":{}}`,
			`{"body":{"type":"message","content":[{"type":"text","text":"It is cold."},{"type":"tool_use","id":"c","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use","usage":{"input_tokens":12,"output_tokens":7}}}`}},
		{"messages in pieces", `{"body":{"messages":[]}}`, "tool_use", []string{`{"status":200,"headers":{}}`,
			`{"event":"message_start","data":{"type":"message_start","message":{"usage":{"input_tokens":12,"output_tokens":1}}}}`,
			`{"data":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}`, `{"data":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is cold."}}}`,
			`{"data":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"weather","input":{}}}}`,
			`{"data":{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Oslo\"}"}}}`,
			`{"data":{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}}`, `{"data":{"type":"message_stop"}}`}},
		{"responses", `{"body":{"input":"hi"}}`, "completed", []string{`{"status":200,"headers":{}}`,
			`{"body":{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"It is cold."}]},{"type":"function_call","name":"weather","call_id":"c","arguments":"{\"city\":\"Oslo\"}"}],"usage":{"input_tokens":12,"output_tokens":7}}}`}},
		{"responses in pieces", `{"body":{"input":"hi"}}`, "completed", []string{`{"data":{"type":"response.output_text.delta","delta":"It is cold."}}`,
			`{"data":{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","name":"weather","call_id":"c"}}}`,
			`{"data":{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"city\":\"Oslo\"}"}}`,
			`{"data":{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":12,"output_tokens":7}}}}`}},
		{"gemini", `{"body":{"contents":[]}}`, "STOP", []string{`{"data":{"candidates":[{"content":{"parts":[{"text":"It is "}]}}]}}`,
			`{"data":{"candidates":[{"content":{"parts":[{"text":"cold."},{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":7}}}`}},
		{"ollama", `{"body":{"messages":[]}}`, "stop", []string{`{"line":{"message":{"role":"assistant","content":"It is "},"done":false}}`,
			`{"line":{"message":{"role":"assistant","content":"cold.","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},"done":false}}`,
			`{"line":{"message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":12,"eval_count":7}}`}},
	}
	var asks [][]string
	for _, c := range cases {
		asks = append(asks, append([]string{c.request}, c.pieces...))
	}
	b := opened(t, written(t, &page.Page{Title: "asks", Sources: []page.Source{source("asks", asked(t, asks...))}}), "")
	assert.Contains(t, b.text(".summary"), "96 tokens in, 56 out")
	got := is[[]string](b, `app.turn.trace.rows.filter((row) => row.crossing.kind === "ask").map((row) => { const a = exchangeOf(app.turn.trace, row).answer;
		return JSON.stringify([a.text, [...a.calls.values()].map((c) => [c.call, JSON.parse(c.args)]), a.finish, [a.tokens.in, a.tokens.out]]); })`)
	for i, c := range cases {
		assert.JSONEq(t, fmt.Sprintf(want, c.finish), got[i], c.name)
	}
}

// If a script got into the page in spite of everything, the browser would neither run it nor send a
// request for it.
func TestPolicyHolds(t *testing.T) {
	b := one(t, "hello", "")
	refused := is[bool](b, `(async () => {
		const script = document.createElement("script");
		try { script.textContent = "window.hacked = 1"; document.body.append(script); } catch { /* text that nobody trusts */ }
		try { document.body.innerHTML = "<img src=x onerror='window.hacked = 1'>"; } catch { /* likewise */ }
		const image = new Image();
		const asked = new Promise((done) => { image.onerror = () => done("refused"); image.onload = () => done("shown"); });
		image.src = "https://example.com/x.png";
		const fetched = await fetch("https://example.com/").then(() => "answered", () => "refused");
		return !("hacked" in window) && await asked === "refused" && fetched === "refused";
	})()`)
	assert.True(t, refused)
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Contains(t, b.blocked, string(network.BlockedReasonCsp))
	assert.NotEmpty(t, b.messages, "the browser says what it refused")
	b.messages, b.requests = nil, nil
}

// Data that looks like a reference to a record is shown as data.
func TestDataIsNoReference(t *testing.T) {
	message, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Content: "a secret of somebody else", CreatedAt: time.Unix(0, 0), UpdatedAt: time.Unix(0, 0)})
	require.NoError(t, err)
	content := recorded(t, &adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}},
		&adk.Crossing{Kind: adk.KindAdd, Call: 1, Collection: adk.Messages, Record: message},
		&adk.Crossing{Kind: adk.KindStash, Call: 1, Name: "note", Value: map[string]any{"#": 1}},
		&adk.Crossing{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK})
	b := opened(t, written(t, &page.Page{Title: "data", Sources: []page.Source{source("data", content)}}), "#3")
	assert.Contains(t, b.text(".panel"), `{"#":1}`)
	assert.NotContains(t, b.text(".panel"), "somebody else")
}

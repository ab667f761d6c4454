package browser

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// sessionsPage returns the page of recorded sessions. edit may change their files.
func sessionsPage(t *testing.T, edit func(name string, content []byte) []byte) (*page.Page, []*sessions.Recording) {
	t.Helper()
	found, err := corpus.Sources(fixtures.Sessions)
	require.NoError(t, err)
	var sources []corpus.Source
	for _, s := range found {
		content, err := fixtures.Sessions.ReadFile(s.Name)
		require.NoError(t, err)
		sources = append(sources, corpus.Source{Name: s.Name, Open: source(s.Name, edit(s.Name, content)).Open})
	}
	recordings, traces := sessions.Recordings(sources)
	p := &page.Page{Title: "sessions", Recordings: recordings}
	for _, s := range traces {
		p.Sources = append(p.Sources, page.Source{Name: s.Name, Open: s.Open})
	}
	return p, recordings
}

func asTheyAre(_ string, content []byte) []byte { return content }

// stepsOf returns a journal without its footer, and sealed returns one with a footer that fits.
func stepsOf(journal []byte) []byte { return journal[:bytes.LastIndex(journal, []byte(`{"end":`))] }

func sealed(steps []byte) []byte {
	return fmt.Appendf(steps, "{\"end\":%d,\"sha256\":\"%x\"}\n", bytes.Count(steps, []byte("\n"))-1, sha256.Sum256(steps))
}

// sessionIn returns the address of the only session of a folder.
func sessionIn(b *tab, folder string) string {
	b.t.Helper()
	return fmt.Sprintf("#s%d", is[int](b, fmt.Sprintf(`app.sessions.find((s) => s.folder.folder.endsWith(%q)).number`, "/"+folder)))
}

// SES-34: a page with journals lists the sessions. For each it shows the deliveries with their attempts, leases
// and outcomes, and links to their turns and back.
func TestSessions(t *testing.T) {
	p, recordings := sessionsPage(t, asTheyAre)
	b := opened(t, written(t, p), "")
	assert.Equal(t, "10 sessions", b.text("#sessions"))
	assert.Equal(t, fmt.Sprintf("%d traces", len(p.Sources)), b.text("#traces"))
	assert.Contains(t, is[[]string](b, `[...document.querySelectorAll(".trace-row")].map((e) => e.textContent)`)[0], "desk of tenant acme in channel-state-changed")
	b.shot("sessions")

	b.goTo(sessionIn(b, "crash-before-commit"))
	assert.Equal(t, "session ada of tenant acme", b.text("#top h1"))
	assert.Equal(t, []string{
		"1 mondayaccepted by first", "1", "epoch 1 first", "+0", "", "ack", "broken off: another attempt followed",
		"2", "epoch 2 second", "+15 min", "0", "ack", "committed revision 1, values d25592d0, changed user.notes, wrote messages.store monday, toolCalls.store monday-call, messages.store monday-reply",
	}, is[[]string](b, `[...document.querySelectorAll(".deliveries tbody > tr > *")].map((e) => e.textContent)`))
	assert.Equal(t, []string{"first", "second"}, is[[]string](b, `[...document.querySelectorAll(".lane-names li")].map((e) => e.textContent)`))
	b.shot("session")

	b.do(chromedp.Click(chromedp.CSS(".deliveries tbody tr:last-child a")))
	b.until(`app.turn !== null`)
	b.ready()
	assert.Equal(t, "sessions/crash-before-commit/second-1.jsonl", is[string](b, `app.contents.traces[app.turn.number].name`))
	assert.Equal(t, "session ada of tenant acme, monday, attempt 2", b.text(".summary a"))
	b.do(chromedp.Click(chromedp.CSS(".summary a")))
	b.until(`app.turn === null`)
	b.ready()
	assert.Contains(t, b.text(".deliveries .chosen th"), "monday")

	for _, r := range recordings { // the page shows the same facts as the command show prints
		journal, _ := r.Read(trace.Options{})
		turns := r.Turns(trace.Options{})
		told := map[string][]string{}
		for step := range journal.Story(func(turn string) string { return turns[turn].Name }) {
			told[step.Tenant+"/"+step.Session] = append(told[step.Tenant+"/"+step.Session], step.Text)
		}
		for _, number := range is[[]int](b, fmt.Sprintf(`app.sessions.filter((s) => s.folder.folder === %q).map((s) => s.number)`, r.Folder)) {
			b.goTo(fmt.Sprintf("#s%d", number))
			is[bool](b, `(document.querySelector(".session > details").open = true)`)
			b.until(`document.querySelector(".story li") !== null`)
			name := is[string](b, fmt.Sprintf(`app.sessions[%d].tenant + "/" + app.sessions[%d].name`, number-1, number-1))
			assert.Equal(t, told[name], is[[]string](b, `[...document.querySelectorAll(".story .said")].map((e) => e.textContent)`), name)
		}
	}
}

// At a width of 360 pixels nothing of a session sticks out.
func TestSessionsAreNarrow(t *testing.T) {
	p, _ := sessionsPage(t, asTheyAre)
	b := opened(t, written(t, p), "")
	b.emulate(360)
	for _, hash := range []string{"#", sessionIn(b, "crash-before-commit"), sessionIn(b, "channel-state-changed")} {
		b.goTo(hash)
		assert.LessOrEqual(t, is[int](b, `document.documentElement.scrollWidth`), 360, hash)
		assert.Zero(t, is[int](b, `[...document.querySelectorAll("#main *")].filter((e) => e.checkVisibility() && getComputedStyle(e).clipPath === "none" && e.getBoundingClientRect().right > 361 && !e.closest(".trace-row")).length`), hash)
		b.shot("session-360-" + strings.TrimPrefix(cmp.Or(hash, "#"), "#"))
	}
	b.goTo("#")
	rows := is[[]string](b, `[...document.querySelectorAll(".trace-row")].map((e) => e.innerText.replace(/\s+/g, " "))`)
	assert.Contains(t, strings.Join(rows, "\n"), "ada of tenant acme in crash-before-commit 1 delivery 2 attempts", "the folder that all are in is not said of each, and all of the row can be seen")
	assert.Zero(t, is[int](b, `[...document.querySelectorAll(".trace-row")].filter((e) => [...e.querySelectorAll(".facts, .facts *")].some((part) => part.getBoundingClientRect().right > e.getBoundingClientRect().right || part.getBoundingClientRect().bottom > e.getBoundingClientRect().bottom)).length`))
}

// SES-34: if sessions part from their journals, the page of verify says so first and links to the session, which
// says so too. A journal that breaks off says that it does.
func TestSessionsThatPart(t *testing.T) {
	p, recordings := sessionsPage(t, func(name string, content []byte) []byte {
		switch {
		case strings.HasSuffix(name, "notes-grow/host.journal.jsonl"):
			return sealed(bytes.Replace(stepsOf(content), []byte(`"keys":["user.notes"]`), []byte(`"keys":["user.<b>name"]`), 1))
		case strings.HasSuffix(name, "two-hosts/second.journal.jsonl"):
			return content[:len(content)*2/3]
		}
		return content
	})
	report := &corpus.Report{Format: corpus.Format}
	for _, r := range recordings {
		found, err := r.Verify(context.Background(), sessions.Options{Replayed: sessions.AsRecorded})
		require.NoError(t, err)
		report.Sessions = append(report.Sessions, found)
	}
	p.Verified = report
	b := opened(t, written(t, p), "")
	b.shot("sessions-part")
	assert.Equal(t, "Sessions are not as recorded", b.text("#verified"))
	assert.Contains(t, b.text(".report .facts"), "1 session of 10 not as its journal says")
	assert.Contains(t, b.text(".finding"), `the keys "user.<b>name" were committed, the turn has changed "user.notes"`)
	assert.Contains(t, b.text(".notice"), "two-hosts/second.journal.jsonl")
	assert.Equal(t, []string{"failed", "parts"}, is[[]string](b, `[...document.querySelectorAll("#sessions ~ .traces .tag.bad")].map((e) => e.textContent)`))
	b.do(chromedp.Click(chromedp.CSS(".finding h3 a")))
	b.until(`document.querySelector(".deliveries") !== null`)
	b.ready()
	assert.Equal(t, "session ada of tenant acme", b.text("#top h1"))
	assert.Contains(t, b.text(".finding"), "were committed")
}

// Text from a journal is shown as text and nothing else, and a session with thousands of deliveries shows
// only some of them at a time.
func TestHostileSessions(t *testing.T) {
	const hostile = `<img src=x onerror=hacked()>\u202e</script>`
	p, _ := sessionsPage(t, func(name string, content []byte) []byte {
		if !strings.HasSuffix(name, "duplicate-delivery/host.journal.jsonl") {
			return content
		}
		body := bytes.ReplaceAll(stepsOf(content), []byte(`"ada"`), []byte(`"`+hostile+`"`))
		body = bytes.ReplaceAll(body, []byte(`"host":"host"`), []byte(`"host":"`+hostile+`"`))
		for i := range 5_000 {
			body = fmt.Appendf(body, `{"step":"accepted","n":%d,"at":"2025-01-01T00:00:00Z","host":"h","tenant":"acme","session":"%s","delivery":"d%d","seq":%d}`+"\n", 100+i, hostile, i, 2+i)
		}
		return sealed(body)
	})
	b := opened(t, written(t, p), "")
	for _, hash := range []string{"#", sessionIn(b, "duplicate-delivery"), sessionIn(b, "duplicate-delivery") + ".4000"} {
		b.goTo(hash)
		assert.Zero(t, b.count("#main img, #main script"), hash)
		assert.False(t, is[bool](b, `/\u202e/.test(document.body.innerText + document.title)`), hash)
	}
	assert.Contains(t, b.text(".deliveries .chosen"), "no attempt was told")
	assert.Less(t, b.count(".deliveries tbody"), 4_100)
	b.goTo(sessionIn(b, "duplicate-delivery"))
	assert.Equal(t, 300, b.count(".deliveries tbody"))
	b.do(chromedp.Click(chromedp.CSS(".session .more")))
	assert.Equal(t, 600, b.count(".deliveries tbody"))
}

// SES-32, SES-34: deliveries that another process accepted, without a journal step about it, are listed under the
// number that all their steps have. So is a delivery whose id came again after a purge.
func TestDeliveriesWithoutAnAcceptance(t *testing.T) {
	p, _ := sessionsPage(t, func(name string, content []byte) []byte {
		if !strings.HasSuffix(name, "notes-grow/host.journal.jsonl") {
			return content
		}
		var left []byte
		for line := range bytes.Lines(stepsOf(content)) {
			if !bytes.Contains(line, []byte(`"step":"accepted"`)) {
				left = append(left, bytes.ReplaceAll(line, []byte(`"delivery":"tuesday"`), []byte(`"delivery":"monday"`))...)
			}
		}
		return sealed(left)
	})
	b := opened(t, written(t, p), "")
	one := sessionIn(b, "notes-grow")
	b.goTo(one + ".2")
	assert.Equal(t, []string{"1 monday", "2 monday", "3 friday"}, is[[]string](b, `[...document.querySelectorAll(".deliveries tbody th")].map((e) => e.textContent)`))
	assert.Equal(t, []string{"delivery-1", "delivery-2", "delivery-3"}, is[[]string](b, `[...document.querySelectorAll(".deliveries tbody")].map((e) => e.id)`))
	assert.Equal(t, "2 monday", b.text(".deliveries .chosen th"))
	b.do(chromedp.Click(chromedp.CSS(".deliveries .chosen a")))
	b.until(`app.turn !== null`)
	b.ready()
	assert.Equal(t, one+".2", is[string](b, `document.querySelector(".summary a").hash`))
}

// SES-3: a value of a session is shown as the JSON that it is, in rows, in full and in the state, and not as
// a text in which every quote is escaped.
func TestValuesOfSessions(t *testing.T) {
	p, _ := sessionsPage(t, asTheyAre)
	b := opened(t, written(t, p), "")
	b.goTo(fmt.Sprintf("#%d.1", 1+is[int](b, `app.contents.traces.findIndex((one) => one.name === "sessions/notes-grow/host-2.jsonl")`)))
	set := is[int](b, `[...Array(app.turn.trace.length).keys()].map((i) => app.turn.trace.at(i + 1)).find((x) => x.kind === "stash" && x.data.path === "session.context.user.notes").seq`)
	for tab, wants := range map[string]string{"": `{"v":1,"x":["milk","bread"]}`, "/state": `{"v":1,"x":["milk","bread"]}`} {
		b.goTo(fmt.Sprintf("#%d.%d%s", 1+is[int](b, `app.turn.number`), set, tab))
		shown := is[string](b, `document.querySelector(".rows").textContent + document.querySelector(".panel").textContent.split("as the trace writes it")[0]`)
		assert.Contains(t, shown, wants, tab)
		assert.NotContains(t, shown, "$json", tab)
	}
	assert.Equal(t, []string{`[1, 9007199254740993]`, `{"a":{"$json":"[redacted:x:1]"}}`, `{"$map":{"$json":"1"}}`, `[{"$json":"1"}]`}, is[[]string](b, `
		[{ $json: "[1, 9007199254740993]" }, { a: { $json: "[redacted:x:1]" } }, { $map: { $json: "1" } }, [{ $json: '{"$json":"1"}' }]].map((v) => compact(v, 400, true))`))
	assert.Equal(t, []string{`[1, 9007199254740993]`, `[1,2]`, `{"$json":"1"}`}, is[[]string](b, `
		[{ $json: "[1, 9007199254740993]" }, { $json: "[1,2]" }, { $json: '{"$json":"1"}' }].map((v) => plainView(v).textContent)`))
}

// SES-32, SES-34: an attempt that a kill broke off links to what its host left of the turn, and the turn
// links back to it.
func TestAttemptsThatBrokeOff(t *testing.T) {
	p, _ := sessionsPage(t, func(name string, content []byte) []byte {
		switch {
		case strings.HasSuffix(name, "two-hosts/first.journal.jsonl"):
			at := bytes.Index(content, []byte(`{"step":"ran"`))
			return content[:at]
		case strings.HasSuffix(name, "two-hosts/first-1.jsonl"):
			return content[:len(content)*2/3]
		}
		return content
	})
	b := opened(t, written(t, p), "")
	one := sessionIn(b, "two-hosts")
	b.goTo(one)
	cells := `[...document.querySelectorAll(".deliveries tbody:first-of-type td")]`
	assert.Equal(t, []string{"broken off"}, is[[]string](b, cells+`.filter((e) => e.dataset.label === "turn").map((e) => e.textContent)`))
	require.Equal(t, 1, is[int](b, cells+`.filter((e) => e.querySelector("a")).length`))
	b.do(chromedp.Click(chromedp.CSS(".deliveries tbody:first-of-type a")))
	b.until(`app.turn !== null`)
	b.ready()
	assert.Equal(t, "sessions/two-hosts/first-1.jsonl", is[string](b, `app.contents.traces[app.turn.number].name`))
	assert.Equal(t, one+".1", is[string](b, `document.querySelector(".summary a").hash`))
}

// A duration is shown in the largest unit of which its rounded value has at least one, so 1 ms is not shown
// as 1,000 µs. The times of a journal are whole milliseconds, which a floating-point sum of nanoseconds since
// 1970 is not.
func TestDurationsInWords(t *testing.T) {
	p, _ := sessionsPage(t, func(name string, content []byte) []byte {
		if !strings.HasSuffix(name, "notes-grow/host.journal.jsonl") {
			return content
		}
		return sealed(bytes.Replace(stepsOf(content), []byte(`"n":5,"at":"2025-01-01T00:00:00Z"`), []byte(`"n":5,"at":"2025-01-01T00:00:00.001Z"`), 1))
	})
	b := opened(t, written(t, p), "")
	assert.Equal(t, []string{"0", "1 ns", "999 ns", "1 µs", "1 ms", "1 ms", "998 µs", "1 s", "1 min", "1.5 h", "−1 ms"}, is[[]string](b, `[0, 1, 999, 1000, 999936, 1e6, 998e3, 999.6e6, 59.99e9, 5400e9, -1e6].map(lasting)`))
	b.goTo(sessionIn(b, "notes-grow"))
	assert.Equal(t, int(1e6), is[int](b, `app.sessions.find((s) => s.folder.folder.endsWith("/notes-grow")).steps.find((s) => s.n === 5).time`))
}

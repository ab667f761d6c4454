package browser

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/page"
)

// rewritten overwrites the file of a page with another page.
func rewritten(t *testing.T, file string, p *page.Page) {
	t.Helper()
	var content bytes.Buffer
	_, err := p.Write(&content)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file+".part", content.Bytes(), 0o600))
	require.NoError(t, os.Rename(file+".part", file))
}

// If a page's file is rewritten while the reader is elsewhere, the page is reloaded and shows the same place. It
// is not reloaded while in use. After the last version it is never reloaded again.
func TestWatchedPageIsLoadedAgain(t *testing.T) {
	watched := func(name string, on bool) *page.Page {
		return &page.Page{Title: "watched", Watched: on, Sources: []page.Source{source("turn.jsonl", fixture(t, name))}}
	}
	file := written(t, watched("hello", true))
	b := opened(t, file, "#7/state")
	is[bool](b, `(app.search.value = "message", app.search.dispatchEvent(new Event("input")), document.documentElement.dataset.look = "dark", globalThis.mark = true)`)
	b.until(`app.turn.needle === "message"`)
	rows := is[int](b, `app.turn.trace.rows.length`)

	rewritten(t, file, watched("tool-round-trip", true))
	is[bool](b, `(document.hasFocus = () => false, true)`) // the reader works in another window
	b.until(`globalThis.mark === undefined && typeof app !== "undefined" && app.turn && app.turn.trace.rows.length !== ` + strconv.Itoa(rows))
	b.ready()
	assert.Equal(t, []any{7.0, "state", "message", "dark"}, is[[]any](b, `[app.turn.seq, app.turn.tab, app.turn.needle, document.documentElement.dataset.look]`))
	assert.Equal(t, "message", is[string](b, `app.search.value`))

	rewritten(t, file, watched("hello", false))
	is[bool](b, `(globalThis.mark = true, document.dispatchEvent(new Event("visibilitychange", {bubbles: true})), true)`)
	b.until(`globalThis.mark === undefined && typeof app !== "undefined" && app.turn?.trace.rows.length === ` + strconv.Itoa(rows))
	b.ready()
	assert.True(t, is[bool](b, `app.watch === undefined`))
}

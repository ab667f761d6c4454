package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/scenarios"
)

// view writes one self-contained file, and prints its name.
func TestView(t *testing.T) {
	file := filepath.Join(t.TempDir(), "turn.html")
	trace := put(t, "hello.jsonl", fixture(t, "hello"))
	o := adkreplay("view", trace, "-o", file)
	assert.Equal(t, 0, o.code, o.err)
	assert.Regexp(t, regexp.QuoteMeta(file)+`: 1 trace, [45]\d KB; open it in a browser\n`, o.out)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(written), "<!doctype html>"))
	assert.True(t, strings.HasSuffix(string(written), "</html>\n"))

	o = adkreplay("view", trace, "-o", "-")
	assert.Equal(t, outcome{out: string(written)}, o, "the page is all that is written")
}

// heldIn returns the content of the element with this id in a page.
func heldIn(t *testing.T, file, id string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	content, err := tracetest.Unpacked(string(text), id)
	require.NoError(t, err)
	return content
}

// A file that cannot be read is reported, and listed on the page; the page is written nevertheless.
func TestViewOfWhatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "turns.html")
	whole := fixture(t, "hello")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.jsonl"), whole, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b.jsonl"), whole[:len(whole)-10], 0o600))
	o := adkreplay("view", folder, filepath.Join(folder, "none.jsonl"), "-o", file)
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, o.out, "3 traces, 1 unreadable")
	assert.Contains(t, o.err, "b.jsonl:")
	assert.Contains(t, o.err, "none.jsonl: no such file or directory")
	assert.FileExists(t, file)
}

// If there is nothing to show, an earlier page stays as it is.
func TestViewOfNothingWritesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "turn.html")
	require.NoError(t, os.WriteFile(file, []byte("of before"), 0o600))
	for _, watch := range [][]string{nil, {"--watch"}} {
		o := adkreplay(append([]string{"view", "nosuch.jsonl", "nobody", "-o", file}, watch...)...)
		assert.Equal(t, exitUnreadable, o.code)
		assert.Equal(t, "adkreplay: nosuch.jsonl: no such file or directory\nnobody: no such file or directory\n", o.err)
		assert.Empty(t, o.out)
	}
	empty := t.TempDir()
	o := adkreplay("view", empty, "nobody", "-o", file)
	assert.Equal(t, outcome{exitUnreadable, "", "adkreplay: " + empty + ": there is no trace: the names of traces end in .jsonl or .jsonl.zst\nnobody: no such file or directory\n"}, o)
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "of before", string(kept))
}

// A page overwrites no trace, and a flag is not taken for its name.
func TestViewRefuses(t *testing.T) {
	trace := put(t, "hello.jsonl", fixture(t, "hello"))
	for _, args := range [][]string{
		{"view", trace, "-o", trace}, {"view", trace, "-o", ""}, {"view", trace, "-o", "--json"}, {"view", ""}, {"view", "-", "-"},
		{"verify", trace, "--html", trace}, {"verify", trace, "--html", "-"}, {"verify", trace, "--html", "a", "--json=a"},
		{"explore", "hello", "--html", trace}, {"explore", "hello", "--html", "-"},
	} {
		o := adkreplay(args...)
		assert.Equal(t, exitUsage, o.code, "%q: %s", args, o.err)
		assert.Empty(t, o.out, "%q", args)
	}
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	assert.Equal(t, fixture(t, "hello"), content)

	o := adkreplay("view", trace, "-o", filepath.Join(t.TempDir(), "none", "turn.html"))
	assert.Equal(t, exitInternal, o.code)
	assert.Contains(t, o.err, "the page cannot be written")
}

// verify, merge and explore can write a page of their results in addition to their output, with
// the same exit code as without.
func TestPagesOfReports(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	red := divergent(t)
	o := adkreplay("verify", red, "--html", file("verify.html"), "--json="+file("report.json"))
	assert.Equal(t, adkreplay("verify", red).code, o.code)
	assert.Contains(t, o.out, file("verify.html")+": 1 trace")
	o = adkreplay("merge", file("report.json"), "--html", file("merge.html"))
	assert.Equal(t, adkreplay("verify", red).code, o.code, o.err)
	o = adkreplay("explore", "hello", "--schedules", "5", "--html", file("explore.html"), "--json")
	assert.Equal(t, 0, o.code, o.err)
	assert.NotContains(t, o.out, "explore.html", "a document stands alone on the standard output")
	for name, has := range map[string]string{"verify.html": `"verified":{`, "merge.html": `"verified":{`, "explore.html": `"explored":{`} {
		assert.Contains(t, heldIn(t, file(name), "contents"), has, name)
		text, err := os.ReadFile(file(name))
		require.NoError(t, err)
		assert.Equal(t, name != "explore.html", strings.Contains(string(text), `id="trace-0"`), "%s holds the trace where it has one", name)
	}
}

// show --phases prints the phases, and cannot be combined with flags that show something else.
func TestShowPhases(t *testing.T) {
	trace := put(t, "hello.jsonl", fixture(t, "hello"))
	o := adkreplay("show", "--phases", trace)
	assert.Equal(t, 0, o.code, o.err)
	assert.True(t, strings.HasPrefix(o.out, "turn input\n     2  * turnStart turn1\n"), o.out)
	for _, flags := range [][]string{{"--at", "2"}, {"--grep", "x"}, {"--json"}, {"--from", "2"}} {
		assert.Equal(t, exitUsage, adkreplay(append([]string{"show", "--phases", trace}, flags...)...).code, flags)
	}
	cut := put(t, "cut.jsonl", fixture(t, "hello")[:400])
	o = adkreplay("show", "--phases", cut)
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, o.out, "turn input")
}

// The page of an exploration holds the runs with violations, under the names by which its scripts
// look for them.
func TestExplorePageHoldsTheRuns(t *testing.T) {
	hello, found := scenarios.Named("hello")
	require.True(t, found)
	s := subjectOf(hello)
	s.Check = func(turn.Run) error { return errors.New("it is never good enough") }
	x, err := explore.Explore(t.Context(), s, explore.Options{Schedules: 5})
	require.NoError(t, err)
	require.NotEmpty(t, x.Violations)
	all, file := &explored{}, filepath.Join(t.TempDir(), "explored.html")
	all.add(x)
	var out, warnings bytes.Buffer
	require.NoError(t, all.page(t.Context(), newTerminal(&out, &warnings), exploreOptions{html: file}))
	contents := heldIn(t, file, "contents")
	name, err := json.Marshal("hello " + x.Violations[0].Schedule.String())
	require.NoError(t, err)
	assert.Contains(t, contents, `"traces":[{"name":`+string(name))
	assert.NotEmpty(t, heldIn(t, file, "trace-0"))
	assert.Contains(t, out.String(), file+": 1 trace")
}

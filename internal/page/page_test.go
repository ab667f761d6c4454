package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	shapes "github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// source returns a trace that is in memory.
func source(name string, content []byte) Source {
	return Source{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func written(t *testing.T, p *Page) (text string, entries []Entry) {
	t.Helper()
	var out bytes.Buffer
	all, err := p.Write(&out)
	require.NoError(t, err)
	return out.String(), all.Traces
}

// contentsOf returns the document that accompanies the traces.
func contentsOf(t *testing.T, text string) (c struct {
	Title    string
	Traces   []Entry
	Verified *corpus.Report
}) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(held(t, text, "contents")), &c))
	return c
}

// linesIn returns the lines of the trace with this number, as a browser unpacks them.
func linesIn(t *testing.T, text, number string) string {
	t.Helper()
	return held(t, text, "trace-"+number)
}

// held returns the content of the element with this id.
func held(t *testing.T, text, id string) string {
	t.Helper()
	assert.NotRegexp(t, `id="`+id+`">[^<]*&`, text)
	content, err := tracetest.Unpacked(text, id)
	require.NoError(t, err)
	return content
}

// A page contains the lines of a trace unchanged, and its list says how many there are.
func TestPageHoldsTheTrace(t *testing.T) {
	for _, name := range []string{"hello", "forged-tools", "asks-a-model"} {
		recorded, err := fixtures.Traces.ReadFile(name + ".jsonl")
		require.NoError(t, err)
		text, entries := written(t, &Page{Title: name, Sources: []Source{source(name, recorded)}})
		assert.Equal(t, inFull(t, recorded), linesIn(t, text, "0"))
		require.Len(t, entries, 1)
		assert.Equal(t, Entry{Name: name, Crossings: bytes.Count(recorded, []byte("\n")) - 2, Status: "ack", Held: true}, entries[0])
		assert.Equal(t, entries, contentsOf(t, text).Traces)
	}
}

// inFull returns the lines of a trace in the format version that pages use.
func inFull(t *testing.T, recorded []byte) string {
	t.Helper()
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	read.Version = linesVersion
	var lines strings.Builder
	_, err = read.WriteTo(&lines)
	require.NoError(t, err)
	return lines.String()
}

// Traces of all format versions are converted to a single one, so that the scripts need to know only that one.
func TestPageHoldsOneFormat(t *testing.T) {
	frozen := os.DirFS("../../fixtures/frozen")
	files, err := fs.Glob(frozen, "*/*.jsonl")
	require.NoError(t, err)
	others := 0
	for _, file := range files {
		recorded, err := fs.ReadFile(frozen, file)
		require.NoError(t, err)
		was, err := trace.Read(bytes.NewReader(recorded))
		require.NoError(t, err, file)
		text, entries := written(t, &Page{Sources: []Source{source(file, recorded)}})
		assert.Empty(t, entries[0].Fault, file)
		now, err := trace.Read(strings.NewReader(linesIn(t, text, "0")))
		require.NoError(t, err, file)
		assert.Equal(t, linesVersion, now.Version, file)
		assert.Len(t, now.Lines(), len(was.Lines()), file)
		if was.Version != linesVersion {
			others++
		}
	}
	assert.Positive(t, others)
}

// A trace that is damaged, missing or cut short does not prevent the others from being shown, and
// the page says what is wrong with it.
func TestPageOfWhatCannotBeRead(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	half := recorded[:bytes.LastIndex(recorded[:len(recorded)/2], []byte("\n"))+1]
	text, entries := written(t, &Page{Sources: []Source{
		source("empty", nil), source("half", half), source("none", []byte("<script>alert(1)</script>\n")),
		{"absent", func() (io.ReadCloser, error) { return nil, errors.New("it is not there") }}, source("whole", recorded)}})
	assert.Equal(t, []bool{false, true, false, false, true}, heldIn(entries))
	assert.Contains(t, entries[0].Fault, "empty:1: ")
	assert.Contains(t, entries[1].Fault, "cut short")
	assert.Equal(t, bytes.Count(half, []byte("\n"))-1, entries[1].Crossings)
	assert.Equal(t, strings.Split(inFull(t, recorded), "\n")[:bytes.Count(half, []byte("\n"))], strings.Split(strings.TrimSpace(linesIn(t, text, "1")), "\n"))
	assert.Equal(t, "absent: it is not there", entries[3].Fault)
	assert.Equal(t, inFull(t, recorded), linesIn(t, text, "4"))
}

func heldIn(entries []Entry) (held []bool) {
	for _, e := range entries {
		held = append(held, e.Held)
	}
	return held
}

// Traces beyond the size limit of a page are only listed. The first trace is always included.
func TestPageIsBounded(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	three := []Source{source("a", recorded), source("b", recorded), {Name: "c"}}
	_, entries := written(t, &Page{Sources: three, MostBytes: 1})
	assert.Equal(t, []bool{true, false, false}, heldIn(entries))
	_, entries = written(t, &Page{Sources: three})
	assert.Equal(t, []bool{true, true, false}, heldIn(entries))
}

// No text becomes markup: not from the title, a name, a report or a trace.
func TestPageEscapes(t *testing.T) {
	hostile := "</script><script>alert(1)</script><!-- \u202e &amp; \"'\x00"
	var recorded bytes.Buffer
	w := trace.NewWriter(&recorded, trace.Header{})
	require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}, Text: hostile}))
	require.NoError(t, w.Close())
	text, _ := written(t, &Page{Title: hostile, Sources: []Source{source(hostile, recorded.Bytes())},
		Verified: &corpus.Report{Error: hostile, Traces: []*corpus.TraceReport{{Trace: hostile}}}})
	plain, _ := written(t, &Page{Title: "x", Sources: []Source{source("x", recorded.Bytes())}})
	assert.Equal(t, strings.Count(plain, "<"), strings.Count(text, "<"), "every element is the page's own")
	assert.NotContains(t, text, "\u202e")
	assert.Equal(t, hostile, contentsOf(t, text).Title)
	assert.Contains(t, text, `<title>&lt;/script&gt;&lt;script&gt;alert(1)`)
}

// The policy allows nothing except the scripts and the style of the page.
func TestPolicy(t *testing.T) {
	text, _ := written(t, &Page{})
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)[1]
	first := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindStringSubmatch(text)[1]
	var look look
	require.NoError(t, json.Unmarshal([]byte(held(t, text, "look")), &look))
	directives := map[string]string{}
	for _, directive := range strings.Split(policy, "; ") {
		name, value, _ := strings.Cut(directive, " ")
		directives[name] = value
	}
	assert.Equal(t, map[string]string{"default-src": "'none'", "script-src": hashOf(first) + " " + hashOf(look.Script), "style-src": hashOf(look.Style), "img-src": "data:",
		"base-uri": "'none'", "form-action": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "adkreplay"}, directives)
}

// No line of a script or a style lies within a text that began on another line, so that lines can be left
// out and their indentation removed.
func TestUnindented(t *testing.T) {
	assert.Equal(t, "a {\nb: c; // d\n}\n", unindented("// e\na {\n\n  b: c; // d\n  // f\n}\n"))
	for _, name := range append([]string{unpacking, "page.css"}, scripts...) {
		number := 0
		for line := range strings.Lines(asset(name)) {
			number++
			assert.Zero(t, strings.Count(line, "`")%2, "%s:%d: a text goes on behind the line", name, number)
			assert.NotContains(t, line, "/*", "%s:%d", name, number)
		}
	}
}

// The scripts create no markup from text, load nothing and store nothing.
func TestScriptsAreTame(t *testing.T) {
	entries, err := assets.ReadDir("assets")
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		content := asset(entry.Name())
		assert.NotContains(t, content, "\r", entry.Name())
		if strings.HasSuffix(entry.Name(), ".js") {
			all = append(all, entry.Name())
			assert.NotRegexp(t, `innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|fetch\(|XMLHttp|WebSocket|import\(|localStorage|cookie|</script|<!--|setAttribute\("(on|style|src|href)`, content, entry.Name())
			assert.Equal(t, entry.Name() == unpacking, strings.Contains(content, `createElement("script")`), entry.Name())
		}
		assert.NotRegexp(t, `https?://|@import|url\(`, content, entry.Name())
	}
	listed := slices.Sorted(slices.Values(append([]string{unpacking}, scripts...)))
	assert.Equal(t, all, listed, "the files of the folder are those of the list")
}

// A page is at most 1.5 times as large as the compressed trace, plus the 57 KB that are in every page. So
// the page of a trace of 100 KB is smaller than the trace, and the page of a trace whose compressed size is
// 180 KB is at most 1.5 times that size in all.
func TestPageIsSmall(t *testing.T) {
	thorough.Long(t)
	empty, _ := written(t, &Page{})
	assert.Less(t, len(empty), 58_000)
	large, longest := 0, 0
	isSmall := func(name string, recorded []byte) {
		packed, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		compressed := len(packed.EncodeAll(recorded, nil))
		text, _ := written(t, &Page{Sources: []Source{source("trace", recorded)}})
		assert.LessOrEqual(t, len(text)-len(empty), compressed*3/2+600, name)
		if len(recorded) >= 100_000 {
			assert.Less(t, len(text), len(recorded), name)
			large++
		}
		if compressed >= 180_000 {
			assert.LessOrEqual(t, len(text), compressed*3/2, name)
			longest++
		}
	}
	isSmall("a growing history", growingHistory(t, 100))
	isSmall("a long growing history", growingHistory(t, 280))
	for _, shape := range shapes.Shapes {
		if !thorough.Takes(shape.Name, 4) {
			continue
		}
		var recorded bytes.Buffer
		crossings := 20_000
		if shape.Name == "history" { // each state is longer than the one before
			crossings = 1_500
		}
		require.NoError(t, shape.Write(&recorded, crossings))
		isSmall(shape.Name, recorded.Bytes())
	}
	assert.Greater(t, large, thorough.Of(8, 8, 1))
	assert.Greater(t, longest, thorough.Of(0, 0, -1))
}

// growingHistory returns a trace in which a model is asked this many times, each time with all that
// was said before.
func growingHistory(t *testing.T, asks int) []byte {
	t.Helper()
	draw := rand.New(rand.NewPCG(1, 2))
	said := func() string { // random words, which cannot be compressed well
		var words strings.Builder
		for range 40 {
			fmt.Fprintf(&words, "%x ", draw.Uint32())
		}
		return words.String()
	}
	var messages []string
	var all []adk.Crossing
	for op := 1; op <= asks; op++ {
		answer := said()
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, said()))
		request := `{"method":"POST","body":{"model":"small","messages":[` + strings.Join(messages, ",") + `]}}`
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":%q}`, answer))
		all = append(all, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Op: op, Name: "model", JSON: json.RawMessage(request)})
		for word := range strings.FieldsSeq(answer) {
			piece := fmt.Sprintf(`{"data":{"id":"chatcmpl-%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s "}}]}}`, op, word)
			all = append(all, adk.Crossing{Kind: adk.KindPiece, Op: op, JSON: json.RawMessage(piece)})
		}
		all = append(all, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Op: op})
	}
	for i := range all {
		all[i].At = tracetest.TestStart
	}
	return tracetest.WriteTrace(t, all...)
}

// The traces of the causes come first: one of each cause before the second of any. Traces without a divergence
// come last.
func TestOfCorpus(t *testing.T) {
	red := func(name string) *corpus.TraceReport {
		return &corpus.TraceReport{Trace: name, Report: replay.Report{Divergence: &replay.Divergence{}}}
	}
	report := &corpus.Report{
		Traces: []*corpus.TraceReport{{Trace: "green"}, {Trace: "cut", Error: "it ends"}, red("a"), red("b"), red("c")},
		Causes: []*corpus.CauseReport{{Traces: []string{"b", "c"}}, {Traces: []string{"a"}}},
	}
	opened := source("green", []byte("x"))
	p := OfCorpus("title", report, []corpus.Source{{Name: "green", Open: opened.Open}}, trace.Options{})
	var names []string
	for _, s := range p.Sources {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"b", "a", "c", "cut", "green"}, names)
	assert.Nil(t, p.Sources[0].Open)
	assert.NotNil(t, p.Sources[4].Open)
}

// If the writer fails, Write returns its error.
func TestPageThatCannotBeWritten(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	full := errors.New("the disk is full")
	_, err = (&Page{Sources: []Source{source("a", recorded)}}).Write(failing{full})
	assert.ErrorIs(t, err, full)
}

// If the context is cancelled, no page is written.
func TestPageIsCancelled(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	cancelled := Source{"a", func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(recorded[:900]), iotest.ErrReader(context.Canceled))), nil
	}}
	file := filepath.Join(t.TempDir(), "page.html")
	_, _, err = (&Page{Sources: []Source{cancelled}}).WriteFile(file)
	assert.ErrorIs(t, err, context.Canceled)
	assert.NoFileExists(t, file)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The scripts know every kind and every collection from the engine's tables.
func TestTables(t *testing.T) {
	rows := kindRows()
	require.Len(t, rows, len(adk.Kinds()))
	for _, row := range rows {
		kind := adk.KindByName(row.Name)
		require.NotZero(t, kind, row.Name)
		assert.NotEmpty(t, row.Class, row.Name)
		assert.Equal(t, kind.Spanning(), row.Spanning, row.Name)
		uses := len(kind.Fields(adk.Whole)) + len(kind.Fields(adk.Begin)) + len(kind.Fields(adk.Done))
		assert.Len(t, row.Fields, uses, row.Name)
		labels := map[string]string{}
		for _, f := range row.Fields { // the scripts find a member by its label
			assert.Equal(t, f.Field, cmp.Or(labels[f.Label], f.Field), "%s: two fields share the label %s", row.Name, f.Label)
			labels[f.Label] = f.Field
		}
	}
	assert.Len(t, collections(), len(adk.Collections()))
}

// A page is readable only by those who may read all the traces in it.
func TestPageIsAsPrivateAsItsTraces(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	folder := t.TempDir()
	trace := func(name string, mode fs.FileMode) Source {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, recorded, mode))
		require.NoError(t, os.Chmod(path, mode))
		return Source{path, func() (io.ReadCloser, error) { return os.Open(path) }}
	}
	open, own := trace("open.jsonl", 0o644), trace("own.jsonl", 0o600)
	journal := &sessions.Recording{Folder: folder, Journals: []corpus.Source{{Name: own.Name, Open: own.Open}}}
	for want, sources := range map[fs.FileMode][]Source{0o600: {open, own}, 0o644: {open, source("none", recorded)}} {
		file := filepath.Join(t.TempDir(), "page.html")
		all, size, err := (&Page{Sources: sources}).WriteFile(file)
		require.NoError(t, err)
		assert.Len(t, all.Traces, 2)
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.EqualValues(t, size, info.Size())
		assert.Equal(t, want, info.Mode().Perm())
	}
	file := filepath.Join(t.TempDir(), "page.html")
	_, _, err = (&Page{Sources: []Source{open}, Recordings: []*sessions.Recording{journal}}).WriteFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "a journal is as private as a trace")
}

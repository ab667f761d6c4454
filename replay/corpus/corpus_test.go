package corpus_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// recordTurn records a turn of one executor about one city.
func recordTurn(t testing.TB, city string, run livetest.ExecutorFunc) []byte {
	return recordWith(t, city, run, fakes.NewTool("weather", "Tells the weather in a city.", "rain").Tool())
}

// recordWith is recordTurn with a tool.
func recordWith(t testing.TB, city string, run livetest.ExecutorFunc, weather *adk.Tool) []byte {
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{weather},
	}, replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "You live in " + city + ".", Stash: map[string]any{"city": city}}))
	return trace.Bytes()
}

// cities are the data that differs from trace to trace in a corpus.
var cities = []string{"Oslo", "Bergen", "New York", "Rome", "Paris", "Lima", "Quito", "Bern"}

// embedded are the traces of all scenarios.
func embedded(t testing.TB) []corpus.Source {
	sources, err := corpus.Sources(fixtures.Traces)
	require.NoError(t, err)
	return sources
}

// inBroken returns how many traces of broken diverge, and how many cannot be read.
func inBroken(sources []corpus.Source) (divergent, unreadable int) {
	return (len(sources) + 2) / 4, (len(sources) + 1) / 4
}

// broken returns the embedded traces, some of which diverge or cannot be read.
func broken(t *testing.T) []corpus.Source {
	sources := embedded(t)
	for i, f := range tracetest.AllFixtures(t) {
		switch i % 4 {
		case 1:
			sources[i] = livetest.Source(sources[i].Name, tracetest.Reseal(t, bytes.Replace(f.Bytes, []byte(`"prompt":"`), []byte(`"prompt":"Now: `), 1)))
		case 2:
			sources[i] = livetest.Source(sources[i].Name, f.Bytes[:len(f.Bytes)/2])
		}
	}
	return sources
}

// asJSON is a report in the form that programs read.
func asJSON(t testing.TB, r *corpus.Report) string {
	var out strings.Builder
	require.NoError(t, r.WriteJSON(&out))
	return out.String()
}

func TestVerifyAllEmbedded(t *testing.T) {
	sources := embedded(t)
	report, err := corpus.Verify(t.Context(), sources, nil)
	require.NoError(t, err)
	require.NoError(t, report.Err())
	crossings := 0
	for i, f := range tracetest.AllFixtures(t) {
		assert.Equal(t, f.Name+".jsonl", report.Traces[i].Trace)
		assert.Equal(t, len(f.Trace.Lines()), report.Traces[i].Crossings, f.Name)
		crossings += len(f.Trace.Lines())
	}
	assert.Equal(t, crossings, report.Crossings)
	assert.Equal(t, fmt.Sprintf("%d traces, %d crossings, 0 divergences", len(sources), crossings), report.Summary())
	assert.Empty(t, report.Causes)
	assert.False(t, report.UserCode)
}

// The report is the same at any parallelism, and Each is called in order.
func TestVerifyAllIsTheSameAtAnyParallelism(t *testing.T) {
	sources := broken(t)
	var want string
	for _, parallel := range []int{1, 2, 7, 100} {
		var heard []string
		report, err := corpus.Verify(t.Context(), sources, nil, corpus.Options{
			Parallel: parallel, Each: func(v *corpus.TraceReport) { heard = append(heard, v.Trace) },
		})
		require.NoError(t, err)
		require.Len(t, heard, len(sources))
		for i, s := range sources {
			assert.Equal(t, s.Name, heard[i])
		}
		if want == "" {
			want = asJSON(t, report)
			divergent, unreadable := inBroken(sources)
			assert.Equal(t, []int{len(sources), divergent, unreadable}, []int{len(report.Traces), report.Divergent, report.Unreadable})
		}
		assert.Empty(t, cmp.Diff(want, asJSON(t, report)), "parallel %d", parallel)
	}
}

// Only the sources that are being replayed are open, and every one is closed. Open files and
// memory do not grow with the corpus.
func TestVerifyAllHoldsNoMoreThanItWorksOn(t *testing.T) {
	const parallel = 3
	var open, most, closed atomic.Int64
	hello := tracetest.FixtureNamed(t, "hello").Bytes
	var sources []corpus.Source
	for i := range 200 {
		sources = append(sources, corpus.Source{Name: fmt.Sprint(i), Open: func() (io.ReadCloser, error) {
			now := open.Add(1)
			for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
			}
			return closer{bytes.NewReader(hello), func() { open.Add(-1); closed.Add(1) }}, nil
		}})
	}
	report, err := corpus.Verify(t.Context(), sources, nil, corpus.Options{Parallel: parallel})
	require.NoError(t, err)
	require.NoError(t, report.Err())
	assert.LessOrEqual(t, most.Load(), int64(parallel))
	assert.Equal(t, int64(len(sources)), closed.Load())
}

type closer struct {
	io.Reader
	close func()
}

func (c closer) Close() error { c.close(); return nil }

// A trace that is the same leaves only its line in the report: ten times the traces, each of ten
// times the size, take only ten times the memory for lines.
func TestVerifyAllKeepsNoTraces(t *testing.T) {
	kept := func(traces, deltas int) int64 {
		stream := recordTurn(t, "Oslo", func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for i := range deltas {
				if _, err := h.ReportMessage("m1", "some words ", i == deltas-1); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
		sources := make([]corpus.Source, traces)
		for i := range sources {
			sources[i] = livetest.Source(fmt.Sprint(i), stream)
		}
		held := allocs.Held(func() *corpus.Report {
			report, err := corpus.Verify(t.Context(), sources, nil)
			require.NoError(t, err)
			require.NoError(t, report.Err())
			return report
		})
		runtime.KeepAlive(sources)
		return held
	}
	kept(10, 10) // a first run, for what is allocated only once
	assert.Less(t, kept(300, 200), int64(300*1000), "more than a kilobyte stayed of each trace")
}

// A divergence keeps no long value in full.
func TestVerifyAllCutsLongValues(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	long := strings.Repeat("many words ", 100_000)
	says := func(what string) livetest.ExecutorFunc {
		return func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_, err := h.ReportMessage("m1", what, true)
			return errors.Join(err, dc.Ack())
		}
	}
	trace := recordTurn(t, "Oslo", says(long+"Hello!"+long))
	report, err := corpus.Verify(t.Context(), []corpus.Source{livetest.Source("long", trace)},
		live(says(long+"Hi!"+long)))
	require.NoError(t, err)
	assert.Less(t, len(asJSON(t, report)), 30_000)
	require.Len(t, report.Causes, 1)
	assert.Equal(t, `changed input in executor/model: report-message, delta: "Hello" → "Hi"`, report.Causes[0].Text)
	assert.Contains(t, report.Traces[0].Divergence.Fields[0].Want, "bytes)")
}

// live uses one executor as the live one for every trace.
func live(run livetest.ExecutorFunc) func(string) replay.Live {
	return func(string) replay.Live { return replay.LiveExecutor(run) }
}

// Live seams are requested for each trace by its name.
func TestVerifyAllAsksForLiveSeamsByName(t *testing.T) {
	var sources []corpus.Source
	for _, city := range cities {
		sources = append(sources, livetest.Source(city+".jsonl", recordTurn(t, city, livetest.Agent{}.Of(city))))
	}
	report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
		return replay.LiveExecutor(livetest.Agent{}.Of(strings.TrimSuffix(name, ".jsonl")))
	})
	require.NoError(t, err)
	require.NoError(t, report.Err())
	assert.True(t, report.UserCode)
	for _, v := range report.Traces {
		assert.Equal(t, []string{adk.LabelExecutor}, v.Live)
	}
}

func TestVerifyAllInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sources := embedded(t)
	report, err := corpus.Verify(ctx, sources, nil, corpus.Options{
		Each: func(v *corpus.TraceReport) {
			if v.Number == 3 {
				cancel()
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	want := fmt.Sprintf("interrupted: 3 of %d traces were verified", len(sources))
	assert.Equal(t, want, report.Error)
	assert.Len(t, report.Traces, 3)
	assert.ErrorContains(t, report.Err(), want, "what was not verified is not good")
}

// A panic of the caller's functions reaches the
// calling goroutine, where it can be recovered.
func TestVerifyAllPanics(t *testing.T) {
	sources := embedded(t)
	sources[5].Open = func() (io.ReadCloser, error) { panic("no such archive") }
	assert.PanicsWithValue(t, "stop", func() {
		_, _ = corpus.Verify(t.Context(), embedded(t), nil, corpus.Options{Each: func(*corpus.TraceReport) { panic("stop") }})
	})
	defer func() {
		text := fmt.Sprint(recover())
		assert.True(t, strings.HasPrefix(text, "no such archive\n\ngoroutine "), text)
	}()
	_, _ = corpus.Verify(t.Context(), sources, nil)
	assert.Fail(t, "it did not panic")
}

// So does runtime.Goexit, as t.FailNow calls it.
func TestVerifyAllEndsItsGoroutine(t *testing.T) {
	sources, ended := embedded(t), make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- !returned }()
		_, _ = corpus.Verify(t.Context(), sources, func(string) replay.Live { runtime.Goexit(); return replay.Live{} })
		returned = true
	}()
	assert.True(t, <-ended)
}

func TestVerifyAllRefusesOptions(t *testing.T) {
	for want, o := range map[string]corpus.Options{
		"Parallel is -1":        {Parallel: -1},
		"there is no shard 0/3": {Shard: corpus.Shard{Count: 3}},
		"there is no shard 4/3": {Shard: corpus.Shard{Index: 4, Count: 3}},
		"adk.":                  {Reading: trace.Options{Sentinels: map[string]error{"adk.X": errors.New("x")}}},
	} {
		report, err := corpus.Verify(t.Context(), embedded(t), nil, o)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, report)
	}
}

func TestSources(t *testing.T) {
	fsys := fstest.MapFS{
		"b.jsonl": {Data: []byte("1")}, "a/z.jsonl": {Data: []byte("12")}, "c.jsonl/d.jsonl": {}, "e.jsonl.zst": {Data: []byte("123")},
		"a/notes.txt": {}, "b.jsonl.reason": {}, ".b.jsonl.swp": {},
	}
	sources, err := corpus.Sources(fsys)
	require.NoError(t, err)
	var got []string
	for _, s := range sources {
		got = append(got, fmt.Sprint(s.Name, " ", s.Size))
	}
	assert.Equal(t, []string{"a/z.jsonl 2", "b.jsonl 1", "c.jsonl/d.jsonl 0", "e.jsonl.zst 3"}, got)

	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range tracetest.AllFixtures(t) {
		part, err := w.Create("turns/" + f.Name + ".jsonl")
		require.NoError(t, err)
		_, err = part.Write(f.Bytes)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	zipped, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	require.NoError(t, err)
	sources, err = corpus.Sources(zipped)
	require.NoError(t, err)
	report, err := corpus.Verify(t.Context(), sources, nil)
	require.NoError(t, err)
	assert.NoError(t, report.Err())
	assert.Len(t, report.Traces, len(tracetest.AllFixtures(t)))

	_, err = corpus.Sources(fstest.MapFS{"notes.txt": {}})
	assert.EqualError(t, err, "replay: there is no trace: the names of traces end in .jsonl or .jsonl.zst")
	_, err = corpus.Sources(os.DirFS(filepath.Join(t.TempDir(), "nosuch")))
	assert.ErrorContains(t, err, "no such file or directory")
}

// Opening a path that is no regular file may block for ever: it is reported, and not opened.
func TestSourcesThatAreNoFiles(t *testing.T) {
	sources, err := corpus.Sources(fstest.MapFS{
		"a.jsonl": {Mode: fs.ModeNamedPipe}, "b.jsonl": {Mode: fs.ModeSocket}, "c.jsonl": {Mode: fs.ModeDevice | fs.ModeCharDevice},
		"d.jsonl": {Mode: fs.ModeIrregular}, "e.jsonl": {},
	})
	require.NoError(t, err)
	require.Len(t, sources, 5)
	for i, what := range []string{"a pipe", "a socket", "a device", "something else"} {
		_, err := sources[i].Open()
		assert.EqualError(t, err, "this is no file but "+what+", which is not opened: give it by its own name to read it")
	}
	in, err := sources[4].Open()
	require.NoError(t, err)
	require.NoError(t, in.Close())
	sources, err = corpus.Sources(fstest.MapFS{"c\xff.jsonl": {}})
	require.NoError(t, err)
	_, err = sources[0].Open()
	assert.ErrorContains(t, err, "its name is not UTF-8, and no folder gives such a file: give it by its own name")
}

// A check of no traces is not green.
func TestVerifyAllOfNothing(t *testing.T) {
	report, err := corpus.Verify(t.Context(), nil, nil)
	assert.EqualError(t, err, "replay: there are no traces to verify")
	assert.Nil(t, report)
}

// A file that may be meant as a trace is never skipped silently, and does not keep the others from
// being verified.
func TestSourcesPassNothingOver(t *testing.T) {
	for _, name := range []string{"a.JSONL", "a.jsonl.gz", "a.jsonl.zstd", "a.Jsonl.zst", "a.jsonl.bak", "a.jsonl~"} {
		hello, err := fs.ReadFile(fixtures.Traces, "hello.jsonl")
		require.NoError(t, err)
		sources, err := corpus.Sources(fstest.MapFS{"b.jsonl": {Data: hello}, "turns/" + name: {}})
		require.NoError(t, err)
		report, err := corpus.Verify(t.Context(), sources, nil)
		require.NoError(t, err)
		require.Len(t, report.Traces, 2)
		assert.Empty(t, report.Traces[0].Error)
		says := "the names of traces end in .jsonl or .jsonl.zst; rename it, or keep it elsewhere"
		if name == "a.jsonl.gz" {
			says = "it is gzip by its name, and the names of traces end in .jsonl or .jsonl.zst; unpack it, or compress it with zstd"
		}
		assert.Equal(t, "turns/"+name+": this is not read as a trace: "+says, report.Traces[1].Error)
	}

	dir := t.TempDir()
	for name, behind := range map[string]string{"more": t.TempDir(), "a.jsonl": "/nosuch.jsonl", "README.md": "/nosuch.md"} {
		require.NoError(t, os.Symlink(behind, filepath.Join(dir, name)))
	}
	sources, err := corpus.Sources(os.DirFS(dir))
	require.NoError(t, err)
	report, err := corpus.Verify(t.Context(), sources, nil)
	require.NoError(t, err)
	require.Equal(t, 2, report.Unreadable)
	assert.Contains(t, report.Traces[0].Error, "a.jsonl: ", "a link that leads nowhere")
	assert.Equal(t, "more: this is a link to a folder, which is not followed: read that folder by itself", report.Traces[1].Error)
}

// The shards of any corpus contain each trace exactly once,
// whatever the order in which a machine lists files of equal size.
// The heaviest shard exceeds the lightest by at most one trace.
func TestShardsArePartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 1000), 0, 60).Draw(t, "sizes")
		n := rapid.IntRange(1, 9).Draw(t, "shards")
		sources := make([]corpus.Source, len(sizes))
		for i, size := range sizes {
			sources[i] = corpus.Source{Name: fmt.Sprintf("%03d", i), Size: size}
		}
		shardOf := map[string]int{}
		loads := make([]int64, n)
		largest := int64(1)
		for i := range n {
			last := -1
			for _, at := range (corpus.Shard{Index: i + 1, Count: n}).Of(sources) {
				require.Greater(t, at, last, "out of order")
				last = at
				require.Zero(t, shardOf[sources[at].Name], "in two shards")
				shardOf[sources[at].Name] = i + 1
				loads[i] += max(1, sources[at].Size)
				largest = max(largest, sources[at].Size)
			}
		}
		require.Len(t, shardOf, len(sources))
		for _, a := range loads {
			for _, b := range loads {
				require.LessOrEqual(t, a-b, largest)
			}
		}
		shuffled := rapid.Permutation(sources).Draw(t, "order")
		for i := range n {
			for _, at := range (corpus.Shard{Index: i + 1, Count: n}).Of(shuffled) {
				require.Equal(t, i+1, shardOf[shuffled[at].Name])
			}
		}
	})
}

func TestParseShard(t *testing.T) {
	s, err := corpus.ParseShard("3/8")
	require.NoError(t, err)
	assert.Equal(t, corpus.Shard{Index: 3, Count: 8}, s)
	assert.Equal(t, "3/8", s.String())
	for _, text := range []string{"", "3", "3/", "/8", "0/8", "9/8", "0/0", "-1/8", "a/b", "1/2/3", "1/99999999", " 1/2"} {
		_, err := corpus.ParseShard(text)
		assert.ErrorContains(t, err, fmt.Sprintf("%q is no shard: give i/n", text))
	}
}

// The reports of all shards, merged in any order and read back from JSON, equal the report of the
// whole corpus.
func TestMergeIsTheWhole(t *testing.T) {
	sources := broken(t)
	whole, err := corpus.Verify(t.Context(), sources, nil)
	require.NoError(t, err)
	for _, n := range []int{1, 2, 3, 7, 50} {
		merged, err := corpus.Merge(shardReports(t, sources, n)...)
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(asJSON(t, whole), asJSON(t, merged)), "%d shards", n)
		assert.Equal(t, whole.String(), merged.String())
	}
	alone, err := corpus.Merge(whole)
	require.NoError(t, err)
	assert.Same(t, whole, alone)
}

// shardReports are the reports of all n shards,
// the last first, as read back from JSON.
func shardReports(t *testing.T, sources []corpus.Source, n int) (reports []*corpus.Report) {
	for i := n; i >= 1; i-- {
		r, err := corpus.Verify(t.Context(), sources, nil, corpus.Options{Shard: corpus.Shard{Index: i, Count: n}})
		require.NoError(t, err)
		read, err := corpus.ReadReport(strings.NewReader(asJSON(t, r)))
		require.NoError(t, err)
		reports = append(reports, read)
	}
	return reports
}

func TestMergeRefuses(t *testing.T) {
	sources := embedded(t)
	of3, of2 := shardReports(t, sources, 3), shardReports(t, sources, 2)
	others := shardReports(t, sources[1:], 3)
	whole, err := corpus.Verify(t.Context(), sources, nil)
	require.NoError(t, err)
	future := *of3[0]
	future.Format = 2
	_, err = corpus.Merge(of3[0], shardReports(t, elsewhere(sources), 3)[1])
	assert.ErrorContains(t, err, "are of other lists of traces", "as many, under other names")
	for want, reports := range map[string][]*corpus.Report{
		"there is no report to merge":             {},
		"shard 3/3 has two reports":               {of3[0], of3[1], of3[0]},
		"shards 3/3 and 1/2 are not of one cut":   {of3[0], of2[1]},
		"is on no shard but on a whole corpus":    {of3[0], whole},
		"has the format 2: this version merges 1": {of3[1], &future},

		fmt.Sprintf("are of other lists of traces (%d traces", len(sources)): {of3[0], others[1]},
	} {
		merged, err := corpus.Merge(reports...)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, merged)
	}
}

// elsewhere are the sources under other names.
func elsewhere(sources []corpus.Source) []corpus.Source {
	others := slices.Clone(sources)
	for i := range others {
		others[i].Name = "elsewhere/" + others[i].Name
	}
	return others
}

// The result of a missing or interrupted shard is unknown: the merged report says so, and is not
// good.
func TestMergeOfTooLittle(t *testing.T) {
	sources := embedded(t)
	reports := shardReports(t, sources, 4) // 4/4, 3/4, 2/4, 1/4
	merged, err := corpus.Merge(reports[1], reports[3])
	missing := new(corpus.MissingShards)
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, []int{2, 4}, missing.Missing)
	assert.Equal(t, "there is no report of 2/4, 4/4: what these shards would have found is not known", merged.Error)
	assert.Len(t, merged.Traces, len(reports[1].Traces)+len(reports[3].Traces))
	assert.Error(t, merged.Err())

	reports[2].Error = "interrupted: 1 of 9 traces were verified"
	merged, err = corpus.Merge(reports...)
	require.NoError(t, err)
	assert.Equal(t, "shard 2/4: interrupted: 1 of 9 traces were verified", merged.Error)
	reports[2].Error = ""
	reports[2].Traces = reports[2].Traces[1:]
	_, err = corpus.Merge(reports...)
	assert.ErrorContains(t, err, fmt.Sprintf("the shards are all there, and have %d of the corpus' %d traces", len(sources)-1, len(sources)))
}

func TestReadCorpusReportRefuses(t *testing.T) {
	good := asJSON(t, shardReports(t, broken(t), 1)[0])
	for want, text := range map[string]string{
		"this is no report of a verification: the file is empty":            "",
		"this is no report of a verification: want an object, found a list": "[1]",
		"there is more behind the document":                                 good + "{}",
		"its format is 0, and this version reads 1":                         "{}",
		"its format is 2, and this version reads 1":                         strings.Replace(good, `"format": 1`, `"format": 2`, 1),
		"trace 2 of the report has no number":                               strings.Replace(good, `"number": 2`, `"number": 1`, 1),
		"a divergence without a cause":                                      strings.Replace(good, `"cause": {`, `"caus": {`, 1),
	} {
		_, err := corpus.ReadReport(strings.NewReader(text))
		assert.ErrorContains(t, err, want)
	}
	_, err := corpus.ReadReport(strings.NewReader(strings.Replace(good, `"format": 1`, `"later": [], "format": 1`, 1)))
	assert.NoError(t, err, "a member that a later version added")
}

// A report that is read counts the traces that it lists, and ignores the counts in the file.
func TestReadCorpusReportCountsItself(t *testing.T) {
	sources := broken(t)
	good := asJSON(t, shardReports(t, sources, 1)[0])
	divergent, unreadable := inBroken(sources)
	lies := good
	for told, lie := range map[string]string{
		fmt.Sprintf(`"divergences": %d,`, divergent): `"divergences": 0,`, fmt.Sprintf(`"unreadable": %d,`, unreadable): `"unreadable": 0,`,
	} {
		require.Contains(t, lies, told)
		lies = strings.Replace(lies, told, lie, 1)
	}
	read, err := corpus.ReadReport(strings.NewReader(lies))
	require.NoError(t, err)
	assert.Equal(t, good, asJSON(t, read))
}

// A text that is one line in a report is one line when the report is read, even if it was edited.
func TestReadReportKeepsLines(t *testing.T) {
	good := asJSON(t, shardReports(t, broken(t), 1)[0])
	edited := strings.Replace(good, `"before": [`, `"before": ["a\n::error::b", `, 1)
	require.NotEqual(t, good, edited)
	read, err := corpus.ReadReport(strings.NewReader(edited))
	require.NoError(t, err)
	for _, one := range read.Traces {
		if one.Divergence != nil {
			assert.Equal(t, `a\n::error::b`, one.Divergence.Before[0])
			return
		}
	}
	t.Fatal("nothing diverged")
}

package tracetest

import (
	"bytes"
	"io/fs"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FixtureNamed returns the fixture with a name.
func FixtureNamed(t testing.TB, name string) Fixture { return readFixture(t, name+".jsonl") }

// AllFixtures returns the embedded traces.
func AllFixtures(t testing.TB) []Fixture {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	all := make([]Fixture, len(names))
	for i, name := range names {
		all[i] = readFixture(t, name)
	}
	return all
}

func readFixture(t testing.TB, file string) Fixture {
	data, err := fixtures.Traces.ReadFile(file)
	require.NoError(t, err)
	recorded, err := trace.Read(bytes.NewReader(data))
	require.NoError(t, err, file)
	return Fixture{strings.TrimSuffix(file, ".jsonl"), data, recorded}
}

// ForEachFixture runs test for every fixture, several at a time, and returns when all are done.
func ForEachFixture(t *testing.T, test func(t *testing.T, f Fixture)) {
	t.Run("fixtures", func(t *testing.T) { sideBySide(t, AllFixtures(t), func(f Fixture) string { return f.Name }, test) })
}

// sideBySide runs a test for each element, as many concurrently as there are cores. With Parallel,
// goroutines of the waiting tests would exist too, and code that examines all goroutines of the
// program would examine those each time.
func sideBySide[T any](t *testing.T, all []T, name func(T) string, test func(t *testing.T, one T)) {
	var group sync.WaitGroup
	var begun atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := begun.Add(1) - 1; i < int64(len(all)); i = begun.Add(1) - 1 {
				t.Run(name(all[i]), func(t *testing.T) { test(t, all[i]) })
			}
		})
	}
	group.Wait()
}

// EachFixture runs a test for every embedded trace, several at a time.
func EachFixture(t *testing.T, run func(t *testing.T, recorded *trace.Trace)) {
	files, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	sideBySide(t, files, func(file string) string { return strings.TrimSuffix(file, ".jsonl") }, func(t *testing.T, file string) {
		run(t, readFixture(t, file).Trace)
	})
}

// Prefixes returns the prefixes of a fixture, by their number of crossings: from none to all, each
// with a valid footer.
func Prefixes(f Fixture) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		lines := strings.Split(strings.TrimSuffix(string(f.Bytes), "\n"), "\n")
		for n := range lines[1:] {
			if !yield(n, Seal(lines[:n+1], "")) {
				return
			}
		}
	}
}

// Body returns the file without its footer.
func (f Fixture) Body() []byte { return f.Bytes[:bytes.LastIndex(f.Bytes, []byte(`{"end":`))] }

// AddBodies adds fixtures without their footers to a fuzz target, which gives the mutated lines a
// valid footer (Resealed). Without names, it adds a few fixtures that differ much.
func AddBodies(f *testing.F, names ...string) {
	if len(names) == 0 {
		names = []string{"hello", "tool-round-trip", "gate-timeout", "parallel-tools", "sub-agents", "read-image", "streamed-reply", "waits-cut-short"}
	}
	for _, name := range names {
		f.Add(FixtureNamed(f, name).Body())
	}
}

// Resealed returns a trace of lines, with a valid footer.
func Resealed(lines []byte) []byte {
	return Seal(strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n"), "")
}

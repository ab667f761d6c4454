package tracetest

import (
	"bytes"
	"io/fs"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FixtureNamed is the fixture of that name.
func FixtureNamed(t testing.TB, name string) Fixture {
	for _, f := range AllFixtures(t) {
		if f.Name == name {
			return f
		}
	}
	require.Fail(t, "there is no fixture "+name)
	return Fixture{}
}

// AllFixtures are the embedded traces, read.
func AllFixtures(t testing.TB) []Fixture {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	all := make([]Fixture, len(names))
	for i, name := range names {
		data, err := fixtures.Traces.ReadFile(name)
		require.NoError(t, err)
		recorded, err := trace.Read(bytes.NewReader(data))
		require.NoError(t, err, name)
		all[i] = Fixture{strings.TrimSuffix(name, ".jsonl"), data, recorded}
	}
	return all
}

// ForEachFixture runs test for every fixture, several at a time, and returns
// when all are done.
func ForEachFixture(t *testing.T, test func(t *testing.T, f Fixture)) {
	t.Run("fixtures", func(t *testing.T) {
		for _, f := range AllFixtures(t) {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				test(t, f)
			})
		}
	})
}

// EachFixture runs a test for every embedded trace, side by side.
func EachFixture(t *testing.T, run func(t *testing.T, recorded *trace.Trace)) {
	files, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".jsonl"), func(t *testing.T) {
			t.Parallel()
			data, err := fixtures.Traces.ReadFile(file)
			require.NoError(t, err)
			recorded, err := trace.Read(bytes.NewReader(data))
			require.NoError(t, err)
			run(t, recorded)
		})
	}
}

// Prefixes are the beginnings of a fixture, by how many crossings they have: from none
// to all of them, each with a footer that fits.
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

// Body is the file without its footer.
func (f Fixture) Body() []byte { return f.Bytes[:bytes.LastIndex(f.Bytes, []byte(`{"end":`))] }

// AddBodies gives a fuzz target fixtures without their footers: what it makes of them
// gets one that fits (Resealed). Without names it is a few that differ much.
func AddBodies(f *testing.F, names ...string) {
	if len(names) == 0 {
		names = []string{"hello", "tool-round-trip", "gate-timeout", "parallel-tools", "sub-agents", "read-image", "streamed-reply", "waits-cut-short"}
	}
	for _, name := range names {
		f.Add(FixtureNamed(f, name).Body())
	}
}

// Resealed is a trace of lines, with a footer that fits.
func Resealed(lines []byte) []byte {
	return Seal(strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n"), "")
}

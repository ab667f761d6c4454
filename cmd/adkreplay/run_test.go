package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/scenarios"
)

func TestParseRun(t *testing.T) {
	names := func(o runOptions) (names []string) {
		for _, s := range o.scenarios {
			names = append(names, s.Name)
		}
		return names
	}
	o, err := parseRun(runFlags{}, nil)
	assert.NoError(t, err)
	assert.Empty(t, o, "nothing to run: the list")

	o, err = parseRun(runFlags{output: "x"}, []string{"stash"})
	assert.NoError(t, err)
	assert.Equal(t, []string{"stash"}, names(o))
	assert.Equal(t, []string{"x", ""}, []string{o.file, o.folder})

	o, err = parseRun(runFlags{output: "x", all: true}, nil)
	assert.NoError(t, err)
	assert.Equal(t, scenarioNames(), names(o))
	assert.Equal(t, []string{"", "x"}, []string{o.file, o.folder})
}

func TestParseRunRefuses(t *testing.T) {
	cases := []struct {
		flags runFlags
		args  []string
		want  string
	}{
		{runFlags{}, []string{"a", "b"}, "run takes one scenario, and got 2"},
		{runFlags{}, []string{"gate-timeot"}, `there is no scenario "gate-timeot": did you mean gate-timeout?`},
		{runFlags{output: "x"}, nil, "-o needs the name of a scenario to record, or --all"},
		{runFlags{all: true}, nil, "--all records: give the folder with -o"},
		{runFlags{all: true, output: "x"}, []string{"hello"}, `--all runs every scenario: leave it or "hello" out`},
	}
	for _, c := range cases {
		_, err := parseRun(c.flags, c.args)
		assert.EqualError(t, err, c.want)
	}
}

// The list has one line for each scenario, which begins with its name, so that scripts can read it.
func TestRunLists(t *testing.T) {
	got := adkreplay("run")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var names []string
	for _, line := range lines {
		names = append(names, strings.Fields(line)[0])
	}
	assert.Equal(t, runNames(), names)
	for i, s := range scenarios.All() {
		assert.True(t, strings.HasSuffix(lines[i], " "+s.About), lines[i])
	}
	for i, s := range scenarios.Sessions() {
		assert.True(t, strings.HasSuffix(lines[len(scenarios.All())+i], " "+s.About))
	}
}

const helloTranscript = `run "You are a helpful assistant."
  * turnStart turn1
  turn-input/hydrate
    fetch messages → storage/messages.fetch → m1 user "Hello, I am Ada."
    add m1 to messages
    next
`

func TestRunShowsAndRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hello.jsonl")
	got := adkreplay("run", "hello", "-o", path)
	assert.Equal(t, exitSame, got.code)
	assert.True(t, strings.HasPrefix(got.out, helloTranscript), got.out)
	assert.Empty(t, got.err)
	recorded, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(fixture(t, "hello")), string(recorded))
	assert.Equal(t, got, adkreplay("run", "hello"), "without -o it shows the same")
	assert.Equal(t, got, adkreplay("show", path), "and so does show")
}

func TestRunRecordsAll(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "traces")
	got := adkreplay("run", "--all", "-o", folder)
	files := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, "sessions"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
		}
		return err
	}))
	assert.Equal(t, outcome{exitSame, fmt.Sprintf("%d traces of a turn each, and %d sessions with %d files, in %s\n", len(scenarios.All()), len(scenarios.Sessions()), files, folder), ""}, got)
	for _, embedded := range []fs.FS{fixtures.Traces, fixtures.Sessions} {
		require.NoError(t, fs.WalkDir(embedded, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !corpus.IsTrace(name) {
				return err
			}
			want, err := fs.ReadFile(embedded, name)
			require.NoError(t, err)
			recorded, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			assert.Equal(t, string(want), string(recorded), name)
			return nil
		}))
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, len(scenarios.All())+1)
	entries, err = os.ReadDir(filepath.Join(folder, "sessions"))
	require.NoError(t, err)
	assert.Len(t, entries, len(scenarios.Sessions()))
}

// A session is recorded into a folder, and the command prints its story and its turns.
func TestRunASession(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "two-hosts")
	got := adkreplay("run", "two-hosts", "-o", folder)
	assert.Equal(t, exitSame, got.code, got.err)
	assert.True(t, strings.HasPrefix(got.out, "session ada of tenant acme, from 2025-01-01 00:00:00 UTC\n  accepted monday as 1,"), got.out)
	assert.Contains(t, got.out, "\nfirst-1.jsonl, attempt 1 at monday of session ada of tenant acme\nrun \"You are")
	assert.Equal(t, got, adkreplay("run", "two-hosts"), "without -o it shows the same")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 4)
	for _, entry := range entries {
		recorded, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		want, err := fixtures.Sessions.ReadFile("sessions/two-hosts/" + entry.Name())
		require.NoError(t, err)
		assert.Equal(t, string(want), string(recorded), entry.Name())
	}
	file := put(t, "taken", nil)
	got = adkreplay("run", "two-hosts", "-o", file)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.err, "taken: the folder for the traces cannot be made")
}

// A scenario that does not end as it should
// leaves no trace, and an earlier trace stays.
func TestRunOfAFailingScenario(t *testing.T) {
	s, ok := scenarios.Named("hello")
	require.True(t, ok)
	s.Must.Said = []string{"Good bye."}
	path := put(t, "before.jsonl", []byte("before"))
	var out, stderr bytes.Buffer
	term := newTerminal(&out, &stderr)
	folder := t.TempDir()
	passing, _ := scenarios.Named("stash")

	for _, o := range []runOptions{
		{scenarios: []scenarios.Scenario{s}, file: path},
		{scenarios: []scenarios.Scenario{passing, s}, folder: folder},
	} {
		err := runRun(t.Context(), term, o)
		assert.Equal(t, exitInternal, classified(err).code)
		assert.ErrorContains(t, err, "scenario hello: the turn ended as ")
	}
	assert.Empty(t, out.String())
	assert.Equal(t, "before", readFile(t, path))
	assert.Empty(t, filesIn(t, folder), "all or nothing")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func filesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

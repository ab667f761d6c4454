package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// engineMutant is a fault put into a copy of the engine. It stands in a file of
// testdata/mutants: a sentence, and then the name of a source file, a text that
// occurs in it once, and the text in its place, each below a line -- name --.
type engineMutant struct{ name, about, file, old, new string }

func allEngineMutants(t *testing.T) (all []engineMutant) {
	paths, err := filepath.Glob("testdata/mutants/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		m := engineMutant{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
		rest := string(text)
		for _, part := range []struct {
			into *string
			end  string
		}{{&m.about, "\n-- file --\n"}, {&m.file, "\n-- old --\n"}, {&m.old, "\n-- new --\n"}} {
			var found bool
			*part.into, rest, found = strings.Cut(rest, part.end)
			require.True(t, found, "%s has no line%q", path, part.end)
		}
		m.new = strings.TrimSuffix(rest, "\n")
		all = append(all, m)
	}
	return all
}

// mutated is the source file with the fault in it.
func (m engineMutant) mutated(t *testing.T) (path, text string) {
	path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(m.file)))
	require.NoError(t, err)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.old),
		"mutant %s: its old text must occur once in %s. Where the source has changed, change testdata/mutants/%s.txt with it", m.name, m.file, m.name)
	return path, strings.Replace(string(source), m.old, m.new, 1)
}

// builtInTurn are the mutants of which a normal run of the tests builds one: one
// that is seen in a sight, one in a payload, and one in what an operation answers.
// The sources that they break say which, so that it is another one after a change.
var builtInTurn = []string{"flush-on-nack", "lost-delta", "mispaired-results"}

func builtNow(t *testing.T, all []engineMutant) string {
	var sources []byte
	for _, m := range all {
		if slices.Contains(builtInTurn, m.name) {
			_, text := m.mutated(t)
			sources = append(sources, text...)
		}
	}
	return builtInTurn[crc32.ChecksumIEEE(sources)%uint32(len(builtInTurn))]
}

// mutantsVariable makes the test build all of them.
const mutantsVariable = "ADKREPLAY_MUTANTS"

// A broken engine does not replay the fixtures.
func TestEngineMutantsAreNoticed(t *testing.T) {
	t.Parallel()
	all := allEngineMutants(t)
	every := os.Getenv(mutantsVariable) == "all"
	now := builtNow(t, all)
	tried, noticed := 0, 0
	for _, m := range all {
		path, text := m.mutated(t)
		if testing.Short() || !every && m.name != now {
			continue
		}
		tried++
		if m.noticed(t, path, text) {
			noticed++
		}
	}
	t.Logf("engine mutants: %d of %d built, %d noticed", tried, len(all), noticed)
	switch {
	case testing.Short():
		t.Skip("each mutant is a build of the engine: not with -short")
	case !every:
		t.Logf("each mutant is a build of the engine: `make mutants` (%s=all) builds all", mutantsVariable)
	}
}

// verifyFixtures is the command's verify without all that a command needs beside,
// which would have to be built with every mutant: it plays the fixtures again, and
// ends with 3 where one differs.
const verifyFixtures = `package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
)

func main() {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprint("no fixtures: ", err))
	}
	for _, name := range names {
		data, err := fixtures.Traces.ReadFile(name)
		if err != nil {
			panic(err)
		}
		report, err := replay.Verify(context.Background(), bytes.NewReader(data), replay.Live{})
		if err != nil || report.Divergence != nil {
			os.Exit(3)
		}
	}
}
`

// noticed builds a program with the mutant in the place of the source file, and
// tells whether it finds a divergence in the fixtures.
func (m engineMutant) noticed(t *testing.T, path, text string) bool {
	dir := t.TempDir()
	source, overlay, program := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(program, []byte(verifyFixtures), 0o600))
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{path: source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replaced, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // a build waits where a machine is busy
	defer cancel()
	command := filepath.Join(dir, "verify")
	out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-overlay", overlay, "-o", command, program).CombinedOutput()
	require.NoError(t, err, "mutant %s does not compile:\n%s", m.name, out)
	out, err = exec.CommandContext(ctx, command).CombinedOutput()
	var exit *exec.ExitError
	return assert.True(t, errors.As(err, &exit) && exit.ExitCode() == 3,
		"mutant %s: %s\nthe replay of the fixtures ended with %v and not with 3:\n%s", m.name, m.about, err, out)
}

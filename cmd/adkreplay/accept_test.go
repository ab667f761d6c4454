package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// accept runs the accept command as on a person's machine.
func accept(t *testing.T, args ...string) outcome {
	t.Helper()
	t.Setenv("CI", "")
	return adkreplay(append([]string{"accept"}, args...)...)
}

// contents are the files that lie directly in a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range filesIn(t, folder) {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			all[name] = readFile(t, filepath.Join(folder, name))
		}
	}
	return all
}

// Without a reason, accept shows what verify shows, and changes nothing.
func TestAcceptShows(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	before := contents(t, ".")
	shown := adkreplay("verify", ".")
	got := accept(t, ".")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Equal(t, shown.out+`acceptable a.jsonl
acceptable b.jsonl
acceptable deep/d.jsonl
3 divergences can be accepted: give --reason 'why it is meant'
`, got.out)
	assert.Equal(t, before, contents(t, "."))
	assert.Equal(t, exitDivergence, accept(t, "a.jsonl").code)
}

// Accepting writes what today's engine does: verify is green afterwards, and the file with the
// reason says what was changed and why. All other files are unchanged.
func TestAccept(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	before := contents(t, ".")
	got := accept(t, ".", "--reason", "Iterations are counted when they end.")
	assert.Equal(t, exitUnreadable, got.code, "cut.jsonl is what it was")
	assert.Contains(t, got.out, "cause 1 of 1: changed output in dispatch: dispatchEnd")
	assert.Contains(t, got.out, "\naccepted a.jsonl: the reason is in a.jsonl.reason\n")
	assert.Equal(t, []string{"3 of 3 divergences accepted"}, last(1, got.out))

	after := contents(t, ".")
	assert.Len(t, after, len(before)+2)
	assert.Equal(t, string(fixture(t, "hello")), after["a.jsonl"], "today's engine does what the fixture says")
	assert.Equal(t, before["stash.jsonl"], after["stash.jsonl"])
	assert.Equal(t, before["cut.jsonl"], after["cut.jsonl"])
	reason := after["a.jsonl.reason"]
	assert.Regexp(t, `\A\d{4}-\d\d-\d\d Iterations are counted when they end\.
    changed output in dispatch: dispatchEnd, iterations: 2 → 1
    changed output at crossing 26, in dispatch
      - \* dispatchEnd dispatch1 ack after 2 iterations, 1 change made…
      \+ \* dispatchEnd dispatch1 ack after 1 iteration, 1 change made in…
        iterations: expected 2, got 1
    sha256 `, reason)
	assert.Contains(t, reason, fmt.Sprintf("    sha256 %x became %x\n", sha256.Sum256([]byte(before["a.jsonl"])), sha256.Sum256([]byte(after["a.jsonl"]))))

	assert.Equal(t, exitSame, adkreplay("verify", "a.jsonl", "b.jsonl", "deep", "stash.jsonl").code)
	assert.Equal(t, exitSame, accept(t, "a.jsonl", "--reason", "Again.").code)
	assert.Equal(t, after, contents(t, "."), "there was nothing to accept")
}

func TestAcceptIsRefused(t *testing.T) {
	path := divergent(t)
	before := readFile(t, path)
	for _, c := range []struct {
		args []string
		ci   string
		want string
	}{
		{[]string{path, "--reason", "Meant."}, "true", "nothing is accepted where the environment variable CI is set: somebody who reads the difference does that"},
		{[]string{path, "--reason", "Meant."}, "1", "nothing is accepted where the environment variable CI is set: somebody who reads the difference does that"},
		{[]string{path, "--reason", " "}, "", "an acceptance needs a reason: say in a line why the change is meant"},
		{[]string{path, "--reason", " \n"}, "", "an acceptance needs a reason: say in a line why the change is meant"},
		{[]string{"--reason", "Meant."}, "", "accept takes files or folders, and got none: the embedded traces are no files"},
		{[]string{"", "--reason", "Meant."}, "", "argument 1 is empty: give a file or a folder"},
	} {
		t.Setenv("CI", c.ci)
		assert.Equal(t, outcome{exitUsage, "", "adkreplay: " + c.want + "; see adkreplay accept --help\n"}, adkreplay(append([]string{"accept"}, c.args...)...))
	}
	t.Setenv("CI", "true")
	assert.Equal(t, exitDivergence, adkreplay("accept", path).code, "showing is no harm")
	assert.Equal(t, before, readFile(t, path))
	assert.Equal(t, []string{"divergent.jsonl"}, filesIn(t, filepath.Dir(path)))
	t.Setenv("CI", "false")
	assert.Equal(t, exitSame, adkreplay("accept", path, "--reason", "Meant.").code)
}

// A trace that cannot be accepted is reported with the reason, and does not keep others from being accepted.
func TestAcceptRefusesATrace(t *testing.T) {
	noted := edited(t, "hello", func(recorded *trace.Trace) {
		moreIterations(recorded)
		recorded.Lines()[3].Extra = []wire.Member{{Name: "note", Value: []byte("1")}}
	})
	cut := edited(t, "hello", moreIterations)
	cut = cut[:bytes.LastIndex(cut, []byte(`{"end"`))]
	root := t.TempDir()
	t.Chdir(root)
	for name, content := range map[string][]byte{"a.jsonl": noted, "b.jsonl": edited(t, "hello", moreIterations), "cut.jsonl": cut} {
		require.NoError(t, os.WriteFile(name, content, 0o600))
	}
	got := accept(t, "a.jsonl", "b.jsonl", "--reason", "Meant.")
	assert.Equal(t, exitDivergence, got.code, "one divergence is left")
	assert.Contains(t, got.out, `refused a.jsonl: crossing 4 has a member "note", which this version does not know and would lose`)
	assert.Contains(t, got.out, "\naccepted b.jsonl: ")
	assert.Contains(t, got.out, "\nto have such a turn all the same, record it anew, into that file: ")
	assert.Equal(t, []string{"1 of 2 divergences accepted"}, last(1, got.out))
	assert.Equal(t, string(noted), readFile(t, "a.jsonl"))

	got = accept(t, "cut.jsonl", "--reason", "Meant.")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "refused cut.jsonl:33: truncated trace: ")
	assert.NotContains(t, got.out, "record it anew", "it is no turn that can be recorded")
	assert.Equal(t, string(cut), readFile(t, "cut.jsonl"))
	assert.Equal(t, []string{"a.jsonl", "b.jsonl", "b.jsonl.reason", "cut.jsonl"}, filesIn(t, root))

	got = accept(t, "a.jsonl", "cut.jsonl", "--reason", "Meant.")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "record it anew", "one of them can be")
}

// If the trace or the reason cannot be written, neither of them changes.
func TestAcceptThatCannotBeWritten(t *testing.T) {
	path := divergent(t)
	before := readFile(t, path)
	require.NoError(t, os.Mkdir(path+corpus.ReasonEnding, 0o755))
	got := accept(t, path, "--reason", "Meant.")
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.out, "refused "+path+": ")
	assert.Equal(t, before, readFile(t, path))

	path = divergent(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("n", 250)) // the temporary file of the new trace, but not that of the reason, would have a name that is too long
	require.NoError(t, os.Rename(path, long))
	require.NoError(t, os.Symlink(long, path))
	got = accept(t, path, "--reason", "Meant.")
	assert.Equal(t, exitInternal, got.code)
	assert.Equal(t, before, readFile(t, path))
	assert.Equal(t, []string{"divergent.jsonl"}, filesIn(t, filepath.Dir(path)), "no reason is left of what was not done")

	require.NoError(t, os.WriteFile(path+corpus.ReasonEnding, []byte("earlier\n"), 0o600))
	assert.Equal(t, exitInternal, accept(t, path, "--reason", "Meant.").code)
	assert.Equal(t, "earlier\n", readFile(t, path+corpus.ReasonEnding))
}

// A reason is written as one line, whatever it contains, and has no control sequences for a terminal.
func TestAcceptedReasonIsOneLine(t *testing.T) {
	path := divergent(t)
	require.Equal(t, exitSame, accept(t, path, "--reason", "First\nline\x1b[31m.").code)
	assert.Regexp(t, `\A\d{4}-\d\d-\d\d First line\\x1b\[31m\.\n    changed`, readFile(t, path+corpus.ReasonEnding))
}

// A change that could not be shown is not accepted, wherever the output ends: on a full disk, or
// because somebody closes the pipe.
func TestAcceptsNothingThatIsNotShown(t *testing.T) {
	t.Setenv("CI", "")
	t.Chdir(folder(t, "stash"))
	before := contents(t, ".")
	verified, _, found := strings.Cut(accept(t, ".").out, "acceptable")
	require.True(t, found)
	for lines := range strings.Count(verified, "\n") + 1 { // the last line says how many can be accepted
		out := writerFunc(func(p []byte) (int, error) {
			if lines -= bytes.Count(p, []byte("\n")); lines < 0 {
				return 0, errDiskFull
			}
			return len(p), nil
		})
		assert.Equal(t, exitInternal, execute([]string{"accept", ".", "--reason", "Meant."}, out, &bytes.Buffer{}))
	}
	assert.True(t, maps.Equal(before, contents(t, ".")))
}

// Nothing is added to reasons that were merged and have the markers of git in them.
func TestAcceptBehindAConflict(t *testing.T) {
	path := divergent(t)
	before := readFile(t, path)
	merged := "2026-01-02 First.\n<<<<<<< HEAD\n=======\n>>>>>>> a\n"
	require.NoError(t, os.WriteFile(path+corpus.ReasonEnding, []byte(merged), 0o600))
	got := accept(t, path, "--reason", "Meant.")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, path+corpus.ReasonEnding+":2: these are git's conflict markers: keep the reasons of both sides")
	assert.NotContains(t, got.out, "record it anew")
	assert.Equal(t, before, readFile(t, path))
	assert.Equal(t, merged, readFile(t, path+corpus.ReasonEnding))
}

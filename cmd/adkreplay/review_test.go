package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/corpus"
)

// answering runs a command in a terminal in which somebody types these lines.
func answering(t *testing.T, lines string, args ...string) outcome {
	t.Helper()
	return answered(t, strings.NewReader(lines), args...)
}

func answered(t *testing.T, answers io.Reader, args ...string) outcome {
	t.Helper()
	t.Setenv("CI", "")
	var out, err bytes.Buffer
	terminal := newTerminal(&out, &err)
	terminal.in, terminal.asks = answers, true
	exit := classified(run(context.Background(), terminal, append([]string{"review"}, args...)))
	if exit.err != nil {
		terminal.warn(exit.Error())
	}
	return outcome{exit.code, out.String(), err.String()}
}

// Accepting a cause accepts each of its traces, with the reason. The review shows what verify
// shows.
func TestReviewAccepts(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	before := contents(t, ".")
	got := answering(t, "a\nIterations are counted when they end.\ny\n", ".")
	assert.Equal(t, exitUnreadable, got.code, "cut.jsonl cannot be read")
	assert.Contains(t, got.out, "\n1 of 1: changed output in dispatch: dispatchEnd, iterations: 2 → 1\n  in 3 traces: a.jsonl, b.jsonl, deep/d.jsonl\n")
	assert.Contains(t, got.out, "\naccept a.jsonl: Iterations are counted when they end.\n")
	assert.Contains(t, got.out, "\n3 of 3 files to be accepted\nwrite this? [y/N] accepted a.jsonl: ")
	assert.Equal(t, []string{"3 of 3 files accepted"}, last(1, got.out))
	after := contents(t, ".")
	assert.Equal(t, string(fixture(t, "hello")), after["a.jsonl"])
	assert.Contains(t, after["a.jsonl.reason"], "Iterations are counted when they end.")
	assert.Equal(t, before["cut.jsonl"], after["cut.jsonl"])
	require.NoError(t, os.Remove("cut.jsonl"))
	assert.Equal(t, outcome{exitSame, "nothing has changed\n", ""}, answering(t, "", "."))
}

// What was shown is accepted, and not what was written into the file while the person was reading.
func TestReviewAcceptsWhatWasShown(t *testing.T) {
	path := divergent(t)
	meanwhile := string(edited(t, "stash", moreIterations))
	answers := &meanwhileReader{Reader: strings.NewReader("a\nMeant.\ny\n"), do: func() { require.NoError(t, os.WriteFile(path, []byte(meanwhile), 0o600)) }}
	got := answered(t, answers, path)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "refused "+path+": it has changed since it was shown: look at it again\n")
	assert.Equal(t, meanwhile, readFile(t, path))
	assert.Equal(t, []string{filepath.Base(path)}, filesIn(t, filepath.Dir(path)))
}

// meanwhileReader calls a function when the person begins to answer.
type meanwhileReader struct {
	io.Reader
	do func()
}

func (r *meanwhileReader) Read(into []byte) (int, error) {
	r.do()
	return r.Reader.Read(into)
}

// Nothing is written before the end of a review, nor if the person ends it early, leaves, or does not confirm.
func TestReviewWritesNothingUnmeant(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	require.NoError(t, os.Remove("cut.jsonl"))
	before := contents(t, ".")
	for _, lines := range []string{"", "q\n", "l\n", "a\n", "a\nMeant.\n", "a\nMeant.\nn\n", "a\nMeant.\n\n", "s\n9\nq\n", "s\n1\n\nq\n", "?\nx\n"} {
		got := answering(t, lines, ".")
		assert.Equal(t, exitDivergence, got.code, "%q", lines)
		assert.Equal(t, before, contents(t, "."), "%q", lines)
	}
}

// If only some traces of a cause are accepted, the others still diverge.
func TestReviewOfSome(t *testing.T) {
	t.Chdir(folder(t, "stash"))
	require.NoError(t, os.Remove("cut.jsonl"))
	got := answering(t, "s\n1 3-3\nMeant.\ny\n", ".")
	assert.Equal(t, exitDivergence, got.code, got.out)
	assert.Contains(t, got.out, "   2  b.jsonl\n")
	assert.Contains(t, got.out, "\naccept deep/d.jsonl: Meant.\n")
	assert.Contains(t, got.out, "\nleave  b.jsonl\n")
	assert.Equal(t, exitSame, adkreplay("verify", "a.jsonl", "deep").code)
	assert.Equal(t, exitDivergence, adkreplay("verify", "b.jsonl").code)
}

// A trace is opened in the person's own editor.
func TestReviewOpens(t *testing.T) {
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "")
	path := divergent(t)
	assert.Contains(t, answering(t, "o\nq\n", path).out, "no editor is known: set VISUAL or EDITOR, or open "+path+" yourself\n")
	t.Setenv("VISUAL", "no-such-editor --wait")
	assert.Contains(t, answering(t, "o\nq\n", path).out, "no-such-editor: ")
	if _, err := exec.LookPath("rm"); err != nil {
		t.Skipf("there is no rm, which shows that it was given the file: %v", err)
	}
	t.Setenv("VISUAL", "rm --")
	assert.Contains(t, answering(t, "o\no\nq\n", path).out, "\n", "what was done to the file is not our business")
	assert.NoFileExists(t, path)
}

// Without a terminal, review lists the causes and the commands to run.
func TestReviewWithoutATerminal(t *testing.T) {
	t.Setenv("CI", "")
	path := divergent(t)
	got := adkreplay("review", path)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "1 of 1: changed output in dispatch")
	assert.Contains(t, got.out, " accept --reason 'why it is meant' "+path+"\n")
	assert.Equal(t, []string{"nothing is asked, since this is no terminal"}, last(1, got.out))
	for says, args := range map[string][]string{"got none": nil, "no trace: give a file": {"-"}, "argument 1 is empty": {""}, "--pending is empty: want --pending folder": {"--pending", ""}} {
		got := adkreplay(append([]string{"review"}, args...)...)
		assert.Equal(t, exitUsage, got.code)
		assert.Contains(t, got.err, says)
	}
	t.Setenv("CI", "true")
	assert.Equal(t, exitUsage, adkreplay("review", path).code)
}

// A folder of other files is refused; a folder whose changes were all reviewed says that nothing has changed.
func TestReviewOfAnotherFolder(t *testing.T) {
	t.Setenv("CI", "")
	folder := t.TempDir()
	assert.Equal(t, outcome{exitSame, "nothing has changed\n", ""}, adkreplay("review", "--pending", folder))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "turn.jsonl"), fixture(t, "hello"), 0o600))
	got := adkreplay("review", "--pending", folder)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.err, " has nothing that go test left, but turn.jsonl: give the folder that ADKREPLAY_PENDING named\n")
}

// Changes that go test left are reviewed too: files with one cause are one change, and a file that
// has changed since is refused.
func TestReviewOfPending(t *testing.T) {
	home, pending := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.golden", "b.golden", "c.golden"} {
		file := filepath.Join(home, name)
		require.NoError(t, os.WriteFile(file, []byte("hello\n"), 0o600))
		word := map[bool]string{true: "goodbye\n", false: "good morning\n"}[name == "c.golden"]
		p := corpus.Pending{File: file, Causes: []string{"- hello\n+ " + word}, Shown: "@@\n-hello\n+" + word, Changes: []string{"from line 1 on"}, Content: []byte(word),
			Accept: "go test . -run '^TestHello$' -update"}
		require.NoError(t, p.Keep(pending))
	}
	got := answering(t, "a\nThe sun is up.\nl\ny\n", "--pending", pending)
	assert.Equal(t, exitDivergence, got.code, got.out+got.err)
	assert.Contains(t, got.out, "1 of 2: in 2 files: ")
	content := contents(t, home)
	assert.Equal(t, []string{"good morning\n", "good morning\n", "hello\n"}, []string{content["a.golden"], content["b.golden"], content["c.golden"]})
	assert.Contains(t, content["b.golden.reason"], "The sun is up.\n    from line 1 on\n")
	assert.Len(t, filesIn(t, pending), 1, "what was accepted is pending no more")

	require.NoError(t, os.WriteFile(filepath.Join(home, "c.golden"), []byte("other\n"), 0o600))
	got = answering(t, "a\nMeant.\ny\n", "--pending", pending)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "it has changed since the check: run go test again\n")
	assert.Equal(t, "other\n", contents(t, home)["c.golden"])
	assert.Equal(t, []string{"next: go test . -run '^TestHello$' -update", "nothing is asked, since this is no terminal"},
		last(2, adkreplay("review", "--pending", pending).out), "it runs as it stands")

	require.NoError(t, os.WriteFile(filepath.Join(pending, "x.pending.json"), []byte("{}"), 0o600))
	assert.Equal(t, exitUnreadable, adkreplay("review", "--pending", pending).code)
}

// A cause is printed once, even if what is shown contains it, folded or as lines of a diff. If
// that does not contain it, the cause is printed above.
func TestReviewSaysACauseOnce(t *testing.T) {
	t.Setenv("CI", "")
	home, pending := t.TempDir(), t.TempDir()
	for name, p := range map[string]corpus.Pending{
		"a.golden": {Causes: []string{"- hello\n+ goodbye"}, Shown: "--- Expected\n+++ Actual\n@@ -1 +1 @@\n-hello\n+goodbye\n"},
		"b.jsonl":  {Causes: []string{"changed input in run: prompt"}, Shown: "changed input in\n    run: prompt\n  at crossing 1\n"},
		"c.jsonl":  {Causes: []string{"a new seam", "an old one"}, Shown: "changed input: a new seam\n"},
	} {
		p.File, p.Changes, p.Content = filepath.Join(home, name), []string{"from line 1 on"}, []byte("x\n")
		require.NoError(t, os.WriteFile(p.File, []byte("y\n"), 0o600))
		require.NoError(t, p.Keep(pending))
	}
	out := adkreplay("review", "--pending", pending).out
	assert.Contains(t, out, "a.golden\n--- Expected\n+++ Actual\n@@ -1 +1 @@\n-hello\n+goodbye\n")
	assert.Contains(t, out, "b.jsonl\nchanged input in\n    run: prompt\n  at crossing 1\n")
	assert.Contains(t, out, "c.jsonl\na new seam\nan old one\nchanged input: a new seam\n")
}

// A change that cannot be accepted is named with the reason, and there is no question about it. A
// missing folder is not treated as an empty one.
func TestReviewNamesWhatIsRefused(t *testing.T) {
	t.Setenv("CI", "")
	home, pending := t.TempDir(), t.TempDir()
	assert.Equal(t, outcome{exitSame, "nothing has changed\n", ""}, adkreplay("review", "--pending", pending))
	none := filepath.Join(pending, "none")
	assert.Equal(t, outcome{exitUnreadable, "", "adkreplay: there is no folder " + none + ": no check of package golden has run with ADKREPLAY_PENDING set to its whole path\n"},
		adkreplay("review", "--pending", none))

	a, b := filepath.Join(home, "a.jsonl"), filepath.Join(home, "b.jsonl")
	for _, file := range []string{a, b} {
		require.NoError(t, os.WriteFile(file, []byte("hello\n"), 0o600))
	}
	require.NoError(t, corpus.Pending{File: a, Causes: []string{"- hello"}, Shown: "x", Changes: []string{"y"}, Content: []byte("goodbye\n")}.Keep(pending))
	require.NoError(t, corpus.Pending{File: b, Causes: []string{"unanswered: fetch"}, Shown: "x", Refused: "the recording has no answer"}.Keep(pending))
	got := answering(t, "a\nIt is meant.\ny\n", "--pending", pending)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "refused "+b+": the recording has no answer\n    unanswered: fetch\n")
	assert.Contains(t, got.out, "record it anew, into that file: ")
	assert.Equal(t, []string{"1 of 2 files accepted"}, last(1, got.out))
	assert.Equal(t, "hello\n", contents(t, home)["b.jsonl"])
	assert.Len(t, filesIn(t, pending), 1, "it is there until it is mended")
}

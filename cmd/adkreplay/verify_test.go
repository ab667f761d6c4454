package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

const noUserCode = "every seam was played from its recording: no user code ran"

func TestParseVerify(t *testing.T) {
	nothing := func(string) string { return "" }
	to := reportOptions{json: "report.json"}
	o, err := parseVerify(verifyOptions{parallel: 3, reports: to}, "2/5", []string{"a", "b"}, nothing)
	assert.NoError(t, err)
	assert.Equal(t, verifyOptions{paths: []string{"a", "b"}, parallel: 3, shard: corpus.Shard{Index: 2, Count: 5}, reports: to}, o)
	_, err = parseVerify(verifyOptions{parallel: 1}, "", []string{"a", ""}, nothing)
	assert.EqualError(t, err, "argument 2 is empty: give a file or a folder, or no argument")
}

// embeddedTurns is the number of traces that are part of the command: those of the scenarios, and
// those of the turns of sessions.
func embeddedTurns() int {
	_, traces := sessions.Recordings(embedded())
	return len(traces)
}

// The embedded traces are those of all scenarios and sessions, and all of them verify as the same;
// so do the journals.
func TestVerifyEmbedded(t *testing.T) {
	got := adkreplay("verify", "--verbose")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	turns, folders := embeddedTurns(), len(scenarios.Sessions())
	require.Len(t, lines, turns+folders+3)
	for _, line := range lines[:turns] {
		assert.Regexp(t, `^same [a-z0-9/-]+: \d+ crossings$`, line)
	}
	for _, line := range lines[turns : turns+folders] {
		assert.Regexp(t, `^same sessions of sessions/[a-z-]+: \d journals?, \d sessions?, \d attempts?, \d commits?$`, line)
	}
	lines = lines[turns+folders:]
	assert.Regexp(t, `^\d+ journals, \d+ sessions, \d+ attempts, \d+ commits, 0 divergences$`, lines[0])
	assert.Equal(t, noUserCode, lines[1])
	assert.Regexp(t, `^\d+ traces, \d+ crossings, 0 divergences$`, lines[2])
	assert.True(t, strings.HasPrefix(lines[2], safetext.Counted(turns, "trace")+","))
	assert.Greater(t, turns, len(scenarios.All()))
}

func TestVerifyAFile(t *testing.T) {
	path := good(t)
	assert.Equal(t, outcome{exitSame, "same " + path + ": 31 crossings\n" + noUserCode + "\n1 trace, 31 crossings, 0 divergences\n", ""},
		adkreplay("verify", path))
}

func TestVerifyADivergence(t *testing.T) {
	path := divergent(t)
	next := func(flags string) string {
		return "next: " + shell.Broken("go run github.com/adkreplay/adkreplay/cmd/adkreplay show "+path+" "+flags, 62) + "\n"
	}
	assert.Equal(t, outcome{exitDivergence, "divergence " + path + `: changed output at crossing 26, in dispatch
  - * dispatchEnd dispatch1 ack after 2 iterations, 1 change made…
  + * dispatchEnd dispatch1 ack after 1 iteration, 1 change made in…
    iterations: expected 2, got 1
` + next("--from 16 --to 35") + `agreed before:
    ack
    ack done
    executor/model#0 returns
` + noUserCode + "\n1 trace, 25 crossings, 1 divergence\n", ""}, adkreplay("verify", path))
}

// Every trace has a verdict, whatever the others have. For an unreadable one it names the file,
// the line and the fault.
func TestVerifyGoesOn(t *testing.T) {
	cut, next, bad, changed, same, empty := truncated(t), ofNextVersion(t), malformed(t), changedByHand(t), good(t), t.TempDir()
	packed := filepath.Join(t.TempDir(), "a.jsonl.gz")
	require.NoError(t, os.WriteFile(packed, nil, 0o600))
	got := adkreplay("verify", cut, "nosuch.jsonl", next, bad, changed, empty, filepath.Dir(packed), same)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	want := []string{
		"unreadable " + cut + ":11: truncated trace: the file ends without a footer",
		"unreadable nosuch.jsonl: no such file or directory",
		"unreadable " + next + ":1: trace of another version: the format's version is 6",
		"unreadable " + bad + ":9: malformed trace: ",
		"unreadable " + changed + ":33: changed trace: ",
		"unreadable " + empty + ": there is no trace: the names of traces end in .jsonl or .jsonl.zst",
		"unreadable " + packed + ": this is not read as a trace: ",
		"same " + same + ": 31 crossings",
		"7 traces could not be read",
		noUserCode,
	}
	require.Len(t, lines, len(want)+1, got.out)
	for i := range want {
		assert.True(t, strings.HasPrefix(lines[i], want[i]), "%s\nshould begin with\n%s", lines[i], want[i])
	}
	assert.Regexp(t, `^8 traces, \d+ crossings, 0 divergences$`, lines[len(want)])
	assert.Equal(t, exitUnreadable, got.code)
}

// If nothing ran at all, the output does not claim that no user code ran.
func TestVerifyOfNothingReadable(t *testing.T) {
	assert.Equal(t, outcome{exitUnreadable,
		"unreadable nosuch.jsonl: no such file or directory\n1 trace could not be read\n1 trace, 0 crossings, 0 divergences\n", ""},
		adkreplay("verify", "nosuch.jsonl"))
}

// A trace that diverges is still read to its end: a file that somebody changed proves nothing
// about the engine.
func TestVerifyReadsADivergentTraceToItsEnd(t *testing.T) {
	content := edited(t, "hello", moreIterations)
	cut := put(t, "cut.jsonl", content[:bytes.LastIndex(content, []byte(`{"end"`))])
	got := adkreplay("verify", cut)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "divergence "+cut+": changed output at crossing 26")
	assert.Contains(t, got.out, "unreadable "+cut+":33: truncated trace: ")
	assert.Equal(t, "1 trace, 25 crossings, 1 divergence", last(1, got.out)[0])
}

// A well-formed file without a turn cannot be read as the trace of one.
func TestVerifyOfNoTurn(t *testing.T) {
	path := put(t, "none.jsonl", edited(t, "hello", func(recorded *trace.Trace) { recorded.SetLines(recorded.Lines()[1:2]); recorded.Lines()[0].Call = 0 }))
	got := adkreplay("verify", path)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "unreadable "+path+":2: impossible trace: it begins with turnStart")
}

func TestVerifyAFolder(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"b.jsonl", "a/z.jsonl", "a/deep/x.jsonl", "a/notes.txt", "folder.jsonl/y.jsonl"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), fixture(t, "hello"), 0o600))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(root, link))
	for _, folder := range []string{root, link} {
		got := adkreplay("verify", folder)
		var want []string
		for _, path := range []string{"a/deep/x.jsonl", "a/z.jsonl", "b.jsonl", "folder.jsonl/y.jsonl"} {
			want = append(want, "same "+filepath.Join(folder, path)+": 31 crossings")
		}
		want = append(want, noUserCode, "4 traces, 124 crossings, 0 divergences", "")
		assert.Equal(t, strings.Join(want, "\n"), got.out)
		assert.Equal(t, exitSame, got.code)
	}
}

// document is the JSON that programs expect from verify --json.
type document struct {
	Traces []struct {
		Trace      string
		Crossings  int
		Divergence *struct {
			Class, Seam, Expected, Got string
			Crossing, Strand           int
			At                         int64
			Before                     []string
			Fields                     []struct{ Field, Want, Got string }
		}
		Error string
	}
	Crossings, Divergences, Unreadable, ExitCode int
	UserCode                                     bool
	Error                                        string
}

func TestVerifyJSON(t *testing.T) {
	paths := []string{good(t), divergent(t), truncated(t), "nosuch.jsonl"}
	got := adkreplay(append([]string{"verify", "--json"}, paths...)...)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Empty(t, got.err)
	d := decoded[document](t, got.out)
	require.Len(t, d.Traces, 4)
	for i, v := range d.Traces {
		assert.Equal(t, paths[i], v.Trace)
	}
	same, differs, cut, absent := d.Traces[0], d.Traces[1], d.Traces[2], d.Traces[3]
	assert.Equal(t, 31, same.Crossings)
	assert.Nil(t, same.Divergence)
	assert.Empty(t, same.Error)

	require.NotNil(t, differs.Divergence)
	x := differs.Divergence
	assert.Equal(t, "changed output", x.Class)
	assert.Equal(t, 26, x.Crossing)
	assert.Equal(t, "dispatch", x.Seam)
	assert.Zero(t, x.Strand)
	assert.Zero(t, x.At)
	assert.Equal(t, "* dispatchEnd dispatch1 ack after 2 iterations, 1 change made in the turn", x.Expected)
	assert.Equal(t, "* dispatchEnd dispatch1 ack after 1 iteration, 1 change made in the turn", x.Got)
	assert.Len(t, x.Before, 3)
	require.Len(t, x.Fields, 1)
	assert.Equal(t, "iterations", x.Fields[0].Field)
	assert.Equal(t, []string{"2", "1"}, []string{x.Fields[0].Want, x.Fields[0].Got})

	assert.True(t, strings.HasPrefix(cut.Error, paths[2]+":11: truncated trace: "), cut.Error)
	assert.Equal(t, "nosuch.jsonl: no such file or directory", absent.Error)

	assert.Equal(t, []int{same.Crossings + differs.Crossings + cut.Crossings, 1, 2, exitUnreadable},
		[]int{d.Crossings, d.Divergences, d.Unreadable, d.ExitCode})
	assert.False(t, d.UserCode)
	assert.Empty(t, d.Error)
}

// Programs rely on the names of the members.
func TestVerifyJSONNames(t *testing.T) {
	var raw struct{ Traces []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(adkreplay("verify", "--json", divergent(t), "nosuch.jsonl").out), &raw))
	keys := func(m map[string]any) (names []string) {
		for name := range m {
			names = append(names, name)
		}
		return names
	}
	assert.ElementsMatch(t, []string{"trace", "number", "crossings", "divergence", "cause"}, keys(raw.Traces[0]))
	assert.ElementsMatch(t, []string{"trace", "number", "crossings", "error"}, keys(raw.Traces[1]))
	assert.ElementsMatch(t, []string{"trace", "class", "crossing", "seam", "at", "expected", "got", "fields", "before"},
		keys(raw.Traces[0]["divergence"].(map[string]any)))
}

// A program that asked for JSON gets JSON, whatever happens.
func TestVerifyJSONOfFailures(t *testing.T) {
	for _, args := range [][]string{
		{"verify", "--json", "--fast"}, {"verify", "--fast", "--json"}, {"verify", "--json", ""},
	} {
		got := adkreplay(args...)
		d := decoded[document](t, got.out)
		assert.Equal(t, exitUsage, got.code)
		assert.Equal(t, exitUsage, d.ExitCode)
		assert.Equal(t, "adkreplay: "+d.Error+"\n", got.err)
		assert.NotNil(t, d.Traces)
		assert.Empty(t, d.Traces)
	}
	for _, args := range [][]string{{"verify", "--fast"}, {"verify", "--fast", "--", "--json"}, {"run", "--json"}, {"--json"}} {
		assert.Empty(t, adkreplay(args...).out, "%q asks for no JSON", args)
	}
}

func TestInterruptedVerifyJSON(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	var out, stderr bytes.Buffer
	assert.Equal(t, exitInternal, executeContext(ctx, []string{"verify", "--json", good(t)}, &out, &stderr))
	d := decoded[document](t, out.String())
	assert.Equal(t, exitInternal, d.ExitCode)
	assert.Equal(t, "interrupted: 0 of 1 trace were verified", d.Error)
	assert.Equal(t, "adkreplay: "+d.Error+"\n", stderr.String())
}

// A long reason why traces cannot be read is written once, and each of the others names the trace
// that had it.
func TestALongReasonIsWrittenOnce(t *testing.T) {
	lines := bytes.SplitAfter(fixture(t, "hello"), []byte("\n"))
	conflict := bytes.Join(slices.Insert(lines, 5, []byte("<<<<<<< HEAD\n")), nil)
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", "b.jsonl", "c.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), conflict, 0o600))
	}
	for _, command := range []string{"verify", "check", "lint", "accept", "stats"} {
		got := adkreplay(command, dir)
		assert.Equal(t, exitUnreadable, got.code, command)
		said := got.out + got.err
		assert.Equal(t, 1, strings.Count(said, "these are git's conflict markers"), "%s: %s", command, said)
		for _, name := range []string{"b.jsonl", "c.jsonl"} {
			assert.Contains(t, said, name+":6: as in "+dir+"/a.jsonl:6\n", command)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/trace"
)

func TestParseDiff(t *testing.T) {
	o, err := parseDiff(diffOptions{times: true}, []string{"a", "b"})
	assert.NoError(t, err)
	assert.Equal(t, diffOptions{a: "a", b: "b", times: true}, o)
	_, err = parseDiff(diffOptions{}, []string{"a"})
	assert.EqualError(t, err, "diff takes two files, and got 1")
}

// golden compares an output with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".txt")).Assert(t, name, []byte(text))
}

func TestDiff(t *testing.T) {
	a := put(t, "a.jsonl", fixture(t, "tool-round-trip"))
	b := put(t, "b.jsonl", fixture(t, "tool-failure"))
	got := adkreplay("diff", a, b)
	assert.Equal(t, exitDivergence, got.code)
	assert.Empty(t, got.err)
	golden(t, "diff", got.out)

	got = adkreplay("diff", a, a)
	assert.Equal(t, exitSame, got.code)
	golden(t, "diff-same", got.out)
}

func TestDiffJSON(t *testing.T) {
	got := adkreplay("diff", "--json", "--encoding", "claude", good(t), divergent(t))
	assert.Equal(t, exitDivergence, got.code)
	var d diff.Diff
	require.NoError(t, json.Unmarshal([]byte(got.out), &d))
	require.Len(t, d.Changes, 1)
	assert.Equal(t, []compare.FieldDiff{{Field: "iterations", Want: "1", Got: "2"}}, d.Changes[0].Fields)
	assert.Equal(t, "claude", d.Encoding)
}

// Times are compared only if a flag asks for it.
func TestDiffTimes(t *testing.T) {
	later := put(t, "later.jsonl", edited(t, "hello", func(recorded *trace.Trace) {
		for i := range recorded.Lines()[10:] {
			recorded.Lines()[i+10].At = recorded.Lines()[i+10].At.Add(1)
		}
	}))
	assert.Equal(t, exitSame, adkreplay("diff", good(t), later).code)
	got := adkreplay("diff", "--times", good(t), later)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, `at: "0s" → "1ns"`)
}

// A trace that breaks off is compared up to its end; the command fails.
func TestDiffOfATruncatedTrace(t *testing.T) {
	path := truncated(t)
	got := adkreplay("diff", path, good(t))
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "crossings: 9 equal, 0 follow, 0 changed, 0 only in a, 22 only in b\n")
	assert.Contains(t, got.out, "cut short")
	assert.Equal(t, "adkreplay: "+path+":11: truncated trace: the file ends without a footer: it was cut short, or is still being written\n", got.err)
}

func TestDiffOfWhatIsNoTrace(t *testing.T) {
	path := put(t, "notes.txt", []byte("hello\n"))
	got := adkreplay("diff", path, "nosuch.jsonl")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Empty(t, got.out)
	assert.Equal(t, "adkreplay: "+path+":1: no trace: it begins with \"hello\\n\", and a trace with {\"adkreplay\":\"trace\"\nnosuch.jsonl: no such file or directory\n", got.err)
}

// Colours are only for terminals, and text of a trace cannot produce any.
func TestDiffIsPlain(t *testing.T) {
	hostile := put(t, "hostile.jsonl", edited(t, "hello", func(recorded *trace.Trace) {
		for i := range recorded.Lines() {
			if recorded.Lines()[i].Kind == adk.KindReportMessage {
				recorded.Lines()[i].Text = "\x1b[2Jgone"
			}
		}
	}))
	got := adkreplay("diff", good(t), hostile)
	assert.Contains(t, got.out, `"\x1b[2Jgone"`)
	assert.NotContains(t, strings.ReplaceAll(got.out, "\n", ""), "\x1b")
}

// Conflict markers that git left are reported together with what to do. That the trace ends there
// is not shown as a difference, as nobody looks for it.
func TestDiffWithAConflict(t *testing.T) {
	lines := bytes.SplitAfter(fixture(t, "hello"), []byte("\n"))
	path := put(t, "conflict.jsonl", bytes.Join(slices.Insert(lines, 5, []byte("<<<<<<< HEAD\n")), nil))
	for _, args := range [][]string{{good(t), path}, {path, good(t)}} {
		got := adkreplay(append([]string{"diff"}, args...)...)
		assert.Equal(t, outcome{exitUnreadable, "", "adkreplay: " + path + ":6: malformed trace: these are git's conflict markers, and no recording is merged line by line: " +
			"take one side whole (git checkout --ours FILE, or --theirs), and run the test with -update, which needs a reason (ADKREPLAY_REASON)\n"}, got)
		document := decoded[compared](t, adkreplay(append([]string{"diff", "--json"}, args...)...).out)
		assert.Equal(t, exitUnreadable, document.ExitCode)
		assert.Contains(t, document.Error, "these are git's conflict markers")
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

func TestParseExamine(t *testing.T) {
	o, err := parseExamine(true, false, listOptions{}, []string{"a", "b"})
	assert.NoError(t, err)
	assert.Equal(t, examineOptions{paths: []string{"a", "b"}, json: true}, o)
	_, err = parseExamine(false, false, listOptions{}, []string{"a", ""})
	assert.EqualError(t, err, "argument 2 is empty: give a file or a folder, or no argument")
	_, err = parseExamine(true, true, listOptions{}, nil)
	assert.ErrorContains(t, err, "--github prints on the standard output")
}

// violated is a trace in which a gate accepted a second signal.
func violated(t *testing.T) string {
	return put(t, "violated.jsonl", edited(t, "late-signal", func(recorded *trace.Trace) {
		for i := range recorded.Lines() {
			if recorded.Lines()[i].Kind == adk.KindNack {
				recorded.Lines()[i].Err = nil
			}
		}
	}))
}

func hinted(t *testing.T) string { return put(t, "hinted.jsonl", fixture(t, "loud-listener")) }

// The embedded traces hold all invariants: each is reported as such in one line.
func TestCheckEmbedded(t *testing.T) {
	got := adkreplay("check", "--verbose")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	require.Len(t, lines, embeddedTurns()+1)
	for _, line := range lines[:len(lines)-1] {
		assert.Regexp(t, `^holds [a-z0-9/-]+: \d+ crossings$`, line)
	}
	assert.Regexp(t, `^\d+ traces, \d+ crossings, 0 violations$`, lines[len(lines)-1])
	assert.Equal(t, exitSame, got.code)
	assert.Empty(t, got.err)
}

func TestCheckAViolation(t *testing.T) {
	path := violated(t)
	assert.Equal(t, outcome{exitFound, "violated " + path + `: first-signal-wins (SIG-1) at crossing 25, in executor/model#0: a second signal is accepted
  An answer that was refused is delivered all the same, or the other way round.
    ack
    … 1 crossing
    nack with error: changed my mind
1 trace, 34 crossings, 1 violation
`, ""}, adkreplay("check", path))
}

// check reports no hints, and lint reports no violations.
func TestCheckAndLintAreApart(t *testing.T) {
	assert.Equal(t, exitSame, adkreplay("check", hinted(t)).code)
	got := adkreplay("lint", violated(t))
	assert.Equal(t, exitSame, got.code)
	assert.Contains(t, got.out, "clean ")
}

func TestLintAHint(t *testing.T) {
	path := hinted(t)
	assert.Equal(t, outcome{exitFound, "hint " + path + `: contained-failure at crossing 19, in executor/model#0: listener of message: the screen is gone
  The failure was kept from the turn, and nobody but the trace knows of it. Mend the listener, the handler or the late use of a handle.
    !! contained: listener of message: the screen is gone
1 trace, 32 crossings, 1 hint
`, ""}, adkreplay("lint", path))
}

// A hint that several traces share is shown once, and three more places are named.
func TestLintShowsTheSameOnce(t *testing.T) {
	folder := t.TempDir()
	for i := range 5 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.jsonl", i)), fixture(t, "loud-listener"), 0o600))
	}
	at := func(i int) string { return filepath.Join(folder, fmt.Sprintf("%d.jsonl (crossing 19)", i)) }
	again := "hint contained-failure in executor/model#0, 4 times more, in 4 traces: " + at(1) + ", " + at(2) + ", " + at(3) + " and 1 more, all with --verbose\n"
	got := adkreplay("lint", folder)
	assert.Equal(t, exitFound, got.code)
	assert.Equal(t, 1, strings.Count(got.out, "!! contained"))
	assert.Contains(t, got.out, again+"5 traces, 160 crossings, 5 hints\n")
	assert.Equal(t, 5, strings.Count(adkreplay("lint", "--verbose", folder).out, "!! contained"))
	var all struct {
		Traces []struct{ Hints []property.Hint }
	}
	require.NoError(t, json.Unmarshal([]byte(adkreplay("lint", "--json", folder).out), &all))
	for _, trace := range all.Traces {
		assert.Len(t, trace.Hints, 1)
	}
}

// Ids, and names that differ between traces, do not make another hint: a gate may be named after what it is
// about, so it has another name in each trace, but is one line of code. Two names in one trace are two gates.
func TestLintCountsWhatHasOtherNames(t *testing.T) {
	folder := t.TempDir()
	turn := func(file string, gates ...string) {
		config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			left, leave := context.WithCancel(ctx)
			leave()
			for _, id := range gates {
				_, _ = dc.WaitFor(left, adk.Gate{ID: id, Reason: "refund?"})
			}
			return dc.Ack()
		}}}
		var trace bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), trace.Bytes(), 0o600))
	}
	turn("a.jsonl", "refund-ed43d8384ee7", "refund-9c71d7f72f17", "ana", "ben")
	turn("b.jsonl", "refund-d39a37bc291d", "cleo")
	turn("c.jsonl", "dora")
	got := adkreplay("lint", folder)
	var shown []string
	for _, line := range strings.Split(got.out, "\n") {
		if _, text, ok := strings.Cut(line, "gate-without-timeout "); ok && strings.HasPrefix(line, "hint") {
			_, text, _ = strings.Cut(text, "executor/model#0")
			shown = append(shown, strings.ReplaceAll(text, folder+string(filepath.Separator), ""))
		}
	}
	require.Len(t, shown, 4, got.out)
	assert.Equal(t, []string{`: gate "refund-ed43d8384ee7" has no timeout`, `: gate "ana" has no timeout`, `: gate "ben" has no timeout`}, shown[:3])
	assert.Regexp(t, `^, 4 times more, in 3 traces: a\.jsonl \(crossing \d+\), b\.jsonl \(crossing \d+\), b\.jsonl \(crossing \d+\) and 1 more, all with --verbose$`, shown[3])
	assert.Equal(t, 7, strings.Count(adkreplay("lint", "--verbose", folder).out, " has no timeout"))
	assert.Equal(t, 7, strings.Count(adkreplay("lint", "--json", folder).out, " has no timeout"))
}

func TestLintEmbedded(t *testing.T) {
	got := adkreplay("lint", "-v")
	assert.Equal(t, exitFound, got.code)
	assert.Contains(t, got.out, "clean hello: 31 crossings\n")
	assert.Contains(t, got.out, `hint gates-aborted: gate-without-timeout at crossing 22, in strand/legal: gate "legal" has no timeout`)
}

// A truncated trace is examined up to its end, with a warning.
func TestExamineAPrefix(t *testing.T) {
	for command, done := range map[string][2]string{"check": {"checked", "holds"}, "lint": {"linted", "clean"}} {
		path := truncated(t)
		got := adkreplay(command, path)
		assert.Equal(t, exitUnreadable, got.code)
		assert.Equal(t, []string{"cut off " + path + ": " + done[1] + " as far as it goes, 9 crossings\n", "1 trace cut off\n"}, strings.SplitAfter(got.out, "\n")[:2])
		assert.Equal(t, "adkreplay: "+done[0]+" as far as it goes: "+path+":11: truncated trace: the file ends without a footer: it was cut short, or is still being written\n", got.err)
	}
}

// Of several exit codes the highest wins, whichever trace comes last.
func TestTheHighestCodeWins(t *testing.T) {
	bad, found := malformed(t), violated(t)
	for _, args := range [][]string{{bad, found}, {found, bad}, {bad, good(t), found}} {
		assert.Equal(t, exitUnreadable, adkreplay(append([]string{"check"}, args...)...).code)
	}
	assert.Equal(t, exitFound, adkreplay("check", found, good(t)).code)
}

// Every trace has a result, whatever the results of the others are.
func TestExamineGoesOn(t *testing.T) {
	for _, command := range []string{"check", "lint"} {
		next, bad, changed, same, empty := ofNextVersion(t), malformed(t), changedByHand(t), good(t), t.TempDir()
		got := adkreplay(command, "nosuch.jsonl", next, bad, changed, empty, same)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		want := []string{
			"unreadable nosuch.jsonl: no such file or directory",
			"unreadable " + next + ":1: trace of another version: the format's version is 6",
			"unreadable " + bad + ":9: malformed trace: ",
			"unreadable " + changed + ":33: changed trace: ",
			"unreadable " + empty + ": there is no trace: the names of traces end in .jsonl or .jsonl.zst",
			map[string]string{"check": "holds ", "lint": "clean "}[command] + same + ": 31 crossings",
			"5 traces could not be read",
			"6 traces, ",
		}
		require.Len(t, lines, len(want), got.out)
		for i := range want {
			assert.True(t, strings.HasPrefix(lines[i], want[i]), "%s\nshould begin with\n%s", lines[i], want[i])
		}
		assert.Equal(t, exitUnreadable, got.code)
	}
}

// No control sequence in a trace reaches the terminal.
func TestExamineOfHostileText(t *testing.T) {
	path := put(t, "hostile.jsonl", edited(t, "loud-listener", func(recorded *trace.Trace) {
		for i := range recorded.Lines() {
			if recorded.Lines()[i].Kind == adk.KindContained {
				recorded.Lines()[i].Text = "gone\x1b[2J"
			}
		}
	}))
	assert.NotContains(t, adkreplay("lint", path).out, "\x1b")
}

// examinedDocument is the JSON that programs expect from check --json and lint --json.
type examinedDocument struct {
	Traces []struct {
		Trace      string
		Crossings  int
		Violations []property.Violation
		Hints      []property.Hint
		Cut, Error string
	}
	Crossings, Found, Unreadable, ExitCode int
	Error                                  string
}

func TestCheckJSON(t *testing.T) {
	paths := []string{good(t), violated(t), truncated(t), "nosuch.jsonl"}
	got := adkreplay(append([]string{"check", "--json"}, paths...)...)
	assert.Equal(t, exitUnreadable, got.code)
	d := decoded[examinedDocument](t, got.out)
	require.Len(t, d.Traces, 4)
	assert.Equal(t, 31, d.Traces[0].Crossings)
	assert.Empty(t, d.Traces[0].Violations)
	require.Len(t, d.Traces[1].Violations, 1)
	assert.Equal(t, property.Violation{Invariant: "first-signal-wins", Rule: "SIG-1", Crossing: 25, Seam: "executor/model#0",
		Text: "a second signal is accepted", Related: []int{23}}, d.Traces[1].Violations[0])
	assert.Empty(t, d.Traces[1].Hints)
	assert.Contains(t, d.Traces[2].Cut, ":11: truncated trace")
	assert.Equal(t, "nosuch.jsonl: no such file or directory", d.Traces[3].Error)
	assert.Equal(t, []int{1, 1, exitUnreadable}, []int{d.Found, d.Unreadable, d.ExitCode})
	assert.Contains(t, got.err, "checked as far as it goes")
}

func TestLintJSON(t *testing.T) {
	got := adkreplay("lint", "--json", hinted(t))
	assert.Equal(t, exitFound, got.code)
	d := decoded[examinedDocument](t, got.out)
	require.Len(t, d.Traces[0].Hints, 1)
	assert.Equal(t, property.Hint{Advice: "contained-failure", Crossing: 19, Seam: "executor/model#0",
		Text: "listener of message: the screen is gone"}, d.Traces[0].Hints[0])
	assert.Equal(t, 1, d.Found)
}

// Programs rely on the names of the members.
func TestExamineJSONNames(t *testing.T) {
	var raw map[string]any
	require.NoError(t, json.Unmarshal([]byte(adkreplay("check", "--json", violated(t)).out), &raw))
	names := func(m map[string]any) (all []string) {
		for name := range m {
			all = append(all, name)
		}
		return all
	}
	assert.ElementsMatch(t, []string{"traces", "crossings", "found", "unreadable", "exitCode"}, names(raw))
	trace := raw["traces"].([]any)[0].(map[string]any)
	assert.ElementsMatch(t, []string{"trace", "crossings", "violations"}, names(trace))
	assert.ElementsMatch(t, []string{"invariant", "rule", "crossing", "seam", "text", "related"}, names(trace["violations"].([]any)[0].(map[string]any)))
}

// A program that asked for JSON gets JSON, whatever happens.
func TestExamineJSONOfFailures(t *testing.T) {
	for _, command := range []string{"check", "lint"} {
		got := adkreplay(command, "--json", "--fast")
		d := decoded[examinedDocument](t, got.out)
		assert.Equal(t, []int{exitUsage, exitUsage}, []int{got.code, d.ExitCode})
		assert.Equal(t, "adkreplay: "+d.Error+"\n", got.err)
		assert.NotNil(t, d.Traces)

		ctx, interrupt := context.WithCancel(context.Background())
		interrupt()
		var out, stderr bytes.Buffer
		assert.Equal(t, exitInternal, executeContext(ctx, []string{command, "--json", good(t)}, &out, &stderr))
		d = decoded[examinedDocument](t, out.String())
		assert.Equal(t, exitInternal, d.ExitCode)
		assert.Contains(t, d.Error, "interrupted: 0 of 1 trace were ")
	}
}

// A trace that was cut when its host was killed is no fault of the folder: the journal beside it shows that.
func TestExaminingWhatAKilledHostLeft(t *testing.T) {
	for command, good := range map[string]string{"check": "holds", "lint": "clean"} {
		got := adkreplay(command, "../../example/chat/testdata/session")
		assert.Equal(t, exitSame, got.code, got.err)
		assert.Regexp(t, `(?m)^cut off \S+-0001\.jsonl: `+good+` to where its host was killed, \d+ crossings$`, got.out)
		assert.NotContains(t, got.err, "truncated")
	}
}

// GitHub is given each finding at its line in the file: a violation is an error, and a hint a
// warning.
func TestExamineForGitHub(t *testing.T) {
	for command, c := range map[string]struct{ path, annotation string }{
		"check": {violated(t), "::error file=%s,line=26,title=first-signal-wins::first-signal-wins (SIG-1) at crossing 25, in executor/model#0: a second signal is accepted%%0A"},
		"lint":  {hinted(t), "::warning file=%s,line=20,title=contained-failure::"},
	} {
		got := adkreplay(command, "--github", c.path)
		assert.Equal(t, exitFound, got.code)
		assert.Contains(t, got.out, "\n"+fmt.Sprintf(c.annotation, c.path), command)
		assert.Contains(t, got.out, "1 trace, ", "and the summary")
		assert.NotContains(t, adkreplay(command, c.path).out, "::", "unless it is asked for")
	}
	broken := put(t, "broken.jsonl", []byte("{}\n"))
	assert.Contains(t, adkreplay("lint", "--github", broken).out, "\n::error file="+broken+",title=unreadable::"+broken)
}

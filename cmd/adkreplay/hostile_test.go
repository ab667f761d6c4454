package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// ofTrace are all commands that take a trace; %s stands for its file.
var ofTrace = [][]string{
	{"verify", "%s"}, {"check", "%s"}, {"lint", "%s"}, {"accept", "%s"}, {"show", "%s"}, {"show", "--at", "1", "%s"},
	{"diff", "%s", "%s"}, {"replay", "%s", "--set", "run.prompt=another"}, {"shrink", "%s"}, {"explore", "--schedules", "2", "%s"},
}

// A turn may end anywhere, and the remaining trace may have a valid
// footer. Every command still terminates, with an exit code of its help
// and without an internal failure. A normal run tries a sample, and
// every prefix that ends in a wait; with the variable all are tried.
func TestCommandsEndOnEveryPrefix(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	every, of := tracetest.AllMutants(), thorough.Of[uint32](64, 256, 1024)
	if !every {
		t.Logf("a sample: `make mutants` (%s=all) tries all", tracetest.MutantsVariable)
	}
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		path := filepath.Join(t.TempDir(), "turn.jsonl")
		for n, prefix := range tracetest.Prefixes(f) {
			name := fmt.Sprintf("%s after %d crossings", f.Name, n)
			if !every && n > 0 && !endsInWait(f, n) && crc32.ChecksumIEEE([]byte(name))%of != 0 {
				continue
			}
			require.NoError(t, os.WriteFile(path, prefix, 0o644))
			for _, command := range ofTrace {
				ends(t, name, command, path)
			}
		}
	})
}

// The same holds for a trace in which one crossing was
// edited and the footer was recomputed. A normal run tries
// one of two thousand edits; with the variable, one of ten.
func TestCommandsEndOnEdits(t *testing.T) {
	const of = 2048
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		path := filepath.Join(t.TempDir(), "turn.jsonl")
		tracetest.Mutants(f, of, func(m tracetest.Mutant) {
			if !tracetest.AllMutants() || crc32.ChecksumIEEE([]byte(m.String()))%10 == 0 {
				endAll(t, m.String(), path, m.Trace())
			}
		})
	})
}

// FuzzCommands checks that every command terminates on a trace of any lines with a valid footer.
// cut is how many of the lines are left; 0 means all.
func FuzzCommands(f *testing.F) {
	names := []string{"hello", "gate-timeout", "parallel-tools", "sub-agents", "waits-cut-short"}
	for at := range ofTrace {
		body := tracetest.FixtureNamed(f, names[at%len(names)]).Body()
		f.Add(body, uint16(at*bytes.Count(body, []byte{'\n'})/len(ofTrace)), byte(at))
	}
	f.Fuzz(func(t *testing.T, lines []byte, cut uint16, command byte) {
		if all := bytes.SplitAfterN(lines, []byte{'\n'}, int(cut)+1); cut > 0 && len(all) > int(cut) {
			lines = bytes.Join(all[:cut], nil)
		}
		path := filepath.Join(t.TempDir(), "turn.jsonl")
		require.NoError(t, os.WriteFile(path, tracetest.Resealed(lines), 0o600))
		ends(t, "a trace of lines", ofTrace[int(command)%len(ofTrace)], path)
	})
}

// A call without a valid caller, and an execute without a tool, are reported as impossible.
func TestCommandsEndWithoutOwnerOrTool(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	f := tracetest.FixtureNamed(t, "tool-round-trip")
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	edit := func(kind adk.Kind, change func(*adk.Crossing)) {
		for i, line := range f.Trace.Lines() {
			if line.Kind != kind || line.Phase == adk.Done {
				continue
			}
			lines := slices.Clone(f.Trace.Lines())
			change(&lines[i].Crossing)
			endAll(t, fmt.Sprintf("%s of crossing %d", kind, i+1), path, tracetest.Sealed(f, lines))
		}
	}
	edit(adk.KindCall, func(x *adk.Crossing) { x.Call = 0 })
	edit(adk.KindCall, func(x *adk.Crossing) { x.Call = 1000 })
	edit(adk.KindCall, func(x *adk.Crossing) { x.Call = x.ID })
	edit(adk.KindExecute, func(x *adk.Crossing) { x.Record = nil })
	for _, command := range []string{"shrink", "explore"} {
		got := adkreplay(command, path)
		assert.Equal(t, exitUnreadable, got.code, command)
		assert.Contains(t, got.err, "turn.jsonl:", command)
		assert.Contains(t, got.err, "impossible trace: tool: an execute runs a tool, and this one has none", command)
	}
}

// A strand that waits for itself would never end, and occurs in no run.
func TestCommandsEndOnAStrandThatAwaitsItself(t *testing.T) {
	for _, name := range []string{"parallel-tools", "sub-agents-side-by-side"} {
		f := tracetest.FixtureNamed(t, name)
		lines := slices.Clone(f.Trace.Lines())
		at := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindWait })
		wait := lines[at]
		within := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Strand == wait.ID && l.Kind == adk.KindCall })
		path := filepath.Join(t.TempDir(), "turn.jsonl")
		for _, by := range []int{wait.Call, lines[within].ID} {
			wait.Strand, wait.Call = lines[within].Strand, by
			moved := slices.Insert(slices.Clone(lines), within+1, wait)
			endAll(t, fmt.Sprintf("%s: a wait of call %d", name, by), path, tracetest.Sealed(f, slices.Delete(moved, at, at+1)))
		}
	}
}

// A call on a strand that its caller does not belong to could wait for itself.
func TestCommandsEndOnACallOfAnotherStrand(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	f := tracetest.FixtureNamed(t, "sub-agents-side-by-side")
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	for i, line := range f.Trace.Lines() {
		if line.Kind != adk.KindCall || line.Strand == 0 {
			continue
		}
		lines := slices.Clone(f.Trace.Lines())
		lines[i].Strand = 0
		endAll(t, fmt.Sprintf("call %d", line.ID), path, tracetest.Sealed(f, lines))
	}
	got := adkreplay("shrink", path)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.err, "impossible trace: strand: a call is on the strand of its caller or on one that its caller forked")
}

// A crossing may name a call that does not exist: for the replay it belongs to no call.
func TestCommandsEndOnACallThatIsNone(t *testing.T) {
	thorough.Long(t)
	thorough.OneGoroutine(t)
	t.Setenv("CI", "")
	f := tracetest.FixtureNamed(t, "tool-round-trip")
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	for i, line := range f.Trace.Lines() {
		if line.Kind.Class() != adk.ClassOperation {
			continue
		}
		lines := slices.Clone(f.Trace.Lines())
		lines[i].Call = 1000
		name := fmt.Sprintf("crossing %d", i+1)
		endAll(t, name, path, tracetest.Sealed(f, lines))
		ends(t, name, []string{"review", "%s"}, path)
	}
}

// A run that the engine does not begin is reported with its place in the trace, by all commands that run a trace.
func TestARunThatCannotBeMadeHasAPlace(t *testing.T) {
	f := tracetest.FixtureNamed(t, "tool-round-trip")
	lines := slices.Clone(f.Trace.Lines())
	lines[0].Text = ""
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	endAll(t, "no prompt", path, tracetest.Sealed(f, lines))
	for _, command := range []string{"verify", "shrink", "explore"} {
		got := adkreplay(command, path)
		assert.Equal(t, exitUnreadable, got.code, command)
		assert.Contains(t, got.out+got.err, path+":2: impossible trace: it describes a run that cannot be made: E_INVALID_TURN_CONTEXT: SystemPrompt is empty", command)
	}
}

// endAll checks that every command terminates on an edited trace, unless the trace cannot be
// written.
func endAll(t *testing.T, name, path string, edited *trace.Trace) {
	t.Helper()
	var file bytes.Buffer
	if _, err := edited.WriteTo(&file); err != nil {
		return
	}
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o644))
	for _, command := range ofTrace {
		ends(t, name, command, path)
	}
}

// endsInWait reports whether the last crossing of a prefix begins a wait, or is within one.
func endsInWait(f tracetest.Fixture, n int) bool {
	if n == 0 {
		return false
	}
	switch x := f.Trace.Lines()[n-1]; x.Kind {
	case adk.KindSleep, adk.KindWaitFor, adk.KindWait:
		return x.Phase == adk.Begin
	case adk.KindTurnGateOpen, adk.KindSettle:
		return true
	}
	return false
}

// ends checks that a command terminates. No command may wait for the clock: in a bubble time
// advances when every goroutine is blocked, and in reality the command would then never end.
func ends(t *testing.T, name string, command []string, path string) {
	t.Helper()
	var args []string
	for _, arg := range command {
		if arg == "%s" {
			arg = path
		}
		args = append(args, arg)
	}
	var code int
	var interrupted error
	var out, errs bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		code = executeContext(ctx, args, &out, &errs)
		interrupted = ctx.Err()
	})
	assert.NoError(t, interrupted, "%s: %s did not end by itself", name, command[0])
	assert.Less(t, code, exitInternal, "%s: %s: %.2000s", name, command[0], errs.String())
}

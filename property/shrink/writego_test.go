package shrink_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// The Go test that a turn is written as compiles, and makes the turn's trace.
func TestWriteScenario(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	written := map[string]turn.Turn{"Everything": turntest.Everything(), "Alone": turntest.Standalone(), "Ended": turntest.EndedByListener(), "Odd": turntest.OddData(), "Handlers": handlersTakenOff(), "Bare": abortedByTheBareCode(), "Logged": loggedByATurn(), "Handles": handlesOfAnyName()}
	names, err := fs.Glob(fixtures.Traces, "[m-p]*.jsonl") // only a part of them, because compiling all takes long
	require.NoError(t, err)
	for _, name := range names {
		trace, err := fixtures.Traces.ReadFile(name)
		require.NoError(t, err)
		written["Fixture"+goName(strings.TrimSuffix(name, ".jsonl"))] = turntest.Translated(t, trace)
	}
	for choice := 2; choice <= 4; choice++ {
		written[fmt.Sprintf("Race%d", choice)] = raceForAGate(choice)
	}
	turns := gen.Turns(gen.Knobs{})
	for seed := range 12 {
		written[fmt.Sprintf("Drawn%d", seed)] = turns.Example(seed)
	}
	// The files are in a temporary folder. For the go command an overlay places them in a folder of the
	// module, so that their imports work and nothing is left in the tree. go vet would look for that folder,
	// so it is switched off.
	dir, replace := t.TempDir(), map[string]string{}
	var list strings.Builder
	write := func(name string, content []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		inTree, err := filepath.Abs(filepath.Join("testdata", "written", name))
		require.NoError(t, err)
		replace[inTree] = filepath.Join(dir, name)
	}
	for name, turn := range written {
		var source bytes.Buffer
		require.NoError(t, shrink.WriteScenario(&source, "written", name, turn), name)
		write(strings.ToLower(name)+"_test.go", source.Bytes())
		trace, _, err := turn.Trace()
		require.NoError(t, err)
		write(name+".jsonl", trace)
		fmt.Fprintf(&list, "\t%q: {Build: build%s%s},\n", name, name, shrink.WrittenAlone(turn, name))
	}
	write("same_test.go", fmt.Appendf(nil, sameTest, list.String()))
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	binary := filepath.Join(dir, "written.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-N -l", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./testdata/written").CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.Command(binary)
	run.Dir = dir
	out, err = run.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	assert.NoDirExists(t, filepath.Join("testdata", "written"))
}

// raceForAGate returns a turn in which two strands wait for the same gate, each with its own settler. At
// choice, the second strand comes before the first. (GAT-5)
func raceForAGate(choice int) turn.Turn {
	asks := func(strand, settler string) turn.Op {
		return turn.Op{Kind: "fork", Name: strand, Do: &turn.Body{Ops: []turn.Op{{Kind: "wait-for", Name: "g", Text: "may I?",
			Settle: []turn.Settlement{{By: settler, Result: adk.GateResolved}}}}}}
	}
	return turn.Turn{Prompt: "p", Order: []turn.Decision{{Choice: choice, Strand: 2}, {Choice: choice + 1, Strand: 1}},
		Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{asks("s", "ann"), asks("t", "bob"), {Kind: "ack"}}}}}}
}

// loggedByATurn returns a turn whose turn middleware and dispatch middleware both log.
func loggedByATurn() turn.Turn {
	logged := turn.Op{Kind: "report-log", Key: "warn", Name: "note", Text: "said", Value: turn.ValueOf(1)}
	return turn.Turn{Prompt: "p", TurnInput: []string{"a"}, Scripts: []turn.Script{
		{Seam: "turn-input/a", Body: turn.Body{Ops: []turn.Op{logged, {Kind: "next"}}}},
		{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{{Kind: "now"}, logged, {Kind: "ack"}}}},
	}}
}

// handlesOfAnyName returns a turn whose middleware uses the handles of others. Their names are not valid in Go,
// and differ only in the characters that are not valid.
func handlesOfAnyName() turn.Turn {
	names := []string{"über alles", "über-alles", "a\x7fb", "—"}
	var ops []turn.Op
	for _, name := range names {
		ops = append(ops, turn.Op{Kind: "now", On: "turn-input/" + name})
	}
	return turn.Turn{Prompt: "p", TurnInput: append(names, "last"), Scripts: []turn.Script{
		{Seam: "turn-input/last", Body: turn.Body{Ops: append(ops, turn.Op{Kind: "next"})}},
		{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{{Kind: "ack"}}}},
	}}
}

// abortedByTheBareCode returns a turn whose stage returns the code of an abort itself.
func abortedByTheBareCode() turn.Turn {
	return turn.Turn{Prompt: "p", Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{End: turn.End{How: "error", Err: &turn.Failure{Known: "adk.E_TURN_ABORTED"}}}}}}
}

// handlersTakenOff returns a turn that takes off bindings and handlers of the same name, one after the
// other, and leaves the last.
func handlersTakenOff() turn.Turn {
	handler := turn.Op{Kind: "on-ack", Name: "h", Do: &turn.Body{Ops: []turn.Op{{Kind: "now"}}}}
	return turn.Turn{Prompt: "p", Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
		{Kind: turn.OpBind}, {Kind: "off-ack"}, {Kind: turn.OpBind}, {Kind: "off-ack"}, {Kind: turn.OpBind},
		handler, {Kind: "off-ack", Name: "h"}, handler, handler, {Kind: "off-ack", Name: "h"}, {Kind: "off-ack", Name: "h"}, {Kind: "ack"},
	}}}}}
}

// A written scenario begins with what went wrong, and why that matters.
func TestScenarioSaysWhatWasWrong(t *testing.T) {
	assert.Equal(t, `checks a turn in which this went wrong:
// deltas-whole: DEL-3 at crossing 29 in run: 3 of 4 changes are in the turn.
// The turn holds a part of an iteration that failed: a tool call without its result, half an answer.
// It went like this then:`, shrink.WhatWasWrong([]turn.Finding{{Name: "deltas-whole", Text: "DEL-3 at crossing 29 in run: 3 of 4 changes are in the turn"}, {Name: "states-fold", Text: ""}}))
	assert.Equal(t, "checks a turn in which this went wrong:\n// missing: missing at crossing 3.\n// It went like this then:",
		shrink.WhatWasWrong([]turn.Finding{{Name: "missing", Text: "missing at crossing 3\n  - dispatch"}}))
	assert.Equal(t, "checks this turn:", shrink.WhatWasWrong(nil))
}

const sameTest = `package written

import (
	"os"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

var (
	_ adk.Record
	_ = fakes.Epoch
)

var all = map[string]turn.Subject{
%s}

func TestSame(t *testing.T) {
	for name, subject := range all {
		want, err := os.ReadFile(name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := subject.Trace()
		if err != nil || string(got) != string(want) {
			a, b := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
			for i := 0; i < min(len(a), len(b)); i++ {
				if a[i] != b[i] {
					t.Errorf("%%s: %%v: line %%d\nwant %%s\ngot  %%s", name, err, i+1, a[i], b[i])
					break
				}
			}
		}
	}
}
`

func goName(name string) string {
	var words strings.Builder
	for _, word := range strings.Split(name, "-") {
		words.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return words.String()
}

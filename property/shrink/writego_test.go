package shrink_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// What is written as Go compiles, and makes the trace that the turn makes.
func TestWriteScenario(t *testing.T) {
	t.Parallel()
	written := map[string]turn.Turn{"Everything": turntest.Everything(), "Alone": turntest.Alone(), "Ended": turntest.EndedByListener(), "Odd": turntest.OddData(), "Handlers": handlersTakenOff()}
	names, err := fs.Glob(fixtures.Traces, "[g-p]*.jsonl") // a part: all of them take their time to compile
	require.NoError(t, err)
	for _, name := range names {
		trace, err := fixtures.Traces.ReadFile(name)
		require.NoError(t, err)
		written["Fixture"+goName(strings.TrimSuffix(name, ".jsonl"))] = turntest.Translated(t, trace)
	}
	turns := gen.Turns(gen.Knobs{})
	for seed := range 12 {
		written[fmt.Sprintf("Drawn%d", seed)] = turns.Example(seed)
	}
	dir, err := os.MkdirTemp("testdata", "written")
	if os.IsNotExist(err) {
		require.NoError(t, os.Mkdir("testdata", 0o755))
		defer os.Remove("testdata")
		dir, err = os.MkdirTemp("testdata", "written")
	}
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	var list strings.Builder
	for name, turn := range written {
		var source bytes.Buffer
		require.NoError(t, shrink.WriteScenario(&source, "written", name, turn), name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, strings.ToLower(name)+"_test.go"), source.Bytes(), 0o600))
		trace, _, err := turn.Trace()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".jsonl"), trace, 0o600))
		fmt.Fprintf(&list, "\t%q: {Build: build%s%s},\n", name, name, shrink.WrittenAlone(turn, name))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "same_test.go"), fmt.Appendf(nil, sameTest, list.String()), 0o600))
	out, err := exec.Command("go", "test", "./"+filepath.ToSlash(dir)).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// handlersTakenOff is a turn that takes off bindings and handlers of one name, one
// after the other, and leaves the last.
func handlersTakenOff() turn.Turn {
	handler := turn.Op{Kind: "on-ack", Name: "h", Do: &turn.Body{Ops: []turn.Op{{Kind: "now"}}}}
	return turn.Turn{Prompt: "p", Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
		{Kind: turn.OpBind}, {Kind: "off-ack"}, {Kind: turn.OpBind}, {Kind: "off-ack"}, {Kind: turn.OpBind},
		handler, {Kind: "off-ack", Name: "h"}, handler, handler, {Kind: "off-ack", Name: "h"}, {Kind: "off-ack", Name: "h"}, {Kind: "ack"},
	}}}}}
}

// Whoever reads a scenario is told first what went wrong, and why that matters.
func TestScenarioSaysWhatWasWrong(t *testing.T) {
	assert.Equal(t, `checks a turn in which this went wrong:
// deltas-whole: DEL-3 at crossing 29 in run: 3 of 4 changes are in the turn.
// The turn holds a part of an iteration that failed: a tool call without its result, half an answer.
// It went like this then:`, shrink.WhatWasWrong([]turn.Flaw{{Name: "deltas-whole", Text: "DEL-3 at crossing 29 in run: 3 of 4 changes are in the turn"}, {Name: "sights-fold", Text: ""}}))
	assert.Equal(t, "checks a turn in which this went wrong:\n// missing: missing at crossing 3.\n// It went like this then:",
		shrink.WhatWasWrong([]turn.Flaw{{Name: "missing", Text: "missing at crossing 3\n  - dispatch"}}))
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

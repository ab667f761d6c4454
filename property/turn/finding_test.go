package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// names returns the names of findings.
func names(findings []Finding) (all []string) {
	for _, f := range findings {
		all = append(all, f.Name)
	}
	return all
}

// counting returns a subject whose n-th run is of(n).
func counting(of func(n int) (adk.Config, adk.RawTurn)) Subject {
	n := 0
	return Subject{Name: "counting", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		n++
		return of(n)
	}}
}

// saying returns an agent that logs a text.
func saying(text string) adk.Config {
	return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: fakes.Script{{fakes.Log("info", "said", text, nil), fakes.Ack()}}.Executor("model")}
}

// DET-2: a subject that does something else in its second run gets a finding, also if it is only refused
// in other words.
func TestTheSecondRunIsCompared(t *testing.T) {
	raw := adk.RawTurn{SystemPrompt: "p"}
	refused := func(key string) adk.RawTurn { return adk.RawTurn{SystemPrompt: "p", Stash: map[string]any{key: 1}} }
	for name, c := range map[string]struct {
		of   func(n int) (adk.Config, adk.RawTurn)
		want []string
	}{
		"the same":               {func(int) (adk.Config, adk.RawTurn) { return saying("one"), raw }, nil},
		"another":                {func(n int) (adk.Config, adk.RawTurn) { return saying(fmt.Sprint(n)), raw }, []string{Unsteady}},
		"refused":                {func(int) (adk.Config, adk.RawTurn) { return saying("one"), refused("a.b") }, nil},
		"refused in other words": {func(n int) (adk.Config, adk.RawTurn) { return saying("one"), refused(fmt.Sprintf("a.b%d", n)) }, []string{Unsteady}},
		"no runner":              {func(int) (adk.Config, adk.RawTurn) { return adk.Config{}, raw }, []string{Unrecorded}},
	} {
		assert.Equal(t, c.want, names(CheckSubject(counting(c.of))), name)
	}
}

// toldTurn returns the trace of a turn that runs a tool and a dispatch, and the answers that the callers
// in it got.
func toldTurn(t *testing.T) (*trace.Trace, answers) {
	t.Helper()
	tool := fakes.NewTool("weather", "Tells the weather.", "4 °C").Tool()
	one := Turn{Prompt: "p", Stash: &Value{map[string]any{"a": "b"}}, Tools: []Record{{tool}}, Scripts: []Script{
		{Seam: "executor/model#0", Body: Body{Ops: []Op{{Kind: "execute", Name: "weather", Args: &Value{map[string]any{}}},
			{Kind: OpDispatch, Dispatch: &Nested{Name: "planner"}}, {Kind: "ack"}}}},
		{Seam: "tool/weather", Body: Body{End: End{Result: &Value{adk.Text("4 °C")}}}},
	}}
	var ran *interpreter
	recorded, _, err := one.subject(func(s *interpreter) { ran = s }).recorded()
	require.NoError(t, err)
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	require.Len(t, ran.executions, 1)
	require.Len(t, ran.dispatches, 1)
	return read, ran.answers
}

// The answers that callers get agree with the trace: the status, iterations and error of a dispatch, and
// the result of a tool. The stash that the caller handed in is not changed.
// (RUN-5, RUN-7, DSP-8, TOL-3)
func TestAnswersAreHeldAgainstTheTrace(t *testing.T) {
	read, inside := toldTurn(t)
	assert.Empty(t, untrue(read, answer{came: true}, inside))
	for name, change := range map[string]func(run *answer, inside *answers){
		"an error of a run that began": func(run *answer, _ *answers) { run.err = errors.New("no") },
		"another status":               func(_ *answer, in *answers) { in.dispatches[0].end.Status = adk.StatusAborted },
		"other iterations":             func(_ *answer, in *answers) { in.dispatches[0].end.Iterations++ },
		"another error":                func(_ *answer, in *answers) { in.dispatches[0].end.Error = errors.New("no") },
		"an error without a nack":      func(_ *answer, in *answers) { in.dispatches[0].err = errors.New("no") },
		"an end that is not told":      func(_ *answer, in *answers) { in.dispatches[0].end.DispatchID = "nobody" },
		"another result":               func(_ *answer, in *answers) { in.executions[0].result = adk.Text("5 °C") },
		"an error of a tool":           func(_ *answer, in *answers) { in.executions[0].err = errors.New("no") },
		"a tool that ran twice":        func(_ *answer, in *answers) { in.executions = append(in.executions, in.executions[0]) },
		"the stash that was handed in": func(_ *answer, in *answers) { in.left = map[string]any{"a": "c"} },
	} {
		run, changed := answer{came: true}, inside
		changed.dispatches, changed.executions = slices.Clone(inside.dispatches), slices.Clone(inside.executions)
		change(&run, &changed)
		assert.Equal(t, []string{Untrue}, names(untrue(read, run, changed)), name)
	}
}

// A trace with a missing line is not the trace of a run: it breaks an invariant, and its replay
// diverges. (DET-2, RUN-6)
func TestTracesAreHeldAndReplayed(t *testing.T) {
	read, _ := toldTurn(t)
	written := func(lines []trace.Line) []byte {
		var out bytes.Buffer
		whole := trace.New(read.Header, lines)
		whole.Sealed = true
		_, err := whole.WriteTo(&out)
		require.NoError(t, err)
		return out.Bytes()
	}
	_, findings := held(written(read.Lines()))
	assert.Empty(t, findings)
	assert.Empty(t, replayed(written(read.Lines())))
	at := slices.IndexFunc(read.Lines(), func(l trace.Line) bool { return l.Kind == adk.KindTurnEnd })
	without := written(slices.Delete(slices.Clone(read.Lines()), at, at+1))
	_, findings = held(without)
	assert.NotEmpty(t, findings, "no turnEnd")
	assert.NotEmpty(t, replayed(without), "no turnEnd")
	_, findings = held([]byte("{}\n"))
	assert.Equal(t, []string{Unrecorded}, names(findings))
}

// A failing storage obligation has written its record if its script says Kept, and has not written it
// otherwise.
func TestAFailedStoreThatKept(t *testing.T) {
	for _, kept := range []bool{true, false} {
		memory, err := adk.NewMemory(adk.MemoryInit{ID: "m", Content: "one", Confidence: new(0.5), Importance: new(0.5), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
		require.NoError(t, err)
		one := Turn{Prompt: "p", Scripts: []Script{
			{Seam: "executor/model#0", Body: Body{Ops: []Op{{Kind: "store", Of: adk.Memories, Record: &Record{memory}}, {Kind: "ack"}}}},
			{Seam: "storage/memories.store", Body: Body{End: End{How: adk.OutcomeError, Kept: kept}}},
		}}
		var ran *interpreter
		require.NoError(t, one.subject(func(s *interpreter) { ran = s }).Run())
		assert.Equal(t, kept, len(ran.kept.Memories()) == 1, "kept: %t", kept)
	}
}

// Both checks of a subject are called: its own, and the one of the instance.
func TestEveryCheckIsAsked(t *testing.T) {
	subjects, instances := errors.New("the subject's"), errors.New("the instance's")
	fails := func(err error) func(Run) error { return func(Run) error { return err } }
	assert.NoError(t, Subject{}.Judge(Instance{}, Run{}))
	assert.Equal(t, subjects, Subject{Check: fails(subjects)}.Judge(Instance{Check: fails(instances)}, Run{}))
	assert.Equal(t, instances, Subject{Check: fails(nil)}.Judge(Instance{Check: fails(instances)}, Run{}))
}

// Strands come in the usual order, except where the turn has decisions. (DET-2)
func TestTheOrderOfATurn(t *testing.T) {
	logs := func(name string) Op {
		return Op{Kind: "fork", Name: name, Do: &Body{Ops: []Op{{Kind: "report-log", Key: "info", Name: "note", Text: name}}}}
	}
	said := func(order ...Decision) (all []string) {
		one := Turn{Prompt: "p", Order: order, Scripts: []Script{{Seam: "executor/model#0", Body: Body{Ops: []Op{logs("s"), logs("t"), {Kind: "ack"}}}}}}
		recorded, _, err := one.Trace()
		require.NoError(t, err)
		read, err := trace.Read(bytes.NewReader(recorded))
		require.NoError(t, err)
		for _, l := range read.Lines() {
			if l.Kind == adk.KindReportLog {
				all = append(all, l.Text)
			}
		}
		return all
	}
	assert.Equal(t, []string{"s", "t"}, said())
	second := map[int]bool{} // by choice: whether the second strand comes first
	for choice := 1; choice <= 6; choice++ {
		second[choice] = slices.Equal([]string{"t", "s"}, said(Decision{Choice: choice, Strand: 2}, Decision{Choice: choice + 1, Strand: 2}))
	}
	assert.Contains(t, slices.Collect(maps.Values(second)), true, "at some choice")
	assert.Contains(t, slices.Collect(maps.Values(second)), false, "and not when it is made")
}

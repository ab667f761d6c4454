package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// team is a planner with sub-agents as tools: an agent of a depth calls the one below it, in a
// strand if it should, and reports that one's result and its own name.
type team struct {
	depth   int
	strands bool
	// cause is why the context of the lowest agent is done when it is called; nil if it is not.
	cause error
	// extra is an additional text of the lowest agent.
	extra string
}

func (m team) config() adk.Config {
	config := adk.Config{Storage: fakes.NoOpStorage()}
	for depth := 1; depth <= m.depth; depth++ {
		name := fmt.Sprint("agent", depth)
		config.Tools = append(config.Tools, fakes.NewTool(name, "Is an agent.").Tool().WithHandler(
			func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				if depth == m.depth && m.cause != nil {
					own, end := context.WithCancelCause(ctx)
					end(m.cause)
					ctx = own
				}
				end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: name, Source: dc, Executor: m.executor(depth)})
				return adk.Text(name + " ended as " + end.Status), err
			}))
	}
	config.Executor = m.executor(0)
	return config
}

// executor calls the agents below it, and reports its own name.
func (m team) executor(depth int) adk.Executor {
	below := fakes.Call(fmt.Sprint("agent", depth+1), nil).As(fmt.Sprint("call", depth+1))
	said := fmt.Sprint("I am agent ", depth)
	var steps []fakes.Step
	switch {
	case depth == m.depth:
		said += m.extra
	case m.strands:
		steps = append(steps, fakes.Parallel(below, below.As(fmt.Sprint("again", depth+1))))
	default:
		steps = append(steps, below)
	}
	return fakes.Script{append(steps, fakes.Say(said).As(fmt.Sprint("m", depth)), fakes.Ack())}.Executor(fmt.Sprint("model", depth))
}

func (m team) record(t *testing.T) []byte {
	t.Helper()
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(m.config(), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Plan."}))
	return trace.Bytes()
}

// DSP-1: a dispatch within a dispatch is recorded and replayed at
// any depth, in strands, and with a context that was done before
// the call; with nothing live, and with any part of its code live.
func TestSubAgentsAreRunAgain(t *testing.T) {
	for name, m := range map[string]team{
		"deep":    {depth: 4},
		"strands": {depth: 2, strands: true},
		"done":    {depth: 3, cause: errors.New("the budget is spent")},
	} {
		trace := m.record(t)
		for _, seams := range [][]string{nil, {replay.Executor}, {replay.ToolCode}, {replay.Executor, replay.ToolCode}, {"tool/agent1"}, {"tool/agent2"}, {replay.Everything}} {
			t.Run(fmt.Sprint(name, " with ", seams), func(t *testing.T) {
				live := replay.Live{Seams: seams, Writes: true, Turn: adk.RawTurn{SystemPrompt: "Plan."}}
				if seams != nil {
					live.Config = m.config()
				}
				report, err := replay.Verify(t.Context(), bytes.NewReader(trace), live)
				require.NoError(t, err)
				assert.Nil(t, report.Divergence, "%s", report.Divergence)
			})
		}
	}
}

// A sub-agent that does something else is reported at its own seam. ABT-12: so is a sub-agent
// whose context is no longer done, or is done for another cause.
func TestChangedSubAgentsAreTold(t *testing.T) {
	errSpent := errors.New("the budget is spent")
	for name, c := range map[string]struct {
		was, is team
		seam    string
		says    string
	}{
		"says more":     {team{depth: 3}, team{depth: 3, extra: ", the last"}, "executor/model3#0", "the last"},
		"is begun":      {team{depth: 2, cause: errSpent}, team{depth: 2}, "dispatch/agent2", "ended"},
		"is not begun":  {team{depth: 2}, team{depth: 2, cause: errSpent}, "dispatch/agent2", "ended"},
		"another cause": {team{depth: 2, cause: errSpent}, team{depth: 2, cause: errors.New("it is late")}, "dispatch/agent2", "it is late"},
	} {
		t.Run(name, func(t *testing.T) {
			live := replay.Live{Config: c.is.config(), Seams: []string{replay.ToolCode}, Writes: true}
			report, err := replay.Verify(t.Context(), bytes.NewReader(c.was.record(t)), live)
			require.NoError(t, err)
			require.NotNil(t, report.Divergence)
			assert.Equal(t, c.seam, report.Divergence.Seam)
			assert.Contains(t, report.Divergence.String(), c.says)
		})
	}
}

// EVT-5: the name of a sub-agent in its events is derived from the calls before them, also in a
// trace that was written before events had it.
func TestTheNameOfADispatchIsDerived(t *testing.T) {
	recorded := team{depth: 2}.record(t)
	assert.NotContains(t, string(recorded), "dispatchName")
	fold, names := state.New(), map[string]bool{}
	read := tracetest.Must(trace.Read(bytes.NewReader(recorded)))
	for i := range read.Lines() {
		x := &read.Lines()[i].Crossing
		switch e := fold.Payload(x).(type) {
		case adk.MessageEvent:
			names[e.ID+" "+e.DispatchName] = true
		case adk.DispatchStart:
			names[fmt.Sprintf("start %s from %t", e.Name, e.ParentID != "")] = true
		}
		require.NoError(t, fold.Apply(x))
	}
	assert.Equal(t, map[string]bool{"m0 ": true, "m1 agent1": true, "m2 agent2": true,
		"start  from false": true, "start agent1 from true": true, "start agent2 from true": true}, names)
}

// TOL-7, TOL-8: a registry that user code merges and binds belongs to user code. Executions of its
// tools are recorded, and replayed with that code live or scripted.
func TestMergedToolsAreRunAgain(t *testing.T) {
	config := adk.Config{Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{fakes.NewTool("weather", "Tells the weather.").Tool()}}
	config.Executor = adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		peek := fakes.NewTool("peek", "Peeks.", "once upon a time")
		peek.Init.Ephemeral = true
		merged := tracetest.Must(dc.Tools().Merge(adk.CollisionThrow, tracetest.Must(adk.NewRegistry(peek.Tool()))))
		_ = tracetest.Must(merged.Bind(dc))
		chosen, _ := merged.Get("peek")
		result, err := dc.Execute(ctx, chosen, "{}")
		if err != nil {
			return err
		}
		text, _ := result.(*adk.Tokenizable)
		return errors.Join(dc.Stash().Set("peeked", text.String()), dc.Ack(), dc.Stash().Set("left", merged.Len()))
	}}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace))))
	raw := adk.RawTurn{SystemPrompt: "Peek."}
	require.NoError(t, runner.Run(t.Context(), raw))
	for _, seams := range [][]string{nil, {replay.Executor, replay.ToolCode}, {replay.Everything}} {
		live := replay.Live{Seams: seams, Writes: true, Turn: raw}
		if seams != nil {
			live.Config = config
		}
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%v: %s", seams, report.Divergence)
	}
}

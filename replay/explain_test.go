package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// doing is an agent whose executor does the steps in order.
func doing(steps ...func(context.Context, *adk.DispatchContext) error) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, step := range steps {
			if err := step(ctx, dc); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

func sleepsAMinute(ctx context.Context, dc *adk.DispatchContext) error {
	return dc.Sleep(ctx, time.Minute)
}

func setsTheStash(_ context.Context, dc *adk.DispatchContext) error {
	return dc.Stash().Set("waited", true)
}

func makesAnID(_ context.Context, dc *adk.DispatchContext) error { _ = dc.NewID(); return nil }

func forksA(name string) func(context.Context, *adk.DispatchContext) error {
	return func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.Fork(ctx, name, func(context.Context, *adk.DispatchContext) error { return nil })
		return err
	}
}

func asksThat(question string) func(context.Context, *adk.DispatchContext) error {
	return func(ctx context.Context, _ *adk.DispatchContext) error {
		_, err := adk.Ask(ctx, "model", map[string]string{"say": question, "with": "a few words that do not change"},
			func(context.Context, map[string]string) (string, error) { return "yes", nil })
		return err
	}
}

func heldAgainst(t *testing.T, recorded, live adk.Config) *replay.Divergence {
	t.Helper()
	d := divergenceOf(t, turnOf(t, recorded, adk.RawTurn{}), replay.Live{Config: live, Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	return d
}

// If one side has no operation at a place, the report says what the call did next there.
func TestReportsSayHowTheCallGoesOn(t *testing.T) {
	for name, one := range map[string]struct {
		recorded, live adk.Config
		class          replay.Class
		goesOn, says   string
	}{
		"what is missing is passed over":   {doing(sleepsAMinute, setsTheStash), doing(setsTheStash), replay.Missing, "stash waited = true", "    today: goes on with stash waited = true\n"},
		"ids say nothing":                  {doing(sleepsAMinute, makesAnID, setsTheStash), doing(makesAnID, setsTheStash), replay.Missing, "stash waited = true", "    today: goes on with stash waited = true\n"},
		"the last is missing":              {doing(setsTheStash, sleepsAMinute), doing(setsTheStash), replay.Missing, "ack", "    today: goes on with ack\n"},
		"what is new comes between":        {doing(setsTheStash), doing(sleepsAMinute, setsTheStash), replay.Extra, "stash waited = true", "    recorded: goes on with stash waited = true\n"},
		"what is new comes at the end":     {executing(acks), executing(acksAndAsks), replay.Unanswered, "executor/e#0 returns", "    recorded: goes on with executor/e#0 returns\n"},
		"an answer stands before the next": {doing(asksThat("a"), sleepsAMinute), doing(asksThat("a")), replay.Missing, "ack", "    today: goes on with ack\n"},
		"both sides have something":        {doing(asksThat("a")), doing(asksThat("b")), replay.ChangedInput, "", "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			d := heldAgainst(t, one.recorded, one.live)
			assert.Equal(t, one.class, d.Class, d)
			assert.Equal(t, one.goesOn, d.GoesOn, d)
			assert.Contains(t, d.String(), one.says)
		})
	}
}

// logs is an agent whose executor logs the text, and then does the rest.
func logs(text string, then ...func(context.Context, *adk.DispatchContext) error) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		h.Log(adk.LevelInfo, "step", text, nil)
		for _, step := range then {
			if err := step(ctx, dc); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

// A changed log line is only what code says about its actions: if an action differs as well, that is reported first.
func TestALogIsNotTheFirstToBeSaid(t *testing.T) {
	d := heldAgainst(t, logs("asks again", sleepsAMinute), logs("gives up", setsTheStash))
	assert.Equal(t, replay.Missing, d.Class, d)
	assert.Equal(t, "sleep 1m0s", d.Expected)
	assert.Equal(t, "stash waited = true", d.Got)
	d = heldAgainst(t, logs("asks again", sleepsAMinute), logs("gives up", sleepsAMinute))
	assert.Equal(t, replay.ChangedInput, d.Class, "nothing else differs")
	assert.Contains(t, d.String(), "gives up")
}

// A pause belongs to the operation after it, and is gone or new together with it.
func TestAPauseIsSaidWithWhatItIsFor(t *testing.T) {
	once, again := doing(asksThat("a")), doing(asksThat("a"), sleepsAMinute, asksThat("a"), asksThat("b"), setsTheStash)
	d := heldAgainst(t, again, once)
	assert.Equal(t, replay.Missing, d.Class, d)
	assert.Len(t, d.Also, 2, "and no more than the asks: %s", d)
	assert.Contains(t, d.String(), "\n  - sleep 1m0s\n  - ask model ")
	d = heldAgainst(t, once, doing(asksThat("a"), sleepsAMinute, setsTheStash))
	assert.Equal(t, replay.Extra, d.Class, d)
	assert.Len(t, d.Also, 1)
	assert.Contains(t, d.String(), "\n  + sleep 1m0s\n  + stash waited = true\n")
}

// If a middleware is gone or new, the pipeline's next step in the report is the next middleware,
// and not the end of the pipeline.
func TestAPipelineGoesOnWithTheNextOfIt(t *testing.T) {
	pipeline := func(names ...string) adk.Config {
		config := doing()
		for _, name := range names {
			config.TurnInput = append(config.TurnInput, adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				next(ctx)
				return tc.Stash().Set(name, true) // after everything that the pipeline still does
			}})
		}
		return config
	}
	for name, c := range map[string]struct {
		recorded, live adk.Config
		goesOn         string
	}{
		"gone":          {pipeline("a", "b", "c"), pipeline("a", "c"), "turn-input/c"},
		"the last gone": {pipeline("a", "b"), pipeline("a"), "dispatch"},
		"new":           {pipeline("a", "c"), pipeline("a", "b", "c"), "turn-input/c"},
	} {
		d := divergenceOf(t, turnOf(t, c.recorded, adk.RawTurn{}), replay.Live{Config: c.live, Seams: []string{replay.Middleware}})
		require.NotNil(t, d, name)
		assert.Equal(t, c.goesOn, d.GoesOn, "%s: %s", name, d)
	}
}

func acks(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }

func acksAndAsks(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
	return errors.Join(dc.Ack(), asksThat("more")(ctx, dc))
}

// If several operations of one kind are gone together, the report names each of them, and none of
// those that are recorded elsewhere.
func TestReportsNameWhatElseIsMissing(t *testing.T) {
	recorded := doing(forksA("a"), forksA("b"), makesAnID, forksA("c"), forksA("d"), sleepsAMinute, forksA("e"))
	d := heldAgainst(t, recorded, doing(sleepsAMinute, forksA("e")))
	assert.Equal(t, replay.Missing, d.Class)
	assert.Equal(t, []string{"fork b as s2", "fork c as s3", "fork d as s4"}, d.Also)
	assert.Len(t, d.Evidence.Also, 3)
	assert.Contains(t, d.String(), "  - fork a as s1\n  - fork b as s2\n  - fork c as s3\n    and 1 more\n")

	assert.Empty(t, heldAgainst(t, recorded, doing(forksA("b"), makesAnID, forksA("c"), forksA("d"), sleepsAMinute, forksA("e"))).Also)
}

// A change in code that runs several times is reported as one change.
func TestTheSameChangeAgainIsNoOtherOne(t *testing.T) {
	d := heldAgainst(t, doing(asksThat("a"), sleepsAMinute, asksThat("a"), sleepsAMinute, asksThat("a")), doing(asksThat("b"), sleepsAMinute, asksThat("b"), sleepsAMinute, asksThat("c")))
	assert.Equal(t, replay.ChangedInput, d.Class)
	assert.Equal(t, 2, d.After.Again+d.After.Own+d.After.Follow, d)
	assert.Zero(t, d.After.Again, "in one call the second follows from the first")

	rounds := func(steps ...func(context.Context, *adk.DispatchContext) error) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := steps[dc.Iteration()](ctx, dc); err != nil || dc.Iteration() < len(steps)-1 {
				return err
			}
			return dc.Ack()
		})
	}
	longer := func(ctx context.Context, dc *adk.DispatchContext) error { return dc.Sleep(ctx, time.Hour) }
	d = heldAgainst(t, rounds(asksThat("old"), asksThat("old"), asksThat("old"), sleepsAMinute), rounds(asksThat("new"), asksThat("new"), asksThat("newer"), longer))
	assert.Equal(t, replay.Impact{Equal: d.After.Equal, Again: 2, Own: 1, Ends: "as recorded", Causes: d.After.Causes, Apart: d.After.Apart}, *d.After)
	require.Len(t, d.After.Causes, 1)
	require.Len(t, d.After.Apart, 1)
	assert.Equal(t, "changed input in executor/e: sleep for", d.After.Apart[0].What)
	assert.Contains(t, strings.Join(strings.Fields(d.String()), " "), "0 follow from it, 2 more of the same, 1 differs on its own; the turn ends as recorded")
}

// If a tool's arguments and the turn's data are as recorded, a changed answer of the tool does not
// follow from a changed prompt. If a memory has changed, it follows from that.
func TestAToolDoesNotFollowFromThePrompt(t *testing.T) {
	agent := func(answer, memory string) adk.Config {
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			at := dc.Now()
			m, err := adk.NewMemory(adk.MemoryInit{ID: "m", Content: memory, Confidence: new(0.9), Importance: new(0.5), CreatedAt: at, UpdatedAt: at})
			if err != nil {
				return err
			}
			if _, err := dc.Memories().Add(m); err != nil {
				return err
			}
			tool, _ := dc.Tools().Get("weather")
			if _, err := dc.Execute(ctx, tool, map[string]any{"city": "Oslo"}); err != nil {
				return err
			}
			return dc.Ack()
		})
		config.Tools = []*adk.Tool{fakes.NewTool("weather", "Tells the weather.", answer).Tool()}
		return config
	}
	recorded := turnOf(t, agent("rain", "warm"), adk.RawTurn{})
	for _, c := range []struct {
		answer, memory, prompt string
		own                    int
	}{
		{"snow", "warm", "Be terse.", 1},
		{"rain", "warm", "Be terse.", 0},
		{"snow", "cold", "Be terse.", 0},
	} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: agent(c.answer, c.memory), Turn: adk.RawTurn{SystemPrompt: c.prompt},
			Seams: []string{replay.Prompt, replay.Executor, replay.ToolCode}, Writes: true})
		require.NoError(t, err)
		d := report.Divergence
		assert.Equal(t, adk.LabelRun, d.Seam)
		tools := slices.DeleteFunc(d.After.Apart, func(a replay.Apart) bool { return !strings.Contains(a.What, "tool/weather") })
		require.Len(t, tools, c.own, "%v: %s", c, d)
		if c.own > 0 {
			assert.Equal(t, "changed result in tool/weather", tools[0].What)
			assert.Equal(t, []string{`result.text: expected "rain", got "snow"`}, tools[0].Shown)
		}
	}
}

// Recorded gates are compared with a new gate
// regardless of their ids, since each has another one.
func TestIDsOfGatesTellThemApartLast(t *testing.T) {
	gate := func(reason string) func(context.Context, *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			_, _ = adk.WaitFor[bool](ctx, dc, adk.Gate{ID: dc.NewID(), Reason: reason, Timeout: time.Minute}) // it expires
			return nil
		}
	}
	recorded := turnOf(t, doing(gate("restart?"), setsTheStash), adk.RawTurn{})
	d := divergenceOf(t, recorded, replay.Live{Config: doing(gate("restart?"), gate("really?"), setsTheStash), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	require.Len(t, d.Candidates, 1, d)
	assert.Equal(t, []string{`has the reason "restart?" and not "really?"`}, d.Candidates[0].Refused)
}

// Live code may write, so it is not run a second time as a whole. A tool that declares that it
// only reads is run again alone if it makes the difference; any other call is not. If the tool
// then does things in another order, the report says that the order varies.
func TestAReadingToolIsRunAgainAlone(t *testing.T) {
	agent := func(reads func() string, order ...string) (adk.Config, *[2]int) {
		var ran [2]int
		tool := func(name string, effect adk.Effect, i int, says func() string) *adk.Tool {
			return tracetest.Must(adk.NewTool(adk.ToolInit{Name: name, Description: "Does it.", InputSchema: []byte(`{"type":"object"}`), Effect: effect,
				Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
					ran[i]++
					return adk.Text(says()), nil
				}}))
		}
		var steps []func(context.Context, *adk.DispatchContext) error
		for _, name := range order {
			steps = append(steps, func(ctx context.Context, dc *adk.DispatchContext) error {
				tool, _ := dc.Tools().Get(name)
				_, err := dc.Execute(ctx, tool, map[string]any{})
				return err
			})
		}
		config := doing(steps...)
		config.Tools = []*adk.Tool{tool("look", adk.EffectReads, 0, reads), tool("write", adk.EffectWrites, 1, func() string { return "written" })}
		return config, &ran
	}
	usual, _ := agent(func() string { return "one two three" }, "write", "look")
	recorded := turnOf(t, usual, adk.RawTurn{})
	allowed := false
	live := func(config adk.Config) *replay.Divergence {
		d := divergenceOf(t, recorded, replay.Live{Config: config, Seams: []string{replay.Executor, replay.ToolCode}, Writes: true, Twice: allowed})
		require.NotNil(t, d)
		return d
	}

	other, ran := agent(func() string { return "two one three" }, "write", "look")
	d := live(other)
	assert.Equal(t, replay.ChangedResult, d.Class)
	assert.Equal(t, [2]int{5, 1}, *ran, "what writes was played")
	assert.Equal(t, 5, d.Runs)
	assert.False(t, d.Once)
	assert.Contains(t, d.String(), "    the same in each of 5 runs of today's code\n")

	times := 0
	other, ran = agent(func() string { times++; return []string{"one two three", "two one three"}[times%2] }, "write", "look")
	d = live(other)
	assert.Equal(t, replay.NonDeterministic, d.Class, d)
	assert.Equal(t, [2]int{3, 1}, *ran, "alone it is run twice, and those are held against each other")
	assert.Contains(t, d.String(), "second run: expected the same as the first, got as recorded")

	times = 0
	other, _ = agent(func() string { times++; return []string{"one two three", "two one three"}[min(times, 2)%2] }, "write", "look")
	d = live(other)
	assert.Equal(t, replay.ChangedResult, d.Class, d)
	assert.Zero(t, d.Runs, "once only it was so, and then it was as recorded")

	other, ran = agent(func() string { return "one two three" }, "look", "write")
	d = live(other)
	assert.Equal(t, replay.Order, d.Class, d)
	assert.Equal(t, [2]int{1, 1}, *ran)
	assert.True(t, d.Once)
	assert.Contains(t, d.String(), "    run once: Live.Twice shows whether the order varies\n")

	allowed = true
	other, ran = agent(func() string { return "one two three" }, "look", "write")
	d = live(other)
	assert.Equal(t, replay.Order, d.Class, d)
	assert.Equal(t, 5, d.Runs)
	assert.Equal(t, [2]int{1, 1}, *ran, "the executor alone was run again")

	other, ran = agent(func() string { return "one two three" }, "write", "look")
	write := other.Tools[1]
	other.Tools[1] = tracetest.Must(adk.NewTool(adk.ToolInit{Name: "write", Description: write.Description(), InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectWrites,
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			ran[1]++
			return adk.Text("unwritten"), nil
		}}))
	d = live(other)
	assert.Equal(t, replay.ChangedResult, d.Class, d)
	assert.Equal(t, 1, ran[1], "what writes is run once")
	assert.True(t, d.Writes)
	assert.Contains(t, d.String(), "    run once, as it may write: run it again to see whether it varies\n")
}

// Code that is run again alone gets no answers to what other live code provided in the first run:
// that does not make it nondeterministic.
func TestWhatIsRunAgainAloneLacksTheOthers(t *testing.T) {
	agent := func(ids ...string) adk.Config {
		config := doing(setsTheStash)
		config.Storage = fakes.NewStorage().Storage()
		config.TurnInput = []adk.TurnMiddleware{{Name: "keep", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			for _, id := range ids {
				m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: "Hello.", CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
				if err == nil {
					err = tc.Messages().Keep(ctx, m)
				}
				if err != nil {
					return err
				}
			}
			next(ctx)
			return nil
		}}}
		return config
	}
	recorded := turnOf(t, agent("one"), adk.RawTurn{})
	d := divergenceOf(t, recorded, replay.Live{Config: agent("one", "two"), Seams: []string{replay.Middleware, replay.Storage}, Writes: true, Twice: true})
	require.NotNil(t, d)
	assert.Equal(t, replay.Extra, d.Class, d)
}

// If the executor is run again alone, without the tool that writes, it finds less in the memory that
// both share. That does not show that it varies. What really varies from run to run is reported.
func TestMemoryThatLiveCodeSharesDoesNotVary(t *testing.T) {
	agent := func(end func() string) adk.Config {
		var todo []string
		asks := func(question func() string) func(context.Context, *adk.DispatchContext) error {
			return func(ctx context.Context, dc *adk.DispatchContext) error { return asksThat(question())(ctx, dc) }
		}
		runs := func(ctx context.Context, dc *adk.DispatchContext) error {
			tool, _ := dc.Tools().Get("todo")
			_, err := dc.Execute(ctx, tool, map[string]any{})
			return err
		}
		config := doing(func(context.Context, *adk.DispatchContext) error { todo = nil; return nil }, runs,
			asks(func() string { return fmt.Sprint("todo: ", todo) }), asks(end))
		config.Tools = []*adk.Tool{tracetest.Must(adk.NewTool(adk.ToolInit{Name: "todo", Description: "Notes.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectWrites,
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				todo = append(todo, "tea")
				return adk.Text("noted"), nil
			}}))}
		return config
	}
	recorded := turnOf(t, agent(func() string { return "Done." }), adk.RawTurn{})
	held := func(end func() string) *replay.Divergence {
		d := divergenceOf(t, recorded, replay.Live{Config: agent(end), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true, Twice: true})
		require.NotNil(t, d)
		return d
	}
	d := held(func() string { return "Finished." })
	assert.NotEqual(t, replay.NonDeterministic, d.Class, d)
	assert.Contains(t, d.String(), "Finished.")
	times := 0
	assert.Equal(t, replay.NonDeterministic, held(func() string { times++; return fmt.Sprint("Finished ", times) }).Class)
}

// A long result is compared in full with that of a second run, although the printed line is cut.
func TestLongResultsThatVary(t *testing.T) {
	agent := func(middle func() string) adk.Config {
		config := doing(func(ctx context.Context, dc *adk.DispatchContext) error {
			tool, _ := dc.Tools().Get("look")
			_, err := dc.Execute(ctx, tool, map[string]any{})
			return err
		})
		config.Tools = []*adk.Tool{tracetest.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return adk.Text(strings.Repeat("before ", 100) + middle() + strings.Repeat(" behind", 100)), nil
			}}))}
		return config
	}
	recorded := turnOf(t, agent(func() string { return "at 1000" }), adk.RawTurn{})
	for varies, class := range map[bool]replay.Class{false: replay.ChangedResult, true: replay.NonDeterministic} {
		at := 2000
		d := divergenceOf(t, recorded, replay.Live{Seams: []string{replay.ToolCode}, Writes: true, Twice: true, Config: agent(func() string {
			if varies {
				at++
			}
			return fmt.Sprint("at ", at)
		})})
		require.NotNil(t, d)
		assert.Equal(t, class, d.Class, d)
	}
}

// The report says so if code asks from a goroutine of its own.
func TestReportsNameAGoroutineOfItsOwn(t *testing.T) {
	apart := func(question string) func(context.Context, *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			asked := make(chan error)
			go func() { asked <- asksThat(question)(ctx, dc) }()
			return <-asked
		}
	}
	d := heldAgainst(t, doing(asksThat("a")), doing(apart("b")))
	assert.True(t, d.Apart, d)
	assert.Contains(t, strings.Join(strings.Fields(d.String()), " "), ", in a goroutine of its own ask model")
	assert.False(t, heldAgainst(t, doing(apart("a")), doing(asksThat("b"))).Apart)
}

// A tool that live code registers itself, and that may write, is run only once too.
func TestAToolBroughtByLiveCodeIsRunOnce(t *testing.T) {
	agent := func(says string) (adk.Config, *int) {
		ran := 0
		config := doing(func(ctx context.Context, dc *adk.DispatchContext) error {
			tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "own", Description: "Does it.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectWrites,
				Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
					ran++
					return adk.Text(says), nil
				}}))
			if err := dc.Tools().Register(tool); err != nil {
				return err
			}
			_, err := dc.Execute(ctx, tool, map[string]any{})
			return err
		})
		return config, &ran
	}
	usual, _ := agent("one two")
	live, ran := agent("two one")
	d := divergenceOf(t, turnOf(t, usual, adk.RawTurn{}), replay.Live{Config: live, Seams: []string{replay.Executor, replay.ToolCode}, Writes: true, Twice: true})
	require.NotNil(t, d)
	assert.Equal(t, 1, *ran, d)
	assert.False(t, d.Once, "Live.Twice is set, and shows nothing")
	assert.True(t, d.Writes)
	assert.Contains(t, d.String(), "    run once, as it may write: run it again to see whether it varies\n")
}

// The order of operations of a call with strands may depend on which strand ends first. A replay holds
// strands to the recorded order, so no number of runs can show whether it does; the report says so.
func TestOrdersOfStrandsAreSaidToBeThose(t *testing.T) {
	look := func(says string, forks bool) adk.Config {
		config := doing(func(ctx context.Context, dc *adk.DispatchContext) error {
			tool, _ := dc.Tools().Get("look")
			_, err := dc.Execute(ctx, tool, map[string]any{})
			return err
		})
		config.Tools = []*adk.Tool{tracetest.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
			Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				if !forks {
					return adk.Text(says), nil
				}
				s, err := dc.Fork(ctx, "s", func(context.Context, *adk.DispatchContext) error { return nil })
				return adk.Text(says), errors.Join(err, s.Wait())
			}}))}
		return config
	}
	for _, forks := range []bool{false, true} {
		d := divergenceOf(t, turnOf(t, look("one two", forks), adk.RawTurn{}), replay.Live{Config: look("two one", forks), Seams: []string{replay.ToolCode}})
		require.NotNil(t, d)
		assert.Equal(t, 5, d.Runs)
		assert.Equal(t, forks, strings.Contains(d.String(), "    the same in 5 runs, with strands that end as recorded: which of\n    them ends first may decide it\n"))
		assert.Equal(t, !forks, strings.Contains(d.String(), "    the same in each of 5 runs of today's code\n"))
	}
}

// A tool that changes its request, and fails because of the answer, is reported by the changed
// request: its own end is only a consequence.
func TestAToolThatFailsOfWhatItAsks(t *testing.T) {
	agent := func(path string) adk.Config {
		config := doing(func(ctx context.Context, dc *adk.DispatchContext) error {
			tool, _ := dc.Tools().Get("read")
			_, _ = dc.Execute(ctx, tool, map[string]any{})
			return nil
		})
		config.Tools = []*adk.Tool{tracetest.Must(adk.NewTool(adk.ToolInit{Name: "read", Description: "Reads.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				text, err := adk.Ask(ctx, "files", path, func(context.Context, string) (string, error) { return "", errors.New("no such file") })
				return adk.Text(text), err
			}}))}
		return config
	}
	recorded := turnOf(t, agent("/tmp/Test571254285/001/main.go"), adk.RawTurn{})
	d := divergenceOf(t, recorded, replay.Live{Config: agent("/repo/main.go"), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true})
	require.NotNil(t, d)
	assert.Equal(t, replay.ChangedInput, d.Class, d)
	assert.Contains(t, d.String(), `    ask files "/repo/main.go"`)
}

// If a goroutine stopped early, the report places that after the goroutine which heard an answer last before the
// missing operation, not after the one that acted last. If two heard one at the same time, it names neither.
func TestWhatAGoroutineDoesNoMoreIsPlacedInIt(t *testing.T) {
	t.Parallel()
	agent := func(tries int, paysMeanwhile bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			ask := func(of string, do func()) {
				_, err := adk.Ask(ctx, of, "now", func(context.Context, string) (string, error) { do(); return "Well.", nil })
				assert.NoError(t, err)
			}
			ask("model", func() {})
			pays, booked, tried, paid := make(chan bool), make(chan bool), make(chan bool), make(chan bool)
			var both started
			both.Go(func() (err error) {
				ask("hotels", func() {
					if paysMeanwhile {
						<-pays
					}
				})
				close(booked)
				if !paysMeanwhile {
					<-paid
				}
				if tries > 1 {
					err = adk.Sleep(ctx, time.Millisecond)
				}
				close(tried)
				return err
			})
			both.Go(func() error {
				defer close(paid)
				if !paysMeanwhile {
					<-booked
				}
				ask("bank", func() {
					if close(pays); paysMeanwhile {
						<-tried
					}
				})
				return nil
			})
			return errors.Join(both.Wait(), dc.Ack())
		})
	}
	for paysMeanwhile, callers := range map[bool]int{true: 2, false: 0} {
		d := divergenceOf(t, turnOf(t, agent(2, paysMeanwhile), adk.RawTurn{}), replay.Live{Config: agent(1, paysMeanwhile), Seams: []string{replay.Executor}})
		require.NotNil(t, d)
		require.Equal(t, replay.Missing, d.Class, "%s", d)
		assert.Contains(t, d.Expected, "sleep", "%s", d)
		require.Len(t, d.Callers, callers, "%s", d)
		assert.True(t, callers == 0 || strings.HasSuffix(d.Callers[0], ".func3.3)"), "%s", d)
	}
}

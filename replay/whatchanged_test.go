package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A single change is reported by its cause, in the first six lines of the report, which fits on
// one screen.
func TestReportNamesTheCause(t *testing.T) {
	recorded := livetest.NewDesk().Record(t)
	all := []string{replay.Prompt, replay.Tools, replay.Middleware, replay.Executor}
	for _, test := range []struct {
		name   string
		change func(*livetest.Desk)
		seams  []string
		class  replay.Class
		says   []string // in the first six lines
	}{
		{"a word in the prompt", func(d *livetest.Desk) { d.Prompt = strings.Replace(d.Prompt, "Be brief", "Be kind", 1) }, all,
			replay.ChangedInput, []string{"in run", "prompt", "brief", "kind"}},
		{"a schema", func(d *livetest.Desk) {
			d.Schema = strings.Replace(d.Schema, `"order":{"type":"string"}`, `"order":{"type":"integer"}`, 1)
		}, all,
			replay.ChangedInput, nil},
		{"a default argument", func(d *livetest.Desk) { d.Schema = strings.Replace(d.Schema, `"short"`, `"long"`, 1) }, all,
			replay.ChangedInput, nil},
		{"a dropped middleware", func(d *livetest.Desk) { d.Input = []string{"budget"} }, all,
			replay.Missing, []string{"dispatch-input/guard#0"}},
		{"swapped middlewares", func(d *livetest.Desk) { d.Input = []string{"budget", "guard"} }, all,
			replay.Order, []string{"dispatch-input/budget#0"}},
		{"one middleware more", func(d *livetest.Desk) { d.Input = []string{"guard", "audit", "budget"} }, all,
			replay.Extra, []string{"dispatch-input/audit#0"}},
		{"a stash key", func(d *livetest.Desk) { d.StashKey = "client.name" }, all,
			replay.ChangedInput, []string{"turn-input/hydrate", "customer.name", "client.name"}},
		{"a retry", func(d *livetest.Desk) { d.Retry = true }, all,
			replay.Unanswered, []string{"strand/ask A1", "execute order_status"}},
		{"an extra store", func(d *livetest.Desk) { d.StoreTwice = true }, all,
			replay.Unanswered, []string{"executor/model#1", "store"}},
		{"another argument", func(d *livetest.Desk) { d.Asked = "C3" }, all,
			replay.ChangedInput, []string{"C3"}},
		{"a cancelled sibling", func(d *livetest.Desk) { d.Impatient = true }, all,
			replay.ChangedError, []string{"one answer is enough"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := livetest.NewDesk()
			test.change(&d)
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded),
				replay.Live{Config: d.Config(), Turn: d.Turn(), Seams: test.seams}, trace.Options{File: "desk.jsonl"})
			require.NoError(t, err)
			require.NotNil(t, report.Divergence)
			text := report.String()
			t.Log("\n" + text)
			assert.Equal(t, test.class, report.Divergence.Class)
			lines := strings.Split(text, "\n")
			assert.LessOrEqual(t, len(lines), 26)
			for _, says := range test.says {
				assert.Contains(t, strings.Join(lines[:min(6, len(lines))], "\n"), says)
			}
		})
	}
}

// If code did something twice and now does it once, the one that is reported as gone is the one
// with no counterpart: what came after the other is still there.
func TestTheRightOneOfTwoIsGone(t *testing.T) {
	day := time.Date(2026, 7, 30, 9, 0, 0, 0, time.UTC)
	agent := func(today func(*adk.DispatchContext) time.Time) adk.Config {
		return adk.Config{Clock: fakes.NewClockAt(day), Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "agent", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			said := func(context.Context, string) (string, error) { return "done", nil }
			if _, err := adk.Ask(ctx, "model", "Today is "+today(dc).Format(time.DateOnly), said); err != nil {
				return err
			}
			dc.Now() // the time of saving
			if _, err := adk.Ask(ctx, "save", "done", said); err != nil {
				return err
			}
			return dc.Ack()
		}}}
	}
	var recorded bytes.Buffer
	config := agent(func(dc *adk.DispatchContext) time.Time { return dc.Now() })
	config.Probe = replay.Record(&recorded)
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Save it."}))
	for _, today := range []time.Time{day, day.AddDate(0, 0, 1)} { // on the machine's clock
		changed := agent(func(*adk.DispatchContext) time.Time { return today })
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{
			Config: changed, Turn: adk.RawTurn{SystemPrompt: "Save it."}, Seams: []string{replay.Everything}, Writes: true})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, replay.Missing, report.Divergence.Class, report)
		assert.Contains(t, report.String(), "goes on with ask model")
		assert.Contains(t, report.String(), "only this is missing: is time.Now used")
	}
}

// Two equal operations have something between them, and now there is only one. If everything after
// the second one is unchanged, the first one is gone, and nothing has changed its place.
func TestTheFirstOfTwoEqualThingsIsGone(t *testing.T) {
	agent := func(before bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if before {
				h.Log(adk.LevelInfo, "agent", "asks", nil)
			}
			said := func(context.Context, string) (string, error) { return "done", nil }
			_, err := adk.Ask(ctx, "model", "What is to be saved?", said)
			h.Log(adk.LevelInfo, "agent", "asks", nil)
			_, failed := adk.Ask(ctx, "save", "It.", said)
			return errors.Join(err, failed, dc.Ack())
		})
	}
	d := divergenceOf(t, turnOf(t, agent(true), adk.RawTurn{}), replay.Live{Config: agent(false), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	assert.Equal(t, replay.Missing, d.Class, "%s", d)
	assert.Equal(t, `ask model "What is to be saved?"`, d.GoesOn)
	assert.Zero(t, d.After.Own)
}

// One more write of a record, before the time and the id of the next write are taken, is reported as that
// write, and is not matched with another one. If it replaces the next write, it is reported as a replacement.
func TestOneMoreWriteIsNamed(t *testing.T) {
	agent := func(again, another bool) adk.Config {
		return adk.Config{Storage: fakes.NewStorage(tracetest.AMessage("m1", adk.RoleUser, "Hello!"), tracetest.AMessage("m2", adk.RoleUser, "What shall I do?")).Storage(),
			TurnInput: []adk.TurnMiddleware{{Name: "history", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				kept, err := tc.Messages().Fetch(ctx)
				if err != nil {
					return err
				}
				for _, m := range kept {
					if _, err := tc.Messages().Add(m); err != nil {
						return err
					}
				}
				if again {
					if err := tc.Messages().Store(ctx, kept[1]); err != nil {
						return err
					}
				}
				now := tc.Now()
				asked, err := adk.NewMessage(adk.MessageInit{ID: tc.NewID(), Role: adk.RoleUser, CreatedAt: now, UpdatedAt: now, Content: "Read it."})
				if err != nil {
					return err
				}
				if another {
					return tc.Messages().Store(ctx, kept[1])
				}
				if err := tc.Messages().Keep(ctx, asked); err != nil {
					return err
				}
				next(ctx)
				return nil
			}}},
			Executor: adk.Executor{Name: "agent", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return errors.Join(dc.Messages().Store(ctx, tracetest.AMessage("m4", adk.RoleAssistant, "What shall I do?")), dc.Ack())
			}}}
	}
	var recorded bytes.Buffer
	config := fakes.Deterministic(agent(false, false), replay.Record(&recorded))
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	for _, again := range []bool{true, false} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: agent(again, !again), Seams: []string{replay.Middleware}})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		class := replay.ChangedInput
		if again {
			class = replay.Unanswered
			assert.Contains(t, report.String(), `+ store m2 user "What shall I do?" in messages`)
			assert.Contains(t, strings.Join(strings.Fields(report.String()), " "), "and has another message, and differs in 1 more")
		}
		assert.Equal(t, class, report.Divergence.Class, report)
	}
}

// Pauses that became longer are still the same pauses, even if some are now as long as others were.
func TestALongerBackoffIsNamed(t *testing.T) {
	agent := func(pause time.Duration) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for range 3 {
				if _, err := adk.Ask(ctx, "metrics", "load", func(context.Context, string) (string, error) { return "", errors.New("busy") }); err == nil {
					return dc.Ack()
				}
				if err := dc.Sleep(ctx, pause); err != nil {
					return err
				}
				pause *= 2
			}
			return dc.Nack(errors.New("busy"))
		})
	}
	config := agent(20 * time.Millisecond)
	config.Clock = fakes.NewClockAt(fakes.Epoch)
	recorded := turnOf(t, config, adk.RawTurn{})
	for _, pause := range []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: agent(pause), Seams: []string{replay.Executor}})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, replay.ChangedInput, report.Divergence.Class, report)
		assert.Contains(t, report.String(), fmt.Sprintf("for: expected \"20ms\", got %q", pause.String()))
	}
}

// Something is published before its approval: the report says that it comes before the gate, even
// if code made the gate's id, and further ids after it. Which id is which shows when they are used.
func TestAnAskBeforeItsGateIsAnOrder(t *testing.T) {
	agent := func(early bool) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "agent", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			publish := func() error {
				_, err := adk.Ask(ctx, "publish", "Whales are large.", func(context.Context, string) (string, error) { return "done", nil })
				return err
			}
			approved := func() error {
				_, err := adk.WaitFor[bool](ctx, dc, adk.Gate{ID: dc.NewID(), Reason: "publish"})
				return err
			}
			first, then := approved, publish
			if early {
				first, then = publish, approved
			}
			if err := errors.Join(first(), then()); err != nil {
				return err
			}
			_, err := h.ReportMessage(dc.NewID(), "It is out.", true)
			return errors.Join(err, dc.Ack())
		}}}
	}
	raw := adk.RawTurn{SystemPrompt: "Publish."}
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("me", true) }
	var recorded bytes.Buffer
	config := fakes.Deterministic(agent(false), replay.Record(&recorded))
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), raw))
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: agent(true), Seams: []string{replay.Executor}})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Order, report.Divergence.Class, report)
	assert.Contains(t, report.String(), "0 follow from it; the turn ends as recorded")
}

// A report names what was given and does not run: a listener that panics is a crossing in a
// recording, but listeners do not run in a replay.
func TestListenersAreNotCompared(t *testing.T) {
	d := livetest.NewDesk()
	live := replay.Live{Config: d.Config(), Turn: d.Turn(), Seams: []string{replay.Prompt}}
	live.Turn.Functional.Message = func(adk.MessageEvent) { t.Error("the listener was called") }
	report, err := replay.Verify(t.Context(), bytes.NewReader(d.Record(t)), live)
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
	require.Len(t, report.NotCompared, 2)
	assert.True(t, strings.HasSuffix(report.NotCompared[0], " (not live)"), report.NotCompared[0])
	assert.Contains(t, report.NotCompared[0], "listeners of Turn")
}

// If only some tools and middlewares are live, the report names those that are not: these were
// compared with the recording only.
func TestWhatIsNotLiveIsNamed(t *testing.T) {
	tool := func(name string) *adk.Tool { return fakes.NewTool(name, "Does it.", "Done.").Tool() }
	config := doing(setsTheStash)
	config.Tools = []*adk.Tool{tool("look"), tool("refund"), tool("send")}
	pass := func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error { next(ctx); return nil }
	config.TurnInput = []adk.TurnMiddleware{{Name: "history", Run: pass}, {Name: "profile", Run: pass}}
	config.Storage = fakes.NewStorage().Storage()
	recorded := turnOf(t, config, adk.RawTurn{})
	for says, seams := range map[string][]string{
		"run/tools turn-input/* tool/* storage/* (not live)":                  {replay.Executor},
		"run/tools turn-input/* tool/refund tool/send storage/* (not live)":   {replay.Executor, "tool/look"},
		"run/tools turn-input/profile executor/* tool/* storage/* (not live)": {"turn-input/history"},
	} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: config, Seams: seams, Writes: true})
		require.NoError(t, err)
		require.Nil(t, report.Divergence, report)
		assert.Contains(t, report.NotCompared, says)
	}
}

// Ids that an agent makes without the context differ in each run, which is no difference. What is
// said under them is compared.
func TestIDsOfLiveCodeAreRenamed(t *testing.T) {
	d := livetest.NewDesk()
	d.Clockless = true
	trace := d.Record(t) // ids: x
	for _, change := range []bool{false, true} {
		live := livetest.NewDesk()
		live.Clockless = true
		*live.Ids = 3 // ids: xxxx
		live.StoreTwice = change
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{Config: live.Config(), Seams: []string{replay.Executor}})
		require.NoError(t, err)
		if !change {
			assert.Nil(t, report.Divergence, "%s", report)
			assert.Equal(t, bytes.Count(trace, []byte("\n"))-2, report.Crossings)
		} else {
			require.NotNil(t, report.Divergence)
			assert.Equal(t, replay.Unanswered, report.Divergence.Class)
		}
	}
}

// Live code that never does the same twice is reported as such.
// Ids pair one to one: what was said and stored under one id is
// different under two, even if one of them is the recorded one.
func TestIDsOfLiveCodeAreRenamedOneToOne(t *testing.T) {
	executor := func(said, kept string) replay.Live {
		return replay.LiveExecutor(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := h.ReportMessage(said, "Hello.", true); err != nil {
				return err
			}
			now := dc.Now()
			m, err := adk.NewMessage(adk.MessageInit{ID: kept, Role: adk.RoleAssistant, Content: "Hello.", CreatedAt: now, UpdatedAt: now})
			if err != nil {
				return err
			}
			if err := dc.Messages().Store(ctx, m); err != nil {
				return err
			}
			return dc.Ack()
		})
	}
	config := executor("m", "m").Config
	config.Executor.Name, config.Storage = "model", fakes.NewStorage().Storage()
	var trace bytes.Buffer
	require.NoError(t, tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))).Run(t.Context(), adk.RawTurn{SystemPrompt: "You are a test."}))
	for _, test := range []struct {
		said, kept string
		want       replay.Class // empty if the turn is as recorded
	}{
		{"m", "m", ""}, {"n", "n", ""}, {"m", "n", replay.ChangedInput}, {"n", "m", replay.ChangedInput}, {"n", "o", replay.ChangedInput},
	} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), executor(test.said, test.kept))
		require.NoError(t, err)
		var got replay.Class
		if report.Divergence != nil {
			got = report.Divergence.Class
		}
		assert.Equal(t, test.want, got, "said as %s, kept as %s: %s", test.said, test.kept, report)
	}
}

func TestLiveCodeThatIsNotDeterministic(t *testing.T) {
	trace := livetest.NewDesk().Record(t)
	turns := 0
	config := livetest.NewDesk().Config()
	hydrate := config.TurnInput[0].Run
	config.TurnInput[0].Run = func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		turns++
		if err := tc.Stash().Set("turns", turns); err != nil {
			return err
		}
		return hydrate(ctx, tc, next)
	}
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{Config: config, Seams: []string{replay.Middleware}})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.NonDeterministic, report.Divergence.Class)
	assert.Equal(t, 4, turns, "twice more in the orders of its strands, and once to see whether it is the same")

	turns = 0
	live := replay.Live{Config: config, Seams: []string{replay.Middleware, replay.Executor}}
	report, err = replay.Verify(t.Context(), bytes.NewReader(trace), live)
	require.NoError(t, err)
	assert.Equal(t, replay.Extra, report.Divergence.Class)
	assert.Equal(t, 1, turns, "an executor asks a model: it is not run twice unasked")

	live.Twice = true
	report, err = replay.Verify(t.Context(), bytes.NewReader(trace), live)
	require.NoError(t, err)
	assert.Equal(t, replay.NonDeterministic, report.Divergence.Class)
}

// An impossible choice of live seams is refused; the error names everything that is wrong, and
// what would be right.
func TestLiveChoicesAreChecked(t *testing.T) {
	trace := livetest.NewDesk().Record(t)
	holed := livetest.NewDesk().Config()
	holed.Storage.Memories = nil
	for _, test := range []struct {
		name string
		live replay.Live
		says []string
	}{
		{"nothing of that name", replay.Live{Config: livetest.NewDesk().Config(), Seams: []string{"turn-input/hydrat"}}, []string{`"turn-input/hydrat" chooses nothing`, "turn-input/hydrate"}},
		{"no such label", replay.Live{Config: livetest.NewDesk().Config(), Seams: []string{"executer/*"}}, []string{`"executer/*" chooses nothing of the config`, "executor/model"}},
		{"no storage", replay.Live{Seams: []string{replay.Storage}, Writes: true}, []string{`"storage/*" chooses nothing`}},
		{"no pattern", replay.Live{Config: livetest.NewDesk().Config(), Seams: []string{"turn-input/["}}, []string{`"turn-input/[" is no pattern`}},
		{"no prompt", replay.Live{Config: livetest.NewDesk().Config(), Seams: []string{replay.Prompt}}, []string{"Turn.SystemPrompt is empty"}},
		{"writing seams unasked", replay.Live{Config: livetest.NewDesk().Config(), Seams: []string{replay.Storage, replay.ToolCode}}, []string{"storage/messages.store", "tool/order_status", "set Writes"}},
		{"no executor", replay.Live{Seams: []string{replay.Executor}}, []string{"Config.Executor.Run is nil"}},
		{"not everything", replay.Live{Seams: []string{replay.Everything}}, []string{"Turn.SystemPrompt is empty", "Config.Executor.Run is nil", "Config.Storage has no instructions, messages, memories, "}},
		{"a storage with a hole", replay.Live{Config: holed, Seams: []string{replay.Storage}, Writes: true}, []string{"Config.Storage has no memories, and all of it is to be live"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := replay.Verify(t.Context(), bytes.NewReader(trace), test.live)
			assert.Nil(t, report)
			for _, says := range test.says {
				assert.ErrorContains(t, err, says)
			}
		})
	}
}

// A name may contain characters that are special to path.Match: the name of a model often has a
// slash. A chosen seam that was not live would be green whatever it does.
func TestLiveSeamsOfAnyName(t *testing.T) {
	for name, patterns := range map[string][]string{
		"vendor/model-4": {replay.Executor, "executor/vendor/*", "executor/vendor/model-4", replay.Everything, "exec*/*"},
		"model[1]":       {replay.Executor, "executor/model[1]", `executor/model\[1]`},
	} {
		recording := adk.Config{Executor: adk.Executor{Name: name, Run: livetest.Agent{}.Of("Oslo")}, Storage: fakes.NoOpStorage(),
			Tools: []*adk.Tool{fakes.NewTool("weather", "Tells the weather.", "rain").Tool()}}
		var trace bytes.Buffer
		runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(recording, replay.Record(&trace))))
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
		for _, pattern := range patterns {
			live := replay.Live{Config: recording, Turn: adk.RawTurn{SystemPrompt: "Be brief."}, Seams: []string{pattern}, Writes: true}
			live.Config.Executor.Run = livetest.Agent{Hello: "Hi"}.Of("Oslo")
			live.Config.Tools = []*adk.Tool{fakes.NewTool("weather", "Tells the weather.", "rain").Tool()}
			report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
			require.NoError(t, err, pattern)
			require.NotNil(t, report.Divergence, "%s was not live as %s", name, pattern)
			assert.Equal(t, "executor/"+name+"#0", report.Divergence.Seam)
			assert.Contains(t, report.Live, "executor/"+name)
		}
	}
}

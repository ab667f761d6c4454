package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/scenarios"
)

// scenario returns a scenario as a subject.
func scenario(s scenarios.Scenario) turn.Subject {
	return turn.Subject{Name: s.Name, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return s.Build(scenarios.Outside{Cancel: cancel})
	}}
}

// scripted returns a scenario as the subject that the command explores.
func scripted(s scenarios.Scenario) turn.Subject {
	subject := scenario(s)
	subject.Scripted = true
	return subject
}

func named(t testing.TB, name string) turn.Subject {
	t.Helper()
	s, ok := scenarios.Named(name)
	require.True(t, ok, name)
	return scenario(s)
}

// subject returns a turn with one executor and a storage; build sets the rest of the config.
func subject(name string, build func(c *adk.Config) adk.RawTurn) turn.Subject {
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		config := adk.Config{Executor: fakes.Script{{fakes.Say("Yes."), fakes.Ack()}}.Executor("model"), Storage: fakes.NewStorage().Storage()}
		return config, build(&config)
	}}
}

// executing returns a subject whose executor is run.
func executing(name string, run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) turn.Subject {
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// checked returns the subject with this check.
func checked(s turn.Subject, check func(turn.Run) error) turn.Subject {
	s.Check = check
	return s
}

func explored(t testing.TB, s turn.Subject, o explore.Options) *explore.Exploration {
	t.Helper()
	result, err := explore.Explore(t.Context(), s, o)
	require.NoError(t, err)
	return result
}

// The engine withstands every single fault at every crossing of every scenario, and every order of
// strands.
func TestScenariosWithOneFault(t *testing.T) {
	thorough.Long(t)
	tried := map[turn.FaultKind]int{}
	orders := 0
	of := thorough.Of(1, 1, 4)
	for i, s := range scenarios.All() {
		if i%of != 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			subject := scenario(s)
			subject.Scripted = s.Name == "housekeeping" // it shows that a memory stays whatever becomes of the turn
			result := explored(t, subject, explore.Options{})
			assert.Empty(t, result.Violations, result)
			if s.Name == "gate-timeout" { // nobody settles the gate of this scenario
				require.Len(t, result.NotCovered, 1)
				assert.Contains(t, result.NotCovered[0], `an answer to gate "delete-file"`)
			} else {
				assert.Empty(t, result.NotCovered)
			}
			orders += result.Table.Orders
			total := 1 + result.Table.Orders + result.Table.Inputs
			for _, row := range result.Table.Rows {
				for i, c := range row.Cells {
					total += c.Tried
					tried[result.Table.Faults[i]] += c.Tried
					assert.True(t, (c.Tried > 0) != (c.Why != ""), "%s at %s was tried %d times, and not because %q", result.Table.Faults[i], row.Crossing, c.Tried, c.Why)
				}
			}
			assert.Equal(t, result.Schedules, total, "the table accounts for every schedule")
		})
	}
	if of > 1 {
		return
	}
	assert.Positive(t, orders)
	for _, k := range turn.FaultKinds() {
		if k != turn.Crash && !k.OfWorld() { // a crash needs a turn that follows; for faults of the world see TestFaultsOfTheWorldArrive
			assert.Positive(t, tried[k], "%s is tried nowhere", k)
		}
	}
}

// The number of workers does not change the result.
func TestWorkersDoNotShow(t *testing.T) {
	thorough.Long(t)
	for name, limit := range map[string]int{"hello": 0, "parallel-tools": thorough.Of(1300, 1300, 600)} { // more schedules than one chunk
		var results []string
		for _, workers := range []int{1, 5} {
			result := explored(t, checked(named(t, name), noCancel), explore.Options{Bound: 2, Workers: workers, Schedules: limit, Now: still})
			text, err := json.Marshal(result)
			require.NoError(t, err)
			results = append(results, string(text)+result.String())
		}
		assert.NotContains(t, results[0], `"violations":[]`)
		assert.Equal(t, results[0], results[1])
	}
}

// still is a clock that stands still.
func still() time.Time { return fakes.Epoch }

// noCancel is a check that fails for each run that its caller cancelled.
func noCancel(r turn.Run) error {
	for x := range r.Crossings {
		if x.Kind == adk.KindCancel && x.Key == "outside" {
			return fmt.Errorf("cancelled at %d", x.Seq)
		}
	}
	return nil
}

// The text of an exploration begins with what can be quoted; the details follow below.
func TestExplorationText(t *testing.T) {
	now := fakes.Epoch
	result := explored(t, named(t, "short-circuit-turn-input"), explore.Options{Workers: 1, Command: "adkreplay explore x", Now: func() time.Time {
		now = now.Add(20 * time.Millisecond)
		return now
	}})
	assert.Equal(t, "short-circuit-turn-input: 83 schedules, bound 1, 0 violations, 0.02 s", result.Summary())
	assert.Equal(t, "short-circuit-turn-input: 83 schedules, bound 1, 0 violations, 0.02 s\n", result.String())
	assert.Equal(t, shortCircuitTable, result.Table.String())
}

const shortCircuitTable = `  call run           cancel 1, deadline 1; not abcdefghij
  call storage       cancel 1, cancel-after 1, deadline 1, panic 1,
                     storage-before 1, down 1, flaky 1; not cdefghjkl
  call turn-input    cancel 2, cancel-after 2, deadline 2, error 2,
                     panic 2; not cdefghij
  return run         cancel 1, deadline 1; not abcdefghij
  return storage     cancel 1, deadline 1, panic 1; not acdefghijkm
  return turn-input  cancel 2, deadline 2, error 2, panic 2; not
                     acdefghij
  next               cancel 1, deadline 1, panic 1; not acdefghijn
  next done          cancel 1, cancel-after 1, deadline 1; not
                     cdefghijno
  add                cancel 1, cancel-after 1, deadline 1, panic 1; not
                     cdefghijn
  fetch              cancel 1, deadline 1, panic 1; not acdefghijn
  fetch done         cancel 1, cancel-after 1, deadline 1; not
                     cdefghijno
  turnStart          cancel 1, deadline 1; not abcdefghij
  turnEnd            cancel 1, deadline 1; not abcdefghij
  error              cancel 1, deadline 1; not abcdefghij
  state              cancel 1, deadline 1; not abcdefghij
  26 schedules with another conversation or prompt
  a  cancel-after: the engine goes on to the next crossing, before which
     a cancel is tried
  b  error, panic: no user code runs that could fail there
  c  cut: only what the executor reports is a stream
  d  storage-before, storage-after: only obligations are storage faults'
     matter
  e  late-tool: only a tool's call can be deaf to its context
  f  gate-early: only a gate that opens can be settled early
  g  gate-late, gate-twice: only a gate whose waiter wakes can be
     settled again
  h  gate-unanswered: only a gate that opens, and has a timeout, can be
     left unanswered
  i  down, flaky, down-one: only a storage or a tool can be down
  j  crash: the subject makes no turn that follows
  k  error: what fails there is a storage, and that fault is
     storage-before or storage-after
  l  down-one: it is called for no record, and with no arguments
  m  storage-after: it writes nothing
  n  error: an operation answers with what the storage or the tool
     behind it does, where that fault is tried
  o  panic: the operation is under way: what can fail in it is a call of
     its own
`

// A violation says how to reproduce it, and running that shows it again.
func TestViolationsAreReproduced(t *testing.T) {
	s := named(t, "gates-aborted")
	s.Check = func(r turn.Run) error { // makes every schedule another violation
		if err := noCancel(r); err != nil {
			return errors.New(strings.Map(func(r rune) rune { return unlike[r] }, r.Schedule.String()))
		}
		return nil
	}
	result := explored(t, s, explore.Options{Bound: 2, Schedules: 700, Command: "adkreplay explore gates-aborted"})
	require.NotEmpty(t, result.Violations)
	withOrder := 0
	for i, f := range result.Violations {
		if i%31 != 0 {
			continue
		}
		text := f.Schedule.String()
		assert.Equal(t, "adkreplay explore gates-aborted --only '"+text+"'", f.Command)
		assert.Equal(t, fmt.Sprintf("explore.Reproduce(t, subject, %q)", text), f.Test)
		again, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule(text), explore.Options{})
		require.NoError(t, err, text)
		require.Len(t, again.Violations, 1, text)
		shown := again.Violations[0]
		assert.NotEmpty(t, shown.Stretch)
		assert.Len(t, shown.Where, len(f.Schedule.Faults)+min(1, len(f.Schedule.Order)), "a line for each fault, and one for the order")
		assert.Equal(t, f.Violation, shown.Violation)
		assert.Equal(t, f.Schedule, shown.Schedule)
		require.NotNil(t, shown.Run)
		assert.True(t, shown.Run.Sealed)
		require.GreaterOrEqual(t, len(shown.Run.Lines())+1, shown.Crossing)
		if at := shown.Crossing; at <= len(shown.Run.Lines()) {
			assert.Equal(t, at, shown.Run.Lines()[at-1].Seq, "the violation speaks of the run's own crossings")
		}
		if len(f.Schedule.Order) > 0 {
			withOrder++
		}
	}
	assert.Positive(t, withOrder)
}

// unlike maps digits to letters: texts that differ only in numbers count as the same.
var unlike = func() map[rune]rune {
	all := map[rune]rune{}
	for r := range rune(128) {
		all[r] = r
	}
	for r := '0'; r <= '9'; r++ {
		all[r] = 'a' + r - '0'
	}
	return all
}()

// Violations with the same text are one entry, with the simplest schedule that shows it.
func TestOneEntryForOneBug(t *testing.T) {
	result := explored(t, checked(named(t, "hello"), noCancel), explore.Options{Bound: 2})
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	assert.Greater(t, b.Schedules, 400)
	assert.Equal(t, "cancel@1", b.Schedule.String())
	assert.Equal(t, []string{`cancel@1: the caller cancels before "call run", in run`}, b.Where)
	assert.Contains(t, result.String(), " schedules show it; this is the simplest\n")

	said := explored(t, checked(named(t, "hello"), func(r turn.Run) error {
		if err := noCancel(r); err != nil {
			return fmt.Errorf("%q: %w", "by "+r.Schedule.Faults[0].Kind.String(), err) // the quoted data differ, but the rest of the text is the same
		}
		return nil
	}), explore.Options{})
	assert.Len(t, said.Violations, 1, said)
}

// recorder is a test that keeps what is reported to it.
type recorder struct {
	*testing.T
	logs, errors []string
	ran          []string
}

func (r *recorder) Helper() {}
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Name() string { return "TestAgent" }
func (r *recorder) Run(name string, f func(*recorder)) bool {
	r.ran = append(r.ran, name)
	f(r)
	return false
}

// The Reproduce line at the end of a violation is a test that fails with the subject's own check,
// and passes once the code is corrected.
func TestReproduceLine(t *testing.T) {
	s := checked(named(t, "hello"), noCancel)
	failing := &recorder{T: t}
	explore.Reproduce(failing, s, "cancel@7")
	require.Len(t, failing.errors, 1)
	assert.Contains(t, failing.errors[0], "cancelled at 7")

	mended := &recorder{T: t}
	explore.Reproduce(mended, named(t, "hello"), "cancel@7")
	explore.Reproduce(mended, named(t, "hello"), "cancel@99") // the corrected subject has fewer crossings
	assert.Empty(t, mended.errors)
	assert.Contains(t, mended.logs[1], "cannot happen")

	wrong := &recorder{T: t}
	explore.Reproduce(wrong, s, "cancle@7")
	explore.Reproduce(wrong, turn.Subject{Name: "empty"}, "cancel@7")
	assert.Len(t, wrong.errors, 2)
}

// Test runs an exploration as a test: each violation is a subtest that -run can select.
func TestTest(t *testing.T) {
	found := &recorder{T: t}
	explore.Test(found, checked(named(t, "hello"), noCancel), explore.Options{})
	assert.Equal(t, []string{"cancel@1"}, found.ran)
	require.Len(t, found.errors, 1)
	assert.Contains(t, found.errors[0], "go test -run '^TestAgent$'")
	assert.Contains(t, found.logs[0], "hello: ")

	fine := &recorder{T: t}
	explore.Test(fine, named(t, "hello"), explore.Options{})
	assert.Empty(t, fine.errors)
	explore.Test(fine, turn.Subject{Name: "empty"}, explore.Options{})
	assert.Len(t, fine.errors, 1)
	explore.Test(t, named(t, "hello"), explore.Options{}) // a *testing.T can be passed

	none := &recorder{T: t}
	now := fakes.Epoch
	explore.Test(none, named(t, "hello"), explore.Options{Budget: time.Second, Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	assert.Equal(t, []string{"hello: nothing was explored: no schedule was run"}, none.errors)
}

// A schedule that cannot happen is refused with the reason.
func TestRunScheduleRefuses(t *testing.T) {
	s := named(t, "hello")
	for text, want := range map[string]string{
		"cancel@99":          "hello: cancel@99 cannot happen: the turn has 31 crossings only",
		"late-tool@3":        `hello: late-tool@3 cannot happen: crossing 3 is "call turn-input", and only a tool's call can be deaf to its context`,
		"order@1=1":          "hello: order@1=1: strands had a choice 0 times only",
		"cancel@3,cancel@10": `hello: cancel@10 cannot happen: `,
	} {
		schedule, err := turn.ParseSchedule(text)
		require.NoError(t, err)
		_, err = explore.RunSchedule(t.Context(), s, schedule, explore.Options{})
		assert.ErrorContains(t, err, want)
	}
}

// The report says what was not run.
func TestLimits(t *testing.T) {
	all := explored(t, named(t, "hello"), explore.Options{Bound: 2, Now: still})
	require.Empty(t, all.NotCovered)

	some := explored(t, named(t, "hello"), explore.Options{Bound: 2, Schedules: 150, Now: still})
	assert.Equal(t, 150, some.Schedules)
	require.Len(t, some.NotCovered, 1)
	assert.Regexp(t, `^at least [\d,]+ schedules that follow from those tried, and all that follow from these: the limit of 150 schedules was reached$`, some.NotCovered[0])
	assert.Contains(t, some.Summary(), ", not all of it")

	exactly := explored(t, named(t, "hello"), explore.Options{Bound: 2, Schedules: all.Schedules, Now: still})
	assert.Empty(t, exactly.NotCovered)

	now := fakes.Epoch
	late := explored(t, named(t, "hello"), explore.Options{Bound: 2, Budget: time.Second, Workers: 1, Now: func() time.Time {
		now = now.Add(10 * time.Millisecond)
		return now
	}})
	assert.Less(t, late.Schedules, all.Schedules)
	require.Len(t, late.NotCovered, 1)
	assert.Contains(t, late.NotCovered[0], "the budget of 1s was used up")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none, err := explore.Explore(ctx, named(t, "hello"), explore.Options{})
	require.NoError(t, err)
	assert.Zero(t, none.Schedules)
	assert.Equal(t, []string{"at least 1 schedule that follows from those tried, and all that follow from it: the exploration was interrupted"}, none.NotCovered)
}

// The reported progress never goes back, and it ends when everything has run.
func TestProgress(t *testing.T) {
	last, known := 0, 0
	result := explored(t, named(t, "hello"), explore.Options{Bound: 2, Progress: func(run, all int) {
		assert.GreaterOrEqual(t, run, last)
		assert.GreaterOrEqual(t, all, run)
		last, known = run, all
	}})
	assert.Equal(t, []int{result.Schedules, result.Schedules}, []int{last, known})
}

func TestExploreRefuses(t *testing.T) {
	_, err := explore.Explore(t.Context(), turn.Subject{Name: "empty"}, explore.Options{})
	assert.ErrorContains(t, err, "the subject has no Build")
	_, err = explore.Explore(t.Context(), subject("bare", func(c *adk.Config) adk.RawTurn {
		c.Executor.Run, c.Storage.Messages = nil, nil
		return adk.RawTurn{SystemPrompt: "Help."}
	}), explore.Options{})
	assert.ErrorIs(t, err, adk.E_INVALID_TURN_RUNNER_CONFIG)
	assert.ErrorContains(t, err, "Executor.Run is missing; Storage.Messages is missing")
	_, err = explore.Explore(t.Context(), subject("mute", func(*adk.Config) adk.RawTurn { return adk.RawTurn{} }), explore.Options{})
	assert.ErrorIs(t, err, adk.E_INVALID_TURN_CONTEXT)
}

// Waiting an hour before a retry takes no real time. A turn that nobody answers is ended by its
// caller, which is not a violation.
func TestTimeIsVirtual(t *testing.T) {
	begun := time.Now()
	result := explored(t, executing("back-off", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := dc.Sleep(ctx, time.Hour); err != nil {
			return err
		}
		return dc.Ack()
	}), explore.Options{Bound: 2})
	assert.Empty(t, result.Violations, result)
	assert.Zero(t, result.Waited)
	assert.Less(t, time.Since(begun), time.Hour)

	result = explored(t, executing("forgotten", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "is anybody there?"})
		return err
	}), explore.Options{})
	assert.Empty(t, result.Violations, result)
	assert.Positive(t, result.Waited)
	assert.Contains(t, result.String(), "stood still until the caller cancelled")
}

// The code after a gate that nobody settles is not explored, and the report says so.
func TestGatesThatNobodySettles(t *testing.T) {
	waiting := func(gate adk.Gate, listen func(adk.TurnGateOpen)) turn.Subject {
		return turn.Subject{Name: "waits", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if _, err := dc.WaitFor(ctx, gate); err != nil {
					return dc.Nack(err)
				}
				return dc.Ack()
			}
			return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
				adk.RawTurn{SystemPrompt: "Help.", Observability: adk.Observability{TurnGateOpen: listen}}
		}}
	}
	uncovered := `what comes behind an answer to gate "g": nobody settled it in the undisturbed run. Give the turn somebody who does, and at once, as nobody waits for a goroutine that sleeps: ` +
		`Observability.TurnGateOpen of its RawTurn, or what session.Config.Listen gives`
	brief, endless := adk.Gate{ID: "g", Reason: "may it?", Timeout: time.Hour}, adk.Gate{ID: "g", Reason: "may it?"}
	answered := func(e adk.TurnGateOpen) { e.Gate.Resolve("ada", true) }
	assert.Equal(t, []string{uncovered}, explored(t, waiting(brief, nil), explore.Options{}).NotCovered)
	assert.Equal(t, []string{uncovered}, explored(t, waiting(endless, nil), explore.Options{}).NotCovered)
	assert.Empty(t, explored(t, waiting(brief, answered), explore.Options{}).NotCovered, "a fault that settles it, or keeps the listener from it, is no matter")
}

// A turn that never ends without a fault is refused. A turn that never ends after a fault is cancelled,
// and the exploration reports that nothing bounds it.
func TestEndlessTurn(t *testing.T) {
	thorough.Long(t)
	_, err := explore.Explore(t.Context(), executing("endless", func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }), explore.Options{})
	assert.EqualError(t, err, "endless: the turn has not ended after 100,000 crossings, with nothing gone wrong: does anybody signal?")

	result := explored(t, keeping("insists", func(c *adk.Config) {
		c.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := dc.Messages().Fetch(ctx); err != nil || dc.Iteration() > 0 {
				return nil // the executor is called again, for ever
			}
			return dc.Ack()
		}
	}), explore.Options{})
	assert.Zero(t, result.Waited, "it does not stand still")
	require.Len(t, result.Violations, 2, result)
	assert.Equal(t, "a loop has a bound", result.Violations[0].Invariant)
	assert.Equal(t, "unbounded-loop", result.Violations[1].Invariant)
	assert.Equal(t, 5, result.Violations[0].Schedules, "a fault before the fetch, a panic of it, one behind it, and a storage that is down or fails twice")
}

// A single stream is no loop: it may be as long as its answer. A stream that never ends is still
// found.
func TestLongStreams(t *testing.T) {
	thorough.Long(t)
	saying := func(name string, more func(n int, failed error) bool) turn.Subject {
		return keeping(name, func(c *adk.Config) {
			c.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				_, failed := dc.Messages().Fetch(ctx)
				for n := 0; more(n, failed) && ctx.Err() == nil; n++ {
					if _, err := h.ReportMessage("m", "on ", false); err != nil {
						return err
					}
				}
				if _, err := h.ReportMessage("m", "and out", true); err != nil {
					return err
				}
				return dc.Ack()
			}
		})
	}
	failing := explore.Options{Faults: []turn.FaultKind{turn.StorageBefore}}
	result := explored(t, saying("goes through all of it", func(n int, failed error) bool { return failed != nil && n < 10_000 }), failing)
	assert.Empty(t, result.Violations, "%s", result)
	result = explored(t, saying("comes to no end", func(_ int, failed error) bool { return failed != nil }), failing)
	require.Len(t, result.Violations, 1, "%s", result)
	assert.Equal(t, "a loop has a bound", result.Violations[0].Invariant)
	assert.Contains(t, result.Violations[0].Text, "after 100,000 crossings; undisturbed it has ")
}

// A runtime.Goexit in user code ends only the goroutine that runs turns, and nothing else
// (PIP-11).
func TestGoexit(t *testing.T) {
	result := explored(t, executing("fails now", func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		goexit()
		return nil
	}), explore.Options{})
	assert.Empty(t, result.Violations, result)
	assert.Greater(t, result.Schedules, 10)
}

var errBoom = errors.New("boom")

// A violation names the lines of user code that met the fault and that show what is wrong. For a
// violation that the check found, it shows what user code did after the fault.
func TestLinesOfUserCode(t *testing.T) {
	s := checked(executing("goes on", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if _, err := dc.Memories().Fetch(ctx); err != nil {
			h.Log(adk.LevelWarn, "memories", "none", nil)
		}
		return dc.Ack()
	}), func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog {
				return errors.New("it went on")
			}
		}
		return nil
	})
	result := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.StorageBefore}})
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	require.Len(t, b.Code, 1)
	assert.Regexp(t, `^met by explore_test\.TestLinesOfUserCode\.func1 at .*explore_test\.go:\d+$`, b.Code[0])
	assert.Contains(t, strings.Join(strings.Fields(result.String()), " "), b.Code[0])
	for line := range strings.SplitSeq(b.String(), "\n") {
		if len(strings.Fields(line)) > 2 && !strings.Contains(b.Stretch, strings.TrimSpace(line)) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 72, "go test sets it in by eight")
		}
	}
	assert.Regexp(t, `(?s)fetch memories .*broken by the explorer  ← storage-before\n.*report-log warn memories: "none".*\n.*ack\n`, b.Stretch)

	result = explored(t, executing("crashes", func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		h.Log(adk.LevelInfo, "id", dc.NewID()+fmt.Sprint(time.Now().UnixNano()), nil)
		return dc.Ack()
	}), explore.Options{Faults: []turn.FaultKind{}})
	require.Len(t, result.Violations, 1, result)
	require.Len(t, result.Violations[0].Code, 1)
	assert.Regexp(t, `^shows in explore_test\.TestLinesOfUserCode\.func3 at `, result.Violations[0].Code[0])
}

// If the first run leaves something in a package variable, all later runs find it there. The faults of
// operations that later runs skip are not tried, and the report says so. Deterministic code gets no such note.
func TestWhatOnlyTheFirstRunDoes(t *testing.T) {
	const said = "what the first run alone did, which left something to all others"
	remembers := func(fresh bool) string {
		cache := map[string]bool{}
		s := executing("remembers", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			known := cache
			if fresh {
				known = map[string]bool{}
			}
			if !known["notes"] {
				known["notes"] = true
				_, _ = dc.Memories().Fetch(ctx)
			}
			return dc.Ack()
		})
		return strings.Join(explored(t, s, explore.Options{Workers: 1}).NotCovered, "\n")
	}
	assert.Empty(t, remembers(true))
	got := remembers(false)
	assert.Contains(t, got, said)
	assert.Contains(t, got, "- fetch memories")
	assert.Contains(t, got, "+ ack")
}

// hurried is a test whose deadline is soon.
type hurried struct {
	*testing.T
	timeout time.Time
	said    *[]string
}

func (h hurried) Deadline() (time.Time, bool) { return h.timeout, true }
func (h hurried) Helper()                     {}
func (h hurried) Logf(format string, args ...any) {
	*h.said = append(*h.said, fmt.Sprintf(format, args...))
}
func (h hurried) Errorf(format string, args ...any) { h.Logf(format, args...) }
func (h hurried) Run(_ string, f func(hurried)) bool {
	f(h)
	return false
}

// An exploration without a budget ends before the timeout of go test, and reports what it has found.
func TestBeforeTheTimeoutOfGoTest(t *testing.T) {
	said := []string{}
	explore.Test(hurried{t, time.Now().Add(time.Second), &said}, named(t, "tool-round-trip"), explore.Options{Bound: 9, Workers: 1})
	assert.Contains(t, strings.Join(strings.Fields(strings.Join(said, " ")), " "), "the timeout of go test was about to come")
}

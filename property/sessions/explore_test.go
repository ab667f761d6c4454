package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/sessions"
)

// doing returns a subject whose executor is turn.
func doing(name string, turn func(context.Context, *adk.DispatchContext) error) sessions.Subject {
	return kept(name, func(func() *session.Host) session.Config { return agent(turn) })
}

func explored(t *testing.T, s sessions.Subject, o sessions.Options) *sessions.Exploration {
	t.Helper()
	found, err := sessions.Explore(t.Context(), s, o)
	require.NoError(t, err)
	return found
}

// The explorer tries a crash before and after every call of the store, which are the rows of the table of
// crashes, and the other faults there, before it draws random schedules.
func TestEveryRowOfTheTableOfCrashes(t *testing.T) {
	tried, schedules := sessions.Planned(elsewhere())
	for _, call := range []string{"Start", "Claim", "Load", "Begin", "Prompt", "Deliver", "Create", "Snapshot", "Commit", "Applied", "Notify", "Notified", "Release", "Pending"} {
		for _, k := range []sessions.FaultKind{sessions.Crash, sessions.CrashAfter, sessions.Fail, sessions.FailAfter, sessions.Stand} {
			assert.True(t, tried[call][k], "%s at %s", k, call)
		}
	}
	for _, k := range sessions.FaultKinds() {
		if strings.HasPrefix(string(k), "turn-") {
			assert.True(t, tried["a turn"][k], "%s", k)
		}
	}
	assert.Less(t, schedules, 1000, "the default has room for all of them")
}

// A schedule does what it says: what was done before a crash or a failure stays done, and nothing
// else does.
func TestFaultsComeAbout(t *testing.T) {
	commit := sessions.CallNumber(listener(), "Commit")
	committed := func(host string, attempt int) string {
		return fmt.Sprintf("%s committed d1, attempt %d", host, attempt)
	}
	for schedule, want := range map[string][]string{
		"a:deliver@1": {committed("a", 1)},
		fmt.Sprintf("a:deliver@1+crash@%d", commit):                         {committed("last", 2)},
		fmt.Sprintf("a:deliver@1+crash-after@%d", commit):                   nil,
		fmt.Sprintf("a:deliver@1+fail@%d", commit):                          {committed("a", 1)}, // the host asks once more
		fmt.Sprintf("a:deliver@1+fail-after@%d", commit):                    {committed("a", 1)},
		fmt.Sprintf("a:deliver@1+stand@%d,expire,b:deliver@1", commit):      {committed("b", 2), "a dropped d1, attempt 1, E_SESSION_LEASE_LOST"},
		fmt.Sprintf("a:deliver@1+stand@%d,b:deliver@1", commit):             {committed("a", 1)},
		fmt.Sprintf("a:deliver@1+stand@%d,a:restart", commit):               {committed("last", 2)},
		fmt.Sprintf("a:deliver@1+stand@%d,a:go+crash@%d", commit, commit+1): {committed("a", 1)},
		"a:deliver@1+turn-crash@9":                                          {committed("last", 2)},
		"a:deliver@1+turn-cancel@9":                                         {"a dropped d1, attempt 1", committed("last", 1)},
		"a:deliver@1+turn-stand@9,expire,b:deliver@1":                       {"a dropped d1, attempt 1, E_SESSION_LEASE_LOST", committed("b", 2)},
		"a:deliver@1+turn-stand@9,wait@30,b:deliver@1":                      {committed("a", 1)},
	} {
		var got []string
		s := listener()
		s.Check = func(r sessions.Run) error {
			got = nil
			for _, step := range r.Journal.Steps {
				if step.Kind == session.StepCommitted || step.Kind == session.StepDropped {
					got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %s, attempt %d, %s", step.Host, step.Kind, step.Delivery, step.Attempt, step.Code), ", "))
				}
			}
			return nil
		}
		var q quiet
		sessions.Reproduce(&q, s, schedule)
		assert.Empty(t, q.failures, schedule)
		assert.ElementsMatch(t, want, got, schedule)
	}
}

// Every schedule that can be drawn is written and parsed back as the same text.
func TestSchedulesAreRead(t *testing.T) {
	for _, s := range sessions.Draw(upgraded(), 1, 500) {
		read, err := sessions.ParseSchedule(s.String())
		require.NoError(t, err)
		assert.Equal(t, s.String(), read.String())
	}
	for text, says := range map[string]string{
		"a:fly@1":                     `there is no verb "fly"`,
		"a:deliver":                   "want deliver as in deliver@1",
		"a:resume@1":                  "want resume as in",
		"deliver@1":                   "want a: or b:",
		"c:deliver@1":                 "want a: or b:",
		"a:expire":                    "want a: or b:",
		"a:deliver@0":                 "want a number from 1 after @",
		"a:deliver@01":                "want a number from 1 after @",
		"a:restart+crash@1":           "nothing goes wrong in it",
		"a:deliver@1+fly@1":           `there is no fault "fly"`,
		"a:deliver@1+crash":           "want the number of a call",
		"a:deliver@1+turn-ask-429@x":  `there is no fault "turn-ask-429"`,
		"a:deliver@1,,a:resume":       `there is no verb ""`,
		"a:deliver@1+turn-stand@-1":   "want the number of a call, or of a crossing",
		"a:deliver@1+crash@1,a:go+x@": `there is no fault "x"`,
	} {
		_, err := sessions.ParseSchedule(text)
		assert.ErrorContains(t, err, says, text)
	}
}

// A subject or schedule that cannot run is an error, and not a violation.
func TestSubjectsThatCannotRun(t *testing.T) {
	none := sessions.Subject{Name: "none"}
	idle := listener()
	idle.Deliveries = nil
	broken := listener()
	broken.Deliveries = []session.Delivery{{Session: "one"}}
	homeless := kept("homeless", func(func() *session.Host) session.Config { return session.Config{} })
	empty := listener()
	empty.Open = func() sessions.Instance { return sessions.Instance{} }
	for says, s := range map[string]sessions.Subject{"has no Open": none, "has no Deliveries": idle, "delivery 1: ": broken, "release 1: ": homeless, "gives no Releases": empty} {
		_, err := sessions.Explore(t.Context(), s, sessions.Options{})
		assert.ErrorContains(t, err, says)
		var q quiet
		sessions.Reproduce(&q, s, "a:resume")
		assert.Len(t, q.failures, 1)
	}
	var q quiet
	sessions.Reproduce(&q, listener(), "a:deliver@1+crash@99")
	assert.Empty(t, q.failures)
	require.Len(t, q.logs, 1)
	assert.Contains(t, q.logs[0], "crash@99, which was not met")
	for schedule, says := range map[string]string{"a:deliver@3": "there are 2 deliveries", "a:release@2": "there are 1 releases", "x": "there is no verb"} {
		var q quiet
		sessions.Reproduce(&q, listener(), schedule)
		require.Len(t, q.failures, 1)
		assert.Contains(t, q.failures[0], says)
	}
}

// DET-2: the same subject and seed give the same exploration, and another seed gives another one.
func TestEqualExplorations(t *testing.T) {
	at := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == "nothing is pending" })
	text := func() string {
		mutant, _ := mutated(at)
		found := explored(t, mutant, sessions.Options{First: true})
		found.Elapsed = 0
		whole, err := json.Marshal(found)
		require.NoError(t, err)
		return string(whole)
	}
	assert.Equal(t, text(), text())
	assert.NotEqual(t, sessions.Draw(listener(), 1, 5), sessions.Draw(listener(), 2, 5))
}

// A subject that differs between two runs of a schedule is reported as unsteady.
func TestUnsteady(t *testing.T) {
	var runs atomic.Int64
	s := doing("unsteady", func(ctx context.Context, dc *adk.DispatchContext) error {
		return errors.Join(hears(ctx, dc), heard.Set(dc, []string{fmt.Sprint(runs.Add(1))}))
	})
	found := explored(t, s, sessions.Options{Schedules: 1})
	require.Len(t, found.Violations, 1, "%s", found)
	assert.Equal(t, "equal schedules make equal journals", found.Violations[0].Invariant)
	assert.Regexp(t, `^two runs differ at step 6 of their journals
a: committed "one" of "shop", "d1", attempt 1, revision 1
  bag: "\w+" → "\w+"
and its turn at line \d+ of its trace
  value.\$json.x\[0\]: "1" → "\d+"$`, found.Violations[0].Text)
}

// SES-19: if no delivery is ever committed, nothing is violated, and the exploration says why.
func TestNothingIsCommitted(t *testing.T) {
	s := doing("broken", func(context.Context, *adk.DispatchContext) error { return errNotNow })
	found := explored(t, s, sessions.Options{Schedules: 5})
	assert.Empty(t, found.Violations, "%s", found)
	assert.Equal(t, "what a commit leads to: no delivery was committed in the undisturbed run: E_LLM_EXECUTION_EXECUTOR_ERROR", found.NotCovered[0])
	assert.Contains(t, found.Summary(), "not all of it")

	s = doing("broken at times", func(ctx context.Context, dc *adk.DispatchContext) error {
		if seed, err := session.SeedOf(dc); err != nil || seed.Delivery != "d2" {
			return errNotNow
		}
		return hears(ctx, dc)
	})
	assert.NotContains(t, strings.Join(explored(t, s, sessions.Options{Schedules: 1}).NotCovered, "\n"), "no delivery was committed")
}

// The ways of making schedules take turns. No way waits until all schedules of another have run, since with many
// deliveries there are more of these than the limit allows. The report says what was left out of each.
func TestWaysTakeTurns(t *testing.T) {
	left := explored(t, listener(), sessions.Options{Schedules: 30})
	require.Len(t, left.NotCovered, 6, "each but what is drawn: %s", left)
	for _, note := range left.NotCovered {
		var n, of int
		_, err := fmt.Sscanf(note, "%d of %d schedules with ", &n, &of)
		require.NoError(t, err, note)
		require.Contains(t, []int{4, 5}, of-n, note)
		assert.Contains(t, note, ": the limit of 30 schedules was reached")
	}
	assert.Contains(t, left.Summary(), ", not all of it")
	stood := 0
	for _, row := range left.Table.Rows {
		stood += row.Faults[sessions.Stand]
	}
	require.Positive(t, stood)
	one := explored(t, listener(), sessions.Options{Schedules: 1}).NotCovered
	assert.Equal(t, "schedules with a host that resumes delivery 1 or a later one: the limit of 1 schedule was reached", one[0])
	assert.Contains(t, one[len(one)-1], "schedules with many things wrong, which are drawn: the limit of 1 schedule was reached")
	second := listener() // fails only if the second delivery is resumed
	second.Check = func(r sessions.Run) error {
		if strings.HasPrefix(r.Schedule.String(), "a:deliver@2+crash-after@1,expire,b:resume+crash@") {
			return errNotNow
		}
		return nil
	}
	assert.Len(t, explored(t, second, sessions.Options{First: true}).Violations, 1)
	thorough.Long(t)
	assert.Empty(t, explored(t, listener(), sessions.Options{}).NotCovered, "the usual number has room for all with one thing wrong of two deliveries")
}

// DET-6: a turn that waits for ever is reported with the place where it waits, and the exploration ends.
func TestHang(t *testing.T) {
	s := doing("stuck", func(context.Context, *adk.DispatchContext) error {
		select {}
	})
	found := explored(t, s, sessions.Options{})
	require.Len(t, found.Violations, 1, "%s", found)
	assert.Equal(t, "a run ends", found.Violations[0].Invariant)
	assert.Contains(t, found.Violations[0].Text, "explore_test.go")
	assert.NotEmpty(t, found.NotCovered)
}

// A turn that waits for its caller to cancel it is cancelled. This is no hang, and the delivery is settled by
// an attempt that no longer waits.
func TestWaitForTheCaller(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	s := sessions.Subject{Name: "waiting", Deliveries: deliveries(1), Open: func() sessions.Instance {
		i := listener().Open()
		waited := false
		release := i.Releases[0]
		i.Releases[0] = func(host func() *session.Host) session.Config {
			c := release(host)
			c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if !waited {
					waited = true
					<-ctx.Done()
				}
				return errors.Join(hears(context.WithoutCancel(ctx), dc), dc.Ack())
			}
			return c
		}
		return i
	}}
	found := explored(t, s, sessions.Options{Schedules: 1})
	assert.Empty(t, found.Violations, "%s", found)
}

// An exploration ends with its budget and with its context, even if user code never
// returns.
func TestExplorationsEnd(t *testing.T) {
	thorough.Long(t)
	var over atomic.Bool
	defer over.Store(true)
	busy := doing("busy", func(context.Context, *adk.DispatchContext) error {
		for !over.Load() {
			runtime.Gosched()
		}
		return nil
	})
	found := explored(t, busy, sessions.Options{Budget: 50 * time.Millisecond})
	assert.NotEmpty(t, found.NotCovered)
	slow := doing("slow", func(context.Context, *adk.DispatchContext) error {
		for !over.Load() {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	found = explored(t, slow, sessions.Options{Budget: 50 * time.Millisecond})
	assert.NotEmpty(t, found.NotCovered)
	assert.Empty(t, found.Violations, "what waits for the system is given the time")
	assert.Equal(t, []string{"schedules that follow: the budget of 50ms is over"}, found.NotCovered)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errNotNow)
	for _, s := range []sessions.Subject{listener(), slow} { // the exploration may be given up before the subject has run once
		found, err := sessions.Explore(ctx, s, sessions.Options{})
		require.NoError(t, err)
		assert.Equal(t, []string{"schedules that follow: not now"}, found.NotCovered)
	}
}

// panicking is a store whose Commit panics.
type panicking struct{ session.Store }

func (panicking) Commit(context.Context, session.Claim, session.Commit) error { panic("no such table") }

// A panic or a runtime.Goexit around a host is a violation, and does not end the test.
func TestPanics(t *testing.T) {
	s := kept("panicking", func(func() *session.Host) session.Config { return agent(hears) }, func(s session.Store) session.Store { return panicking{s} })
	found := explored(t, s, sessions.Options{Schedules: 1})
	require.NotEmpty(t, found.Violations)
	assert.Equal(t, "a host does not panic", found.Violations[0].Invariant)
	assert.Contains(t, found.Violations[0].Text, "no such table")
	for says, check := range map[string]func(sessions.Run) error{
		"no check":                 func(sessions.Run) error { panic("no check") },
		"the goroutine was ended":  func(sessions.Run) error { runtime.Goexit(); return nil },
		"the check given: not now": func(sessions.Run) error { return errNotNow },
	} {
		s := listener()
		s.Check = check
		assert.Contains(t, explored(t, s, sessions.Options{Schedules: 1}).String(), says)
	}
}

// A check can read the final state: values, records, outcomes, and the journal.
func TestFinalState(t *testing.T) {
	s := listener()
	s.Check = func(r sessions.Run) error {
		id := r.Sessions[0]
		values, err := r.Values(id)
		if err != nil {
			return err
		}
		if got := string(values[heard.Name()]); got != `["d1","d2"]` {
			return fmt.Errorf("heard %s", got)
		}
		messages, err := r.Storage.Messages.Fetch(context.Background(), r.Scope(id))
		if err != nil || len(messages) != 4 {
			return fmt.Errorf("there are %d messages: %w", len(messages), err)
		}
		if len(r.Outcomes) != 2 || r.Outcomes[1].Revision != 2 {
			return fmt.Errorf("the outcomes are %+v", r.Outcomes)
		}
		if len(r.Journal.Steps) != 12 {
			return fmt.Errorf("the journal has %d steps", len(r.Journal.Steps))
		}
		return nil
	}
	assert.Empty(t, explored(t, s, sessions.Options{Schedules: 1}).Violations)
	s.Check = func(r sessions.Run) error { return fmt.Errorf("of %s", r.Schedule) }
	assert.Equal(t, "of a:deliver@1", explored(t, s, sessions.Options{Schedules: 1}).Violations[0].Text[:len("of a:deliver@1")])
	s.Check = func(sessions.Run) error { panic("the file is closed") }
	assert.Contains(t, explored(t, s, sessions.Options{Schedules: 1}).Violations[0].Text, "it panicked: the file is closed, in sessions_test.")
}

// SES-34: a prompt that does not depend on the seed alone cannot be replayed.
func TestPromptOfTheMoment(t *testing.T) {
	asked := 0
	s := kept("momentary", func(func() *session.Host) session.Config {
		c := agent(hears)
		c.Prompt = func(session.Seed) (string, []string, error) {
			asked++
			return fmt.Sprint("You listen, as ", asked, " times before."), nil, nil
		}
		return c
	})
	found := explored(t, s, sessions.Options{Schedules: 1})
	require.Len(t, found.Violations, 1, "%s", found)
	assert.Equal(t, "journals and traces verify", found.Violations[0].Invariant)
	assert.Contains(t, found.Violations[0].Text, "today's host has another prompt")
	assert.NotContains(t, found.Violations[0].Text, "times before", "nothing of the prompt, in which a secret may stand")
}

// STO-3: a storage that does not keep tenants apart is found, whoever wrote it.
func TestSharedStorage(t *testing.T) {
	shared := sessions.Subject{Name: "shared", Deliveries: deliveries(1), Open: func() sessions.Instance {
		i := listener().Open()
		release, records := i.Releases[0], newSharedStorage()
		i.Releases[0] = func(host func() *session.Host) session.Config {
			c := release(host)
			c.Agent.Storage = records
			return c
		}
		return i
	}}
	found := explored(t, shared, sessions.Options{First: true})
	require.NotEmpty(t, found.Violations)
	assert.Equal(t, "tenants are kept apart", found.Violations[0].Invariant)
	assert.Contains(t, found.Violations[0].Schedule.String(), "to-tenant")
}

// A violation is written as a Go test that a person can read.
func TestGoTest(t *testing.T) {
	s := listener()
	s.Check = func(r sessions.Run) error {
		if len(r.Sessions) > 1 {
			return errors.New("there are two sessions")
		}
		return nil
	}
	found := explored(t, s, sessions.Options{First: true})
	require.Len(t, found.Violations, 1)
	assert.Equal(t, found.Violations[0].Found, found.Schedules, "it ends with the first")
	text := found.Violations[0].GoTest()
	_, err := parser.ParseFile(token.NewFileSet(), "", "package x\n\n"+text, parser.ParseComments)
	require.NoError(t, err)
	assert.Equal(t, `// TestTheCheckGivenAToSession1ADeliver1: the check given: there are two sessions
//
//	host a delivers 1 to a second session
//	host a delivers 1
//	then whatever stands goes on, and another host resumes until nothing is left
//	a: accepted "one" of "shop", "d1"
//	a: claimed "one" of "shop", epoch 1
//	a: hydrated "one" of "shop", epoch 1, "d1", attempt 1
//	a: ran "one" of "shop", epoch 1, "d1", attempt 1
//	a: committed "one" of "shop", epoch 1, "d1", attempt 1, revision 1
//	a: notified "one" of "shop", epoch 1, "d1"
//	a: accepted "one-second" of "shop", "d1"
//	a: claimed "one-second" of "shop", epoch 1
//	a: hydrated "one-second" of "shop", epoch 1, "d1", attempt 1
//	a: ran "one-second" of "shop", epoch 1, "d1", attempt 1
//	a: committed "one-second" of "shop", epoch 1, "d1", attempt 1, revision 1
//	a: notified "one-second" of "shop", epoch 1, "d1"
func TestTheCheckGivenAToSession1ADeliver1(t *testing.T) {
	sessions.Reproduce(t, subject, "a:to-session@1,a:deliver@1")
}
`, text)
}

// Of the schedules that show the same violation, the shortest one is shortened further, not the first one.
func TestShortestOfThoseThatShowIt(t *testing.T) {
	s := listener()
	s.Check = func(r sessions.Run) error {
		if text := r.Schedule.String(); strings.HasPrefix(text, "a:deliver@1+turn-cancel@1") || text == "a:deliver@1+crash-after@1,expire,b:resume" {
			return errNotNow
		}
		return nil
	}
	found := explored(t, s, sessions.Options{Schedules: 10})
	require.Len(t, found.Violations, 1)
	b := found.Violations[0]
	assert.Equal(t, "a:deliver@1+turn-cancel@1", b.Schedule.String())
	assert.Equal(t, []int{2, 2}, []int{b.Found, b.Schedules})
	assert.Contains(t, b.Test, b.Schedule.String())

	s.Check = func(r sessions.Run) error {
		if text := r.Schedule.String(); strings.HasPrefix(text, "a:deliver@1+crash@1") || strings.HasPrefix(text, "a:deliver@1+stand@1,") {
			return errNotNow
		}
		return nil
	}
	found = explored(t, s, sessions.Options{Schedules: 5})
	require.Len(t, found.Violations, 1)
	assert.Equal(t, "a:deliver@1+crash@1", found.Violations[0].Schedule.String(), "what stands, and is overtaken, is simpler where it crashes")
}

// subtests is a test that keeps the names and failures of its subtests.
type subtests struct {
	quiet
	names []string
}

func (*subtests) Name() string             { return "TestShop" }
func (*subtests) Context() context.Context { return context.Background() }

func (s *subtests) Run(name string, f func(*subtests)) bool {
	s.names = append(s.names, name)
	f(s)
	return false
}

// Each violation fails a subtest that -run can select.
func TestTest(t *testing.T) {
	s := listener()
	s.Check = func(sessions.Run) error { return errNotNow }
	var test subtests
	sessions.Test(&test, s, sessions.Options{First: true})
	require.Len(t, test.names, 1)
	require.Len(t, test.failures, 1)
	assert.Contains(t, test.failures[0], "go test -run '^TestShop$'")
	require.NotEmpty(t, test.logs)
	assert.Contains(t, test.logs[0], "within turns", "the table")
}

// SES-24: several attempts at a delivery make the same write again, and the service can notice this only by a key
// that stays the same. Two writes within one attempt are not reported.
func TestWritesInEachAttempt(t *testing.T) {
	thorough.Long(t)
	paying := func(name string, key func(dc *adk.DispatchContext, seed session.Seed) string, more ...string) sessions.Subject {
		return kept(name, func(func() *session.Host) session.Config {
			return agent(func(ctx context.Context, dc *adk.DispatchContext) error {
				seed, err := session.SeedOf(dc)
				for _, note := range append(more, "")[:max(1, len(more))] {
					if err != nil {
						return err
					}
					_, err = adk.Ask(ctx, "bank", map[string]string{"to": "Ada"}, func(context.Context, map[string]string) (string, error) { return "paid", nil },
						adk.AskOptions{Effect: adk.EffectWrites, Key: key(dc, seed) + note})
				}
				return err
			})
		})
	}
	const invariant = "what writes is done once"
	of := func(s sessions.Subject) (all []string) {
		found, err := sessions.Explore(t.Context(), s, sessions.Options{Schedules: 100, First: true})
		require.NoError(t, err)
		for _, b := range found.Violations {
			all = append(all, b.Invariant+": "+b.Text)
		}
		return all
	}
	for name, c := range map[string]struct {
		key  func(dc *adk.DispatchContext, seed session.Seed) string
		says string
	}{
		"none":    {func(*adk.DispatchContext, session.Seed) string { return "" }, "has no idempotency key"},
		"made":    {func(dc *adk.DispatchContext, _ session.Seed) string { return dc.NewID() }, "is another"},
		"turn":    {func(dc *adk.DispatchContext, _ session.Seed) string { return dc.TurnID() }, "is another"},
		"attempt": {func(_ *adk.DispatchContext, s session.Seed) string { return fmt.Sprint(s.Delivery, "-", s.Attempt) }, "is another"},
		"time": {func(dc *adk.DispatchContext, s session.Seed) string {
			return fmt.Sprint(s.Delivery, "-", dc.Now().UnixNano())
		}, "is another"},
		"digest": {func(dc *adk.DispatchContext, s session.Seed) string {
			return fmt.Sprintf("%x", adk.DigestOf([]byte(dc.TurnID()+s.Delivery)))
		}, "is another"},
	} {
		found := of(paying(name, c.key))
		if assert.Len(t, found, 1, name) {
			assert.Contains(t, found[0], invariant, name)
			assert.Contains(t, found[0], c.says, name)
		}
	}
	byDelivery := func(_ *adk.DispatchContext, s session.Seed) string { return s.Delivery }
	assert.Empty(t, of(paying("by delivery", byDelivery)))
	assert.Empty(t, of(kept("strands", func(func() *session.Host) session.Config { // each attempt asks in another order
		return agent(func(ctx context.Context, dc *adk.DispatchContext) error {
			seed, err := session.SeedOf(dc)
			if err != nil {
				return err
			}
			for i := range 2 {
				key := fmt.Sprint(seed.Delivery, "-", (i+seed.Attempt)%2)
				if _, err := adk.Ask(ctx, "bank", "Ada", func(context.Context, string) (string, error) { return "paid", nil }, adk.AskOptions{Effect: adk.EffectWrites, Key: key}); err != nil {
					return err
				}
			}
			return nil
		})
	})))
	two := paying("two by delivery", byDelivery, "-1", "-2")
	assert.Empty(t, of(two))
	var q quiet
	sessions.Reproduce(&q, paying("two without a key", func(*adk.DispatchContext, session.Seed) string { return "" }, "", ""), "a:deliver@1")
	assert.Empty(t, q.failures, "in one attempt")
	for at := 1; at < 60; at++ { // a crash between the two writes is included
		var q quiet
		sessions.Reproduce(&q, two, fmt.Sprintf("a:deliver@1+crash@%d", at))
		assert.Empty(t, q.failures)
	}
}

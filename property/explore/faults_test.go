package explore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

func goexit() { runtime.Goexit() }

// lines returns a short line for each crossing of r, with the fields that matter for faults.
func lines(r turn.Run) (all []string) {
	for x := range r.Crossings {
		line := x.Kind.String()
		if x.Phase != adk.Whole {
			line += " " + x.Phase.String()
		}
		for _, text := range []string{x.Seam.String(), x.Name, x.Key, x.Status, string(x.Outcome)} {
			if text != "" && x.Kind != adk.KindTurnStart && x.Kind != adk.KindDispatchStart {
				line += " " + text
			}
		}
		if x.Err != nil {
			line += " !" + strings.TrimPrefix(x.Err.Error(), "panic: ")
		}
		all = append(all, line)
	}
	return all
}

// linesOf runs one schedule and returns the lines of its crossings.
func linesOf(t *testing.T, s turn.Subject, schedule string) (all []string) {
	t.Helper()
	result, err := explore.RunSchedule(t.Context(), checked(s, func(r turn.Run) error {
		all = lines(r)
		return nil
	}), turn.MustSchedule(schedule), explore.Options{})
	require.NoError(t, err)
	require.Empty(t, result.Violations, result)
	return all
}

// at returns the number of the n-th crossing whose line begins with prefix.
func at(t *testing.T, all []string, prefix string, n int) int {
	t.Helper()
	for i, line := range all {
		if strings.HasPrefix(line, prefix) {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	require.Fail(t, "no crossing", "%q in\n%s", prefix, strings.Join(all, "\n"))
	return 0
}

const broken = "!broken by the explorer"

// Each kind of fault does what its name says.
func TestFaults(t *testing.T) {
	hello, tools, gates := named(t, "hello"), named(t, "tool-round-trip"), named(t, "gate-timeout")
	cases := []struct {
		subject turn.Subject
		kind    string
		at      string
		n       int
		// want are the lines of the crossings from the fault on.
		want []string
	}{
		{hello, "cancel", "call executor", 1, []string{"cancel outside !context canceled", "dispatchEnd aborted", "return ok"}},
		{hello, "cancel-after", "call executor", 1, []string{"call executor/model#0", "cancel outside !context canceled", "report-message m0.0"}},
		{hello, "deadline", "call executor", 1, []string{"cancel outside !context deadline exceeded"}},
		{hello, "error", "call executor", 1, []string{"call executor/model#0", "return error " + broken, "error "}},
		{hello, "panic", "call executor", 1, []string{"call executor/model#0", "return panic " + broken, "error "}},
		{hello, "error", "return ok", 4, []string{"return error " + broken}},
		{hello, "panic", "ack begin", 1, []string{"return panic " + broken}},
		{hello, "cut", "report-message", 1, []string{"return error " + broken}},
		{hello, "panic", "next begin", 1, []string{"return panic " + broken, "error "}},
		{hello, "storage-before", "call storage/messages.store", 1, []string{"call storage/messages.store", "return error " + broken, "store done " + broken}},
		{hello, "panic", "call storage/messages.store", 1, []string{"call storage/messages.store", "return panic " + broken, "store done " + broken}},
		{hello, "storage-before", "call storage/messages.fetch", 1, []string{"call storage/messages.fetch", "return error " + broken, "fetch done " + broken}},
		{tools, "late-tool", "call tool/weather", 1, []string{"call tool/weather", "cancel outside !context canceled", "return ok"}},
		{tools, "error", "call tool/weather", 1, []string{"call tool/weather", "return error " + broken}},
		{gates, "gate-early", "turnGateOpen", 1, []string{"turnGateOpen delete-file", "settle delete-file explorer rejected " + broken, "turnGateClosed delete-file rejected"}},
		{gates, "gate-late", "timer", 1, []string{"timer", "settle delete-file timeout"}},
		{named(t, "gate-approved"), "gate-unanswered", "turnGateOpen", 1, []string{"turnGateOpen delete-file", "timer", "settle delete-file timeout"}},
		{named(t, "gate-approved"), "gate-twice", "turnGateClosed", 1, []string{"turnGateClosed delete-file resolved"}},
	}
	for _, c := range cases {
		t.Run(c.subject.Name+"/"+c.kind+" "+c.at, func(t *testing.T) {
			number := at(t, linesOf(t, c.subject, "undisturbed"), c.at, c.n)
			got := linesOf(t, c.subject, fmt.Sprintf("%s@%d", c.kind, number))
			require.Greater(t, len(got), number+len(c.want)-2)
			for i, want := range c.want {
				assert.True(t, strings.HasPrefix(got[number-1+i], want), "want %q and got %q", want, got[number-1+i])
			}
		})
	}
}

// kept is a storage of messages that a check can read.
type kept struct {
	adk.Collection[*adk.Message]
	log []string
}

func (k *kept) Store(_ context.Context, _ adk.Scope, m *adk.Message) error {
	k.log = append(k.log, m.ID())
	return nil
}

func keeping(name string, build func(c *adk.Config)) turn.Subject {
	return subject(name, func(c *adk.Config) adk.RawTurn {
		c.Storage.Messages = &kept{Collection: c.Storage.Messages}
		build(c)
		return adk.RawTurn{SystemPrompt: "Help."}
	})
}

// A storage fault before the write leaves the record unwritten; a fault after the write does not.
func TestStorageFaults(t *testing.T) {
	s := keeping("one store", func(*adk.Config) {})
	undisturbed := linesOf(t, s, "undisturbed")
	for kind, want := range map[string][]string{"storage-before": nil, "storage-after": {"m0.0"}} {
		number := at(t, undisturbed, "call storage/messages.store", 1)
		if kind == "storage-after" {
			number++
		}
		result, err := explore.RunSchedule(t.Context(), checked(s, func(r turn.Run) error {
			assert.Equal(t, want, r.Config.Storage.Messages.(*kept).log, kind)
			return nil
		}), turn.MustSchedule(fmt.Sprintf("%s@%d", kind, number)), explore.Options{})
		require.NoError(t, err)
		assert.Empty(t, result.Violations)
	}
}

// written is a storage of messages that records the operations it was asked for.
type written struct {
	adk.Collection[*adk.Message]
	log []string
}

func (w *written) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	w.log = append(w.log, "store")
	return w.Collection.Store(ctx, scope, m)
}

func (w *written) Mutate(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	w.log = append(w.log, "mutate")
	return w.Collection.Mutate(ctx, scope, m)
}

func (w *written) Delete(ctx context.Context, scope adk.Scope, key string) error {
	w.log = append(w.log, "delete")
	return w.Collection.Delete(ctx, scope, key)
}

// Each writing operation, delete too, is made to fail after it has written. What the code then asks
// for again is already done.
func TestEveryWriteFailsAfterIt(t *testing.T) {
	s := subject("writes", func(c *adk.Config) adk.RawTurn {
		c.Storage.Messages = &written{Collection: c.Storage.Messages}
		c.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			m, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "Hi.", CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
			if err == nil {
				err = errors.Join(dc.Messages().Store(ctx, m), dc.Messages().Mutate(ctx, m), dc.Messages().Delete(ctx, "m"))
			}
			return errors.Join(err, dc.Ack())
		}
		return adk.RawTurn{SystemPrompt: "Help."}
	})
	undisturbed := linesOf(t, s, "undisturbed")
	for _, verb := range []string{"store", "mutate", "delete"} {
		number := at(t, undisturbed, "call storage/messages."+verb, 1) + 1
		result, err := explore.RunSchedule(t.Context(), checked(s, func(r turn.Run) error {
			assert.Equal(t, []string{"store", "mutate", "delete"}, r.Config.Storage.Messages.(*written).log)
			assert.Equal(t, "return error "+broken, lines(r)[number-1])
			return nil
		}), turn.MustSchedule(fmt.Sprintf("storage-after@%d", number)), explore.Options{})
		if assert.NoError(t, err, verb) {
			assert.Empty(t, result.Violations)
		}
	}
	var lock sync.Mutex // checks run on several goroutines concurrently
	tried := map[string]int{}
	explored(t, checked(s, func(r turn.Run) error {
		lock.Lock()
		defer lock.Unlock()
		tried[r.Schedule.String()]++
		return nil
	}), explore.Options{Faults: []turn.FaultKind{turn.StorageAfter}, UsualInput: true})
	assert.Len(t, tried, 4, "the undisturbed run, and one for each write")
}

// A late tool does not see the end of its context, like a tool that looks at it too seldom: it runs to
// its end.
func TestLateToolIsDeaf(t *testing.T) {
	s := subject("deaf", func(c *adk.Config) adk.RawTurn {
		tool := fakes.NewTool("look", "Looks.").Tool().WithHandler(func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			return adk.Text("seen"), ctx.Err()
		})
		c.Tools = []*adk.Tool{tool}
		c.Executor = fakes.Script{{fakes.Call("look", `{}`)}, {fakes.Ack()}}.Executor("model")
		return adk.RawTurn{SystemPrompt: "Help."}
	})
	number := at(t, linesOf(t, s, "undisturbed"), "call tool/look", 1)
	got := linesOf(t, s, fmt.Sprintf("late-tool@%d", number))
	assert.Equal(t, []string{"cancel outside !context canceled", "return ok"}, got[number:number+2])
}

// Code that is broken off runs its deferred functions and nothing else. Code that asks from a
// goroutine of its own is not broken off.
func TestBrokenOffCode(t *testing.T) {
	var deferred, behind int
	s := executing("deferring", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		defer func() { deferred++ }()
		h.Log(adk.LevelInfo, "step", "one", nil)
		behind++
		return dc.Ack()
	})
	number := at(t, linesOf(t, s, "undisturbed"), "report-log", 1)
	deferred, behind = 0, 0
	result, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule(fmt.Sprintf("panic@%d", number)), explore.Options{})
	require.NoError(t, err)
	assert.Empty(t, result.Violations)
	assert.Equal(t, 7, deferred, "the turn undisturbed, the run in which the fault is found, the one that has it, and that four times more")
	assert.Equal(t, 2, behind, "it went on in the first two of them only")

	own := executing("plain goroutine", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Log(adk.LevelInfo, "step", "one", nil)
		}()
		<-done
		return dc.Ack()
	})
	undisturbed := linesOf(t, own, "undisturbed")
	assert.Equal(t, undisturbed, linesOf(t, own, fmt.Sprintf("panic@%d", number)))
}

// A middleware that swallows an abort and then stores something is found, with the simplest
// schedule that shows it.
func TestSwallowedAbort(t *testing.T) {
	s := subject("swallows", func(c *adk.Config) adk.RawTurn {
		c.TurnInput = []adk.TurnMiddleware{{Name: "archive", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			next(ctx)
			note, err := adk.NewMemory(adk.MemoryInit{ID: "n", Content: "done", Confidence: new(1.0), Importance: new(1.0), CreatedAt: tc.Now(), UpdatedAt: tc.Now()})
			if err != nil {
				return err
			}
			return tc.Memories().Store(context.WithoutCancel(ctx), note)
		}}}
		return adk.RawTurn{SystemPrompt: "Help."}
	})
	result := explored(t, checked(s, func(r turn.Run) error {
		aborted := false
		for x := range r.Crossings {
			aborted = aborted || x.Kind == adk.KindCancel
			if aborted && x.Kind == adk.KindStore && x.Phase == adk.Begin {
				return fmt.Errorf("stored into %s after the abort", x.Collection)
			}
		}
		return nil
	}), explore.Options{})
	require.NotEmpty(t, result.Violations)
	assert.Equal(t, "stored into memories after the abort", result.Violations[0].Text)
	assert.Len(t, result.Violations[0].Schedule.Faults, 1)
	assert.Contains(t, result.String(), "cancel-after@")
}

// Code that writes again after a storage operation that failed although it had written is found.
func TestWrittenTwice(t *testing.T) {
	s := keeping("retries", func(c *adk.Config) {
		c.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			m, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "Hi.", CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
			if err != nil {
				return err
			}
			if err = dc.Messages().Store(ctx, m); err != nil {
				err = dc.Messages().Store(ctx, m)
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		}
	})
	result := explored(t, checked(s, func(r turn.Run) error {
		if log := r.Config.Storage.Messages.(*kept).log; len(log) > 1 {
			return fmt.Errorf("written %d times", len(log))
		}
		return nil
	}), explore.Options{})
	require.Len(t, result.Violations, 1, result)
	assert.Contains(t, result.Violations[0].Schedule.String(), "storage-after@")
	assert.Equal(t, 2, result.Violations[0].Schedules, "a panic behind the write is a write, too")
}

// A goroutine that nobody waits for is found, with the schedule that leaves it behind.
func TestGoroutineLeftBehind(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	s := executing("leaks", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := dc.Sleep(ctx, time.Second); err != nil {
			go func() { <-never }()
			return err
		}
		return dc.Ack()
	})
	result := explored(t, s, explore.Options{})
	require.Len(t, result.Violations, 1)
	assert.Equal(t, "nothing is left behind", result.Violations[0].Invariant)
	assert.Regexp(t, `(?s)^1 goroutine had not ended when the turn had.*\n1 goroutine started by .*TestGoroutineLeftBehind.*faults_test.go:\d+, in .*TestGoroutineLeftBehind.*faults_test.go:\d+ \(chan receive\)$`,
		result.Violations[0].Text)
	again, err := explore.RunSchedule(t.Context(), s, result.Violations[0].Schedule, explore.Options{})
	require.NoError(t, err)
	assert.Len(t, again.Violations, 1)
}

// User code that does something different in every run is found.
func TestNotTheSameTwice(t *testing.T) {
	runs := 0
	result := explored(t, executing("fickle", func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		runs++
		h.Log(adk.LevelInfo, "run", fmt.Sprint(runs), nil)
		return dc.Ack()
	}), explore.Options{Workers: 1})
	require.NotEmpty(t, result.Violations)
	assert.Equal(t, "DET-2", result.Violations[0].Rule)
	assert.Equal(t, "undisturbed", result.Violations[0].Schedule.String())
}

// DET-2: a difference between two runs is reported where it first occurs, even if nothing that
// follows shows it.
func TestNotTheSameTwiceWhereItDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		run   func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, n int) error
	}{
		"a value": {"report-log", func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers, n int) error {
			h.Log(adk.LevelInfo, "run", "again", n)
			return nil
		}},
		"another record of one id": {"store begin", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers, n int) error {
			m, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: fmt.Sprint(n), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
			if err != nil {
				return err
			}
			return dc.Messages().Store(ctx, m)
		}},
		"less": {"now", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers, n int) error {
			if n%2 == 0 { // the first run of each pair: the run before all pairs counts the crossings
				dc.Now()
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			runs, first := 0, []string(nil)
			s := executing(name, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				runs++
				return errors.Join(c.run(ctx, dc, h, runs), dc.Ack())
			})
			result := explored(t, checked(s, func(r turn.Run) error {
				first = lines(r)
				return nil
			}), explore.Options{Workers: 1, Faults: []turn.FaultKind{}})
			require.NotEmpty(t, result.Violations)
			assert.Equal(t, "DET-2", result.Violations[0].Rule)
			assert.Equal(t, at(t, first, c.first, 1), result.Violations[0].Crossing)
		})
	}
}

package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// clerk is an agent that looks into what it remembers, asks a bank, has a person approve,
// and writes down what the bank says. The careless one writes it down whatever the bank
// says.
func clerk(careless bool, bank func() (string, error)) adk.Config {
	return adk.Config{Executor: adk.Executor{Name: "clerk", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		kept, err := dc.Memories().Fetch(ctx)
		if err != nil {
			return err
		}
		for n := range len(kept) {
			rate, err := adk.Ask(ctx, "bank", fmt.Sprint("rate ", n), func(context.Context, string) (string, error) { return bank() })
			if rate == "" && !careless {
				return errors.Join(errors.New("the bank says nothing"), err)
			}
			if err := dc.Memories().Mutate(ctx, noted(kept[n].ID(), rate+" to the dollar")); err != nil {
				return err
			}
		}
		if _, err := dc.WaitFor(ctx, adk.Gate{ID: dc.NewID(), Reason: "book it?"}); err != nil {
			return dc.Nack(err)
		}
		return dc.Ack()
	}}}
}

// clerkTurn is a recorded turn of the clerk.
func clerkTurn(t *testing.T) []byte {
	t.Helper()
	var recorded bytes.Buffer
	asked := 0
	config := clerk(false, func() (string, error) { asked++; return fmt.Sprint(asked), nil })
	config.Storage = fakes.NewStorage(noted("a", "one"), noted("b", "two")).Storage()
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	yes := fakes.NewApprover(map[string]fakes.Answer{"book it?": fakes.Approve(nil)})
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Book.", Observability: yes.Observability()}))
	return recorded.Bytes()
}

// unrated finds a memory that says nothing.
func unrated(r turn.Run) error {
	kept, err := r.Config.Storage.Memories.Fetch(context.Background(), adk.Scope{})
	for _, m := range kept {
		if m.Content().String() == " to the dollar" {
			return errors.New("a rate that nobody told")
		}
	}
	return err
}

// nobody is a world that must not be asked.
func nobody() (string, error) { panic("the world was asked") }

// A recorded turn is explored with the code of today: the raw turn, the records, the
// answers and the settlements are the recording's, and the world is not asked.
func TestRecorded(t *testing.T) {
	read, err := trace.Read(bytes.NewReader(clerkTurn(t)))
	require.NoError(t, err)
	subject := func(careless bool) turn.Subject {
		s, err := explore.Recorded(read, func() turn.Instance { return turn.Instance{Config: clerk(careless, nobody), Check: unrated} })
		require.NoError(t, err)
		return s
	}
	var kept []string
	look := subject(false)
	look.Check = func(r turn.Run) error {
		all, err := r.Config.Storage.Memories.Fetch(t.Context(), adk.Scope{})
		for _, m := range all {
			kept = append(kept, m.Content().String())
		}
		return err
	}
	usual, err := explore.RunSchedule(t.Context(), look, turn.Schedule{}, explore.Options{Workers: 1})
	require.NoError(t, err)
	assert.Empty(t, usual.Violations, usual)
	assert.Zero(t, usual.Waited, "the gate was settled")
	assert.Equal(t, []string{"1 to the dollar", "2 to the dollar"}, kept[:2])

	found := says(explored(t, subject(true), explore.Options{}), "a rate that nobody told")
	require.Len(t, found, 1)
	assert.Equal(t, turn.AskRefused, found[0].Schedule.Faults[0].Kind)
	mended := explored(t, subject(false), explore.Options{})
	assert.Empty(t, mended.Violations, mended)
}

// Traces explores a folder, and each violation names the line that fails until it is
// mended.
func TestTraces(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "turns")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "two"), 0o755))
	for _, name := range []string{"one.jsonl", "two/three.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), clerkTurn(t), 0o600))
	}
	open := func(careless bool) func(string) turn.Instance {
		return func(string) turn.Instance { return turn.Instance{Config: clerk(careless, nobody), Check: unrated} }
	}
	found := &recorder{T: t}
	explore.Traces(found, folder, open(true), explore.Options{Workers: 1})
	assert.Contains(t, found.ran, "two/three.jsonl")
	require.Len(t, found.errors, 2)
	one := filepath.ToSlash(folder) + "/one.jsonl"
	schedule := found.ran[1]
	assert.Contains(t, found.errors[0], fmt.Sprintf("explore.ReproduceTrace(t, %q, open, %q)", one, schedule))

	// A bug that both show is told in full of the first.
	again := strings.Join(strings.Fields(found.errors[1]), " ")
	assert.Contains(t, again, "the same as in "+one+", "+schedule)
	assert.Contains(t, again, "three.jsonl")
	assert.NotContains(t, found.errors[0], "the same as in")
	assert.Greater(t, strings.Count(found.errors[0], "\n"), 2*strings.Count(found.errors[1], "\n"))

	failing, passing := &recorder{T: t}, &recorder{T: t}
	explore.ReproduceTrace(failing, one, open(true), schedule)
	assert.Len(t, failing.errors, 1)
	explore.ReproduceTrace(passing, one, open(false), schedule)
	explore.Traces(passing, folder, open(false), explore.Options{Workers: 1})
	assert.Empty(t, passing.errors)
}

// SES-32: of a folder of sessions the turns are explored: journals are none, nor is the trace that
// a killed host has cut.
func TestTracesOfSessions(t *testing.T) {
	folder := t.TempDir()
	recorded, err := fs.Sub(fixtures.Sessions, "sessions/two-hosts")
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(folder, recorded))
	first := filepath.Join(folder, "first.journal.jsonl")
	whole, err := os.ReadFile(first)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(first, whole[:bytes.Index(whole, []byte(`{"step":"ran"`))], 0o600))
	require.NoError(t, os.Truncate(filepath.Join(folder, "first-1.jsonl"), 3000))
	found := &recorder{T: t}
	explore.Traces(found, folder, func(string) turn.Instance { return turn.Instance{Config: clerk(false, nobody)} }, explore.Options{Workers: 1, Schedules: 1})
	assert.Contains(t, found.ran, "second-1.jsonl")
	for _, name := range found.ran {
		assert.NotContains(t, name, "first", "what is no turn is not explored")
		assert.NotContains(t, name, "journal")
	}
}

// What cannot be explored is said: no folder, no trace, no turn, and code of today that
// asks what the recording does not answer.
func TestTracesThatCannotBeExplored(t *testing.T) {
	folder := t.TempDir()
	open := func(string) turn.Instance { return turn.Instance{Config: clerk(false, nobody)} }
	says := func(want string) {
		t.Helper()
		said := &recorder{T: t}
		explore.Traces(said, folder, open, explore.Options{})
		require.Len(t, said.errors, 1)
		assert.Contains(t, said.errors[0], want)
	}
	says("there is no trace")
	journal := filepath.Join(folder, "host.journal.jsonl")
	require.NoError(t, os.WriteFile(journal, []byte(`{"adkreplay":"journal","version":1}`+"\n"), 0o600))
	says("there is no turn that ended")
	require.NoError(t, os.Remove(journal))
	file := filepath.Join(folder, "a.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("{\n"), 0o600))
	says("a.jsonl")
	require.NoError(t, os.WriteFile(file, clerkTurn(t), 0o600))
	inner := open
	open = func(file string) turn.Instance {
		i := inner(file)
		run := i.Config.Executor.Run
		i.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := adk.Ask(ctx, "somebody else", "", func(context.Context, string) (string, error) { return nobody() }); err != nil {
				return err
			}
			return run(ctx, dc, h)
		}
		return i
	}
	says("the recording has no more answers of somebody else: see golden.Replay")
	_, err := explore.Recorded(&trace.Trace{}, func() turn.Instance { return turn.Instance{} })
	assert.ErrorContains(t, err, "it begins with no turn")
}

// Who asks what was recorded gets that answer, who asks it again the same, and who asks
// something else of the same the next that nobody got.
func TestRecordedAnswers(t *testing.T) {
	read, err := trace.Read(bytes.NewReader(clerkTurn(t)))
	require.NoError(t, err)
	s, err := explore.Recorded(read, func() turn.Instance { return turn.Instance{Config: clerk(false, nobody)} })
	require.NoError(t, err)
	outside := s.Open(nil).Config.Outside
	ask := func(request string) string {
		text, err := json.Marshal(request)
		require.NoError(t, err)
		a := outside(t.Context(), adk.Question{Of: "bank", Request: text})
		if a.Err != nil {
			return "nothing"
		}
		return string(a.Value)
	}
	assert.Equal(t, []string{`"2"`, `"2"`, `"1"`, "nothing", `"1"`}, []string{ask("rate 1"), ask("rate 1"), ask("else"), ask("more"), ask("rate 0")})
}

// Where the caller of the recorded turn had left, the caller of this one leaves as soon as
// the recording has no more answers.
func TestRecordedCallerLeaves(t *testing.T) {
	var recorded bytes.Buffer
	ctx, leave := context.WithCancelCause(t.Context())
	config := clerk(false, func() (string, error) { leave(errors.New("enough")); return "1", nil })
	config.Storage = fakes.NewStorage(noted("a", "one"), noted("b", "two")).Storage()
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Book."}))
	read, err := trace.Read(&recorded)
	require.NoError(t, err)
	s, err := explore.Recorded(read, func() turn.Instance {
		i := turn.Instance{Config: clerk(false, nobody)}
		i.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, of := range []string{"bank", "somebody else"} {
				if _, err := adk.Ask(ctx, of, "rate 0", func(context.Context, string) (string, error) { return nobody() }); err != nil {
					return err
				}
			}
			return dc.Ack()
		}
		return i
	})
	require.NoError(t, err)
	var why []string
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindCancel {
				why = append(why, x.Cause.Error())
			}
		}
		return nil
	}
	result, err := explore.RunSchedule(t.Context(), s, turn.Schedule{}, explore.Options{Workers: 1})
	require.NoError(t, err)
	assert.Empty(t, result.Violations, result)
	assert.Contains(t, why, "enough")
}

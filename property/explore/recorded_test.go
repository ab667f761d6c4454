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
	"sync"
	"sync/atomic"
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

// clerk returns an agent that looks into its memories, asks a bank, has a person approve, and stores
// what the bank answered. The careless one stores the answer even if it is empty, because the ask
// failed.
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

// clerkTurn returns the trace of a turn of the clerk.
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

// unrated is a check that fails for a stored memory that says nothing.
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

// A recorded turn is explored with today's code: the raw turn, the records, the answers and the
// settlements come from the recording, and the world is not asked.
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

// Traces explores a folder of traces. Each violation names the Reproduce line that fails until the bug is
// fixed.
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

// SES-32: of a folder of sessions only the turns are explored: not the journals, and not a trace that was
// cut when its host was killed.
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

// What cannot be explored is an error: a missing folder, a file that is no trace, a trace without a turn, and
// code of today that asks for something that the recording does not answer.
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

// A request that was recorded gets its recorded answer, also if it is made again. A different request to the
// same service gets the next recorded answer that no request has got yet.
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

// ordering is an agent that places an order for each customer, each on its own strand, and then asks what
// became of the order. It fails if it gets another customer's order. In the recorded run the first customer
// waits until the others have placed their orders.
type ordering struct {
	customers []string
	waits     chan struct{} // nil in today's run
	asked     atomic.Int64  // how often the world was asked
}

type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer,omitempty"`
}

func (o *ordering) config() adk.Config {
	placed := map[string]string{}
	var mu sync.Mutex
	place := func(_ context.Context, q order) (order, error) {
		mu.Lock()
		defer mu.Unlock()
		o.asked.Add(1)
		placed[q.ID] = q.Customer
		return q, nil
	}
	look := func(_ context.Context, q order) (order, error) {
		mu.Lock()
		defer mu.Unlock()
		o.asked.Add(1)
		return order{q.ID, placed[q.ID]}, nil
	}
	one := func(ctx context.Context, dc *adk.DispatchContext, customer string) error {
		mine := order{dc.NewID(), customer}
		told, err := adk.Ask(ctx, "orders", mine, place, adk.AskOptions{Effect: adk.EffectWrites, Key: mine.ID})
		if err == nil && told != mine {
			err = fmt.Errorf("%v was placed, and told is %v", mine, told)
		}
		if err != nil {
			return err
		}
		told, err = adk.Ask(ctx, "state", order{ID: mine.ID}, look, adk.AskOptions{Effect: adk.EffectReads})
		if err == nil && told != mine {
			err = fmt.Errorf("%v is looked for, and told is %v", mine, told)
		}
		return err
	}
	return adk.Config{Executor: adk.Executor{Name: "orders", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var strands []*adk.Strand
		for i, customer := range o.customers {
			s, err := dc.Fork(ctx, "order", func(ctx context.Context, dc *adk.DispatchContext) error {
				if o.waits != nil && i == 0 {
					<-o.waits
				}
				return one(ctx, dc, customer)
			})
			if err != nil {
				return err
			}
			strands = append(strands, s)
		}
		for i := range strands {
			if err := strands[len(strands)-1-i].Wait(); err != nil {
				return dc.Nack(err)
			}
			if o.waits != nil && i == len(strands)-2 {
				close(o.waits)
			}
		}
		return dc.Ack()
	}}}
}

// recordedTurn records a turn of config. Its ids differ from those that an exploration makes.
func recordedTurn(t *testing.T, config adk.Config) *trace.Trace {
	t.Helper()
	var recorded bytes.Buffer
	config.Probe, config.IDs, config.Storage = replay.Record(&recorded), fakes.NewIDs("recorded"), fakes.NoOpStorage()
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Order."}))
	read, err := trace.Read(&recorded)
	require.NoError(t, err)
	return read
}

// ended is a check that fails if the turn was not acked although there was no fault.
func ended(r turn.Run) error {
	if len(r.Schedule.Faults) > 0 {
		return nil
	}
	for x := range r.Crossings {
		if x.Err != nil {
			return x.Err
		}
	}
	return nil
}

// Today's run has other ids than the recording, and its strands make them in another order. Each
// request still gets its own answer, with the id that it has today. The world is never asked, not even
// if an answer is lost.
func TestRecordedAnswersUpToIDs(t *testing.T) {
	customers := []string{"anna", "ben", "eva"}
	read := recordedTurn(t, (&ordering{customers: customers, waits: make(chan struct{})}).config())
	today := &ordering{customers: customers}
	s, err := explore.Recorded(read, func() turn.Instance { return turn.Instance{Config: today.config(), Check: ended} })
	require.NoError(t, err)
	result := explored(t, s, explore.Options{UsualInput: true, Faults: []turn.FaultKind{turn.AskLost, turn.AskSlow}})
	assert.Empty(t, result.Violations, result)
	assert.NotZero(t, result.Table.Orders)
	assert.Zero(t, today.asked.Load(), "the world was asked")
}

// An ask that a fault breaks still uses up its recorded answer, and the next ask gets its own, although only
// new ids distinguish the two. An answer that no ask has used up remains available.
func TestABrokenAskHasItsRecordedAnswer(t *testing.T) {
	config := func() adk.Config {
		n := 0
		number := func(context.Context, order) (int, error) { n++; return n, nil }
		return adk.Config{Executor: adk.Executor{Name: "counts", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for range 3 {
				got, err := adk.Ask(ctx, "counter", order{ID: dc.NewID()}, number)
				if err != nil {
					got = 0
				}
				h.Log(adk.LevelInfo, "counter", fmt.Sprint(got), nil)
			}
			return dc.Ack()
		}}}
	}
	read := recordedTurn(t, config())
	for kind, want := range map[turn.FaultKind][]string{
		turn.AskSlow:    {"123", "123", "123"},
		turn.AskLost:    {"023", "103", "120"},
		turn.AskEmpty:   {"023", "103", "120"},
		turn.AskOther:   {"223", "133", "121"},
		turn.AskRefused: {"012", "102", "120"},
	} {
		var told []string
		s, err := explore.Recorded(read, func() turn.Instance {
			return turn.Instance{Config: config(), Check: func(r turn.Run) error {
				if len(r.Schedule.Faults) != 1 || r.Schedule.Faults[0].Times != 0 {
					return nil
				}
				text := ""
				for x := range r.Crossings {
					if x.Kind == adk.KindReportLog {
						text += x.Text
					}
				}
				told = append(told, text)
				return nil
			}}
		})
		require.NoError(t, err)
		explored(t, s, explore.Options{UsualInput: true, Workers: 1, Faults: []turn.FaultKind{kind}})
		assert.ElementsMatch(t, want, told, kind)
	}
}

// A changed request gets the answer of the most similar request. A request that differs only by a new id gets
// the answer of its strand, and a retry with a new id gets the earlier answer again.
func TestRecordedAnswersOfTheMostAlike(t *testing.T) {
	read := recordedTurn(t, (&ordering{customers: []string{"anna", "ben"}, waits: make(chan struct{})}).config())
	s, err := explore.Recorded(read, func() turn.Instance { return turn.Instance{} })
	require.NoError(t, err)
	var outside adk.Outside
	ask := func(strand int, of, request string) string {
		a := outside(t.Context(), adk.Question{Of: of, Strand: strand, Request: json.RawMessage(request)})
		if a.Err != nil {
			return "nothing"
		}
		return string(a.Value)
	}
	anew := func() { outside = s.Open(nil).Config.Outside }
	anew()
	assert.JSONEq(t, `{"id":"id-8","customer":"anna"}`, ask(0, "orders", `{"id":"id-8","customer":"anna","by":"phone"}`))
	assert.JSONEq(t, `{"id":"id-8","customer":"anna"}`, ask(2, "state", `{"id":"id-8"}`), "it is known whose the id is")
	assert.JSONEq(t, `{"id":"id-9","customer":"ben"}`, ask(1, "state", `{"id":"id-9"}`))
	assert.JSONEq(t, `{"id":"id-9","customer":"ben"}`, ask(1, "orders", `{"id":"id-9","customer":"ben"}`))
	assert.Equal(t, "nothing", ask(1, "orders", `{"id":"id-10","customer":"eva"}`))
	anew()
	assert.Contains(t, ask(2, "state", `{"id":"id-8"}`), "ben")
	assert.Contains(t, ask(1, "state", `{"id":"id-9"}`), "anna")
	assert.Contains(t, ask(1, "state", `{"id":"id-10"}`), "anna", "again")
}

// A fault point asks nobody, so it does not matter that the recording has none.
func TestFaultPointsOfRecordedTurns(t *testing.T) {
	config := func(point func(context.Context) error) adk.Config {
		return adk.Config{Executor: adk.Executor{Name: "points", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := point(ctx); err != nil {
				return dc.Nack(err)
			}
			return dc.Ack()
		}}}
	}
	read := recordedTurn(t, config(func(context.Context) error { return nil }))
	s, err := explore.Recorded(read, func() turn.Instance {
		return turn.Instance{Config: config(func(ctx context.Context) error { return adk.FaultPoint(ctx, "midway") }), Check: ended}
	})
	require.NoError(t, err)
	result, err := explore.RunSchedule(t.Context(), s, turn.Schedule{}, explore.Options{Workers: 1})
	require.NoError(t, err)
	assert.Empty(t, result.Violations, result)
}

// If the caller of the recorded turn left, today's caller leaves as soon as the recording has no more
// answers.
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

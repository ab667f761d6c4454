package replay_test

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/adkreplay/adkreplay/replay/trace"
)

// keeper is an agent that waits, asks somebody, and stores the answer.
type keeper struct {
	Wait          time.Duration
	Gate          adk.Gate
	Unasked       bool   // the ask gets no answer
	Late          bool   // the answer takes a minute
	Kept          string // the text of the message
	ID            string // of it
	Mended        string // the text that the message has later
	Twice, Before bool   // another message is stored, after it or before it
	Gone          string // the id of a message that is deleted
	Read          string // the id of a message that it looks for
	Full          bool   // the storage has no room
	Busy          bool   // the storage reads the clock or the like itself
	unanswered    *int   // how often the agent learned that there is no answer
}

func newKeeper() keeper {
	return keeper{Wait: time.Second, Gate: adk.Gate{ID: "g1", Reason: "may I?", Timeout: time.Hour}, Kept: "It rains.", ID: "m1", Mended: "It snows.", Gone: "old", unanswered: new(int)}
}

func (k keeper) message(id, text string) *adk.Message {
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	return tracetest.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: text, CreatedAt: at, UpdatedAt: at}))
}

func (k keeper) run(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
	err := k.keep(ctx, dc)
	if errors.Is(err, replay.ErrUnanswered) {
		*k.unanswered++
	}
	return err
}

func (k keeper) keep(ctx context.Context, dc *adk.DispatchContext) error {
	if err := dc.Sleep(ctx, k.Wait); err != nil {
		return err
	}
	_, err := adk.WaitFor[bool](ctx, dc, k.Gate)
	if err != nil && !errors.Is(err, adk.E_TURN_GATE_TIMEOUT) {
		return err
	}
	if k.Read != "" {
		if _, err := dc.Messages().Fetch(ctx); err != nil {
			return err
		}
	}
	if k.Before {
		if err := dc.Messages().Store(ctx, k.message("m0", "First.")); err != nil {
			return err
		}
	}
	err = dc.Messages().Store(ctx, k.message(k.ID, k.Kept))
	if k.Full {
		return dc.Ack()
	}
	if err == nil && k.Twice {
		err = dc.Messages().Store(ctx, k.message("m2", "And more."))
	}
	if err == nil {
		err = dc.Messages().Mutate(ctx, k.message(k.ID, k.Mended))
	}
	if err == nil {
		err = dc.Messages().Delete(ctx, k.Gone)
	}
	return errors.Join(err, dc.Ack())
}

// keeping is storage that keeps nothing.
type keeping struct {
	adk.Collection[*adk.Message]
	k keeper
}

func (s keeping) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	switch {
	case s.k.Full:
		return errors.New("there is no room")
	case s.k.Busy:
		_, err := adk.Ask(ctx, "db", m.ID(), func(context.Context, string) (string, error) { return "done", nil })
		return err
	}
	return s.Collection.Store(ctx, scope, m)
}

func (k keeper) config() adk.Config {
	storage := fakes.NewStorage(k.message("old", "It was dry.")).Storage()
	storage.Messages = keeping{storage.Messages, k}
	return adk.Config{Executor: adk.Executor{Name: "model", Run: k.run}, Storage: storage}
}

func (k keeper) record(t *testing.T) []byte {
	t.Helper()
	raw := adk.RawTurn{SystemPrompt: "Keep."}
	if !k.Unasked {
		raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", true) }
	}
	var content bytes.Buffer
	recorder := replay.Record(&content)
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(k.config(), recorder)))
	require.NoError(t, runner.Run(t.Context(), raw))
	require.NoError(t, recorder.Err())
	if !k.Late {
		return content.Bytes()
	}
	return changedTrace(t, content.Bytes(), func(recorded *trace.Trace) {
		settled := false
		lines := recorded.Lines()
		for i := range lines {
			if settled = settled || lines[i].Kind == adk.KindSettle; settled {
				lines[i].At = lines[i].At.Add(time.Minute)
			}
		}
	})
}

// live is the keeper's code as live seams; storage and people answer as recorded.
func (k keeper) live() replay.Live {
	return replay.Live{Config: k.config(), Turn: adk.RawTurn{SystemPrompt: "Keep."}, Seams: []string{replay.Executor}}
}

// If the new code asks something else whose answer is certain, Rerecord records it with that answer:
// the new trace is stable from then on, and the report names those answers. A replay that only
// compares the turn with its recording takes the answers of storage as certain too, but none of gates.
func TestRerecordTakesWhatIsCertain(t *testing.T) {
	for name, one := range map[string]struct {
		recorded, now func(k *keeper)
		taken         []string
	}{
		"a longer sleep":      {now: func(k *keeper) { k.Wait = time.Minute }},
		"another text":        {now: func(k *keeper) { k.Kept = "It pours." }, taken: []string{"storage/messages.store m1"}},
		"another change":      {now: func(k *keeper) { k.Mended = "It hails." }, taken: []string{"storage/messages.mutate m1"}},
		"both":                {now: func(k *keeper) { k.Kept, k.Mended = "a", "b" }, taken: []string{"storage/messages.store m1", "storage/messages.mutate m1"}},
		"another timeout":     {now: func(k *keeper) { k.Gate.Timeout = time.Minute }, taken: []string{"the wait for gate g1"}},
		"no timeout":          {now: func(k *keeper) { k.Gate.Timeout = 0 }, taken: []string{"the wait for gate g1"}},
		"another question":    {now: func(k *keeper) { k.Gate.Reason = "shall I?" }, taken: []string{"the wait for gate g1"}},
		"another gate's id":   {now: func(k *keeper) { k.Gate.ID = "g2" }, taken: []string{"the wait for gate g1"}},
		"a question unheard":  {recorded: func(k *keeper) { k.Unasked = true }, now: func(k *keeper) { k.Gate.Reason = "shall I?" }, taken: []string{"the wait for gate g1"}},
		"an id of its own":    {now: func(k *keeper) { k.ID = "x1" }, taken: nil},
		"an id and text":      {now: func(k *keeper) { k.ID, k.Kept = "x1", "It pours." }, taken: []string{"storage/messages.store m1"}},
		"one of several, now": {recorded: func(k *keeper) { k.Twice = true }, now: func(k *keeper) { k.Twice, k.Kept = true, "It pours." }, taken: []string{"storage/messages.store m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			was := newKeeper()
			if one.recorded != nil {
				one.recorded(&was)
			}
			recorded := was.record(t)
			is := newKeeper()
			one.now(&is)

			report, made := rerecorded(t, recorded, is.live(), trace.Options{File: "kept.jsonl"})
			var taken []string
			for _, line := range report.Taken {
				_, what, found := strings.Cut(line, " of the recording, which asked otherwise: ")
				assert.True(t, found && strings.HasPrefix(line, "answered from crossing "), "%s", line)
				taken = append(taken, what)
			}
			assert.Equal(t, one.taken, taken)
			assert.Zero(t, *is.unanswered)
			assert.NotEqual(t, string(recorded), string(made))
			sameWhenVerified(t, made, replay.Live{})
			sameWhenVerified(t, made, is.live())

			found, err := replay.Verify(t.Context(), bytes.NewReader(recorded), is.live())
			assert.Equal(t, slices.ContainsFunc(taken, func(one string) bool { return strings.Contains(one, "gate") }), *is.unanswered > 0)
			require.NoError(t, err)
			assert.Empty(t, found.Taken)
			if name != "an id of its own" { // that id stands for the recorded one
				assert.NotNil(t, found.Divergence)
			}
			strict := is.live()
			strict.Strict, *is.unanswered = true, 0
			_, err = replay.Verify(t.Context(), bytes.NewReader(recorded), strict)
			require.NoError(t, err)
			assert.Equal(t, len(taken) > 0, *is.unanswered > 0)
		})
	}
}

// If the answer depends on what is asked, or if the recording has no answer in its place, Rerecord
// does not make one up.
func TestRerecordTakesNothingElse(t *testing.T) {
	for name, one := range map[string]struct{ recorded, now func(k *keeper) }{
		"a store more":              {now: func(k *keeper) { k.Twice = true }},
		"a store more before it":    {now: func(k *keeper) { k.Before = true }},
		"another is deleted":        {now: func(k *keeper) { k.Gone = "m1" }},
		"a store that failed":       {recorded: func(k *keeper) { k.Full = true }, now: func(k *keeper) { k.Full, k.Kept = true, "It pours." }},
		"a store that asked":        {recorded: func(k *keeper) { k.Busy = true }, now: func(k *keeper) { k.Busy, k.Kept = true, "It pours." }},
		"a read more":               {now: func(k *keeper) { k.Read = "m1" }},
		"a gate open for too short": {recorded: func(k *keeper) { k.Late = true }, now: func(k *keeper) { k.Gate.Timeout = time.Minute }},
		"a gate unheard for longer": {recorded: func(k *keeper) { k.Unasked = true }, now: func(k *keeper) { k.Gate.Timeout = 2 * time.Hour }},
	} {
		t.Run(name, func(t *testing.T) {
			was := newKeeper()
			if one.recorded != nil {
				one.recorded(&was)
			}
			is := newKeeper()
			one.now(&is)
			assert.Contains(t, refusedToRerecord(t, was.record(t), is.live()), "the recording has no answer for crossing ")
		})
	}
}

// A sleep that has become longer takes its new duration in the new trace; everything after it is later.
func TestRerecordOfALongerSleep(t *testing.T) {
	longer := newKeeper()
	longer.Wait = time.Minute
	_, made := rerecorded(t, newKeeper().record(t), longer.live())
	read, err := trace.Read(bytes.NewReader(made), trace.Options{})
	require.NoError(t, err)
	lines := read.Lines()
	at := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindTimer })
	slept := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindSleep })
	require.Positive(t, at)
	assert.GreaterOrEqual(t, lines[at].At.Sub(lines[slept].At), time.Minute)
}

// The results of two tools are stored with the time. The tools now run in the other order, so each result
// is stored with another time. The report still sees that both were executed, as the stored records say so.
func TestStepsThatChangedPlacesAreSeen(t *testing.T) {
	config := func(order ...string) adk.Config {
		var tools []*adk.Tool
		for _, name := range order {
			tools = append(tools, tracetest.Must(adk.NewTypedTool(adk.ToolInit{Name: name, Description: "Looks.", Effect: adk.EffectReads},
				func(context.Context, *adk.DispatchContext, struct{}) (adk.ToolResult, error) {
					return adk.Text("seen by " + name), nil
				})))
		}
		slices.SortFunc(tools, func(a, b *adk.Tool) int { return strings.Compare(a.Name(), b.Name()) })
		return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: tools, Executor: adk.Executor{Name: "model",
			Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				for i, name := range order {
					tool, _ := dc.Tools().Get(name)
					result, err := dc.Execute(ctx, tool, "{}")
					if err != nil {
						return err
					}
					now := dc.Now().Add(time.Duration(i) * time.Second)
					call := tracetest.Must(adk.NewToolCall(adk.ToolCallInit{ID: "call-" + name, Tool: name, Args: "{}", Results: result, CreatedAt: now, UpdatedAt: now, CompletedAt: now}))
					if err := dc.ToolCalls().Store(ctx, call); err != nil {
						return err
					}
				}
				return dc.Ack()
			}}}
	}
	var recorded bytes.Buffer
	recorder := replay.Record(&recorded)
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config("map", "register"), recorder)))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Look."}))
	require.NoError(t, recorder.Err())
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()),
		replay.Live{Config: config("register", "map"), Turn: adk.RawTurn{SystemPrompt: "Look."}, Seams: []string{replay.Executor, replay.ToolCode}})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Order, report.Divergence.Class, report)
	assert.Contains(t, report.String(), "    execute register {}\n    comes before execute map {}\n")
}

// If a call otherwise does everything as recorded, the report asks whether the missing operation
// is now done past the context. If more is missing, the operation was just left out.
func TestWhatIsMissingMayBeDonePastTheContext(t *testing.T) {
	waiting := func(sleeps, notes, loud bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if sleeps {
				if err := dc.Sleep(ctx, time.Minute); err != nil {
					return err
				}
			}
			if notes {
				if err := dc.Stash().Set("waited", true); err != nil {
					return err
				}
			}
			return errors.Join(dc.Ack(), map[bool]error{true: errors.New("too late")}[loud])
		})
	}
	var recorded bytes.Buffer
	recorder := replay.Record(&recorded)
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(waiting(true, true, false), recorder)))
	turn := adk.RawTurn{SystemPrompt: "Wait."}
	require.NoError(t, runner.Run(t.Context(), turn))
	require.NoError(t, recorder.Err())
	for name, one := range map[string]struct {
		live adk.Config
		want string
	}{
		"all else is done":      {waiting(false, true, false), "time.Sleep"},
		"more is missing":       {waiting(false, false, false), ""},
		"it ends with an error": {waiting(false, true, true), ""},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: one.live, Turn: turn, Seams: []string{replay.Executor}})
			require.NoError(t, err)
			require.NotNil(t, report.Divergence)
			assert.Equal(t, one.want, report.Divergence.PastBy, report)
			assert.Equal(t, one.want != "", strings.Contains(report.String(), "only this is missing: is time.Sleep used"))
		})
	}
}

// A sleep that was interrupted is not done past the context: a sleep past the context lasts to its end.
func TestASleepThatWasEndedIsNotDonePastTheContext(t *testing.T) {
	agent := func(sleeps bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if over, end := context.WithCancel(ctx); sleeps {
				end()
				_ = dc.Sleep(over, time.Minute)
			} else {
				end()
			}
			return dc.Ack()
		})
	}
	recorded := turnOf(t, agent(true), adk.RawTurn{})
	d := inTime(t, recorded, replay.Live{Config: agent(false), Seams: []string{replay.Executor}})
	require.NotNil(t, d)
	assert.Equal(t, replay.Missing, d.Class, "%s", d)
	assert.Empty(t, d.PastBy)
}

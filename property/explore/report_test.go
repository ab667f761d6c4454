package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	inmemory "github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// If one line of user code is wrong for each of many records, that is one entry. Another line that is wrong
// is another entry.
func TestOneEntryForOneLine(t *testing.T) {
	s := executing("remembers", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all []error
		for n := range 3 {
			all = append(all, dc.Memories().Store(ctx, noted(fmt.Sprint("m", n), "x")))
		}
		all = append(all, dc.Memories().Store(ctx, noted("other", "y")))
		return errors.Join(errors.Join(all...), dc.Ack())
	})
	var hints []string
	for _, h := range explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.Cancel}}).Hints {
		if h.Invariant == "a turn that failed leaves no memory" {
			said, _, _ := strings.Cut(h.Text, ",")
			hints = append(hints, said)
		}
	}
	assert.Len(t, hints, 2)
	assert.Equal(t, []string{`memory "m0" was stored`, `memory "other" was stored`}, hints)
}

// A failed turn of a session has stored nothing, even if its store operations succeeded, because its host writes
// only with the commit.
func TestMemoriesOfSessionsAreWrittenWithTheCommit(t *testing.T) {
	s := turn.Subject{Name: "shop", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		kept := samples.Must(inmemory.New(storage.Config{}))
		host := samples.Must(session.NewHost(session.Config{
			Agent: adk.Config{Storage: kept.Storage(), Executor: adk.Executor{Name: "remembers", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if err := dc.Memories().Store(ctx, noted("m", "x")); err != nil {
					return err
				}
				return dc.Ack()
			}}},
			Store:    kept.Sessions(),
			Channels: map[string]func(json.RawMessage) (session.Channel, error){"till": func(json.RawMessage) (session.Channel, error) { return till{}, nil }},
			Prompt:   func(session.Seed) (string, []string, error) { return "You sell.", nil, nil },
		}))
		next := session.Accepted{Delivery: session.Delivery{Tenant: "shop", Session: "one", ID: "d", Kind: "till", Payload: json.RawMessage("1")}}
		return host.Agent(), samples.Must(host.Begin(session.Seed{Tenant: "shop", Session: "one", Delivery: "d", Kind: "till", ChannelState: json.RawMessage("null"), Seq: 1, Attempt: 1, Epoch: 1}, session.Loaded{Next: &next}))
	}}
	found := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.Cancel}})
	assert.Empty(t, found.Violations)
	assert.Empty(t, found.Hints)
}

// till is a channel that keeps nothing of what is delivered.
type till struct{}

func (till) State() (json.RawMessage, error) { return nil, nil }

func (till) Deliver(context.Context, *adk.TurnContext, session.Delivery) error { return nil }

// A report gives the place in user code of a crash, with a path from the module's root, also if the crash is in
// engine code that user code called. For a goroutine that is left behind it names no crossing.
func TestPlacesInReports(t *testing.T) {
	t.Parallel() // the test mostly waits
	crash := explored(t, executing("has no tool", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if _, err := dc.Messages().Fetch(ctx); err != nil {
			var none *adk.Tool
			_ = none.Name()
		}
		return dc.Ack()
	}), explore.Options{Faults: []turn.FaultKind{turn.StorageBefore}})
	found := says(crash, "nil pointer")
	if assert.Len(t, found, 1, crash) {
		assert.Regexp(t, `, in adk\.\(\*Tool\)\.Name at adk/tool\.go:\d+, called by explore_test\.TestPlacesInReports\.\S+ at property/explore/report_test\.go:\d+\n`, found[0].Text)
	}

	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	left := explored(t, executing("leaves one behind", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		go func() { <-never }()
		return dc.Ack()
	}), explore.Options{Faults: []turn.FaultKind{}, Workers: 1})
	if assert.Len(t, left.Violations, 1, left) {
		assert.True(t, strings.HasPrefix(left.Violations[0].String(), "  undisturbed: nothing is left behind: 1 goroutine"), left)
	}
}

// The stretch of a violation begins at the fault, even if goroutines of user code ask. It shows all that
// the violation mentions; for example, both of two writes and not only the second.
func TestAStretchShowsTheFaultAndWhatItLedTo(t *testing.T) {
	for name, beside := range map[string]func(func()){"in a goroutine of its own": func(run func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			run()
		}()
		<-done
	}, "in the call": func(run func()) { run() }} {
		s := executing("mails for each try", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var failed error
			beside(func() {
				look := func(what string) error {
					_, err := adk.Ask(ctx, what, "tea", func(context.Context, string) (string, error) { return "there", nil }, adk.AskOptions{Effect: adk.EffectReads})
					return err
				}
				tries := 1
				if look("stock") != nil {
					tries++
				}
				failed = errors.Join(look("price"), look("price"))
				for range tries {
					_, err := adk.Ask(ctx, "mail", "to anna", func(context.Context, string) (string, error) { return "sent", nil }, adk.AskOptions{Effect: adk.EffectWrites})
					failed = errors.Join(failed, err, look("tax"))
				}
			})
			if failed != nil {
				return failed
			}
			return dc.Ack()
		})
		found := says(explored(t, s, explore.Options{UsualInput: true, Workers: 1, Faults: []turn.FaultKind{turn.AskLost}}), "mail was asked 2 times")
		require.Len(t, found, 1, name)
		assert.Regexp(t, `^ask stock "tea" → error: .*  ← ask-lost\n… \d+ crossings\nask mail "to anna" → "sent"\n… \d+ crossings?\nask mail "to anna"\n$`, found[0].Stretch, name)
	}
}

// The report of a test lists the kinds of faults that Options.Faults leaves out on a single line.
func TestWhatIsLeftOutIsALine(t *testing.T) {
	s := executing("acks", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
	var all recorder
	all.T = t
	explore.Test(&all, s, explore.Options{UsualInput: true, Faults: []turn.FaultKind{turn.Cancel}})
	assert.Contains(t, all.logs[0], fmt.Sprintf("\n  not covered: kinds of faults that Options.Faults leaves out: %d of %d\n", len(turn.FaultKinds())-1, len(turn.FaultKinds())))
	some := explored(t, s, explore.Options{UsualInput: true, Faults: turn.FaultKinds()[1:]})
	assert.Equal(t, []string{fmt.Sprintf("kinds of faults that Options.Faults leaves out: [%s]", turn.FaultKinds()[0])}, some.NotCovered)
}

// A fault is reported at the operation that did not happen because of it, even if another crossing then has
// that number, such as the ask of a deferred function.
func TestAFaultInThePlaceOfSomething(t *testing.T) {
	s := executing("pays back", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		defer func() {
			_, _ = adk.Ask(ctx, "db", "release", func(context.Context, string) (bool, error) { return true, nil })
		}()
		if _, err := dc.Fork(ctx, "books", func(context.Context, *adk.DispatchContext) error { return nil }); err != nil {
			return err
		}
		return dc.Ack()
	})
	at := 0
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindFork && len(r.Schedule.Faults) == 0 {
				at = x.Seq
			}
		}
		return errors.New("it is wrong")
	}
	_, err := explore.RunSchedule(t.Context(), s, turn.Schedule{}, explore.Options{})
	require.NoError(t, err)
	again, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule(fmt.Sprintf("panic@%d", at)), explore.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, again.Violations, again)
	require.NotEmpty(t, again.Violations[0].Where)
	assert.Contains(t, again.Violations[0].Where[0], `user code panics at "fork"`)
	assert.Regexp(t, `(?m)^ *fork  ← panic\n *ask "?db"? "release"`, again.Violations[0].Stretch)
}

// A violation that the check found is shown with the writes, including those before the fault, and without reads
// and logs.
func TestTheStoryOfACheck(t *testing.T) {
	asks := func(ctx context.Context, of string, effect adk.Effect) error {
		_, err := adk.Ask(ctx, of, "tea", func(context.Context, string) (string, error) { return "done", nil }, adk.AskOptions{Effect: effect})
		return err
	}
	said := func(dc *adk.DispatchContext) {
		for range 9 {
			dc.Log(adk.LevelInfo, "waits", "still", nil)
		}
	}
	s := executing("books", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		err := asks(ctx, "bank", adk.EffectWrites)
		said(dc)
		err = errors.Join(err, asks(ctx, "stock", adk.EffectReads))
		said(dc)
		return errors.Join(err, asks(ctx, "price", adk.EffectReads), dc.Ack())
	})
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Name == "stock" && len(r.Schedule.Faults) > 0 && r.Schedule.Faults[0].At == x.Seq {
				return errors.New("paid for nothing")
			}
		}
		return nil
	}
	found := says(explored(t, s, explore.Options{UsualInput: true, Workers: 1, Faults: []turn.FaultKind{turn.AskRefused}}), "paid for nothing")
	require.Len(t, found, 1)
	assert.Regexp(t, `^ *ask bank "tea" .*\n.*\n *ask stock "tea" .*← ask-refused\n`, found[0].Stretch)
	assert.NotContains(t, found[0].Stretch, "waits")
	assert.NotContains(t, found[0].Stretch, "price")
}

// A helper that does not close a body is one entry, whichever of its callers asks.
func TestOneEntryForOneWhoAsks(t *testing.T) {
	client := &http.Client{Transport: adkhttp.NewTransport(okay{})}
	once := func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.example/now", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return readAll(answer.Body)
	}
	s := executing("forgets", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(once(ctx), dc.Ack())
	})
	build := s.Build
	s.Build = func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		config, raw := build(cancel)
		config.TurnInput = []adk.TurnMiddleware{{Name: "history", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
			if err := once(ctx); err != nil {
				return err
			}
			next(ctx)
			return nil
		}}}
		return config, raw
	}
	result := explored(t, s, explore.Options{UsualInput: true, Workers: 1, Faults: []turn.FaultKind{turn.AskBusy}})
	assert.Len(t, says(result, "was neither read to its end nor closed"), 1, result)
}

// The table fits into the width of a report, however many kinds of faults there are. It names each kind
// once, with the number of tries or with the letter of the reason why it was not tried.
func TestTableFits(t *testing.T) {
	table := explore.Table{Faults: turn.FaultKinds()}
	row := explore.TableRow{Crossing: "call turn-output"}
	for i := range table.Faults {
		c := explore.TableCell{Tried: 1000 + i}
		if i%2 == 1 {
			c = explore.TableCell{Why: "only what is odd " + strconv.Itoa(i%6)}
		}
		row.Cells = append(row.Cells, c)
	}
	table.Rows = []explore.TableRow{row}
	text := table.String()
	for _, line := range strings.Split(text, "\n") {
		assert.LessOrEqual(t, len(line), 72, line)
	}
	said := strings.Join(strings.Fields(text), " ")
	assert.True(t, strings.HasPrefix(said, "call turn-output cancel 1000, "), said)
	assert.Contains(t, said, "; not abc a cancel-after, ")
	assert.Contains(t, said, ": only what is odd 5")
}

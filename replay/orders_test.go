package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// drawing is an agent with two goroutines that ask concurrently. The agent itself asks a model
// before them, or after them if behind is set. In each run it asks for the next of the words in
// draws, and then for the last one again and again.
func drawing(behind bool, draws ...string) adk.Config {
	var mu sync.Mutex
	run := 0
	draw := func() string {
		mu.Lock()
		defer mu.Unlock()
		run++
		return draws[min(run, len(draws))-1]
	}
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		ask := func(of, what string) { // a missing answer does not stop it
			_, _ = adk.Ask(ctx, of, what, func(context.Context, string) (string, error) { return "Well.", nil }, adk.AskOptions{Effect: adk.EffectReads})
		}
		drawn := draw()
		asks := func() {
			for said := range strings.SplitSeq(drawn, "|") {
				ask("model", said)
			}
		}
		if !behind {
			asks()
		}
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() { ask("files", fmt.Sprint(i)) })
		}
		both.Wait()
		if behind {
			asks()
		}
		return dc.Ack()
	})
}

// If another run is as recorded only because the agent said something else in it, that is
// nondeterminism, whatever its goroutines do concurrently: no order of theirs explains it. If it
// says the same in another order, the turn is as recorded, and the report says in which run; but
// not if each of several runs differed before a goroutine began.
func TestAnotherRunThatIsAsRecorded(t *testing.T) {
	t.Parallel()
	const none = 0
	for name, c := range map[string]struct {
		recorded string
		behind   bool
		today    []string
		class    replay.Class // empty if it is as recorded
		in       int          // in this run, if it is not the first
	}{
		"a number is another one":             {"0", true, []string{"1", "0"}, replay.NonDeterministic, none},
		"a number is, in a later run":         {"0", true, []string{"1", "1", "1", "0", "1"}, replay.NonDeterministic, none},
		"a number is, and is again":           {"0", true, []string{"1", "1", "1", "0", "0"}, replay.NonDeterministic, none},
		"one ask more":                        {"0", true, []string{"0|1", "0"}, replay.NonDeterministic, none},
		"the list is in another order":        {"a b", true, []string{"b a", "a b"}, "", 2},
		"the list is, in the first run":       {"a b", true, []string{"a b"}, "", none},
		"the list is, and a later one is not": {"a b", true, []string{"b a", "b a", "b a", "a b"}, "", 4},
		"ahead of goroutines":                 {"a b", false, []string{"b a", "a b"}, "", 2},
		"ahead of goroutines, in most runs":   {"a b", false, []string{"b a", "b a", "b a", "b a", "a b", "b a"}, replay.NonDeterministic, none},
		"ahead of goroutines, in each":        {"a b", false, []string{"b a"}, replay.ChangedInput, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := replay.Live{Config: drawing(c.behind, c.today...), Seams: []string{replay.Executor}, Turn: adk.RawTurn{SystemPrompt: "Go."}, Twice: true}
			report, err := replay.Verify(t.Context(), bytes.NewReader(turnOf(t, drawing(c.behind, c.recorded), adk.RawTurn{})), live)
			require.NoError(t, err)
			class := replay.Class("")
			if report.Divergence != nil {
				class = report.Divergence.Class
			}
			assert.Equal(t, c.class, class, "%s", report)
			said := strings.Join(report.NotCompared, "; ")
			assert.Equal(t, c.in > 0, strings.Contains(said, "another order: run"), "%s", report)
			assert.True(t, c.in == none || strings.Contains(said, fmt.Sprintf("run %d is as recorded", c.in)), "%s", report)
		})
	}
}

// betweenStrands is an agent of two strands. The first stores the next of the words in each run, and
// then always the last. In its recording, the other strand finishes after the first has read the clock.
func betweenStrands(recorded bool, draws ...string) adk.Config {
	read, over, run := make(chan bool), make(chan bool), 0
	return strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
		run++
		drawn := draws[min(run, len(draws))-1]
		_ = adk.Now(ctx)
		if recorded {
			close(read)
			<-over
		}
		return notes(ctx, dc, "drawn", drawn)
	}, func(ctx context.Context, dc *adk.DispatchContext) error {
		if recorded {
			<-read
			defer close(over)
		}
		return notes(ctx, dc, "other", "the same")
	})
}

// The recorded order of strands explains a difference if each of several runs in that order is as
// recorded. A run that is as recorded by chance does not keep other orders from being tried.
func TestAnOrderOfStrandsThatExplains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		today []string
		class replay.Class
		in    string
	}{
		"each run in it is as recorded":       {[]string{"1", "0"}, "", "run 2 is as recorded"},
		"the last of a few is not":            {[]string{"1", "0", "0", "0", "0", "0", "0", "1"}, replay.NonDeterministic, ""},
		"one in the first, each in the other": {[]string{"1", "0", "1", "0"}, "", "run 3 is as recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := replay.Live{Config: betweenStrands(false, c.today...), Seams: []string{replay.Executor}, Turn: adk.RawTurn{SystemPrompt: "Go."}, Twice: true}
			report, err := replay.Verify(t.Context(), bytes.NewReader(byTheMachine(t, betweenStrands(true, "0"))), live)
			require.NoError(t, err)
			class := replay.Class("")
			if report.Divergence != nil {
				class = report.Divergence.Class
			}
			assert.Equal(t, c.class, class, "%s", report)
			assert.Contains(t, strings.Join(report.NotCompared, "; "), c.in, "%s", report)
		})
	}
}

// An unanswered ask of a goroutine explains what is missing of that goroutine, however far the
// others have come. It does not explain what the call itself left out before.
func TestAnAskOfAGoroutineLeadsToWhatIsMissing(t *testing.T) {
	t.Parallel()
	agent := func(own, first, then []string) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			all := func(asks []string) {
				for _, what := range asks {
					if _, err := adk.Ask(ctx, "shop", what, func(context.Context, string) (string, error) { return "Well.", nil }); err != nil {
						return
					}
				}
			}
			all(own)
			began, spent := make(chan bool), make(chan bool)
			var both sync.WaitGroup
			both.Go(func() {
				all(first)
				close(began)
				<-spent
				all(then)
			})
			both.Go(func() {
				<-began
				defer close(spent)
				all([]string{"spend"})
			})
			both.Wait()
			return dc.Ack()
		})
	}
	recorded := turnOf(t, agent([]string{"look", "plan"}, []string{"book"}, []string{"send"}), adk.RawTurn{})
	for name, c := range map[string]struct {
		own, then []string
		class     replay.Class
		said      string
	}{
		"one more, before what was recorded": {[]string{"look", "plan"}, []string{"quote", "book", "send"}, replay.Unanswered, `"quote"`},
		"the call left out another before":   {[]string{"plan"}, []string{"quote", "book", "send"}, replay.Missing, `"look"`},
	} {
		d := divergenceOf(t, recorded, replay.Live{Config: agent(c.own, nil, c.then), Seams: []string{replay.Executor}, Strict: true})
		require.NotNil(t, d, name)
		assert.Equal(t, c.class, d.Class, "%s: %s", name, d)
		assert.Contains(t, d.Expected+d.Got, c.said, "%s: %s", name, d)
	}
}

package explore_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// diligent returns an agent that does what its model wants, to look or to keep, until it is done. The
// careless one says that it has kept its answer even if that failed.
func diligent(careless bool, wants ...string) turn.Subject {
	return turn.Subject{Name: "diligent", Open: func(context.CancelCauseFunc) turn.Instance {
		storage := fakes.NewStorage()
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for n, said := 0, ""; said != "done"; n++ {
				if n == 20 {
					return errors.New("the model comes to no end")
				}
				var err error
				if said, err = adk.Ask(ctx, "model", n, func(_ context.Context, n int) (string, error) { return wants[n], nil }); err != nil {
					return err
				}
				switch said {
				case "look":
					if _, err := dc.Retrievables().Fetch(ctx); err != nil {
						return err
					}
				case "keep":
					if err := dc.Messages().Store(ctx, uttered("m0", adk.RoleAssistant, "Kept.")); err != nil && !careless {
						return err
					} else if err != nil {
						h.Log(adk.LevelInfo, "store", "never mind", nil)
					}
				}
			}
			return dc.Ack()
		}
		return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Config: adk.Config{Storage: storage.Storage(), Executor: adk.Executor{Name: "model", Run: run}},
			Check: func(r turn.Run) error {
				for x := range r.Crossings {
					if x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && len(storage.Messages()) == 0 {
						return assert.AnError
					}
				}
				return nil
			}}
	}}
}

// Answers of the world that do not matter are left out of the schedule that shows a violation, and the faults
// move accordingly. The Reproduce line shows the violation again, but not for the corrected agent.
func TestScriptsAreShortened(t *testing.T) {
	looking := []string{"look", "look", "look", "keep", "done"}
	result := explored(t, diligent(true, looking...), explore.Options{})
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	assert.Regexp(t, `^without@1,without@2,without@3,storage-before@\d+$`, b.Schedule.String())
	assert.Contains(t, b.Where[0], "the turn is shorter, without what model said to its question 1, and what model said to its question 2")
	asks := 0
	for _, line := range b.Run.Lines() {
		if line.Crossing.Kind == adk.KindAsk && line.Crossing.Phase == adk.Begin {
			asks++
		}
	}
	assert.Equal(t, 2, asks, "those are left that keep and end it")
	for careless, want := range map[bool]int{true: 1, false: 0} {
		again, err := explore.RunSchedule(t.Context(), diligent(careless, looking...), b.Schedule, explore.Options{})
		require.NoError(t, err)
		assert.Len(t, again.Violations, want)
	}
	_, err := explore.RunSchedule(t.Context(), diligent(true, looking...), turn.MustSchedule("without@9"), explore.Options{})
	assert.ErrorContains(t, err, "without@9 cannot happen: the undisturbed turn is given 5 answers")
}

// An answer is left out only if that brings the fault much closer: not if it comes after the fault, and not
// to save a few crossings.
func TestSchedulesHaveNoNeedlessParts(t *testing.T) {
	result := explored(t, diligent(true, "look", "keep", "look", "look", "done"), explore.Options{})
	require.Len(t, result.Violations, 1, result)
	assert.Regexp(t, `^storage-before@\d+$`, result.Violations[0].Schedule.String())
}

// seeking returns an agent that is a script. It looks three times before it is done, and the careless one
// continues if storing its answer fails.
func seeking(careless bool) turn.Subject {
	return turn.Subject{Name: "seeking", Open: func(context.CancelCauseFunc) turn.Instance {
		storage := fakes.NewStorage()
		look := fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := dc.Retrievables().Fetch(ctx)
			return err
		})
		store := fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := dc.Messages().Store(ctx, uttered("m0", adk.RoleAssistant, "Done."))
			if err == nil || !careless {
				return err
			}
			h.Log(adk.LevelInfo, "store", "never mind", nil)
			return nil
		})
		script := fakes.Script{{look}, {look}, {look}, {store, fakes.Ack()}}
		return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Config: adk.Config{Storage: storage.Storage(), Executor: script.Executor("model")},
			Check: func(r turn.Run) error {
				for x := range r.Crossings {
					if x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && len(storage.Messages()) == 0 {
						return assert.AnError
					}
				}
				return nil
			}}
	}}
}

// Iterations of a fakes.Script that do not matter are left out of the schedule that shows a violation. The
// Reproduce line shows the violation again, but not for the corrected agent.
func TestIterationsAreLeftOut(t *testing.T) {
	result := explored(t, seeking(true), explore.Options{})
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	assert.Regexp(t, `^without@1,without@2,without@3,storage-before@\d+$`, b.Schedule.String())
	assert.Contains(t, b.Where[0], `the turn is shorter, without what the script of executor "model" does in iteration 0, and what the script of executor "model" does in iteration 1`)
	iterations := 0
	for _, line := range b.Run.Lines() {
		if line.Crossing.Kind == adk.KindIterationStart {
			iterations++
		}
	}
	assert.Equal(t, 1, iterations, "one iteration is left")
	for careless, want := range map[bool]int{true: 1, false: 0} {
		again, err := explore.RunSchedule(t.Context(), seeking(careless), b.Schedule, explore.Options{})
		require.NoError(t, err)
		assert.Len(t, again.Violations, want)
	}
	_, err := explore.RunSchedule(t.Context(), seeking(true), turn.MustSchedule("without@9"), explore.Options{})
	assert.ErrorContains(t, err, "without@9 cannot happen: the undisturbed turn is given 4 answers")
}

// If only iterations are left out, the world gives each ask its usual answer: the asks of those iterations
// are not made, and no other ask gets their answers.
func TestAsksBehindIterationsLeftOut(t *testing.T) {
	var said []int
	subject := turn.Subject{Name: "echo", Open: func(context.CancelCauseFunc) turn.Instance {
		said = nil
		ask := func(n int) fakes.Step {
			return fakes.Do(func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) error {
				answer, err := adk.Ask(ctx, "echo", n, func(_ context.Context, n int) (int, error) { return n, nil })
				said = append(said, answer)
				return err
			})
		}
		script := fakes.Script{{ask(1)}, {ask(2)}, {ask(3), fakes.Ack()}}
		return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Config: adk.Config{Storage: fakes.NewStorage().Storage(), Executor: script.Executor("model")}}
	}}
	for schedule, want := range map[string][]int{
		"without@1":           {2, 3}, // iterations have the odd numbers, and the asks in them the even ones
		"without@1,without@3": {3},
		"without@2":           {2, 3, 3}, // leaves out an answer, so the next ask gets the answer after it
	} {
		_, err := explore.RunSchedule(t.Context(), subject, turn.MustSchedule(schedule), explore.Options{Workers: 1, Free: -1})
		require.NoError(t, err)
		assert.Equal(t, want, said, schedule)
	}
}

// If an answer is left out, a server with many paths gives a request only answers to the same method and path,
// and never those to another one.
func TestAnswersBehindOneThatIsLeftOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+r.URL.Path)
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}
	var mu sync.Mutex
	heard := map[string]bool{}
	send := func(ctx context.Context, method, path string) error {
		request, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(answer.Body)
		mu.Lock()
		defer mu.Unlock()
		heard[method+path+" heard "+string(text)] = true
		return errors.Join(err, answer.Body.Close())
	}
	s := executing("books", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(send(ctx, http.MethodGet, "/rail"), send(ctx, http.MethodPost, "/rail"), send(ctx, http.MethodGet, "/bus"), dc.Ack())
	})
	for _, schedule := range []string{"without@1", "without@1,without@2", "without@2", "without@1,cancel@30"} {
		_, _ = explore.RunSchedule(t.Context(), s, turn.MustSchedule(schedule), explore.Options{})
	}
	assert.Equal(t, map[string]bool{"GET/rail heard GET/rail": true, "POST/rail heard POST/rail": true, "GET/bus heard GET/bus": true}, heard)
}

package replay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/whatif"
)

// forks is an executor that forks the strands, gives each the handles of all, and waits for them.
func forks(all ...func(ctx context.Context, dc *adk.DispatchContext, of []*adk.Strand) error) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var forked []*adk.Strand
		known := make(chan bool)
		for _, do := range all {
			forked = append(forked, tracetest.Must(dc.Fork(ctx, "s", func(ctx context.Context, dc *adk.DispatchContext) error {
				<-known
				return do(ctx, dc, forked)
			})))
		}
		close(known)
		var failed error
		for _, s := range forked {
			failed = errors.Join(failed, s.Wait())
		}
		return errors.Join(failed, dc.Ack())
	})
}

// A run whose strands wait for one another in a circle never ends by itself. The replay ends when
// no other strand in it can continue, and reports what differs and which strand waits for which.
// (RUN-5, DET-7)
func TestStrandsInACircle(t *testing.T) {
	t.Parallel()
	sets := func(_ context.Context, dc *adk.DispatchContext, _ []*adk.Strand) error {
		return dc.Stash().Set("works", true)
	}
	waits := func(of int) func(context.Context, *adk.DispatchContext, []*adk.Strand) error {
		return func(_ context.Context, _ *adk.DispatchContext, all []*adk.Strand) error { return all[of].Wait() }
	}
	forked := func(after bool) func(context.Context, *adk.DispatchContext, []*adk.Strand) error {
		return func(ctx context.Context, dc *adk.DispatchContext, all []*adk.Strand) error {
			child, err := dc.Fork(ctx, "child", func(context.Context, *adk.DispatchContext) error { return all[0].Wait() })
			if err != nil || !after {
				return err
			}
			return child.Wait()
		}
	}
	for name, c := range map[string]struct {
		today   adk.Config
		waiting []string
	}{
		"itself":            {forks(sets, waits(1)), []string{"strand 2 for itself at "}},
		"each other":        {forks(waits(1), waits(0)), []string{"strand 1 for strand 2 at ", "strand 2 for strand 1 at "}},
		"three":             {forks(waits(2), waits(0), waits(1)), []string{"strand 1 for strand 3 at ", "strand 3 for strand 2 at ", "strand 2 for strand 1 at "}},
		"a child's":         {forks(forked(false), sets), []string{"strand 1 for strand 3, which it forked", "strand 3 for strand 1 at "}},
		"a child's, waited": {forks(forked(true), sets), []string{"strand 1 for strand 3 at ", "strand 3 for strand 1 at "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := inTime(t, turnOf(t, forks(sets, sets), adk.RawTurn{}), replay.Live{Config: c.today, Seams: []string{replay.Executor}})
			require.NotNil(t, d)
			require.Len(t, d.Waiting, len(c.waiting), "%s", d.Waiting)
			for i, text := range c.waiting {
				assert.True(t, strings.HasPrefix(d.Waiting[i], text), "%q should begin with %q", d.Waiting[i], text)
				assert.Equal(t, strings.HasSuffix(text, " at "), strings.Contains(d.Waiting[i], "replay/endless_test.go:"), d.Waiting[i])
			}
			assert.Contains(t, strings.Join(strings.Fields(d.String()), " "), "nobody goes on: "+c.waiting[0])
		})
	}
}

// The same holds for a circle in code that says what redaction takes out.
func TestARedactedCircle(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	works := func(_ context.Context, dc *adk.DispatchContext, _ []*adk.Strand) error {
		return dc.Stash().Set("works", true)
	}
	alone := func(_ context.Context, _ *adk.DispatchContext, all []*adk.Strand) error { return all[0].Wait() }
	d := inTime(t, turnOf(t, forks(works), adk.RawTurn{}), replay.Live{Config: forks(alone), Seams: []string{replay.Executor},
		Redact: redact.UsualSecrets()})
	require.NotNil(t, d)
	assert.Len(t, d.Waiting, 1)
}

// What other strands of such a run still have to do is done, and compared, before the replay gives the run up.
func TestBesideACircle(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	works := func(_ context.Context, dc *adk.DispatchContext, _ []*adk.Strand) error {
		return dc.Stash().Set("works", true)
	}
	alone := func(_ context.Context, _ *adk.DispatchContext, all []*adk.Strand) error { return all[0].Wait() }
	asks := func(ctx context.Context, dc *adk.DispatchContext, _ []*adk.Strand) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return errors.Join(err, dc.Stash().Set("asked", true))
	}
	recorded := turnOf(t, forks(works, asks), adk.RawTurn{Observability: resolves(true)})
	live := replay.Live{Config: forks(alone, asks), Seams: []string{replay.Executor}}
	live.Turn.SystemPrompt = "Go."
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), live)
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.NotEmpty(t, report.Divergence.Waiting)
	assert.Contains(t, strings.Join(report.NotCompared, "\n"), "the run never ends, and was left behind")
	whole, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
	require.NoError(t, err)
	// What remains is strand 1's own step, and what comes after both strands.
	assert.Greater(t, report.Crossings, whole.Crossings/2)
}

// replays are all functions that run live code again.
var replays = map[string]func(ctx context.Context, recorded []byte, live replay.Live) error{
	"verify": func(ctx context.Context, recorded []byte, live replay.Live) error {
		_, err := replay.Verify(ctx, bytes.NewReader(recorded), live)
		return err
	},
	"rerecord": func(ctx context.Context, recorded []byte, live replay.Live) error {
		_, err := replay.Rerecord(ctx, bytes.NewReader(recorded), io.Discard, live)
		return err
	},
	"what-if": func(ctx context.Context, recorded []byte, live replay.Live) error {
		_, err := whatif.Run(ctx, bytes.NewReader(recorded), live, nil)
		return err
	},
	"corpus": func(ctx context.Context, recorded []byte, live replay.Live) error {
		_, err := corpus.Verify(ctx, []corpus.Source{{Name: "turn", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(recorded)), nil }}},
			func(string) replay.Live { return live })
		return err
	},
}

// A replay ends when its context ends, whatever live code waits for. A goroutine that does not end
// is left behind, and the error says so. Waking it later does no harm. (RUN-5)
func TestLiveCodeThatDoesNotEnd(t *testing.T) {
	for name, run := range replays {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var never chan bool
				agent := forks(func(_ context.Context, dc *adk.DispatchContext, _ []*adk.Strand) error {
					if never != nil {
						<-never
					}
					return dc.Stash().Set("works", true)
				})
				recorded := turnOf(t, agent, adk.RawTurn{})
				never = make(chan bool)
				const deadline = 20 * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				begun := time.Now()
				err := run(ctx, recorded, replay.Live{Config: agent, Seams: []string{replay.Executor}})
				assert.Less(t, time.Since(begun), deadline+time.Minute)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, "2 goroutines of the run left behind, not ended\nadk.(*Strand).Wait in ")
				assert.ErrorContains(t, err, "\nchan receive in ")
				assert.ErrorContains(t, err, "replay/endless_test.go:")
				close(never)
			})
		})
	}
}

// For callers that want the new run, a circle is an error.
func TestACircleIsNoRun(t *testing.T) {
	t.Parallel()
	works := func(_ context.Context, dc *adk.DispatchContext, _ []*adk.Strand) error {
		return dc.Stash().Set("works", true)
	}
	recorded := turnOf(t, forks(works), adk.RawTurn{})
	live := replay.Live{Seams: []string{replay.Executor},
		Config: forks(func(_ context.Context, _ *adk.DispatchContext, all []*adk.Strand) error { return all[0].Wait() })}
	for _, name := range []string{"rerecord", "what-if"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.ErrorContains(t, replays[name](t.Context(), recorded, live), "the new run never ends: strand 1 for itself at replay/endless_test.go:")
		})
	}
}

package corpus_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// operator is an agent for people to change: it restarts a service after somebody approves it.
type operator struct {
	ungated, hasty bool         // it does not ask for approval, or asks too late
	clock          int          // how often it reads the clock
	unnoted        bool         // it stores nothing
	logs           bool         // it logs what it restarts
	client         *http.Client // the client for the service
	hurried        bool         // its middleware does not read the clock
}

// done answers every request.
type done struct{}

func (done) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(strings.NewReader("done")), Header: http.Header{"Content-Type": {"text/plain"}}}, nil
}

func (o operator) of(server, service string) adk.Config {
	restart := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/services/"+service+"/restart", nil)
		if err != nil {
			return err
		}
		client := o.client
		if client == nil {
			client = &http.Client{Transport: adkhttp.NewTransport(done{})}
		}
		res, err := client.Do(req)
		if err == nil {
			err = res.Body.Close()
		}
		return err
	}
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for range o.clock {
			_ = dc.Now()
		}
		if o.hasty {
			if err := restart(ctx); err != nil {
				return err
			}
		}
		if !o.ungated {
			approved, err := adk.WaitFor[bool](ctx, dc, adk.Gate{ID: dc.NewID(), Reason: "restart " + service + "?", Timeout: 1e9})
			if err != nil {
				return err
			}
			if !approved {
				return dc.Ack()
			}
		}
		if !o.unnoted {
			statement := map[string]any{"sql": "INSERT INTO notes (text) VALUES (?)", "args": []string{service}}
			if _, err := adk.Ask(ctx, "db", statement, func(context.Context, map[string]any) (int, error) { return 1, nil }, adk.AskOptions{Effect: adk.EffectWrites}); err != nil {
				return err
			}
		}
		if o.logs {
			h.Log(adk.LevelInfo, "restart", "restarts 2", nil)
		}
		if !o.hasty {
			if err := restart(ctx); err != nil {
				return err
			}
		}
		return dc.Ack()
	}
	timed := adk.TurnMiddleware{Name: "timed", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if !o.hurried {
			_ = tc.Now()
		}
		next(ctx)
		return nil
	}}
	return adk.Config{TurnInput: []adk.TurnMiddleware{timed}, Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}
}

// closed is the address of a server that has been closed.
func closed(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// A headline names what matters: the gate and not the id that it was made with, the query to a
// database, how often a clock is read, and that code which dials by itself gets no answer from a
// recording. One edit is one cause, whatever data each trace has.
func TestHeadlinesNameWhatMatters(t *testing.T) {
	address := closed(t)
	server := "http://" + address
	var sources []corpus.Source
	for _, service := range []string{"payments", "search"} {
		var trace bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(operator{}.of(server, service), replay.Record(&trace)))
		require.NoError(t, err)
		turn := adk.RawTurn{SystemPrompt: "Restart it."}
		turn.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { e.Gate.Resolve("ops", service == "payments") }
		require.NoError(t, runner.Run(t.Context(), turn))
		sources = append(sources, livetest.Source(service, trace.Bytes()))
	}
	for text, c := range map[string]struct {
		today  operator
		traces int
	}{
		`missing in executor/model: wait-for "restart payments?"`:                                              {operator{ungated: true}, 2},
		`order in executor/model: ask localhost POST /services/…/restart, before wait-for "restart payments?"`: {operator{hasty: true}, 2},
		`extra in executor/model: now (dc.Now), 2 times`:                                                       {operator{clock: 2}, 2},
		`missing in turn-input/timed: now (tc.Now)`:                                                            {operator{hurried: true}, 2},
		`missing in executor/model: ask db "INSERT INTO notes…"`:                                               {operator{unnoted: true}, 1},
		`extra in executor/model: report-log, info restart: "restarts 2"`:                                      {operator{logs: true}, 1},
	} {
		report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
			return replay.Live{Config: c.today.of(server, name), Seams: []string{replay.Middleware, replay.Executor}}
		})
		require.NoError(t, err)
		require.Len(t, report.Causes, 1, "%s", report)
		assert.Equal(t, text, report.Causes[0].Text)
		assert.Len(t, report.Causes[0].Traces, c.traces)
		if c.today.clock > 0 {
			assert.Zero(t, report.Causes[0].First.Divergence.After.Follow, "they are counted in the headline")
		}
	}
	report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
		return replay.Live{Config: operator{client: http.DefaultClient}.of(server, name), Seams: []string{replay.Executor}}
	})
	require.NoError(t, err)
	require.Len(t, report.Causes, 1, "%s", report)
	assert.Contains(t, report.Causes[0].Text, "which dialed "+address+" itself")
	assert.Contains(t, strings.Join(strings.Fields(report.Causes[0].String()), " "), "did not go through adkhttp.NewTransport")
}

// Two operations that changed places are an order divergence, named by the operations and not by
// the clock readings around them. If the call ended before the second one, that one is missing,
// and the operation in its place is named. What each trace processes is data.
func TestTwoThatChangedPlacesAreOneCause(t *testing.T) {
	stop := errors.New("that is enough")
	working := func(most int, names ...string) adk.Config {
		config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for i, name := range names {
				if i == most {
					return stop
				}
				began := dc.Now()
				tool, _ := dc.Tools().Get(name)
				if _, err := dc.Execute(ctx, tool, map[string]any{}); err != nil {
					return err
				}
				_ = dc.Now().Sub(began)
				if err := dc.Stash().Set("did."+name, true); err != nil {
					return err
				}
			}
			return dc.Ack()
		}}}
		for _, name := range []string{"a", "b", "c"} {
			config.Tools = append(config.Tools, fakes.NewTool(name, "Works.", name).Tool())
		}
		return config
	}
	usual := map[string][]string{"first": {"a", "b"}, "second": {"b", "c"}}
	var sources []corpus.Source
	for _, name := range []string{"first", "second"} {
		var trace bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(working(9, usual[name]...), replay.Record(&trace)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Work."}))
		sources = append(sources, livetest.Source(name, trace.Bytes()))
	}
	for most, text := range map[int]string{
		9: "order in executor/model: execute b, before execute a",
		1: "missing in executor/model: execute a, in its place execute b",
	} {
		report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
			return replay.Live{Config: working(most, usual[name][1], usual[name][0]), Seams: []string{replay.Executor}}
		})
		require.NoError(t, err)
		require.Len(t, report.Causes, 1, "%s", report)
		assert.Equal(t, text, report.Causes[0].Text)
		assert.NotContains(t, report.Causes[0].First.Divergence.Place, "behind")
	}
	report, err := corpus.Verify(t.Context(), sources, func(name string) replay.Live {
		return replay.Live{Config: working(9, usual[name][1]), Seams: []string{replay.Executor}}
	})
	require.NoError(t, err)
	assert.Contains(t, report.Causes[0].Text, "missing in executor/model: execute ")
}

// If two calls of one tool changed places, the headline says which the other one is.
func TestTwoOfATool(t *testing.T) {
	paying := func(invoices ...string) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{fakes.NewTool("pay", "Pays.", "paid", "paid").Tool()},
			Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				for _, invoice := range invoices {
					tool, _ := dc.Tools().Get("pay")
					if _, err := dc.Execute(ctx, tool, map[string]any{"invoice": invoice}); err != nil {
						return err
					}
				}
				return dc.Ack()
			}}}
	}
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(paying("A-1", "A-2"), replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Work."}))
	report, err := corpus.Verify(t.Context(), []corpus.Source{livetest.Source("pay", trace.Bytes())}, func(string) replay.Live {
		return replay.Live{Config: paying("A-2", "A-1"), Seams: []string{replay.Executor}}
	})
	require.NoError(t, err)
	require.Len(t, report.Causes, 1, "%s", report)
	assert.Equal(t, `order in executor/model: execute pay, before that of {"invoice":"A-1"}`, report.Causes[0].Text)
}

// Of two questions of one name that changed places, each report says in what they differ, however
// long what they share is. A statement that is cut shows that it is.
func TestTwoQuestionsThatChangedPlaces(t *testing.T) {
	type lookup struct {
		SQL   string `json:"sql"`
		Order int    `json:"order"`
	}
	asking := func(orders ...int) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, order := range orders {
				q := lookup{"select item, cents, card from orders where id = ? and not hidden", order}
				if _, err := adk.Ask(ctx, "db", q, func(context.Context, lookup) (string, error) { return "lamp", nil }); err != nil {
					return err
				}
			}
			return dc.Ack()
		}}}
	}
	var trace bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(asking(17, 18), replay.Record(&trace)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Work."}))
	report, err := corpus.Verify(t.Context(), []corpus.Source{livetest.Source("orders", trace.Bytes())}, func(string) replay.Live {
		return replay.Live{Config: asking(18, 17), Seams: []string{replay.Executor}}
	})
	require.NoError(t, err)
	require.Len(t, report.Causes, 1)
	assert.Equal(t, "order in executor/model: ask db \"select item, cents, card from orders…\", …`not hidden\",\"order\":18}` before …`not hidden\",\"order\":17}`", report.Causes[0].Text)
	shown := report.Causes[0].First.Divergence.String()
	assert.Contains(t, shown, "    ask … not hidden\",\"order\":18}\n    comes before ask … not hidden\",\"order\":17}\n")
	var annotations, junit bytes.Buffer
	require.NoError(t, report.WriteAnnotations(&annotations))
	require.NoError(t, report.WriteJUnit(&junit))
	for _, said := range []string{strings.ReplaceAll(annotations.String(), "%0A", "\n"), html.UnescapeString(junit.String())} {
		assert.Contains(t, strings.Join(strings.Fields(said), " "), "…`not hidden\",\"order\":18}` before …`not hidden\",\"order\":17}`")
	}
}

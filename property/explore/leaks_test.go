package explore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// asks returns a model that makes the ask, and then acks.
func asks(ask func(ctx context.Context) error) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
	return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(ask(ctx), dc.Ack())
	}
}

// get sends a GET to url and passes the body of the answer to read.
func get(client *http.Client, url string, read func(io.ReadCloser) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return read(response.Body)
	}
}

func readAll(body io.ReadCloser) error {
	_, err := io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// Connections that are kept alive belong to the pool of a client, whether the program keeps the client or
// a run makes it, and are not reported. A response body that nobody reads keeps its connection, and
// the violation names it.
func TestConnectionsKeptAlive(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	t.Cleanup(server.Close)
	result := explored(t, executing("keeps alive", asks(get(server.Client(), server.URL, readAll))), explore.Options{})
	assert.Empty(t, result.Violations, result)

	fresh := func(ctx context.Context) error {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		return get(&http.Client{Transport: transport}, server.URL, readAll)(ctx)
	}
	result = explored(t, executing("a pool for every run", asks(fresh)), explore.Options{Schedules: 20})
	assert.Empty(t, result.Violations, result)

	forgets := func(body io.ReadCloser) error {
		t.Cleanup(func() { _ = body.Close() }) // closed only at the end: until then each goroutine dump shows the leak
		return nil
	}
	result = explored(t, executing("forgets", asks(get(server.Client(), server.URL, forgets))), explore.Options{Workers: 1})
	require.Len(t, result.Violations, 1, result)
	assert.Equal(t, "nothing is left behind", result.Violations[0].Invariant)
	assert.Regexp(t, `started by http\..* at net/http/transport\.go:\d+, in http\.\(\*persistConn\)\.readLoop at net/http/.*: the body of a response was neither read to its end nor closed`,
		result.Violations[0].Text)
}

// To find which schedule leaves a goroutine behind, the explorer runs schedules again, but only while the
// budget lasts. If it does not find the schedule, the report says so.
func TestNobodyIsLookedForBehindTheBudget(t *testing.T) {
	const budget, asks = time.Minute, 40
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	left, since := false, 0 // since: the runs since one left a goroutine
	s := executing("leaves a goroutine behind a failure", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for n := range asks {
			_, err := adk.Ask(ctx, "bank", n, func(context.Context, int) (string, error) { return "paid", nil }, adk.AskOptions{})
			if err != nil && n == asks-1 && !left {
				left = true
				go func() { <-release }()
			}
			if err != nil {
				return err
			}
		}
		return dc.Ack()
	})
	build := s.Build
	s.Build = func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		if left {
			since++
		}
		return build(cancel)
	}
	const until = 10 // the number of repeated runs, out of forty before the one that leaves the goroutine
	begun := time.Now()
	result := explored(t, s, explore.Options{Workers: 1, Faults: []turn.FaultKind{turn.AskRefused}, UsualInput: true, Budget: budget, Now: func() time.Time {
		if since >= until {
			return begun.Add(budget)
		}
		return begun
	}})
	require.Greater(t, result.Schedules, asks, result)
	assert.Equal(t, until, since, "runs when time is up, and at the end")
	assert.Contains(t, strings.Join(result.NotCovered, "\n"), "which schedule leaves goroutines behind, as one of those tried does: the budget of 1m0s was used up")
}

// If the explorer breaks off a client with a timeout, a goroutine of the standard library still waits for
// the timeout. User code cannot end it, so it is not reported. A body that nobody closes leaves the same
// goroutine, and is reported.
func TestClientsWithATimeout(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	timing := func(read func(io.ReadCloser) error) turn.Subject {
		return executing("timing", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			client := &http.Client{Timeout: time.Hour, Transport: adkhttp.NewTransport(okay{})}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://weather.example/now", nil)
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return dc.Nack(err)
			}
			return errors.Join(read(response.Body), dc.Ack())
		})
	}
	result := explored(t, timing(readAll), explore.Options{Faults: []turn.FaultKind{turn.Fail, turn.Panic}})
	assert.Empty(t, result.Violations, result)

	forgetful := func(body io.ReadCloser) error {
		t.Cleanup(func() { _ = body.Close() })
		return nil
	}
	result = explored(t, timing(forgetful), explore.Options{Faults: []turn.FaultKind{turn.Fail, turn.Panic}})
	assert.NotEmpty(t, says(result, "http.setRequestCancel at net/http/client.go:"), result)
}

// okay is a transport that answers every request with the same text.
type okay struct{}

func (okay) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("rain")), ContentLength: 4}, nil
}

// Open and Close are called once for each run. Close is called when the run is over, even if the run
// ends its goroutine with runtime.Goexit.
func TestOpenedAndClosed(t *testing.T) {
	var opened, closed, open atomic.Int64
	s := turn.Subject{Name: "opens", Open: func(context.CancelCauseFunc) turn.Instance {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		opened.Add(1)
		open.Add(1)
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if ctx.Err() != nil {
				goexit()
			}
			return asks(get(server.Client(), server.URL, readAll))(ctx, dc, h)
		}
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, Raw: adk.RawTurn{SystemPrompt: "Help."},
			Close: func() { server.Close(); closed.Add(1); open.Add(-1) }}
	}}
	judged := func(turn.Run) error {
		if open.Load() != 1 {
			return errors.New("it is closed before it is judged, or not at all")
		}
		return nil
	}
	result := explored(t, checked(s, judged), explore.Options{Workers: 1})
	assert.Empty(t, result.Violations, result)
	assert.Greater(t, opened.Load(), int64(result.Schedules))
	assert.Equal(t, opened.Load(), closed.Load())

	assert.Empty(t, turn.CheckSubject(s))
	assert.Zero(t, open.Load())

	s.Build = func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) { return adk.Config{}, adk.RawTurn{} }
	_, err := explore.Explore(t.Context(), s, explore.Options{})
	assert.ErrorContains(t, err, "opens has a Build and an Open")
}

// Goroutines that Build starts may stay. A database pool that a run opens late may stay as well.
func TestPoolsOfDatabases(t *testing.T) {
	var pool atomic.Pointer[sql.DB]
	late := func(ctx context.Context) error {
		db := pool.Load()
		if db == nil {
			if db = sql.OpenDB(memory{}); !pool.CompareAndSwap(nil, db) {
				return db.Close()
			}
			t.Cleanup(func() { _ = db.Close() })
			db.SetConnMaxLifetime(1e12)
		}
		return db.PingContext(context.WithoutCancel(ctx))
	}
	result := explored(t, executing("late", asks(late)), explore.Options{})
	assert.Empty(t, result.Violations, result)

	every := func(context.Context) error {
		db := sql.OpenDB(memory{})
		t.Cleanup(func() { _ = db.Close() })
		return db.Ping()
	}
	result = explored(t, executing("a pool for every run", asks(every)), explore.Options{})
	assert.Empty(t, result.Violations, result)

	result = explored(t, turn.Subject{Name: "of its own", Open: func(context.CancelCauseFunc) turn.Instance {
		db := sql.OpenDB(memory{})
		stop := make(chan struct{})
		go func() { <-stop }()
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: asks(func(context.Context) error { return db.Ping() })}, Storage: fakes.NewStorage().Storage()},
			Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: func() { close(stop); _ = db.Close() }}
	}}, explore.Options{})
	assert.Empty(t, result.Violations, result)
}

// Goroutines that a driver keeps for its connections can be listed as background, and may stay then.
func TestGoroutinesOfTheBackground(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	s := executing("watched", asks(func(context.Context) error {
		go watch(never)
		return nil
	}))
	assert.Len(t, explored(t, s, explore.Options{}).Violations, 1)
	known := explore.Options{Background: []string{"github.com/adkreplay/adkreplay/property/explore_test.watch"}}
	assert.Empty(t, explored(t, s, known).Violations)
}

func watch(done chan struct{}) { <-done }

// memory is a database driver that only answers pings.
type memory struct{}

func (memory) Connect(context.Context) (driver.Conn, error) { return memory{}, nil }
func (memory) Driver() driver.Driver                        { return nil }
func (memory) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (memory) Close() error                                 { return nil }
func (memory) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }

// books is a database driver that accepts everything.
type books struct{ memory }

func (books) Connect(context.Context) (driver.Conn, error) { return books{}, nil }
func (books) Begin() (driver.Tx, error)                    { return books{}, nil }
func (books) Commit() error                                { return nil }
func (books) Rollback() error                              { return nil }
func (books) Prepare(string) (driver.Stmt, error)          { return books{}, nil }
func (books) NumInput() int                                { return 0 }
func (books) Exec([]driver.Value) (driver.Result, error)   { return nil, driver.ErrSkip }
func (books) Query([]driver.Value) (driver.Rows, error)    { return books{}, nil }
func (books) Columns() []string                            { return []string{"a"} }
func (books) Next([]driver.Value) error                    { return nil }

// Rows that nobody closes, and a transaction that nobody rolls back, are found even though they end with the
// context of the turn. Code that does close them is not accused.
func TestTransactionsAndRowsThatTheContextEnds(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	keeps := func(work func(ctx, seam context.Context, db *sql.DB) error) turn.Subject {
		return turn.Subject{Name: "keeps books", Open: func(context.CancelCauseFunc) turn.Instance {
			db := sql.OpenDB(books{})
			run := asks(func(seam context.Context) error {
				_, err := adk.Ask(seam, "db", "book", func(ctx context.Context, _ string) (bool, error) { return true, work(ctx, seam, db) })
				return err
			})
			return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
				Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: func() { _ = db.Close() }}
		}}
	}
	query := func(closes bool) func(ctx, seam context.Context, db *sql.DB) error {
		return func(ctx, _ context.Context, db *sql.DB) error {
			rows, err := db.QueryContext(ctx, "select")
			if err == nil && closes {
				err = rows.Close()
			}
			return errors.Join(err, rows.Err())
		}
	}
	book := func(rollsBack bool) func(ctx, seam context.Context, db *sql.DB) error {
		return func(ctx, seam context.Context, db *sql.DB) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if err := adk.FaultPoint(seam, "within"); err != nil {
				if rollsBack {
					err = errors.Join(err, tx.Rollback())
				}
				return err
			}
			return tx.Commit()
		}
	}
	options := explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.Fail}}
	for name, right := range map[string]turn.Subject{"rows": keeps(query(true)), "transaction": keeps(book(true))} {
		assert.Empty(t, explored(t, right, options).Violations, name)
	}
	found := explored(t, keeps(query(false)), options).Violations
	require.NotEmpty(t, found)
	assert.Contains(t, found[0].Text, "rows were neither read to their end nor closed")
	assert.Equal(t, "undisturbed", found[0].Schedule.String())
	assert.Regexp(t, `^opened before crossing \d+, while db was asked, explore_test\.\S+ at \S*leaks_test\.go:\d+`, strings.Join(found[0].Code, "\n"))
	found = explored(t, keeps(book(false)), options).Violations
	require.NotEmpty(t, found)
	assert.Contains(t, found[0].Text, "a transaction was neither committed nor rolled back")
	require.Len(t, found[0].Where, 1)
	assert.Contains(t, found[0].Where[0], `"fault point within"`)
}

// A transaction that a run leaves open for ever is counted against that run. Later runs on the same worker that
// leave nothing open are not accused, and do not wait for it.
func TestTransactionsThatEarlierRunsHaveLeftOpen(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	s := turn.Subject{Name: "keeps books", Open: func(context.CancelCauseFunc) turn.Instance {
		db := sql.OpenDB(books{})
		run := asks(func(seam context.Context) error {
			_, err := adk.Ask(seam, "db", "book", func(ctx context.Context, _ string) (bool, error) {
				tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
				if err != nil {
					return false, err
				}
				if err := adk.FaultPoint(seam, "within"); err != nil {
					return false, err
				}
				return true, tx.Commit()
			})
			return errors.Join(err, adk.FaultPoint(seam, "behind"))
		})
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
			Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: func() { _ = db.Close() }}
	}}
	found := explored(t, s, explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.Fail}}).Violations
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Where[0], `"fault point within"`)
	assert.True(t, strings.HasPrefix(found[0].Text, "1 goroutine had not ended"), found[0].Text)
	require.NotEmpty(t, found[0].Code)
	for _, line := range found[0].Code {
		assert.NotEqual(t, "opened before crossing 1", line)
	}
}

// A transaction that code leaves open where an ask fails is found, though it ends with the context of
// the turn. Code that rolls it back is accused of nothing, nor is a goroutine that ends it later.
func TestTransactionsLeftOpenWhereAnAskFails(t *testing.T) {
	t.Parallel() // it waits
	for name, c := range map[string]struct {
		failed  func(ctx context.Context, tx *sql.Tx) error
		accused bool
	}{
		"left open":   {func(context.Context, *sql.Tx) error { return nil }, true},
		"rolled back": {func(_ context.Context, tx *sql.Tx) error { return tx.Rollback() }, false},
		"rolled back by another goroutine": {func(ctx context.Context, tx *sql.Tx) error {
			go rollBackBehind(ctx, tx)
			return nil
		}, false},
	} {
		s := turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
			db := sql.OpenDB(books{})
			run := asks(func(ctx context.Context) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if _, err := adk.Ask(ctx, "prices", "lamp", func(context.Context, string) (int, error) { return 12, nil }); err != nil {
					return errors.Join(err, c.failed(ctx, tx))
				}
				return tx.Commit()
			})
			return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
				Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: func() { _ = db.Close() }}
		}}
		result := explored(t, s, explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.AskRefused}})
		if !c.accused {
			assert.Empty(t, result.Violations, "%s: %s", name, result)
			continue
		}
		if assert.Len(t, result.Violations, 1, result) {
			assert.Contains(t, result.Violations[0].Text, "a transaction was neither committed nor rolled back")
			assert.Regexp(t, `opened before crossing \d+, explore_test\.\S+ at \S*leaks_test\.go:\d+`, strings.Join(result.Violations[0].Code, "\n"))
		}
	}
}

// rollBackBehind rolls a transaction back behind the turn that began it.
func rollBackBehind(ctx context.Context, tx *sql.Tx) {
	<-ctx.Done()
	_ = tx.Rollback() // package sql may have done so by then
}

package strays_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property/internal/strays"
)

// A goroutine that is still there is reported with the place where it was started. Goroutines that existed before,
// that may stay, or that belong to other runs are not reported.
func TestBeyond(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	mine, others := watchdog.NewLabel(), watchdog.NewLabel()
	here := 0
	leave := func(label watchdog.Label) {
		go func() {
			defer label.Begin()()
			go waitFor(never)
		}()
		here++
		require.True(t, patience.Until(func() bool { return waiting() == here }))
	}
	w := strays.Watch{Labels: func() []watchdog.Label { return []watchdog.Label{mine} }, Over: func() bool { return false }}
	leave(others)
	assert.Empty(t, w.Beyond(nil))
	leave(mine)
	before := w.Now()
	require.Len(t, before, 1)
	assert.Empty(t, w.Beyond(before))
	leave(mine)
	leave(mine)
	left := w.Beyond(before)
	require.Len(t, left, 1)
	assert.Equal(t, 2, left[0].Count)
	assert.Regexp(t, `^2 goroutines had not ended when the turn had: .*\n2 goroutines started by .*strays_test\.TestBeyond.* at .*strays_test\.go:\d+, in .*strays_test\.waitFor at .*strays_test\.go:\d+ \(chan receive\)$`, strays.Text(left))
	w.Background = []string{"github.com/adkreplay/adkreplay/property/internal/strays_test.waitFor"}
	assert.Empty(t, w.Beyond(nil))
}

// unanswered is a transport that answers no request.
type unanswered chan struct{}

func (u unanswered) RoundTrip(*http.Request) (*http.Response, error) {
	<-u
	return nil, errors.New("over")
}

// A goroutine that enforces a client's timeout is recognized even if it had not begun when it was counted.
func TestWhoKeepsAClientToItsTimeout(t *testing.T) {
	thorough.Long(t)
	never := make(unanswered)
	mine := watchdog.NewLabel()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		defer mine.Begin()()
		client := http.Client{Timeout: patience.Long, Transport: never}
		_, _ = client.Get("http://weather.example")
	}()
	t.Cleanup(func() { close(never); <-asked })
	w := strays.Watch{Labels: func() []watchdog.Label { return []watchdog.Label{mine} }, Over: func() bool { return false }}
	isAsking := func(s strays.Stray) bool { // it has reached the transport
		return slices.ContainsFunc(s.Stack, func(f watchdog.Frame) bool { return strings.HasSuffix(f.Function, "unanswered.RoundTrip") })
	}
	require.True(t, patience.Until(func() bool { return len(w.OfClients(1)) == 1 && slices.ContainsFunc(w.Now(), isAsking) }))
	unbegun := w.OfClients(1)[0]
	asks := slices.DeleteFunc(w.Now(), func(s strays.Stray) bool { return s.Key() == unbegun.Key() })
	unbegun.Stack = []watchdog.Frame{{Function: "net/http.setRequestCancel.func4", Place: "net/http/client.go:1"}}
	assert.Empty(t, w.Beyond(append(asks, unbegun)))
	assert.Len(t, w.Beyond(asks), 1)
	unbegun.Stack[0].Function = "net/http.another"
	assert.Len(t, w.Beyond(append(asks, unbegun)), 1)
}

// database is a driver whose transactions and rows do nothing.
type database struct{}

func (database) Connect(context.Context) (driver.Conn, error) { return database{}, nil }
func (database) Driver() driver.Driver                        { return nil }
func (database) Prepare(string) (driver.Stmt, error)          { return database{}, nil }
func (database) Begin() (driver.Tx, error)                    { return database{}, nil }
func (database) Commit() error                                { return nil }
func (database) Rollback() error                              { return nil }
func (database) NumInput() int                                { return 0 }
func (database) Exec([]driver.Value) (driver.Result, error)   { return nil, driver.ErrSkip }
func (database) Query([]driver.Value) (driver.Rows, error)    { return database{}, nil }
func (database) Columns() []string                            { return []string{"a"} }
func (database) Next([]driver.Value) error                    { return nil }
func (database) Close() error                                 { return nil }

// A goroutine that package sql keeps until somebody closes something is reported as such, and not as user code's
// goroutine: user code did not start it, and could not wait for it.
func TestTransactionsAndRowsThatStayOpen(t *testing.T) {
	mine := watchdog.NewLabel()
	w := strays.Watch{Labels: func() []watchdog.Label { return []watchdog.Label{mine} }, Over: func() bool { return false }}
	db := sql.OpenDB(database{})
	ctx, cancel := context.WithCancel(t.Context())
	var tx *sql.Tx
	var rows *sql.Rows
	done := make(chan error)
	go func() {
		defer mine.Begin()()
		var begun, queried error
		tx, begun = db.BeginTx(ctx, nil)
		rows, queried = db.QueryContext(ctx, "select")
		done <- errors.Join(begun, queried)
	}()
	require.NoError(t, <-done)
	text := strays.Text(w.Beyond(nil))
	assert.True(t, strings.HasPrefix(text, "2 goroutines had not ended when the turn had\n"), text)
	assert.Regexp(t, `started by sql\.\(\*DB\)\.beginDC at \S+, in sql\.\(\*Tx\)\.awaitDone at .*: a transaction was neither committed nor rolled back`, text)
	assert.Regexp(t, `in sql\.\(\*Rows\)\.awaitDone at .*: rows were neither read to their end nor closed`, text)
	require.NoError(t, errors.Join(tx.Rollback(), rows.Close(), rows.Err(), db.Close()))
	cancel()
	assert.Empty(t, w.Beyond(nil))
}

func waitFor(c chan struct{}) { <-c }

// waiting returns the number of goroutines that have reached their wait.
func waiting() (count int) {
	for _, g := range watchdog.All() {
		if g.State == "chan receive" && strings.HasSuffix(g.Stack[0].Function, ".waitFor") {
			count++
		}
	}
	return count
}

// A goroutine counts as enforcing a client's timeout only inside the client's own sending.
func TestInClient(t *testing.T) {
	assert.False(t, strays.InClient())
	client := http.Client{Transport: asking(func() { assert.True(t, strays.InClient()) })}
	_, err := client.Get("http://weather.example")
	assert.ErrorIs(t, err, http.ErrNotSupported)
}

type asking func()

func (a asking) RoundTrip(*http.Request) (*http.Response, error) {
	a()
	return nil, http.ErrNotSupported
}

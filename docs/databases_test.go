package docs_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// shop keeps its stock and its orders in a database.
type shop struct {
	db       *sql.DB
	careless bool // gives each try a key of its own
}

// shopSentinels are for whoever records and replays.
var shopSentinels = map[string]error{"shop.errSoldOut": errSoldOut}

var driversErrors = map[string]trace.ErrorType{"pgconn.PgError": trace.ErrorOf[*pgconn.PgError]()}

var errSoldOut = errors.New("shop: sold out")

// takes is asked too: a replay calls no function of an ask, and sees what of it is in the request.
const takes = `update stock set count = count - ? where sku = ? and count >= ? returning count`

// order is what is asked, and placed what is answered.
type order struct {
	SQL   string `json:"sql"`
	Key   string `json:"key"`
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

type placed struct {
	Left int64 `json:"left"`
}

func (s *shop) place(ctx context.Context, o order) (placed, error) {
	o.SQL = takes
	seam := ctx // it has the handle, which the context of the work has not
	return adk.Ask(ctx, "shop: place", o, func(ctx context.Context, o order) (p placed, err error) {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return p, err
		}
		defer func() { _ = tx.Rollback() }() // which does nothing behind a commit
		err = tx.QueryRowContext(ctx, `select rest from orders where key = ?`, o.Key).Scan(&p.Left)
		if !errors.Is(err, sql.ErrNoRows) {
			return p, err // a try of which nobody has heard has placed it
		}
		err = tx.QueryRowContext(ctx, o.SQL, o.Count, o.SKU, o.Count).Scan(&p.Left)
		if errors.Is(err, sql.ErrNoRows) {
			return p, errSoldOut
		}
		if err != nil {
			return p, err
		}
		if err := adk.FaultPoint(seam, "between stock and order"); err != nil {
			return p, err
		}
		if _, err := tx.ExecContext(ctx, `insert into orders values (?, ?, ?)`, o.Key, o.Count, p.Left); err != nil {
			return p, err
		}
		return p, tx.Commit()
	}, adk.AskOptions{Effect: adk.EffectWrites, Key: o.Key})
}

// run orders three lamps, and tries it again where that fails.
func (s *shop) run(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	o := order{Key: dc.NewID(), SKU: "lamp", Count: 3}
	p, err := s.place(ctx, o)
	for range 2 {
		if err == nil || errors.Is(err, errSoldOut) || dc.Aborted() {
			break
		}
		if s.careless {
			o.Key = dc.NewID()
		}
		p, err = s.place(ctx, o)
	}
	said := fmt.Sprintf("ordered, %d left", p.Left)
	switch {
	case errors.Is(err, errSoldOut):
		said = "sold out"
	case err != nil:
		return err
	}
	if _, err := h.ReportMessage(dc.NewID(), said, true); err != nil {
		return err
	}
	return dc.Ack()
}

func (s *shop) config() adk.Config {
	return adk.Config{Executor: adk.Executor{Name: "model", Run: s.run}, Storage: fakes.NoOpStorage()}
}

// openShop makes a database with ten lamps in it.
func openShop(file string, careless bool) (*shop, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(100)&_pragma=synchronous(off)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(`
		create table stock (sku text primary key, count integer);
		create table orders (key text primary key, count integer, rest integer);
		insert into stock values ('lamp', 10)`)
	return &shop{db, careless}, err
}

// balance says whether stock and orders are of one mind.
func (s *shop) balance() error {
	var left, ordered, orders int
	row := s.db.QueryRow(`select (select count from stock), (select coalesce(sum(count), 0) from orders), (select count(*) from orders)`)
	if err := row.Scan(&left, &ordered, &orders); err != nil {
		return err
	}
	if left+ordered != 10 || orders > 1 {
		return fmt.Errorf("of ten lamps %d are left and %d ordered, in %d orders", left, ordered, orders)
	}
	return nil
}

// What was recorded with a database is replayed without one: also that there is no such row.
func Example_database() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := openShop(filepath.Join(dir, "shop.db"), false)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.db.Exec(`update stock set count = 1`); err != nil {
		log.Fatal(err)
	}
	var recorded bytes.Buffer
	config := fakes.Deterministic(s.config(), replay.Record(&recorded, replay.RecordOptions{Sentinels: shopSentinels, ErrorTypes: driversErrors}))
	runner, err := adk.NewRunner(config)
	if err != nil {
		log.Fatal(err)
	}
	if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Be brief."}); err != nil {
		log.Fatal(err)
	}
	if err := s.db.Close(); err != nil {
		log.Fatal(err)
	}
	live := replay.Live{Config: s.config(), Seams: []string{replay.Executor}}
	report, err := replay.Verify(context.Background(), &recorded, live, trace.Options{Sentinels: shopSentinels, ErrorTypes: driversErrors})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("diverged:", report.Divergence != nil)
	// Output: diverged: false
}

// brokeWithin reports whether the fault point of the transaction failed.
func brokeWithin(r turn.Run) bool {
	op := 0
	for x := range r.Crossings {
		switch {
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Name == adk.FaultPoints+"between stock and order":
			op = x.Op
		case x.Kind == adk.KindAsk && x.Phase == adk.Done && x.Op == op && x.Err != nil:
			return true
		}
	}
	return false
}

// The page shows what is run here.
func TestDatabasesPageShowsWhatRuns(t *testing.T) {
	page, err := os.ReadFile("databases.md")
	require.NoError(t, err)
	code, err := os.ReadFile("databases_test.go")
	require.NoError(t, err)
	shown := blocksOf(page)
	require.NotEmpty(t, shown)
	for _, b := range shown {
		require.Equal(t, "go", b.language)
		assert.True(t, bytes.Contains(code, []byte(b.content)), "the page has\n%s", b.content)
	}
}

// The shop keeps its books whatever breaks, within its transaction too; with a key for each
// try it does not.
func TestDatabaseIsBroken(t *testing.T) {
	var runs, torn atomic.Int64
	dir := t.TempDir()
	subject := func(careless bool) turn.Subject {
		return turn.Subject{Name: "shop", Open: func(context.CancelCauseFunc) turn.Instance {
			s, err := openShop(filepath.Join(dir, strconv.FormatInt(runs.Add(1), 10)+".db"), careless)
			if err != nil {
				panic(err)
			}
			return turn.Instance{
				Config: s.config(), Raw: adk.RawTurn{SystemPrompt: "Be brief."},
				Check: func(r turn.Run) error {
					if brokeWithin(r) {
						torn.Add(1)
					}
					return s.balance()
				},
				Close: func() { _ = s.db.Close() },
			}
		}}
	}
	found, err := explore.Explore(t.Context(), subject(false), explore.Options{UsualInput: true})
	require.NoError(t, err)
	assert.Empty(t, found.Violations, found)
	assert.Positive(t, torn.Load(), "the transaction was never broken")

	found, err = explore.Explore(t.Context(), subject(true), explore.Options{UsualInput: true})
	require.NoError(t, err)
	assert.NotEmpty(t, found.Violations)
}

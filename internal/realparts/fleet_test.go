package realparts_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/adk/storage/postgres"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

const (
	// memberVariable tells a process of the fleet which member it is: "<number>|<sessions>|
	// <deliveries of each>|<DSN>".
	memberVariable = "ADKREPLAY_MEMBER"

	members = 4
	// receivers is the number of sessions that a process works on concurrently.
	receivers = 8
	fleetName = "fleet"
)

// fleet is the work of several processes on one database.
type fleet struct {
	sessions, each int
	dsn            string
}

func TestMain(m *testing.M) {
	if number, rest, ok := strings.Cut(os.Getenv(memberVariable), "|"); ok {
		if err := member(number, rest); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(postgrestest.Main(m))
}

// panics replaces the test in a process that is no test: a failure panics.
type panics struct{}

func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) FailNow()                          { panic("the test has failed") }

// member runs a process of the fleet. It delivers the numbers of its sessions, each when the one before it is
// settled. Half of the fleet's sessions belong to each process, so that each delivery comes from two
// processes.
func member(number, rest string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	var f fleet
	for _, field := range []*int{&f.sessions, &f.each} {
		text, after, _ := strings.Cut(rest, "|")
		if *field, err = strconv.Atoi(text); err != nil {
			return err
		}
		rest = after
	}
	f.dsn = rest
	ctx := context.Background()
	db, err := postgres.Open(ctx, f.dsn, database.Config{NoMigrate: true})
	if err != nil {
		return err
	}
	h, err := f.host(db, fmt.Sprintf("member %d, process %d", n, os.Getpid()))
	if err != nil {
		return err
	}
	work := make(chan string)
	var all sync.WaitGroup
	failures := make([]error, receivers)
	for i := range receivers {
		all.Go(func() {
			for of := range work {
				failures[i] = errors.Join(failures[i], f.deliver(ctx, h, of))
			}
		})
	}
	for s := range f.sessions {
		if own := s % members; own == n || (own+1)%members == n {
			work <- fmt.Sprint("s", s)
		}
	}
	close(work)
	all.Wait()
	return errors.Join(append(failures, db.Close())...)
}

// deliver settles all deliveries of a session.
func (f fleet) deliver(ctx context.Context, h *session.Host, of string) error {
	state, err := h.State(ctx, fleetName, of)
	if err != nil {
		return err
	}
	for n := int(state.Revision); n < f.each; n++ { // skips what is settled already
		d := session.Delivery{Tenant: fleetName, Session: of, ID: fmt.Sprint("d", n), Kind: "numbers", Payload: json.RawMessage(fmt.Sprint(n + 1))}
		o, err := h.Deliver(ctx, d)
		if err != nil {
			return err
		}
		if o.State != session.Committed || o.Seq != int64(n+1) || o.Revision != o.Seq {
			return fmt.Errorf("%s: %+v", d.DeliveryID(), o)
		}
	}
	return nil
}

// host returns a host whose turns record in the world what they do, under a key by which the world recognizes
// repetitions.
func (f fleet) host(db *database.DB, name string) (*session.Host, error) {
	world, err := sql.Open("pgx", f.dsn)
	if err != nil {
		return nil, err
	}
	note := func(ctx context.Context, table string, id session.DeliveryID) error {
		_, err := world.ExecContext(ctx, "insert into "+table+" values ($1, 1) on conflict (key) do update set times = "+table+".times + 1", id.Session+"/"+id.Delivery)
		return err
	}
	return storagetest.SessionHost(panics{}, db.Storage(), db.Sessions(), func(c *session.Config) {
		c.Name, c.Lease, c.Attempts = name, 2*time.Second, 100
		c.Agent.Executor = adk.Executor{Name: "tells the world", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			seed, err := session.SeedOf(dc)
			if err != nil {
				return err
			}
			id := session.DeliveryID{SessionID: session.SessionID{Tenant: seed.Tenant, Session: seed.Session}, Delivery: seed.Delivery}
			if err := note(ctx, "effects", id); err != nil {
				return err
			}
			return dc.Ack()
		}}
		c.Notify = func(ctx context.Context, o session.Outcome) error { return note(ctx, "told", o.Delivery) }
	}), nil
}

// SES-12, SES-20, SES-22, SES-24, SES-25: four processes on one Postgres server, one of which is killed every
// second, settle each delivery exactly once and in order: nothing is lost, and nothing is done
// twice.
func TestFleet(t *testing.T) {
	f := fleet{sessions: 200, each: 25, dsn: postgrestest.Database(t)}
	db, err := postgres.Open(t.Context(), f.dsn, database.Config{})
	require.NoError(t, err)
	rows, err := sql.Open("pgx", f.dsn)
	require.NoError(t, err)
	for _, table := range []string{"effects", "told"} {
		_, err := rows.Exec("create table " + table + " (key text primary key, times bigint not null)")
		require.NoError(t, err)
	}
	began := time.Now()
	killed := f.run(t, rows)
	took := time.Since(began)
	f.check(t, rows, db)
	var attempts, repeated int
	require.NoError(t, rows.QueryRow("select (select sum(attempts) from deliveries), (select count(*) from effects where times > 1)").Scan(&attempts, &repeated))
	t.Logf("%d sessions, %d deliveries by %d processes, %d times one was killed: %s, %.0f deliveries a second, %d attempts, %d effects came more than once",
		f.sessions, f.sessions*f.each, members, killed, took.Round(time.Millisecond), float64(f.sessions*f.each)/took.Seconds(), attempts, repeated)
	assert.NoError(t, errors.Join(rows.Close(), db.Close()))
}

// start starts a process of the fleet.
func (f fleet) start(t *testing.T, n int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), fmt.Sprintf("%s=%d|%d|%d|%s", memberVariable, n, f.sessions, f.each, f.dsn)), os.Stderr
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // in case the test has failed
	return c
}

// run lets the fleet work. It kills one process after the other, one each second and for each tenth of the
// work, and starts it again.
func (f fleet) run(t *testing.T, rows *sql.DB) (killed int) {
	type end struct {
		n   int
		err error
	}
	ends := make(chan end)
	running := map[int]*exec.Cmd{}
	start := func(n int) {
		c := f.start(t, n)
		running[n] = c
		go func() { ends <- end{n, c.Wait()} }()
	}
	for n := range members {
		start(n)
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	last, before, tenths := time.Now(), 0, 0
	for next := 0; len(running) > 0; {
		select {
		case e := <-ends:
			delete(running, e.n)
			if exit, ok := errors.AsType[*exec.ExitError](e.err); ok && !exit.Exited() { // it was killed
				start(e.n)
				continue
			}
			require.NoError(t, e.err)
		case <-look.C:
			var settled int
			require.NoError(t, rows.QueryRow("select count(*) from deliveries where state = 'committed'").Scan(&settled))
			total := f.sessions * f.each
			done := 10 * settled / total
			if settled < before+total/100 || time.Since(last) < time.Second && done <= tenths { // a process that gets little done is not killed for it
				continue
			}
			if c := running[next%members]; c != nil && c.Process.Kill() == nil {
				killed++
				last, before, tenths = time.Now(), settled, done
			}
			next++
		}
	}
	return killed
}

// check reads the result with plain SQL.
func (f fleet) check(t *testing.T, rows *sql.DB, db *database.DB) {
	h, err := f.host(db, "the last")
	require.NoError(t, err)
	for { // reports the outcomes that were not reported because a process was killed
		_, err := h.Resume(t.Context(), f.sessions)
		require.NoError(t, err)
		var left int
		require.NoError(t, rows.QueryRow("select count(*) from deliveries where pending = 1").Scan(&left))
		if left == 0 {
			break
		}
	}
	total := f.sessions * f.each
	for question, want := range map[string]int{
		"select count(*) from sessions": f.sessions,
		fmt.Sprintf("select count(*) from sessions where revision = %[1]d and unsettled = 0 and next_seq = %[1]d + 1", f.each):       f.sessions,
		"select count(*) from deliveries where state = 'committed' and id = 'd' || (seq - 1) and revision = seq and notified_at > 0": total,
		"select count(*) from deliveries":                            total,
		"select count(*) from effects":                               total,
		"select count(*) from told":                                  total,
		"select count(*) from records where collection = 'messages'": total,
		"select count(distinct (session, turn_id)) from records":     total,
		"select count(*) from records r join deliveries d on d.tenant = r.tenant and d.session = r.session and d.turn_id = r.turn_id": total,
		fmt.Sprintf("select count(*) from session_context where convert_from(body, 'UTF8') = '%d'", f.each*(f.each+1)/2):              f.sessions,
	} {
		var got int
		require.NoError(t, rows.QueryRow(question).Scan(&got), question)
		assert.Equal(t, want, got, question)
	}
	for s := range f.sessions {
		messages, err := db.Storage().Messages.Fetch(t.Context(), storagetest.ScopeOf(fleetName, fmt.Sprint("s", s)))
		require.NoError(t, err)
		require.Len(t, messages, f.each)
		for n, m := range messages {
			require.Equal(t, fmt.Sprint("d", n), m.ID(), "records are in order")
			require.Equal(t, fmt.Sprint((n+1)*(n+2)/2), m.Content().String(), "each was added once")
		}
	}
}

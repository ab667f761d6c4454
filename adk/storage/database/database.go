package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Config configures a storage on a database. The zero Config is strict, and migrates.
type Config struct {
	// Config is as for any storage, but Strict is true if it is nil.
	storage.Config
	// NoMigrate does not change the tables: if they are older than this release needs, Open fails
	// with E_STORAGE_SCHEMA.
	NoMigrate bool
	// MaxBody is the greatest length in bytes of a body in the spool; a longer one is
	// E_SPOOL_TOO_LARGE. 0 means no bound.
	MaxBody int64
}

// DB is a storage on a database. It is safe for concurrent use, by many processes and, on
// Postgres, by many machines.
type DB struct {
	source      Source
	config      storage.Config
	mostBody    int64
	obligations adk.Storage
}

// Open makes a storage of a source and takes ownership of it: if Open fails, it closes the source.
// Errors are E_INVALID_STORAGE_CONFIG, E_STORAGE_SCHEMA, E_STORAGE_BUSY, and those of the database.
func Open(ctx context.Context, source Source, config Config) (*DB, error) {
	if config.Strict == nil {
		config.Strict = new(true)
	}
	if source.Reader == nil {
		source.Reader = source.Writer
	}
	if source.Busy == nil {
		source.Busy = func(error) bool { return false }
	}
	if source.Lock == nil {
		source.Lock = func(context.Context) (func() error, error) { return func() error { return nil }, nil }
	}
	db := &DB{source: source, config: config.Config, mostBody: config.MaxBody}
	obligations, err := storage.New(config.Config, db)
	if err == nil {
		err = db.migrate(ctx, config.NoMigrate)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.obligations = obligations
	return db, nil
}

// Storage returns the storage for a runner's config.
func (db *DB) Storage() adk.Storage { return db.obligations }

// Close closes the connections.
func (db *DB) Close() error {
	if db.source.Reader == db.source.Writer {
		return db.source.Writer.Close()
	}
	return errors.Join(db.source.Reader.Close(), db.source.Writer.Close())
}

// Fetch returns the rows of a place. It implements storage.Rows.
func (db *DB) Fetch(ctx context.Context, place storage.Place, last int) (rows []storage.Row, err error) {
	statement, args := selectRecords, placeArgs(place)
	if last > 0 {
		statement, args = selectLast, append(args, last)
	}
	err = db.retry(ctx, func() error {
		rows, err = db.read(ctx, db.source.Dialect.sql(statement), args)
		return err
	})
	if last > 0 {
		slices.Reverse(rows)
	}
	return rows, err
}

// mostKeys is how many keys one query asks for.
const mostKeys = 500

// Has returns which of the keys a place has.
func (db *DB) Has(ctx context.Context, place storage.Place, keys ...storage.KeyHash) (known []storage.KeyHash, err error) {
	for some := range slices.Chunk(keys, mostKeys) {
		args, statement := placeArgs(place), strings.Builder{}
		for _, key := range some {
			args = append(args, key[:])
			fmt.Fprintf(&statement, ", $%d", len(args))
		}
		var rows []storage.Row
		err = db.retry(ctx, func() (err error) {
			rows, err = db.read(ctx, db.source.Dialect.sql(selectKnown+statement.String()[2:]+")"), args)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			known = append(known, row.Key)
		}
	}
	return known, nil
}

func placeArgs(place storage.Place) []any {
	return []any{place.Tenant, place.Session, string(place.Collection)}
}

func (db *DB) read(ctx context.Context, statement string, args []any) (rows []storage.Row, err error) {
	found, err := db.source.Reader.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		var row storage.Row
		var key, digest sql.RawBytes
		if err := found.Scan(&key, &row.Body, &digest); err != nil {
			return nil, err
		}
		copy(row.Key[:], key) // a key of another length does not match, and is reported as corrupt
		copy(row.Digest[:], digest)
		rows = append(rows, row)
	}
	return rows, found.Err()
}

// Write makes all changes in one transaction.
func (db *DB) Write(ctx context.Context, changes ...storage.Change) error {
	if len(changes) == 1 {
		if done, err := db.writeAlone(ctx, changes[0]); done {
			return err
		}
	}
	return db.run(ctx, db.written(changes))
}

// writeAlone makes one change in one statement, if the dialect has such a statement, as for
// databases behind a network.
func (db *DB) writeAlone(ctx context.Context, c storage.Change) (done bool, err error) {
	if db.source.Dialect.putAlone == "" {
		return false, nil
	}
	statement, args := deleteRecord, append(placeArgs(c.Place), c.Row.Key[:])
	if !c.Delete {
		statement, args = db.source.Dialect.putAlone, append(args, rowArgs(c.Row)...)
	}
	return true, db.retry(ctx, func() error {
		_, err := db.source.Writer.ExecContext(ctx, db.source.Dialect.sql(statement), args...)
		return err
	})
}

// rowArgs returns the values of a record, except its place and key.
func rowArgs(row storage.Row) []any {
	return []any{row.Body, row.Digest[:], row.TurnID, row.DispatchID, time.Now().UnixMilli()}
}

// transact runs f in a transaction, and again if others were busy.
func (db *DB) transact(ctx context.Context, f func(*sql.Tx) error) error {
	return db.transactOn(ctx, db.source.Writer, f)
}

// transactOn is transact on a given pool.
func (db *DB) transactOn(ctx context.Context, pool *sql.DB, f func(*sql.Tx) error) error {
	return db.retry(ctx, func() error {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // also where f does not return; behind a commit it does nothing
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// apply makes changes within a transaction.
func (db *DB) apply(ctx context.Context, tx *sql.Tx, changes []storage.Change) error {
	for _, s := range db.written(changes) {
		if _, err := tx.ExecContext(ctx, s.SQL, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// written returns the statements that make changes. They first lock all collections that they
// change, in a fixed order, so that no two transactions deadlock, and reserve the positions that
// the new records may need.
func (db *DB) written(changes []storage.Change) []Statement {
	reserved := map[storage.Place]int64{}
	for _, c := range changes {
		reserved[c.Place]++ // a delete counts too, since only reserving a position locks
	}
	places := slices.SortedFunc(maps.Keys(reserved), func(a, b storage.Place) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Collection, b.Collection))
	})
	var all []Statement
	for _, place := range places {
		all = append(all, db.statement(takePositions, append(placeArgs(place), reserved[place])...))
	}
	for _, c := range changes {
		reserved[c.Place]--
		if c.Delete {
			all = append(all, db.statement(deleteRecord, append(placeArgs(c.Place), c.Row.Key[:])...))
			continue
		}
		args := append(placeArgs(c.Place), c.Row.Key[:], reserved[c.Place])
		all = append(all, db.statement(putRecord, append(args, rowArgs(c.Row)...)...))
	}
	return all
}

const (
	// mostTries is how often a busy database is asked again (STO-11), and firstPause the pause
	// before the first of these tries; each pause is twice as long as the one before.
	mostTries  = 5
	firstPause = 10 * time.Millisecond
)

// retry calls f until it succeeds, fails for good, or others were busy for too long.
func (db *DB) retry(ctx context.Context, f func() error) error {
	pause := firstPause
	for try := 0; ; try++ {
		err := f()
		if err == nil || ctx.Err() != nil || !db.source.Busy(err) {
			return err
		}
		if try == mostTries {
			return &adk.Error{Code: adk.E_STORAGE_BUSY, Message: fmt.Sprintf("others were busy %d times", try+1), Cause: err}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

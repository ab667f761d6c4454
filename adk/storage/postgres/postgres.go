// Package postgres keeps the records of turns in a Postgres database, for any number of
// machines. The driver is github.com/jackc/pgx.
//
//	db, err := postgres.Open(ctx, "postgres://agent@db.example.org/agent", database.Config{})
//	runner, err := adk.NewRunner(adk.Config{Storage: db.Storage(), …})
//
// See package database for what it promises, and package storage for the config.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/adkreplay/adkreplay/adk/storage/database"
)

// mostConnections is the greatest number of connections of a process.
const mostConnections = 10

// Open connects to the database that a DSN names, as a URL or in the form "host=… ", and brings its
// tables to this release. Close it after use. The user must be allowed to create tables, unless
// NoMigrate says that another program does; a search_path in the DSN selects the schema.
//
// Tables are migrated under an advisory lock of the connection, which does not work through a
// pooler that gives each transaction another connection. Behind such a pooler, set NoMigrate, and
// default_query_exec_mode=exec in the DSN.
func Open(ctx context.Context, dsn string, config database.Config) (*database.DB, error) {
	parsed, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err) // the error does not contain the password
	}
	parsed.BuildContextWatcherHandler = cancelling
	pool := stdlib.OpenDB(*parsed, stdlib.OptionShouldPing(isDubious))
	pool.SetMaxOpenConns(mostConnections)
	pool.SetMaxIdleConns(mostConnections)
	db, err := database.Open(ctx, database.Source{Dialect: database.Postgres, Writer: pool, Busy: isBusy, Pipeline: pipelineOf(pool), Lock: lockOf(pool)}, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return db, nil
}

// pipelineOf returns a Pipeline that sends statements as one batch, which the server runs in one
// transaction.
func pipelineOf(pool *sql.DB) func(context.Context, []database.Statement) error {
	return func(ctx context.Context, all []database.Statement) (err error) {
		connection, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, connection.Close()) }()
		batch := &pgx.Batch{}
		for _, s := range all {
			queued := batch.Queue(s.SQL, s.Args...)
			if s.Take == nil {
				queued.Exec(func(pgconn.CommandTag) error { return nil })
				continue
			}
			queued.Query(func(rows pgx.Rows) error {
				for rows.Next() {
					if err := s.Take(rows.Scan); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		}
		return connection.Raw(func(driver any) error {
			return driver.(*stdlib.Conn).Conn().SendBatch(ctx, batch).Close()
		})
	}
}

// lockNumber is the advisory lock of the migrations.
const lockNumber int64 = 0x61646b7265 // adkre

// lockOf returns a Lock that waits on the server; goose's own lock polls every five seconds.
func lockOf(pool *sql.DB) func(context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		connection, err := pool.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := connection.ExecContext(ctx, "select pg_advisory_lock($1)", lockNumber); err != nil {
			return nil, errors.Join(err, connection.Close())
		}
		return func() error {
			_, err := connection.ExecContext(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", lockNumber)
			return errors.Join(err, connection.Close())
		}, nil
	}
}

// cancelPatience is how long the client waits for a server's answer about a cancelled statement
// before it gives up the connection.
const cancelPatience = 10 * time.Second

// cancelling makes the server cancel a statement whose context ends, and waits for its answer. If
// the connection were closed instead, the statement would go on at the server, and might succeed
// after it has failed here.
func cancelling(connection *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: connection, DeadlineDelay: cancelPatience}
}

// busyCodes are the conditions in which a transaction did nothing and can be tried again.
var busyCodes = map[string]bool{
	"40001": true, // serialization_failure
	"40P01": true, // deadlock_detected
	"55P03": true, // lock_not_available
	"53300": true, // too_many_connections
}

// isBusy reports whether an error says that another connection held what this one needed.
func isBusy(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && busyCodes[failed.Code]
}

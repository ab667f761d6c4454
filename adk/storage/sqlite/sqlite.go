// Package sqlite keeps the records of turns in a SQLite file, for the processes of one
// machine. It needs no C compiler: the driver is modernc.org/sqlite.
//
//	db, err := sqlite.Open(ctx, "agent.db", database.Config{})
//	runner, err := adk.NewRunner(adk.Config{Storage: db.Storage(), …})
//
// See package database for what it promises, and package storage for the config.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/adkreplay/adkreplay/adk/storage/database"
)

const (
	// readers is the number of connections that read; one writes.
	readers = 4
	// lockEvery is how often the lock of the migrations is tried.
	lockEvery = 10 * time.Millisecond
)

// Open opens the file at a path and brings its tables to this release. If the file does not exist,
// Open creates it, readable only by its user. Close the storage after use. SQLite keeps two more
// files next to it while it is open, and the lock file of the migrations stays there.
//
// A successful write survives a crash of the machine, since SQLite waits for the disk each time. A
// file on a network file system is not safe with several machines. Deleted data is overwritten in
// the file, but SQLite's log file may contain it until the last process has closed the storage.
func Open(ctx context.Context, path string, config database.Config) (*database.DB, error) {
	whole, err := filepath.Abs(path)
	if err != nil || path == "" || path == ":memory:" {
		return nil, errors.Join(fmt.Errorf("sqlite: %q is no path of a file: package memory keeps records without one", path), err)
	}
	file, err := os.OpenFile(whole, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	writer, err := sql.Open("sqlite", dsn(whole, "immediate"))
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader, err := sql.Open("sqlite", dsn(whole, "deferred", "query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	db, err := database.Open(ctx, database.Source{Dialect: database.SQLite, Writer: writer, Reader: reader, Busy: isBusy, Lock: lockOf(whole)}, config)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", path, err)
	}
	return db, nil
}

// dsn returns the driver's name for a file, with the settings of its connections.
func dsn(path, transactions string, pragmas ...string) string {
	query := url.Values{"_txlock": {transactions}, "_pragma": append([]string{"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "foreign_keys(1)", "secure_delete(1)"}, pragmas...)}
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // otherwise the drive of C:/data would be taken for a host
	}
	return (&url.URL{Scheme: "file", Path: name, RawQuery: query.Encode()}).String()
}

// isBusy reports whether an error says that another connection held what this one needed.
func isBusy(err error) bool {
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	primary := failed.Code() & 0xff
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}

// lockOf returns a Lock on a file next to the database. A transaction around all migrations would
// block the only connection that they can use.
func lockOf(path string) func(context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		lock := flock.New(path+".lock", flock.SetPermissions(0o600))
		if _, err := lock.TryLockContext(ctx, lockEvery); err != nil {
			return nil, err
		}
		return lock.Unlock, nil
	}
}

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/pressly/goose/v3"

	"github.com/adkreplay/adkreplay/adk"
)

// migrate brings the tables to this release, or fails and leaves them unchanged (STO-16).
func (db *DB) migrate(ctx context.Context, never bool) error {
	provider, err := goose.NewProvider(db.source.Dialect.goose, db.source.Writer, db.source.Dialect.migrations(), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("database: reading the migrations: %w", err)
	}
	sources := provider.ListSources()
	ours := sources[len(sources)-1].Version
	theirs, err := db.version(ctx, ours)
	if err != nil || theirs >= ours {
		return err
	}
	if never {
		return schemaError("the tables are of version %d, this release needs %d, and they are not to be migrated", theirs, ours)
	}
	return db.up(ctx, provider, ours)
}

// up runs the missing migrations. Another process that had the lock before may have run them.
func (db *DB) up(ctx context.Context, provider *goose.Provider, ours int64) (err error) {
	unlock, err := db.source.Lock(ctx)
	if err != nil {
		return fmt.Errorf("database: locking the migrations: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	theirs, err := db.version(ctx, ours)
	if err == nil {
		err = db.ownTables(ctx, provider, theirs)
	}
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("database: migrating: %w", err)
	}
	_, err = db.version(ctx, ours)
	return err
}

// created finds the tables that a migration creates.
var created = regexp.MustCompile(`(?m)^create table (\w+)`)

// ownTables returns an error if tables exist with the names of those that migrations after a
// version would create: they belong to another program, and the storage does not share a schema
// with it.
func (db *DB) ownTables(ctx context.Context, provider *goose.Provider, behind int64) error {
	for _, migration := range provider.ListSources() {
		if migration.Version <= behind {
			continue
		}
		text, err := fs.ReadFile(db.source.Dialect.migrations(), migration.Path)
		if err != nil {
			return fmt.Errorf("database: reading the migrations: %w", err)
		}
		for _, match := range created.FindAllStringSubmatch(string(text), -1) {
			if ok, err := db.hasTable(ctx, match[1]); err != nil {
				return err
			} else if ok {
				return strangeTable(match[1])
			}
		}
	}
	return nil
}

func strangeTable(name string) error {
	return schemaError("the table %s is there, and is another program's: give the storage a database, or a schema, of its own", name)
}

// version returns the version of the tables, 0 if there are none. If a later release has noted that
// this release must not use the tables, the error is E_STORAGE_SCHEMA. It changes nothing.
func (db *DB) version(ctx context.Context, ours int64) (version int64, err error) {
	version, err = db.number(ctx, "goose_db_version", selectVersion)
	if err != nil {
		return 0, err
	}
	least, err := db.number(ctx, "schema_compat", selectMinVersion) // read second: the first migration makes both at once
	switch {
	case err != nil:
		return 0, err
	case least > ours:
		return 0, schemaError("the tables need a release that knows version %d, this one knows %d", least, ours)
	case version > 0 && least == 0:
		return 0, strangeTable("goose_db_version")
	}
	return version, nil
}

// hasTable reports whether there is a table.
func (db *DB) hasTable(ctx context.Context, table string) (bool, error) {
	tables := 0
	err := db.retry(ctx, func() error {
		return db.source.Writer.QueryRowContext(ctx, db.source.Dialect.sql(db.source.Dialect.hasTable), table).Scan(&tables)
	})
	if err != nil {
		return false, fmt.Errorf("database: asking for the tables: %w", err)
	}
	return tables > 0, nil
}

// number reads a number from a table; it is 0 if the table is missing or empty.
func (db *DB) number(ctx context.Context, table, statement string) (number int64, err error) {
	ok, err := db.hasTable(ctx, table)
	if err != nil || !ok {
		return 0, err
	}
	err = db.retry(ctx, func() error {
		var found sql.NullInt64
		err := db.source.Writer.QueryRowContext(ctx, statement).Scan(&found)
		number = found.Int64
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("database: asking for the version of the tables: %w", err)
	}
	return number, nil
}

func schemaError(format string, args ...any) error {
	return &adk.Error{Code: adk.E_STORAGE_SCHEMA, Message: fmt.Sprintf(format, args...)}
}

package database

import (
	"context"
	"database/sql"
)

// statement returns a statement in the dialect's form.
func (db *DB) statement(text string, args ...any) Statement {
	return Statement{SQL: db.source.Dialect.sql(text), Args: args}
}

// run runs statements in one transaction, in one round trip if the source has a Pipeline, and again
// if others were busy.
func (db *DB) run(ctx context.Context, all []Statement) error {
	if db.source.Pipeline != nil {
		return db.retry(ctx, func() error { return db.source.Pipeline(ctx, all) })
	}
	return db.transact(ctx, func(tx *sql.Tx) error {
		for _, s := range all {
			if _, err := tx.ExecContext(ctx, s.SQL, s.Args...); err != nil {
				return err
			}
		}
		return nil
	})
}

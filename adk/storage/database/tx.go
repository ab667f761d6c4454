package database

import (
	"context"
	"database/sql"
	"io"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Writes gathers what a transaction has to do.
type Writes struct {
	config  storage.Config
	own     []func(context.Context, *sql.Tx) error
	changes []storage.Change
	spool   spool
	bodies  []*spilled
}

// Store stores a record in its collection of a partition. Errors are those of the partition, and of
// a record that no constructor made.
func (w *Writes) Store(p storage.Partition, of adk.CollectionName, record adk.Record) error {
	place, err := w.config.Place(p, of)
	if err != nil {
		return err
	}
	change, err := storage.Storing(place, record)
	if err != nil {
		return err
	}
	w.changes = append(w.changes, change)
	return nil
}

// Delete deletes the record with a key. An unknown key is no error.
func (w *Writes) Delete(p storage.Partition, of adk.CollectionName, key string) error {
	place, err := w.config.Place(p, of)
	if err != nil {
		return err
	}
	w.changes = append(w.changes, storage.Deletion(place, key))
	return nil
}

// Body stores a body in the spool of the database (DB.Spool). It reads the body to its end at once,
// into a file that is kept until the transaction.
func (w *Writes) Body(ctx context.Context, key string, body io.Reader) (artifact.Entry, error) {
	file, err := w.spool.spill(ctx, key, body)
	if err != nil {
		return artifact.Entry{}, err
	}
	w.bodies = append(w.bodies, file)
	return file.entry, nil
}

// Do has f called in the transaction before anything is written: for tables of your own, and for
// checking conditions. If f fails, nothing is written. f may be called again, if others were busy.
func (w *Writes) Do(f func(ctx context.Context, tx *sql.Tx) error) { w.own = append(w.own, f) }

// Tx does all that gather asks for in one transaction, or nothing (STO-18). It calls the functions
// of Writes.Do first, then locks the collections in a fixed order, makes the changes in the order
// in which they were gathered, and writes the bodies ordered by key. gather is called once.
func (db *DB) Tx(ctx context.Context, gather func(*Writes) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := &Writes{config: db.config, spool: spool{db}}
	defer func() {
		for _, body := range w.bodies {
			_ = body.remove() // the transaction has ended, so the temporary file is not needed
		}
	}()
	if err := gather(w); err != nil {
		return err
	}
	err := db.transact(ctx, func(tx *sql.Tx) error {
		for _, f := range w.own {
			if err := f(ctx, tx); err != nil {
				return err
			}
		}
		if err := db.apply(ctx, tx, w.changes); err != nil {
			return err
		}
		slices.SortStableFunc(w.bodies, func(a, b *spilled) int { return strings.Compare(a.entry.Key, b.entry.Key) })
		for _, body := range w.bodies {
			if err := w.spool.keep(ctx, tx, body); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

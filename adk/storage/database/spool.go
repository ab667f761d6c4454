package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

const (
	// chunkBytes is how many bytes of a body one row has.
	chunkBytes = 256 << 10
	// pageEntries is how many entries one query lists.
	pageEntries = 500
)

// Spool keeps bodies of media in the database; artifact.Spooling around the storage writes them
// there. A body is in rows of 256 KiB, and never in memory as a whole. While it is read, it is
// spilled to a temporary file, so that the transaction does not wait for it.
func (db *DB) Spool() artifact.Spool { return spool{db} }

// spool is the database as an artifact.Spool.
type spool struct{ db *DB }

// spilled is a body in a temporary file.
type spilled struct {
	file  *os.File
	entry artifact.Entry
}

func (s *spilled) remove() error { return errors.Join(s.file.Close(), os.Remove(s.file.Name())) }

// spill reads a body to its end into a temporary file.
func (s spool) spill(ctx context.Context, key string, body io.Reader) (_ *spilled, err error) {
	if err := artifact.CheckKey(key); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "adkreplay-body-")
	if err != nil {
		return nil, err
	}
	all, whole := &spilled{file: file}, false
	defer func() {
		if !whole { // body may also have panicked
			err = errors.Join(err, all.remove())
		}
	}()
	if all.entry, err = artifact.CopyBody(ctx, file, key, body, s.db.mostBody); err != nil {
		return nil, err
	}
	whole = true
	return all, nil
}

// Write stores a body, replacing the one with the same key.
func (s spool) Write(ctx context.Context, key string, body io.Reader) (artifact.Entry, error) {
	var entry artifact.Entry
	err := s.db.Tx(ctx, func(w *Writes) (err error) {
		entry, err = w.Body(ctx, key, body)
		return err
	})
	if err != nil {
		return artifact.Entry{}, err
	}
	return entry, nil
}

// keep writes a body within a transaction. It writes the entry first, which locks the key against
// other writers.
func (s spool) keep(ctx context.Context, tx *sql.Tx, body *spilled) error {
	e := body.entry
	if _, err := tx.ExecContext(ctx, s.sql(putEntry), e.Key, e.Bytes, e.Lines, e.SHA256, time.Now().UnixMilli()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.sql(deleteChunks), e.Key); err != nil {
		return err
	}
	if _, err := body.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	chunk := make([]byte, chunkBytes)
	for n := 0; ; n++ {
		size, err := io.ReadFull(body.file, chunk)
		if size > 0 {
			if _, err := tx.ExecContext(ctx, s.sql(putChunk), e.Key, e.SHA256, n, chunk[:size]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s spool) sql(statement string) string { return s.db.source.Dialect.sql(statement) }

// Read returns a reader of the key's current body.
func (s spool) Read(ctx context.Context, key string) (adk.MediaReader, bool, error) {
	if err := artifact.CheckKey(key); err != nil {
		return nil, false, err
	}
	r := stored{spool: s, key: key}
	err := s.db.retry(ctx, func() error {
		return s.db.source.Reader.QueryRowContext(ctx, s.sql(selectEntry), key).Scan(&r.bytes, &r.sha256)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return r, true, nil
}

// Delete removes a body.
func (s spool) Delete(ctx context.Context, key string) (was bool, err error) {
	if err := artifact.CheckKey(key); err != nil {
		return false, err
	}
	err = s.db.transact(ctx, func(tx *sql.Tx) error {
		gone, err := tx.ExecContext(ctx, s.sql(deleteEntry), key)
		if err != nil {
			return err
		}
		n, err := gone.RowsAffected()
		if err != nil {
			return err
		}
		was = n > 0
		_, err = tx.ExecContext(ctx, s.sql(deleteChunks), key)
		return err
	})
	return was && err == nil, err
}

// List returns the entries with a prefix, ordered by key, page by page.
func (s spool) List(ctx context.Context, prefix string) iter.Seq2[artifact.Entry, error] {
	return func(yield func(artifact.Entry, error) bool) {
		for after := ""; ; {
			page, err := s.page(ctx, prefix, after)
			if err != nil {
				yield(artifact.Entry{}, err)
				return
			}
			for _, entry := range page {
				if !strings.HasPrefix(entry.Key, prefix) || !yield(entry, nil) {
					return
				}
				after = entry.Key
			}
			if len(page) < pageEntries {
				return
			}
		}
	}
}

// page returns the next entries, from a prefix on, after a key.
func (s spool) page(ctx context.Context, prefix, after string) (page []artifact.Entry, err error) {
	err = s.db.retry(ctx, func() (err error) {
		page, err = s.entries(ctx, prefix, after)
		return err
	})
	return page, err
}

func (s spool) entries(ctx context.Context, prefix, after string) (page []artifact.Entry, err error) {
	rows, err := s.db.source.Reader.QueryContext(ctx, s.sql(selectEntries), prefix, after, pageEntries)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e artifact.Entry
		var written int64
		if err := rows.Scan(&e.Key, &e.Bytes, &e.Lines, &e.SHA256, &written); err != nil {
			return nil, err
		}
		e.Written = time.UnixMilli(written)
		page = append(page, e)
	}
	return page, rows.Err()
}

// stored is a body in the database.
type stored struct {
	spool  spool
	key    string
	bytes  int64
	sha256 string
}

func (r stored) Size() (n int64, known bool) { return r.bytes, true }

func (r stored) Open(ctx context.Context) (io.ReadCloser, error) {
	return r.OpenRange(ctx, 0, r.bytes)
}

func (r stored) OpenRange(ctx context.Context, from, length int64) (io.ReadCloser, error) {
	return &chunks{ctx: ctx, body: r, at: from, left: min(length, r.bytes-from)}, nil
}

// chunks reads a body row by row.
type chunks struct {
	ctx      context.Context
	body     stored
	at, left int64
	chunk    []byte // the rest of the row that was read last
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.EOF
	}
	if len(c.chunk) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.chunk[:min(int64(len(c.chunk)), c.left)])
	c.chunk, c.at, c.left = c.chunk[n:], c.at+int64(n), c.left-int64(n)
	return n, nil
}

// next reads the row with the next bytes of the body.
func (c *chunks) next() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	s := c.body.spool
	err := s.db.retry(c.ctx, func() error {
		return s.db.source.Reader.QueryRowContext(c.ctx, s.sql(selectChunk), c.body.key, c.body.sha256, c.at/chunkBytes).Scan(&c.chunk)
	})
	if err == nil && int64(len(c.chunk)) <= c.at%chunkBytes {
		err = sql.ErrNoRows // the stored row is too short
	}
	if errors.Is(err, sql.ErrNoRows) {
		return &adk.Error{Code: adk.E_ARTIFACT_CHANGED, Message: fmt.Sprintf("the body of key %.40q was replaced or deleted", c.body.key)}
	}
	if err != nil {
		return err
	}
	c.chunk = c.chunk[c.at%chunkBytes:]
	return nil
}

func (c *chunks) Close() error {
	c.left = 0
	return nil
}

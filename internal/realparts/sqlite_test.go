package realparts_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// book is a collection of memories in a SQLite file: a row for each memory, and an index of their
// words. The careless one writes the two without a transaction.
type book struct {
	db       *sql.DB
	careless bool
}

func openBook(file string, careless bool) *book {
	db := must(sql.Open("sqlite", "file:"+file+"?_pragma=synchronous(off)"))
	db.SetMaxOpenConns(1)
	for _, table := range []string{"memories (id text primary key, text text)", "words (word text, id text, primary key (word, id))"} {
		must(db.Exec("create table if not exists " + table))
	}
	return &book{db, careless}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Fetch returns all memories.
func (b *book) Fetch(ctx context.Context, _ adk.Scope) (all []*adk.Memory, err error) {
	rows, err := b.db.QueryContext(ctx, "select id, text from memories order by id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		all = append(all, noted(id, text))
	}
	return all, rows.Err()
}

// executor is a database, or a transaction of it.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Store writes the row and its index entries.
func (b *book) Store(ctx context.Context, _ adk.Scope, m *adk.Memory) error {
	if b.careless {
		return b.write(ctx, b.db, m)
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := b.write(ctx, tx, m); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (b *book) write(ctx context.Context, db executor, m *adk.Memory) error {
	if _, err := db.ExecContext(ctx, "insert or replace into memories values (?, ?)", m.ID(), m.Content().String()); err != nil {
		return err
	}
	if err := adk.FaultPoint(ctx, "between the row and its index"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "insert or replace into words values (?, ?)", m.Content().String(), m.ID())
	return err
}

// Mutate does the same as Store.
func (b *book) Mutate(ctx context.Context, scope adk.Scope, m *adk.Memory) error {
	return b.Store(ctx, scope, m)
}

// Delete removes the row and its index entries.
func (b *book) Delete(ctx context.Context, _ adk.Scope, id string) error {
	_, err := b.db.ExecContext(ctx, "delete from memories where id = ?; delete from words where id = ?", id, id)
	return err
}

// torn returns an error if the rows and the index do not agree.
func (b *book) torn() error {
	var rows, words int
	if err := b.db.QueryRow("select (select count(*) from memories), (select count(*) from words)").Scan(&rows, &words); err != nil {
		return err
	}
	if rows != words {
		return fmt.Errorf("there are %d rows and %d of the index", rows, words)
	}
	return nil
}

func noted(id, text string) *adk.Memory {
	return must(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(1.0), Importance: new(1.0), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
}

// bookkeeper returns an agent that stores two memories in its own file. The turn that follows opens a copy of
// the files as they are then, because a crashed process holds no
// lock.
func bookkeeper(folder string, careless bool) turn.Subject {
	var runs atomic.Int64
	return turn.Subject{Name: "bookkeeper", Open: func(context.CancelCauseFunc) turn.Instance {
		file := filepath.Join(folder, strconv.FormatInt(runs.Add(1), 10)+".db")
		first := openBook(file, careless)
		books := []*book{first}
		config := func(b *book) (adk.Config, adk.RawTurn) {
			storage := fakes.NewStorage().Storage()
			storage.Memories = b
			return adk.Config{Storage: storage, Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if _, err := dc.Memories().Fetch(ctx); err != nil {
					return err
				}
				for _, text := range []string{"tea", "milk"} {
					if err := dc.Memories().Store(ctx, noted("likes "+text, text)); err != nil {
						return err
					}
				}
				return dc.Ack()
			}}}, adk.RawTurn{SystemPrompt: "Keep books."}
		}
		var left error // what the crash or the end left, before the next turn
		i := turn.Instance{
			Next: func() (adk.Config, adk.RawTurn) {
				next := filepath.Join(folder, filepath.Base(file)+".next")
				for _, part := range []string{"", "-journal"} {
					if data, err := os.ReadFile(file + part); err == nil {
						must(0, os.WriteFile(next+part, data, 0o600))
					}
				}
				again := openBook(next, careless)
				books = append(books, again)
				left = again.torn()
				return config(again)
			},
			Check: func(turn.Run) error { return left },
			Close: func() {
				for _, b := range books {
					b.db.Close()
				}
			},
		}
		i.Config, i.Raw = config(first)
		return i
	}}
}

// A real SQLite file is inconsistent if a program writes two rows without a transaction and there is an error
// or a crash in between. With a transaction it is consistent, whatever fault occurs.
func TestSQLite(t *testing.T) {
	careless, err := explore.Explore(t.Context(), bookkeeper(t.TempDir(), true), explore.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, careless.Violations, careless)
	for _, b := range careless.Violations {
		assert.Contains(t, b.Text, "rows and", careless)
	}
	careful, err := explore.Explore(t.Context(), bookkeeper(t.TempDir(), false), explore.Options{})
	require.NoError(t, err)
	assert.Empty(t, careful.Violations, careful)
	assert.Empty(t, careful.NotCovered)
}

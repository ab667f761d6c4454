package storagetest

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
)

// durable is how many messages the long session has of a storage that waits for a disk.
const durable = 1000

// Opened are rows that last.
type Opened interface {
	storage.Rows
	Close() error
}

// Lasting are the storages of a suite, each of which can be opened again and broken.
type Lasting struct {
	// Fresh gives what opens a storage that is empty. It may empty the last one, which then
	// stays open.
	Fresh func(last Opened) (open func() (Opened, error), same bool)
	// Config is that of all of them.
	Config storage.Config

	open   func() (Opened, error)
	last   Opened
	mu     sync.Mutex
	broken bool // the next write is to fail
}

// Suite gives what fakes.TestStorageWith asks for; close the last storage then.
func (l *Lasting) Suite(t require.TestingT) (newStorage func() adk.Storage, suite fakes.Suite) {
	suite = Suite()
	suite.Many, suite.Break = durable, l.breakNext
	suite.Reopen = func() (adk.Storage, error) {
		if err := l.Close(); err != nil {
			return adk.Storage{}, err
		}
		return l.reopened()
	}
	return func() adk.Storage {
		open, same := l.Fresh(l.last)
		if l.open = open; !same {
			require.NoError(t, l.Close())
		}
		s, err := l.reopened()
		require.NoError(t, err)
		return s
	}, suite
}

// Close closes the last storage.
func (l *Lasting) Close() error {
	if l.last == nil {
		return nil
	}
	last := l.last
	l.last = nil
	return last.Close()
}

func (l *Lasting) reopened() (adk.Storage, error) {
	if l.last == nil {
		opened, err := l.open()
		if err != nil {
			return adk.Storage{}, err
		}
		l.last = opened
	}
	return storage.New(l.Config, breakable{l.last, l})
}

func (l *Lasting) breakNext() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
}

// isBroken reports whether the next write is to fail, once.
func (l *Lasting) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	broken := l.broken
	l.broken = false
	return broken
}

// breakable are rows that write on demand what nobody takes, after what they are to write
// and together with it.
type breakable struct {
	storage.Rows
	of *Lasting
}

func (b breakable) Write(ctx context.Context, changes ...storage.Change) error {
	if !b.of.isBroken() {
		return b.Rows.Write(ctx, changes...)
	}
	if err := b.Rows.Write(ctx, append(slices.Clip(changes), Refused(changes[0].Place))...); err != nil {
		return err
	}
	return errors.New("storagetest: what nobody takes was taken")
}

// Refused is a change that no storage takes which lasts: a record without a body, in a
// collection whose name cannot be written.
func Refused(place storage.Place) storage.Change {
	place.Collection = "\x00"
	return storage.Change{Place: place, Row: storage.Row{Key: storage.HashOf("refused")}}
}

// memoryDisk is where Linux has a disk in memory.
const memoryDisk = "/dev/shm"

// TempDir is a folder of a test, on a disk in memory where the machine has one: what is
// asked of a storage is not how fast its disk is.
func TempDir(t interface {
	require.TestingT
	Cleanup(func())
}) string {
	dir, err := os.MkdirTemp(memoryDisk, "adkreplay-")
	if err != nil { // there is none, or not for us
		dir, err = os.MkdirTemp("", "adkreplay-")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// InEveryOrder has several transactions at once that touch the collections of two sessions,
// each in an order of its own, and holds all of them to succeed.
func InEveryOrder(t require.TestingT, db *database.DB) {
	const writers, each = 6, 10
	var wg sync.WaitGroup
	failures := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			for range each {
				failures[i] = errors.Join(failures[i], db.Tx(context.Background(), func(w *database.Writes) error {
					return inOrder(w, i)
				}))
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(failures...))
}

// inOrder stores three records, which begin with another collection and session for each n.
func inOrder(w *database.Writes, n int) error {
	var err error
	for i := range 3 {
		of := samples.Collections[(n+i*(1+n%2))%3]
		partition := storage.Partition{Tenant: "orders", Session: []string{"one", "two"}[(n+i)%2]}
		err = errors.Join(err, w.Store(partition, of, samples.Records[of][0]))
	}
	return err
}

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

// durable is the number of messages in the long session, for a storage that waits for a disk.
const durable = 1000

// Opened is rows that are persistent.
type Opened interface {
	storage.Rows
	Close() error
}

// Lasting provides the storages of a suite, each of which can be reopened and made to fail.
type Lasting struct {
	// Fresh returns a function that opens an empty storage. It may instead empty the last one,
	// which then stays open; same says so.
	Fresh func(last Opened) (open func() (Opened, error), same bool)
	// Config is the config of all of them.
	Config storage.Config

	open   func() (Opened, error)
	last   Opened
	mu     sync.Mutex
	broken bool // the next write must fail
}

// Suite returns the arguments for fakes.TestStorageWith. The caller must close the last storage
// afterwards.
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

// isBroken reports whether the next write must fail, and resets that.
func (l *Lasting) isBroken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	broken := l.broken
	l.broken = false
	return broken
}

// breakable is rows that can be made to fail: they then write an invalid change after the given
// ones, in the same write.
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

// Refused returns a change that every persistent storage refuses: a record without a body, in a
// collection whose name cannot be written.
func Refused(place storage.Place) storage.Change {
	place.Collection = "\x00"
	return storage.Change{Place: place, Row: storage.Row{Key: storage.HashOf("refused")}}
}

// memoryDisk is the folder of a disk in memory on Linux.
const memoryDisk = "/dev/shm"

// TempDir returns a folder for a test, on a disk in memory if the machine has one, because the
// speed of the disk is not what is tested.
func TempDir(t interface {
	require.TestingT
	Cleanup(func())
}) string {
	dir, err := os.MkdirTemp(memoryDisk, "adkreplay-")
	if err != nil { // there is none, or it is not accessible
		dir, err = os.MkdirTemp("", "adkreplay-")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// InEveryOrder runs several transactions concurrently that write to the collections of two
// sessions, each in a different order, and checks that all of them succeed.
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

// inOrder stores three records, in an order of collections and with a session that depend on n.
func inOrder(w *database.Writes, n int) error {
	var err error
	for i := range 3 {
		of := samples.Collections[(n+i*(1+n%2))%3]
		partition := storage.Partition{Tenant: "orders", Session: []string{"one", "two"}[(n+i)%2]}
		err = errors.Join(err, w.Store(partition, of, samples.Records[of][0]))
	}
	return err
}

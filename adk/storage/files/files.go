package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// These names are next to the folders of the tenants, whose names have no dot.
const (
	lockName      = ".lock"
	temporaryName = ".tmp"
	redoName      = ".redo"
	sessionsName  = ".sessions"
)

// Dir is a storage in a directory. It is safe for concurrent use.
type Dir struct {
	root        *os.Root
	lock        *flock.Flock
	obligations adk.Storage
	sessions    session.Store

	mu      sync.RWMutex
	shelves map[storage.Place]*shelf // those that were listed
	made    int                      // counts temporary files
	// unfinished says that the steps of a commit are written to the list but not all done.
	unfinished bool
	closed     bool
}

// errClosed is the error of a storage that was closed; the directory may belong to another one now.
var errClosed = fmt.Errorf("the storage was closed: %w", fs.ErrClosed)

// mostShelves is how many listed collections are remembered.
const mostShelves = 1000

// shelf is the content of a collection's folder.
type shelf struct {
	positions ordered.Set[storage.KeyHash, entry]
	next      int64
}

// entry is the file of a key.
type entry struct {
	key      storage.KeyHash
	position int64
}

// Open opens a directory, and creates it if necessary. Close it after use. Errors are
// E_STORAGE_BUSY if it is open already, in this process or another one, E_INVALID_STORAGE_CONFIG,
// and those of the system.
func Open(dir string, config storage.Config) (*Dir, error) {
	d := &Dir{shelves: map[storage.Place]*shelf{}}
	obligations, err := storage.New(config, d)
	if err != nil {
		return nil, err
	}
	d.obligations = obligations
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	if d.root, err = os.OpenRoot(dir); err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	d.lock = flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	if err := d.begin(); err != nil {
		return nil, fmt.Errorf("files: %s: %w", dir, errors.Join(err, d.Close()))
	}
	return d, nil
}

// begin locks the directory, and finishes what another process has left.
func (d *Dir) begin() error {
	switch mine, err := d.lock.TryLock(); {
	case err != nil:
		return err
	case !mine:
		return &adk.Error{Code: adk.E_STORAGE_BUSY, Message: "the directory is open already, in this process or another one: use that storage, or close it first"}
	}
	if err := d.redo(); err != nil {
		return err
	}
	if err := d.root.RemoveAll(temporaryName); err != nil {
		return err
	}
	if err := d.root.Mkdir(temporaryName, 0o700); err != nil {
		return err
	}
	return d.loadSessions()
}

// Storage returns the storage for a runner's config.
func (d *Dir) Storage() adk.Storage { return d.obligations }

// Close releases the directory. Later calls fail with fs.ErrClosed.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return errors.Join(d.lock.Close(), d.root.Close())
}

// Fetch returns the rows of a place. It implements storage.Rows.
func (d *Dir) Fetch(ctx context.Context, place storage.Place, last int) ([]storage.Row, error) {
	s, unlock, err := d.listed(place)
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries := s.positions.Last(last)
	rows := make([]storage.Row, len(entries))
	for i, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if rows[i], err = d.read(fileOf(place, e), e.key); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Has returns which of the keys a place has.
func (d *Dir) Has(_ context.Context, place storage.Place, keys ...storage.KeyHash) (known []storage.KeyHash, err error) {
	s, unlock, err := d.listed(place)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, key := range keys {
		if s.positions.Has(key) {
			known = append(known, key)
		}
	}
	return known, nil
}

// listed returns the content of a place's folder, which does not change until unlock is called.
func (d *Dir) listed(place storage.Place) (s *shelf, unlock func(), err error) {
	for {
		d.mu.RLock()
		if known := d.shelves[place]; known != nil && !d.unfinished && !d.closed {
			return known, d.mu.RUnlock, nil
		}
		d.mu.RUnlock()
		d.mu.Lock()
		_, err := d.shelf(place)
		d.mu.Unlock()
		if err != nil {
			return nil, nil, err
		}
	}
}

// shelf returns the content of a place's folder. It first finishes an unfinished commit.
func (d *Dir) shelf(place storage.Place) (*shelf, error) {
	if err := d.finished(); err != nil {
		return nil, err
	}
	if known := d.shelves[place]; known != nil {
		return known, nil
	}
	s, err := d.list(place)
	if err != nil {
		return nil, err
	}
	if len(d.shelves) >= mostShelves {
		clear(d.shelves)
	}
	d.shelves[place] = s
	return s, nil
}

// list reads the names in the folder of a place.
func (d *Dir) list(place storage.Place) (*shelf, error) {
	s := &shelf{next: 1}
	folder, err := d.root.Open(filepath.FromSlash(folderOf(place)))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := folder.Readdirnames(-1)
	if err := errors.Join(err, folder.Close()); err != nil {
		return nil, err
	}
	slices.Sort(names) // that is, by position
	for _, name := range names {
		if !strings.HasSuffix(name, ending) {
			continue
		}
		e, ok := parsedName(name)
		if !ok || s.positions.Add(e.key, e) {
			return nil, &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: fmt.Sprintf("the file %.120q is none of a record, or one of two of it", path.Join(folderOf(place), name))}
		}
		s.next = e.position + 1
	}
	return s, nil
}

// Write makes all changes, or none.
func (d *Dir) Write(ctx context.Context, changes ...storage.Change) error {
	return d.commit(ctx, changes, nil)
}

// commit makes changes of records and of other files, or none.
func (d *Dir) commit(ctx context.Context, changes []storage.Change, others []file) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	steps, err := d.plan(ctx, changes)
	if err == nil {
		steps, err = d.planFiles(ctx, steps, others)
	}
	if err == nil {
		err = d.make(steps)
	}
	if err != nil {
		clear(d.shelves) // the plan has changed them
		for _, s := range steps {
			if s.From != "" && !d.unfinished {
				_ = d.root.Remove(filepath.FromSlash(s.From))
			}
		}
	}
	return err
}

// file is a file other than a record's, with its new content; nil content removes the file.
type file struct {
	name    string
	content []byte
}

// planFiles is plan for other files. It first finishes an unfinished commit.
func (d *Dir) planFiles(ctx context.Context, steps []step, files []file) ([]step, error) {
	if err := d.finished(); err != nil {
		return steps, err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return steps, context.Cause(ctx)
		}
		if f.content == nil {
			steps = append(steps, step{Remove: f.name})
			continue
		}
		if err := d.folder(path.Dir(f.name)); err != nil {
			return steps, err
		}
		d.made++
		from := path.Join(temporaryName, fmt.Sprint(d.made))
		steps = append(steps, step{From: from, To: f.name})
		if err := d.put(from, f.content); err != nil {
			return steps, err
		}
	}
	return steps, nil
}

// finished does the remaining steps of an unfinished commit. It fails if the storage was closed.
func (d *Dir) finished() error {
	switch {
	case d.closed:
		return errClosed
	case !d.unfinished:
		return nil
	}
	if err := d.redo(); err != nil {
		return fmt.Errorf("finishing changes that were begun: %w", err)
	}
	d.unfinished = false
	return nil
}

// plan writes the files of changes under temporary names, and returns the steps that remain.
func (d *Dir) plan(ctx context.Context, changes []storage.Change) (steps []step, err error) {
	for _, c := range changes {
		if ctx.Err() != nil {
			return steps, context.Cause(ctx)
		}
		s, err := d.shelf(c.Place)
		if err != nil {
			return steps, err
		}
		e, known := s.positions.Get(c.Row.Key)
		if c.Delete {
			if s.positions.Remove(c.Row.Key); known {
				steps = append(steps, step{Remove: fileOf(c.Place, e)})
			}
			continue
		}
		if !known {
			e = entry{c.Row.Key, s.next}
			s.next++
			s.positions.Add(c.Row.Key, e)
		}
		if err := d.folder(folderOf(c.Place)); err != nil {
			return steps, err
		}
		d.made++
		from := path.Join(temporaryName, fmt.Sprint(d.made))
		steps = append(steps, step{From: from, To: fileOf(c.Place, e)})
		if err := d.put(from, content(c.Row)); err != nil {
			return steps, err
		}
	}
	return steps, nil
}

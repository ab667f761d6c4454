package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// DirSpool is a spool in a directory, from which no key and no link can lead out. Several processes
// may use it at once.
//
// A body is a file that never changes, under a unique name; an entry file names the current body of
// a key and has its length. A write adds a new body and then replaces the entry. Each file is
// written and synced first, and the entry is renamed into place, so a crash leaves either the old
// body or the new one. At worst it leaves a file that no entry names, which Sweep removes. A reader
// keeps naming the file that it found: after another write it goes on with the old bytes if it has
// the file open, or fails with E_ARTIFACT_CHANGED if the file is gone.
type DirSpool struct {
	// MaxBytes is the greatest length of a body; 0 means no bound. Set it before the first use.
	MaxBytes int64

	root   *os.Root
	made   atomic.Int64
	naming sync.Mutex // serializes changes of entries, so that every old body is removed
	settle func() error
}

// NewDirSpool opens a spool in a directory, which it creates if necessary. Close it after use.
func NewDirSpool(dir string) (*DirSpool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &DirSpool{root: root}
	s.settle = s.sync
	return s, nil
}

// Close releases the directory. Readers from Read fail afterwards.
func (s *DirSpool) Close() error { return s.root.Close() }

// dirEntry is the content of an entry file.
type dirEntry struct {
	Key    string `json:"key"`
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Lines  int    `json:"lines"`
	SHA256 string `json:"sha256"`
}

const (
	entryEnding     = ".entry"
	bodyEnding      = ".body"
	temporaryEnding = ".tmp"
)

// nameOf returns the name of a key's files. It is a hash, because a key may be too long for a file
// name, or differ from another key only in letter case.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Write streams body into a new file, and then makes that the body of the key.
func (s *DirSpool) Write(ctx context.Context, key string, body io.Reader) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	meter := newMeter()
	file, err := s.put(nameOf(key), bodyEnding, io.TeeReader(&bounded{ctx: ctx, body: body, key: key, most: s.MaxBytes}, meter))
	if err != nil {
		return Entry{}, err
	}
	found := meter.entry(key)
	if err := s.name(dirEntry{key, file, found.Bytes, found.Lines, found.SHA256}); err != nil {
		if now, _, reading := s.entry(key); reading == nil && now.File != file {
			_ = s.root.Remove(file) // no entry names it
		}
		return Entry{}, err
	}
	return found, nil
}

// name makes a body the one of its key, and removes the one before.
func (s *DirSpool) name(entry dirEntry) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	before, known, err := s.entry(entry.Key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if err := s.replace(nameOf(entry.Key)+entryEnding, text); err != nil {
		return err
	}
	if known {
		_ = s.root.Remove(before.File) // who has it open goes on reading
	}
	return nil
}

// put writes and syncs a new file under an unused name.
func (s *DirSpool) put(name, ending string, content io.Reader) (file string, err error) {
	var f *os.File
	for f == nil && (err == nil || errors.Is(err, fs.ErrExist)) { // another process with the same number may have made such a file
		file = fmt.Sprintf("%s.%d.%d%s", name, os.Getpid(), s.made.Add(1), ending)
		f, err = s.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return "", err
	}
	whole := false
	defer func() { // deferred, since content may panic
		if err = errors.Join(err, f.Close()); err != nil || !whole {
			_ = s.root.Remove(file)
		}
	}()
	if _, err := io.Copy(f, content); err != nil {
		return file, err
	}
	whole = true
	return file, f.Sync()
}

// replace replaces a file atomically.
func (s *DirSpool) replace(name string, content []byte) error {
	temporary, err := s.put(name, temporaryEnding, bytes.NewReader(content))
	if err != nil {
		return err
	}
	if err := s.root.Rename(temporary, name); err != nil {
		_ = s.root.Remove(temporary)
		return err
	}
	return s.settle()
}

// sync syncs the directory. Windows cannot sync a directory, and journals the names itself.
func (s *DirSpool) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := s.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// entry reads the entry of a key.
func (s *DirSpool) entry(key string) (entry dirEntry, known bool, err error) {
	entry, err = s.readEntry(nameOf(key) + entryEnding)
	if errors.Is(err, fs.ErrNotExist) {
		return dirEntry{}, false, nil
	}
	return entry, err == nil, err
}

func (s *DirSpool) readEntry(name string) (entry dirEntry, err error) {
	text, err := s.root.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &entry)
	}
	return entry, err
}

// Read returns a reader of the key's current body.
func (s *DirSpool) Read(_ context.Context, key string) (adk.MediaReader, bool, error) {
	if err := CheckKey(key); err != nil {
		return nil, false, err
	}
	entry, known, err := s.entry(key)
	if err != nil || !known {
		return nil, false, err
	}
	return dirReader{s.root, entry}, true, nil
}

// Delete removes a body.
func (s *DirSpool) Delete(_ context.Context, key string) (bool, error) {
	if err := CheckKey(key); err != nil {
		return false, err
	}
	s.naming.Lock()
	defer s.naming.Unlock()
	entry, known, err := s.entry(key)
	if err != nil || !known {
		return false, err
	}
	if err := s.root.Remove(nameOf(key) + entryEnding); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	_ = s.root.Remove(entry.File) // no entry names it any more
	return true, s.settle()
}

// List returns the entries with a prefix, ordered by key.
func (s *DirSpool) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		entries, err := s.entries(ctx, prefix)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (s *DirSpool) entries(ctx context.Context, prefix string) (entries []Entry, err error) {
	names, err := s.files()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !strings.HasSuffix(name, entryEnding) {
			continue
		}
		entry, err := s.readEntry(name)
		info, missing := s.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(missing, fs.ErrNotExist) { // deleted meanwhile
			continue
		}
		if err := errors.Join(err, missing); err != nil {
			return nil, err
		}
		if strings.HasPrefix(entry.Key, prefix) {
			entries = append(entries, Entry{entry.Key, entry.Bytes, entry.Lines, entry.SHA256, info.ModTime()})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}

// files returns the names of all files.
func (s *DirSpool) files() ([]string, error) {
	dir, err := s.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// sweepUnnamed removes body and temporary files from before a time that no entry names; a crash
// during a write leaves them. It returns how many bodies it removed.
func (s *DirSpool) sweepUnnamed(ctx context.Context, olderThan time.Time) (deleted int, err error) {
	names, err := s.files()
	if err != nil {
		return 0, err
	}
	named, unnamed := map[string]bool{}, []string{}
	for _, name := range names {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if strings.HasSuffix(name, bodyEnding) || strings.HasSuffix(name, temporaryEnding) {
			unnamed = append(unnamed, name)
		}
		if !strings.HasSuffix(name, entryEnding) {
			continue
		}
		entry, err := s.readEntry(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err // the entry may name any of the files
		}
		named[entry.File] = true
	}
	for _, name := range unnamed {
		info, missing := s.root.Stat(name)
		if named[name] || missing != nil || !info.ModTime().Before(olderThan) {
			continue
		}
		switch fault := s.root.Remove(name); {
		case fault != nil:
			err = errors.Join(err, fault)
		case strings.HasSuffix(name, bodyEnding):
			deleted++
		}
	}
	return deleted, err
}

// dirReader reads one body.
type dirReader struct {
	root  *os.Root
	entry dirEntry
}

func (r dirReader) Size() (n int64, known bool) { return r.entry.Bytes, true }

func (r dirReader) open() (*os.File, error) {
	file, err := r.root.Open(r.entry.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &adk.Error{Code: adk.E_ARTIFACT_CHANGED, Message: fmt.Sprintf("the body of key %.40q was replaced or deleted", r.entry.Key)}
	}
	return file, err
}

func (r dirReader) Open(context.Context) (io.ReadCloser, error) {
	file, err := r.open()
	if err != nil {
		return nil, err // a nil *os.File would be a non-nil interface
	}
	return file, nil
}

func (r dirReader) OpenRange(_ context.Context, from, length int64) (io.ReadCloser, error) {
	file, err := r.open()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, from, length), file}, nil
}

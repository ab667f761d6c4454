package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// tooLarge returns the error for a body that is longer than a spool accepts (SPL-7).
func tooLarge(key string, most int64) error {
	return &adk.Error{Code: adk.E_SPOOL_TOO_LARGE, Message: fmt.Sprintf("the body for key %.40q has more than %d bytes", key, most)}
}

// bounded reads a body up to a limit, until its context is done; a limit of 0 means none.
type bounded struct {
	ctx  context.Context
	body io.Reader
	key  string
	most int64
	read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	n, err := b.body.Read(p)
	if b.read += int64(n); b.most > 0 && b.read > b.most {
		return 0, tooLarge(b.key, b.most)
	}
	return n, err
}

// CopyBody copies the body of a key to the place where a spool keeps it, and measures it; it is for
// spools of your own. It stops when ctx is done. A body of more than most bytes is
// E_SPOOL_TOO_LARGE; 0 means no bound.
func CopyBody(ctx context.Context, to io.Writer, key string, body io.Reader, most int64) (Entry, error) {
	meter := newMeter()
	if _, err := io.Copy(io.MultiWriter(to, meter), &bounded{ctx: ctx, body: body, key: key, most: most}); err != nil {
		return Entry{}, err
	}
	return meter.entry(key), nil
}

// MemorySpool keeps bodies in memory. The zero MemorySpool is empty and has no bound; it must not
// be copied.
type MemorySpool struct {
	// MaxBytes is the greatest length of a body; 0 means no bound.
	MaxBytes int64

	mu     sync.RWMutex
	bodies map[string]memoryEntry
}

type memoryEntry struct {
	entry Entry
	body  []byte
}

// NewMemorySpool makes an empty spool in memory.
func NewMemorySpool() *MemorySpool { return &MemorySpool{} }

// Write reads body to its end and stores it (SPL-1, SPL-2).
func (s *MemorySpool) Write(ctx context.Context, key string, body io.Reader) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	var data bytes.Buffer
	entry, err := CopyBody(ctx, &data, key, body, s.MaxBytes)
	if err != nil {
		return Entry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies == nil {
		s.bodies = map[string]memoryEntry{}
	}
	kept := entry
	kept.Written = time.Now()
	s.bodies[key] = memoryEntry{kept, data.Bytes()}
	return entry, nil
}

// Read returns a reader of the key's current body. The reader keeps that body, whatever is written
// later.
func (s *MemorySpool) Read(_ context.Context, key string) (adk.MediaReader, bool, error) {
	if err := CheckKey(key); err != nil {
		return nil, false, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	kept, found := s.bodies[key]
	if !found {
		return nil, false, nil
	}
	return MemoryReader(kept.body), true, nil
}

// Delete deletes a body.
func (s *MemorySpool) Delete(_ context.Context, key string) (bool, error) {
	if err := CheckKey(key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.bodies[key]
	delete(s.bodies, key)
	return found, nil
}

// List returns the entries with a prefix, as they are when the iteration begins.
func (s *MemorySpool) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s.mu.RLock()
		entries := []Entry{}
		for _, key := range slices.Sorted(maps.Keys(s.bodies)) {
			if strings.HasPrefix(key, prefix) {
				entries = append(entries, s.bodies[key].entry)
			}
		}
		s.mu.RUnlock()
		for _, entry := range entries {
			if ctx.Err() != nil {
				yield(Entry{}, context.Cause(ctx))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// Len returns the number of bodies.
func (s *MemorySpool) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.bodies)
}

// Prefixed returns the part of a spool whose keys begin with a prefix such as "a/", with the prefix
// removed from the keys (SPL-5).
func Prefixed(spool Spool, prefix string) Spool { return prefixed{spool, prefix} }

type prefixed struct {
	spool  Spool
	prefix string
}

// key returns the whole key. A key must be valid without the prefix too.
func (p prefixed) key(key string) (string, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	return p.prefix + key, nil
}

func (p prefixed) Write(ctx context.Context, key string, body io.Reader) (Entry, error) {
	whole, err := p.key(key)
	if err != nil {
		return Entry{}, err
	}
	entry, err := p.spool.Write(ctx, whole, body)
	entry.Key = key
	return entry, err
}

func (p prefixed) Read(ctx context.Context, key string) (adk.MediaReader, bool, error) {
	whole, err := p.key(key)
	if err != nil {
		return nil, false, err
	}
	return p.spool.Read(ctx, whole)
}

func (p prefixed) Delete(ctx context.Context, key string) (bool, error) {
	whole, err := p.key(key)
	if err != nil {
		return false, err
	}
	return p.spool.Delete(ctx, whole)
}

func (p prefixed) List(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for entry, err := range p.spool.List(ctx, p.prefix+prefix) {
			entry.Key = strings.TrimPrefix(entry.Key, p.prefix)
			if !yield(entry, err) {
				return
			}
		}
	}
}

// Sweep deletes the bodies that are not used and that were written before a time. Such bodies are
// left by a crash between writing a body and its record, or by a record that was changed (SPL-9);
// in a DirSpool, Sweep also removes what a crash during a write leaves. Choose a time that no write
// still under way began before. isUsed is called for each key that is old enough. Sweep returns how
// many bodies it deleted.
func Sweep(ctx context.Context, spool Spool, isUsed func(ctx context.Context, key string) (bool, error), olderThan time.Time) (deleted int, err error) {
	var orphans []string
	for entry, err := range spool.List(ctx, "") {
		if err != nil {
			return 0, err
		}
		if !entry.Written.Before(olderThan) {
			continue
		}
		used, err := isUsed(ctx, entry.Key)
		if err != nil {
			return 0, err
		}
		if !used {
			orphans = append(orphans, entry.Key)
		}
	}
	for _, key := range orphans {
		was, fault := spool.Delete(ctx, key)
		err = errors.Join(err, fault)
		if was {
			deleted++
		}
	}
	if dir, ok := spool.(*DirSpool); ok {
		more, fault := dir.sweepUnnamed(ctx, olderThan)
		deleted, err = deleted+more, errors.Join(err, fault)
	}
	return deleted, err
}

// Package memory keeps the records of turns in the memory of the process, for tests and prototypes.
// What works here works on files and databases too, which give equal answers.
//
//	kept, err := memory.New(storage.Config{})
//	runner, err := adk.NewRunner(adk.Config{Storage: kept.Storage(), …})
//
// Bodies of artifacts last as long as their records, and need no spool. See package storage for the
// config, and for what all storages promise.
package memory

import (
	"context"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// Memory is a storage in memory, which ends with the process. It is safe for concurrent use.
type Memory struct {
	obligations adk.Storage
	sessions    session.Store

	mu     sync.RWMutex
	places map[storage.Place]*ordered.Set[storage.KeyHash, storage.Row]
}

// New makes an empty storage. The error is E_INVALID_STORAGE_CONFIG.
func New(config storage.Config) (*Memory, error) {
	m := &Memory{places: map[storage.Place]*ordered.Set[storage.KeyHash, storage.Row]{}}
	obligations, err := storage.New(config, m)
	if err != nil {
		return nil, err
	}
	m.obligations, m.sessions = obligations, newSessions(m)
	return m, nil
}

// RowsLast marks Memory as storage.LastingRows: it returns rows as they were written.
func (m *Memory) RowsLast() {}

// Storage returns the storage for a runner's config.
func (m *Memory) Storage() adk.Storage { return m.obligations }

// Fetch returns the rows of a place. It implements storage.Rows.
func (m *Memory) Fetch(_ context.Context, place storage.Place, last int) ([]storage.Row, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	rows, known := m.places[place]
	if !known {
		return nil, nil
	}
	return rows.Last(last), nil
}

// Has returns which of the keys a place has.
func (m *Memory) Has(_ context.Context, place storage.Place, keys ...storage.KeyHash) (known []storage.KeyHash, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, key := range keys {
		if rows := m.places[place]; rows != nil && rows.Has(key) {
			known = append(known, key)
		}
	}
	return known, nil
}

// Write makes all changes at once.
func (m *Memory) Write(_ context.Context, changes ...storage.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		rows, known := m.places[c.Place]
		switch {
		case c.Delete && known:
			if rows.Remove(c.Row.Key); rows.Len() == 0 {
				delete(m.places, c.Place)
			}
		case c.Delete:
		default:
			if !known {
				rows = &ordered.Set[storage.KeyHash, storage.Row]{}
				m.places[c.Place] = rows
			}
			rows.Add(c.Row.Key, c.Row)
		}
	}
	return nil
}

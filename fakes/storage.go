package fakes

import (
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Op names one of the four operations of a collection in a storage.
type Op string

// The operations. OpFetch of the standing instructions is the field Refresh in adk.Storage; the
// tools have no other operation.
const (
	OpFetch  Op = "fetch"
	OpStore  Op = "store"
	OpMutate Op = "mutate"
	OpDelete Op = "delete"
)

// StorageCall is one call of a storage obligation, as Storage logs it.
type StorageCall struct {
	Collection adk.CollectionName
	Op         Op
	// Key is the record's key; empty for a fetch.
	Key string
	// Record is the record that was stored or mutated; nil for a fetch or a delete.
	Record adk.Record
	// TurnID and DispatchID are those of the call's scope.
	TurnID, DispatchID string
	// Err is what the call returned, or an *adk.PanicError if the call panicked.
	Err error
}

// Fault makes calls of a Storage fail.
type Fault struct {
	// Collection and Op say which calls fail; an empty one matches any.
	Collection adk.CollectionName
	Op         Op
	// Occurrence says which of the matching calls fails, counted from 1 and from the moment the
	// fault was given; 0 makes all of them fail.
	Occurrence int
	// Err is what the call returns; nil means an error that names the call.
	Err error
	// Panic, if it is not nil, is what the call panics with; Err is then ignored.
	Panic any
	// AfterWrite lets the call do its work first: the storage has the record although the caller
	// gets an error.
	AfterWrite bool
}

type countedFault struct {
	Fault
	seen int
}

// Fail makes calls fail from now on. If several faults match a call, the one given first applies,
// but all of them count the call.
func (s *Storage) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &countedFault{Fault: f})
	}
}

// IgnoreContexts makes the storage do its work even if the context of a call has ended, like a
// storage that keeps what was said in an aborted turn.
func (s *Storage) IgnoreContexts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heedless = true
}

// Calls returns all calls so far, in order.
func (s *Storage) Calls() []StorageCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func contents[T adk.Record](s *Storage, shelf *shelf[T]) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(shelf.records)
}

// do carries out an obligation: it refuses a context that has ended, looks for a fault, acts, and
// logs the call.
func (s *Storage) do(ctx context.Context, scope adk.Scope, call StorageCall, act func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.TurnID, call.DispatchID = scope.TurnID, scope.DispatchID
	if call.Err = ctx.Err(); call.Err != nil && !s.heedless {
		s.calls = append(s.calls, call)
		return call.Err
	}
	call.Err = nil
	f := s.faultOf(call)
	if f == nil || f.AfterWrite {
		act()
	}
	if f != nil {
		call.Err = f.answer(call)
	}
	s.calls = append(s.calls, call)
	if f != nil && f.Panic != nil {
		panic(f.Panic)
	}
	return call.Err
}

// faultOf finds the fault of a call, and counts the call for every fault that matches it.
func (s *Storage) faultOf(call StorageCall) (found *Fault) {
	for _, f := range s.faults {
		if (f.Collection != "" && f.Collection != call.Collection) || (f.Op != "" && f.Op != call.Op) {
			continue
		}
		f.seen++
		if found == nil && (f.Occurrence == 0 || f.Occurrence == f.seen) {
			found = &f.Fault
		}
	}
	return found
}

func (f *Fault) answer(call StorageCall) error {
	switch {
	case f.Panic != nil:
		return &adk.PanicError{Value: f.Panic}
	case f.Err != nil:
		return f.Err
	}
	return fmt.Errorf("fakes: %s.%s was made to fail", call.Collection, call.Op)
}

// shelf holds the records of a collection in the order in which their keys were first stored.
type shelf[T adk.Record] struct {
	records []T
	places  map[string]int // index in records by key; nil until there are many records
}

// fewRecords is how many records are searched one by one instead of through an index.
const fewRecords = 16

// index returns the position of the record with this key, or -1 if there is none.
func (s *shelf[T]) index(key string) int {
	if len(s.records) <= fewRecords {
		return slices.IndexFunc(s.records, func(r T) bool { return r.Key() == key })
	}
	if s.places == nil {
		s.places = make(map[string]int, 2*len(s.records))
		for i, r := range s.records {
			s.places[r.Key()] = i
		}
	}
	if i, found := s.places[key]; found {
		return i
	}
	return -1
}

func (s *shelf[T]) put(record T) {
	key := record.Key()
	if i := s.index(key); i >= 0 {
		s.records[i] = record
		return
	}
	s.records = append(s.records, record)
	if s.places != nil {
		s.places[key] = len(s.records) - 1
	}
}

// remove removes a record and moves up the records behind it.
func (s *shelf[T]) remove(key string) {
	at := s.index(key)
	if at < 0 {
		return
	}
	s.records = slices.Delete(s.records, at, at+1)
	if s.places == nil {
		return
	}
	delete(s.places, key)
	for i, r := range s.records[at:] {
		s.places[r.Key()] = at + i
	}
}

// collection implements the obligations of one kind of record.
type collection[T adk.Record] struct {
	storage *Storage
	name    adk.CollectionName
	shelf   *shelf[T]
}

// Fetch returns the records in order.
func (c *collection[T]) Fetch(ctx context.Context, scope adk.Scope) (fetched []T, err error) {
	err = c.storage.do(ctx, scope, StorageCall{Collection: c.name, Op: OpFetch}, func() { fetched = slices.Clone(c.shelf.records) })
	if err != nil {
		return nil, err
	}
	return fetched, nil
}

// Store keeps a record. It replaces a record with the same key, in its place.
func (c *collection[T]) Store(ctx context.Context, scope adk.Scope, record T) error {
	return c.keep(ctx, scope, OpStore, record)
}

// Mutate replaces the record with the same key, in its place, or keeps a new one.
func (c *collection[T]) Mutate(ctx context.Context, scope adk.Scope, record T) error {
	return c.keep(ctx, scope, OpMutate, record)
}

func (c *collection[T]) keep(ctx context.Context, scope adk.Scope, op Op, record T) error {
	call := StorageCall{Collection: c.name, Op: op, Key: record.Key(), Record: record}
	return c.storage.do(ctx, scope, call, func() { c.shelf.put(record) })
}

// Delete removes the record with the key.
func (c *collection[T]) Delete(ctx context.Context, scope adk.Scope, key string) error {
	return c.storage.do(ctx, scope, StorageCall{Collection: c.name, Op: OpDelete, Key: key}, func() { c.shelf.remove(key) })
}

package fakes

import (
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Op is one of the four things that a collection of a storage does.
type Op string

// The operations. OpFetch of the standing instructions is what the field calls
// refresh; the tools have no other operation.
const (
	OpFetch  Op = "fetch"
	OpStore  Op = "store"
	OpMutate Op = "mutate"
	OpDelete Op = "delete"
)

// StorageCall is one call of a storage obligation, as Storage remembers it.
type StorageCall struct {
	Collection adk.CollectionName
	Op         Op
	// Key is the record's key, empty for a fetch.
	Key string
	// Record is what was stored or mutated, else nil.
	Record adk.Record
	// TurnID and DispatchID are the scope's.
	TurnID, DispatchID string
	// Err is what the call answered; an *adk.PanicError if it panicked.
	Err error
}

// Fault makes calls of a Storage fail.
type Fault struct {
	// Collection and Op say which calls; empty means any.
	Collection adk.CollectionName
	Op         Op
	// Occurrence is the one call to fail of those that fit, counted from 1 and
	// from when the fault was given; 0 fails all of them.
	Occurrence int
	// Err is what the call answers; nil means an error that names the call.
	Err error
	// Panic, if not nil, is what the call panics with instead.
	Panic any
	// AfterWrite lets the call write first: the storage has the record, and the
	// caller is told that it failed.
	AfterWrite bool
}

type countedFault struct {
	Fault
	seen int
}

// Fail makes calls fail from now on. Of several faults that fit one call the
// first given decides, and all that fit count it.
func (s *Storage) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &countedFault{Fault: f})
	}
}

// IgnoreContexts lets the storage do its work although the context of a call has ended, as
// one does that keeps what was said of an aborted turn.
func (s *Storage) IgnoreContexts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heedless = true
}

// Calls are all calls so far, in order.
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

// do is every obligation: it refuses a context that has ended, looks for a fault, acts,
// and writes the log.
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

// faultOf finds the fault of a call, and counts the call for all that fit.
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

// shelf is a collection's records in the order in which their keys came.
type shelf[T adk.Record] struct {
	records []T
	places  map[string]int // of many records, by their keys
}

// fewRecords are looked through one by one.
const fewRecords = 16

// index is the place of a record, and -1 where there is none.
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

// remove takes a record away, and moves up those behind it.
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

// collection is the four obligations of one kind of record.
type collection[T adk.Record] struct {
	storage *Storage
	name    adk.CollectionName
	shelf   *shelf[T]
}

// Fetch gives the records in order.
func (c *collection[T]) Fetch(ctx context.Context, scope adk.Scope) (fetched []T, err error) {
	err = c.storage.do(ctx, scope, StorageCall{Collection: c.name, Op: OpFetch}, func() { fetched = slices.Clone(c.shelf.records) })
	if err != nil {
		return nil, err
	}
	return fetched, nil
}

// Store keeps a record, in the place of one with its key.
func (c *collection[T]) Store(ctx context.Context, scope adk.Scope, record T) error {
	return c.keep(ctx, scope, OpStore, record)
}

// Mutate puts a record in the place of the one with its key, or keeps a new one.
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

package adk

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/internal/ordered"
)

// record is what the six collections hold.
type record interface {
	comparable
	Record
}

// recordSpec says where the records of one kind live: the set in a context and
// the obligations in the config.
type recordSpec[T record] struct {
	name    CollectionName
	fetch   Kind
	set     func(*visible) *ordered.Set[string, T]
	storage func(*Storage) Collection[T]
}

var (
	messageSpec = recordSpec[*Message]{Messages, KindFetch,
		func(v *visible) *ordered.Set[string, *Message] { return &v.messages },
		func(s *Storage) Collection[*Message] { return s.Messages }}
	memorySpec = recordSpec[*Memory]{Memories, KindFetch,
		func(v *visible) *ordered.Set[string, *Memory] { return &v.memories },
		func(s *Storage) Collection[*Memory] { return s.Memories }}
	retrievableSpec = recordSpec[*Retrievable]{Retrievables, KindFetch,
		func(v *visible) *ordered.Set[string, *Retrievable] { return &v.retrievables },
		func(s *Storage) Collection[*Retrievable] { return s.Retrievables }}
	thoughtSpec = recordSpec[*Thought]{Thoughts, KindFetch,
		func(v *visible) *ordered.Set[string, *Thought] { return &v.thoughts },
		func(s *Storage) Collection[*Thought] { return s.Thoughts }}
	toolCallSpec = recordSpec[*ToolCall]{ToolCalls, KindFetch,
		func(v *visible) *ordered.Set[string, *ToolCall] { return &v.toolCalls },
		func(s *Storage) Collection[*ToolCall] { return s.ToolCalls }}
	instructionSpec = recordSpec[*Tokenizable]{Instructions, KindRefresh,
		func(v *visible) *ordered.Set[string, *Tokenizable] { return &v.instructions },
		func(s *Storage) Collection[*Tokenizable] { return s.Instructions }}
)

// Records is one of the six sets of a context, and the storage behind it,
// through a handle. The set keeps insertion order and is keyed by id, standing
// instructions by text (RUN-12).
//
// Add and Remove change the set alone. On a turn context Store, Mutate, Delete
// and Fetch call the storage obligation alone (RUN-13); on a dispatch context
// Store, Mutate and Delete then also change the dispatch's set and queue the
// change for the turn's (DEL-1, DEL-2).
type Records[T record] struct {
	call *call
	spec *recordSpec[T]
}

func (r Records[T]) set() *ordered.Set[string, T] { return r.spec.set(r.call.visible) }

// All are the records in order, in a slice of the caller's own.
func (r Records[T]) All() []T {
	defer r.call.lock()()
	return r.set().All()
}

// Get is the record with the key.
func (r Records[T]) Get(key string) (T, bool) {
	defer r.call.lock()()
	return r.set().Get(key)
}

// Has tells whether there is a record with the key.
func (r Records[T]) Has(key string) bool {
	defer r.call.lock()()
	return r.set().Has(key)
}

// Len is the number of records.
func (r Records[T]) Len() int {
	defer r.call.lock()()
	return r.set().Len()
}

// Add puts a record into the set. One with the same key is replaced in its
// place, and replaced tells so (RUN-12). A nil record is refused.
func (r Records[T]) Add(record T) (replaced bool, err error) {
	if err := r.refuseNil(KindAdd, record); err != nil {
		return false, err
	}
	c := r.call
	if err := c.enter(KindAdd); err != nil {
		return false, err
	}
	defer c.run.mu.Unlock()
	at := c.run.now()
	replaced = r.set().Add(record.Key(), record)
	if x := c.run.crossing(c, KindAdd, Whole, at); x != nil {
		x.Collection, x.Record, x.Flag = r.spec.name, record, replaced
		c.run.tell(x)
	}
	return replaced, nil
}

// Remove takes the record with the key out of the set; found tells whether
// there was one.
func (r Records[T]) Remove(key string) (found bool, err error) {
	c := r.call
	if err := c.enter(KindRemove); err != nil {
		return false, err
	}
	defer c.run.mu.Unlock()
	at := c.run.now()
	_, found = r.set().Remove(key)
	if x := c.run.crossing(c, KindRemove, Whole, at); x != nil {
		x.Collection, x.Key, x.Flag = r.spec.name, key, found
		c.run.tell(x)
	}
	return found, nil
}

// Fetch asks the storage for the records. It fills no set: that is the
// caller's to do (RUN-7).
func (r Records[T]) Fetch(ctx context.Context) ([]T, error) {
	var fetched []T
	err := r.span(r.spec.fetch, nil, "", func(at *call) error {
		var err error
		fetched, err = callFetch(ctx, at, r.spec.name, r.spec.storage(&at.run.config.Storage).Fetch)
		return err
	}, nil)
	return fetched, err
}

// Store keeps a record. If the storage fails, nothing has happened (DEL-1).
func (r Records[T]) Store(ctx context.Context, record T) error {
	return r.keep(ctx, KindStore, record)
}

// Mutate puts a record in the place of the one with its key (DEL-4). If the
// storage fails, nothing has happened (DEL-1).
func (r Records[T]) Mutate(ctx context.Context, record T) error {
	return r.keep(ctx, KindMutate, record)
}

func (r Records[T]) keep(ctx context.Context, kind Kind, record T) error {
	if err := r.refuseNil(kind, record); err != nil {
		return err
	}
	key := record.Key()
	return r.write(ctx, kind, record, key, func(ctx context.Context, scope Scope) error {
		storage := r.spec.storage(&r.call.run.config.Storage)
		if kind == KindMutate {
			return storage.Mutate(ctx, scope, record)
		}
		return storage.Store(ctx, scope, record)
	}, func(v *visible) { r.spec.set(v).Add(key, record) })
}

// Delete removes the record with the key (DEL-4). If the storage fails, nothing
// has happened (DEL-1).
func (r Records[T]) Delete(ctx context.Context, key string) error {
	return r.write(ctx, KindDelete, nil, key, func(ctx context.Context, scope Scope) error {
		return r.spec.storage(&r.call.run.config.Storage).Delete(ctx, scope, key)
	}, func(v *visible) { r.spec.set(v).Remove(key) })
}

// write is store, mutate and delete: it calls the obligation and, on a dispatch
// context, applies the change to the dispatch's set and queues it in one step
// (DEL-1, DEL-2). With write-behind the obligation waits for the flush (DEL-6).
func (r Records[T]) write(ctx context.Context, kind Kind, rec Record, key string,
	persist func(context.Context, Scope) error, apply func(*visible)) error {
	verb := r.obligation(kind)
	with := opened{record: rec}
	if rec == nil {
		with.key = key
	}
	d := r.call.dispatch
	later := d != nil && r.call.run.config.WriteBehind
	return r.span(kind, rec, key, func(at *call) error {
		if later {
			return nil
		}
		return callStorage(ctx, at, verb, with, persist)
	}, func() {
		if d == nil {
			return
		}
		apply(d.visible)
		if kind == KindStore {
			d.count(rec)
		}
		change := delta{apply: apply}
		if later {
			change.persist = func(ctx context.Context, at *call) error { return callStorage(ctx, at, verb, with, persist) }
		}
		d.queue = append(d.queue, change)
	})
}

// span tells an operation at its begin, calls body, and when that succeeded
// makes the effect and tells that it is done in one step.
func (r Records[T]) span(kind Kind, rec Record, key string, body func(at *call) error, effect func()) error {
	c := r.call
	if err := c.enter(kind); err != nil {
		return err
	}
	run := c.run
	at, op := run.now(), run.nextOp()
	if x := run.crossing(c, kind, Begin, at); x != nil {
		x.Op, x.Collection, x.Record = op, r.spec.name, rec
		if rec == nil {
			x.Key = key
		}
		run.tell(x)
	}
	run.mu.Unlock()

	err := body(c)
	if err != nil {
		effect = nil
	}
	c.done(kind, op, err, effect)
	return err
}

// obligation names the storage seam, as in messages.store.
func (r Records[T]) obligation(kind Kind) string { return string(r.spec.name) + "." + kind.String() }

func (r Records[T]) refuseNil(kind Kind, record T) error {
	var none T
	if record == none {
		return fmt.Errorf("adk: %s of a nil record into %s: give it a record", kind, r.spec.name)
	}
	return nil
}

// callStorage is the seam call of an obligation that writes.
func callStorage(ctx context.Context, parent *call, name string, with opened, body func(context.Context, Scope) error) error {
	c := parent.run.open(parent, Seam{Label: LabelStorage, Name: name}, parent.strand, with)
	return c.invoke(func(*result) error { return body(ctx, c.scope()) }).err
}

// callFetch is the seam call of an obligation that reads.
func callFetch[T record](ctx context.Context, parent *call, name CollectionName, body func(context.Context, Scope) ([]T, error)) (fetched []T, err error) {
	verb := KindFetch
	if name == Instructions {
		verb = KindRefresh
	}
	c := parent.run.open(parent, Seam{Label: LabelStorage, Name: string(name) + "." + verb.String()}, parent.strand, opened{})
	err = c.invoke(func(res *result) error {
		var err error
		if fetched, err = body(ctx, c.scope()); err != nil {
			fetched = nil
			return err
		}
		var none T
		for i, one := range fetched {
			if one == none {
				fetched = nil
				return fmt.Errorf("the storage of %s gave a nil record at %d", name, i)
			}
			if parent.run.config.Probe != nil {
				res.records = append(res.records, one)
			}
		}
		return nil
	}).err
	return fetched, err
}

package adk

import (
	"context"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/ordered"
)

// record is a type of record that the sets of a context hold.
type record interface {
	comparable
	Record
}

// Records is one of the sets of a context and the storage behind it, used through a handle. The set
// keeps insertion order and is keyed by id; standing instructions are keyed by text (RUN-12).
//
// Add and Remove change only the set. On a turn context Store, Mutate, Delete and Fetch only call
// the storage obligation (RUN-13). On a dispatch context Store, Mutate and Delete also change the
// dispatch's set and queue the change for the turn's set (DEL-1, DEL-2).
type Records[T record] struct {
	call *call
	spec *recordSpec[T]
}

func (r Records[T]) set() *ordered.Set[string, Record] { return &r.call.visible.sets[r.spec.at] }

// All returns the records in order, in a slice that the caller may change.
func (r Records[T]) All() []T {
	defer r.call.lock()()
	all := make([]T, 0, r.set().Len())
	for record := range r.set().Values() {
		all = append(all, record.(T))
	}
	return all
}

// Get returns the record with the key.
func (r Records[T]) Get(key string) (record T, found bool) {
	defer r.call.lock()()
	held, found := r.set().Get(key)
	if found {
		record = held.(T)
	}
	return record, found
}

// Has reports whether there is a record with the key.
func (r Records[T]) Has(key string) bool {
	defer r.call.lock()()
	return r.set().Has(key)
}

// Len returns the number of records.
func (r Records[T]) Len() int {
	defer r.call.lock()()
	return r.set().Len()
}

// Add puts a record into the set. A record with the same key is replaced in its place; replaced
// reports that (RUN-12). A record that no constructor made is refused, and so is a standing
// instruction whose text is empty or not valid UTF-8.
func (r Records[T]) Add(record T) (replaced bool, err error) {
	if err := r.refuse(KindAdd, record); err != nil {
		return false, err
	}
	err = r.call.step(KindAdd, func(_ time.Time, x *Crossing) {
		replaced = r.set().Add(record.Key(), record)
		if call, ok := any(record).(*ToolCall); ok && r.call.dispatch != nil {
			r.call.dispatch.counted.Changes(call.ID(), call.Checksum()) // a record that is not counted yet does not become so by Add
		}
		if x != nil {
			x.Collection, x.Record, x.Flag = r.spec.row().name, record, replaced
		}
	})
	return replaced, err
}

// Remove removes the record with the key from the set; found reports whether there was one.
func (r Records[T]) Remove(key string) (found bool, err error) {
	err = r.call.step(KindRemove, func(_ time.Time, x *Crossing) {
		if _, found = r.set().Remove(key); x != nil {
			x.Collection, x.Key, x.Flag = r.spec.row().name, key, found
		}
	})
	return found, err
}

// Fetch gets the records from the storage. It does not put them into the set; the caller does that,
// if it wants to (RUN-7).
func (r Records[T]) Fetch(ctx context.Context) ([]T, error) {
	var fetched []T
	err := r.span(ctx, r.spec.row().reads, nil, "", func(at *call) error {
		var err error
		fetched, err = callFetch(ctx, at, r.spec.row(), r.spec.storage(&at.run.config.Storage).Fetch)
		return err
	}, nil)
	return fetched, err
}

// Store stores a record. If the storage fails, nothing has happened (DEL-1).
func (r Records[T]) Store(ctx context.Context, record T) error { return r.put(ctx, KindStore, record) }

// Mutate replaces the record with the same key (DEL-4). If the storage fails, nothing has happened
// (DEL-1).
func (r Records[T]) Mutate(ctx context.Context, record T) error {
	return r.put(ctx, KindMutate, record)
}

// Keep stores a record and also puts it into the set, on a turn context as well as on a dispatch
// context: it calls Store and, if that succeeded, does what Add does. If the storage fails, nothing
// has happened.
func (r Records[T]) Keep(ctx context.Context, record T) error {
	if err := r.Store(ctx, record); err != nil {
		return err
	}
	if r.call.dispatch != nil {
		return nil // Store has put it into the dispatch's set
	}
	_, err := r.Add(record)
	return err
}

func (r Records[T]) put(ctx context.Context, kind Kind, record T) error {
	if err := r.refuse(kind, record); err != nil {
		return err
	}
	return r.write(ctx, &recordChange[T]{spec: r.spec, kind: kind, record: record, key: record.Key()}, record)
}

// Delete removes the record with the key (DEL-4). If the storage fails, nothing
// has happened (DEL-1).
func (r Records[T]) Delete(ctx context.Context, key string) error {
	return r.write(ctx, &recordChange[T]{spec: r.spec, kind: KindDelete, key: key}, nil)
}

// write implements store, mutate and delete. It calls the obligation and, on a dispatch context,
// applies the change to the dispatch's set and queues it, in one step (DEL-1, DEL-2). With
// write-behind the obligation waits for the flush (DEL-6). rec is the change's record, nil if it
// has none.
func (r Records[T]) write(ctx context.Context, change *recordChange[T], rec Record) error {
	d := r.call.dispatch
	later := d != nil && r.call.run.config.WriteBehind
	return r.span(ctx, change.kind, rec, change.key, func(at *call) error {
		if later {
			return nil
		}
		return change.persist(ctx, at)
	}, func() {
		if d != nil {
			d.take(delta{change, later})
		}
	})
}

// recordChange is a store, mutate or delete.
type recordChange[T record] struct {
	spec   *recordSpec[T]
	kind   Kind
	record T // none for a delete
	key    string
}

func (w *recordChange[T]) apply(v *visible) {
	set := &v.sets[w.spec.at]
	if w.kind == KindDelete {
		set.Remove(w.key)
		return
	}
	set.Add(w.key, w.record)
}

func (w *recordChange[T]) countIn(d *dispatch) {
	if call, ok := any(w.record).(*ToolCall); ok && w.kind != KindDelete {
		d.counted.Bears(call.ID(), call.Checksum())
	}
}

// persist calls the storage obligation, in a seam call of its own.
func (w *recordChange[T]) persist(ctx context.Context, parent *call) error {
	with := opened{record: w.record}
	if w.kind == KindDelete {
		with = opened{key: w.key}
	}
	c := parent.run.open(parent, storageSeam(w.spec.row().name, w.kind), parent.strand, with)
	storage := w.spec.storage(&c.run.config.Storage)
	return c.invoke(func() result { return result{err: w.call(c.hand(ctx), storage, c.scope())} }).err
}

func (w *recordChange[T]) call(ctx context.Context, storage Collection[T], scope Scope) error {
	switch w.kind {
	case KindDelete:
		return storage.Delete(ctx, scope, w.key)
	case KindMutate:
		return storage.Mutate(ctx, scope, w.record)
	default:
		return storage.Store(ctx, scope, w.record)
	}
}

// span reports the begin of an operation and calls body. If body succeeded, it makes the effect,
// and it reports in the same step that the operation is done.
func (r Records[T]) span(ctx context.Context, kind Kind, rec Record, key string, body func(at *call) error, effect func()) error {
	c := r.call
	if ctx == nil {
		return errNilContext(kind)
	}
	if err := c.enter(kind); err != nil {
		return err
	}
	op := c.begin(kind, func(x *Crossing) {
		x.Collection, x.Record = r.spec.row().name, rec
		if rec == nil {
			x.Key = key
		}
	})
	c.run.mu.Unlock()

	err := body(c)
	if err != nil {
		effect = nil
	}
	c.done(kind, op, err, effect)
	return err
}

// refuse returns the error for a record that must not be taken, or nil.
func (r Records[T]) refuse(kind Kind, record T) error {
	if fault := recordFault(record); fault != "" {
		return fmt.Errorf("adk: %s into %s: the record %s", kind, r.spec.row().name, fault)
	}
	return nil
}

// storageSeam returns the seam of an obligation, with a name such as messages.store.
func storageSeam(of CollectionName, verb Kind) Seam {
	return Seam{Label: LabelStorage, Name: obligationNames[obligation{of, verb}]}
}

// obligation is one of the storage obligations.
type obligation struct {
	of   CollectionName
	verb Kind
}

// obligationNames are made once, so that calls do not allocate them.
var obligationNames = nameObligations()

func nameObligations() map[obligation]string {
	names := map[obligation]string{}
	for _, row := range collectionTable {
		for _, verb := range []Kind{row.reads, KindStore, KindMutate, KindDelete} {
			names[obligation{row.name, verb}] = string(row.name) + "." + verb.String()
		}
	}
	return names
}

// callFetch calls an obligation that reads, in a seam call of its own, and checks what it returns.
func callFetch[T record](ctx context.Context, parent *call, of *collectionRow, body func(context.Context, Scope) ([]T, error)) (fetched []T, err error) {
	c := parent.run.open(parent, storageSeam(of.name, of.reads), parent.strand, opened{})
	err = c.invoke(func() (res result) {
		if fetched, res.err = body(c.hand(ctx), c.scope()); res.err != nil {
			fetched = nil
			return res
		}
		for i, one := range fetched {
			if fault := recordFault(one); fault != "" {
				fetched = nil
				res.err = fmt.Errorf("the storage of %s gave a record at %d that %s", of.name, i, fault)
				return res
			}
			if parent.run.config.Probe != nil {
				res.records = append(res.records, one)
			}
		}
		return res
	}).err
	return fetched, err
}

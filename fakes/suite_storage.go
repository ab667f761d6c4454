package fakes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// TestStorage checks a storage that keeps what it is given, and reports every
// fault at once, each with the rule that it breaks; nil means none. newStorage
// gives a storage that holds nothing of these checks yet, and is called for each.
//
//	if err := fakes.TestStorage(newStorage); err != nil {
//		t.Error(err)
//	}
//
// In what order a storage fetches is its own decision; only that it is the same
// each time is checked. A storage that keeps nothing is legal (RUN-2), but has
// nothing to check here.
func TestStorage(newStorage func() adk.Storage) error {
	if _, err := adk.NewRunner(adk.Config{Executor: Script{}.Executor("suite"), Storage: newStorage()}); err != nil {
		return fmt.Errorf("RUN-2: every obligation is there: %w", err)
	}
	return errors.Join(
		checkCollection(adk.Messages, func() adk.Collection[*adk.Message] { return newStorage().Messages }, sampleMessage),
		checkCollection(adk.Memories, func() adk.Collection[*adk.Memory] { return newStorage().Memories }, sampleMemory),
		checkCollection(adk.Retrievables, func() adk.Collection[*adk.Retrievable] { return newStorage().Retrievables }, sampleRetrievable),
		checkCollection(adk.Thoughts, func() adk.Collection[*adk.Thought] { return newStorage().Thoughts }, sampleThought),
		checkCollection(adk.ToolCalls, func() adk.Collection[*adk.ToolCall] { return newStorage().ToolCalls }, sampleToolCall),
		checkCollection(adk.Instructions, func() adk.Collection[*adk.Tokenizable] { return newStorage().Instructions }, sampleInstruction),
	)
}

// sample makes a record of a key; text is what it says, where it has a text
// beside its key.
type sample[T adk.Record] func(key, text string) (T, error)

// trial is one check of a collection that is empty.
type trial[T adk.Record] struct {
	name   adk.CollectionName
	c      adk.Collection[T]
	sample sample[T]
	faults []error
}

func checkCollection[T adk.Record](name adk.CollectionName, empty func() adk.Collection[T], make sample[T]) error {
	var faults []error
	for _, check := range []func(*trial[T]){
		(*trial[T]).keeps, (*trial[T]).replaces, (*trial[T]).mutates, (*trial[T]).deletes,
		(*trial[T]).keepsOrder, (*trial[T]).lendsNothing, (*trial[T]).servesMany,
	} {
		t := &trial[T]{name: name, c: empty(), sample: make}
		t.run(check)
		faults = append(faults, t.faults...)
	}
	return errors.Join(faults...)
}

// run makes a panic of the storage, or of a nil record that it gave, a fault
// like any other.
func (t *trial[T]) run(check func(*trial[T])) {
	defer func() {
		if value := recover(); value != nil {
			t.fault("RUN-2: obligations do not panic", "panic: %s", adk.PanicText(value))
		}
	}()
	check(t)
}

func (t *trial[T]) keeps() {
	const rule = "RUN-13: what is stored can be fetched"
	t.holds(rule, nil)
	t.store(rule, "a", "1")
	t.store(rule, "b", "2")
	t.holds(rule, map[string]string{"a": "1", "b": "2"})
}

func (t *trial[T]) replaces() {
	const rule = "DEL-4: storing a key that is there replaces its record"
	t.store(rule, "a", "1")
	t.store(rule, "a", "2")
	t.holds(rule, map[string]string{"a": "2"})
}

func (t *trial[T]) mutates() {
	const rule = "DEL-4: mutate replaces the record with the key, or keeps a new one"
	t.store(rule, "a", "1")
	t.mutate(rule, "a", "2")
	t.mutate(rule, "b", "3")
	t.holds(rule, map[string]string{"a": "2", "b": "3"})
}

func (t *trial[T]) deletes() {
	const rule = "DEL-4: delete removes by key, and an unknown key is no error"
	t.store(rule, "a", "1")
	t.store(rule, "b", "2")
	t.must(rule, "delete", t.c.Delete(context.Background(), adk.Scope{}, "a"))
	t.must(rule, "delete of a key that is gone", t.c.Delete(context.Background(), adk.Scope{}, "a"))
	t.holds(rule, map[string]string{"b": "2"})
}

func (t *trial[T]) keepsOrder() {
	const rule = "DET-3: two fetches give the same order"
	for i := range 20 {
		t.store(rule, strconv.Itoa(i), "x")
	}
	first := t.fetch(rule)
	for range 5 {
		if again := t.fetch(rule); !slices.EqualFunc(first, again, func(a, b T) bool { return a.Key() == b.Key() }) {
			t.fault(rule, "fetched the same records in another order")
			return
		}
	}
}

func (t *trial[T]) lendsNothing() {
	const rule = "RUN-11: what a fetch gives is the caller's own"
	t.store(rule, "a", "1")
	t.store(rule, "b", "2")
	if fetched := t.fetch(rule); len(fetched) > 1 {
		fetched[0] = fetched[1]
	}
	t.holds(rule, map[string]string{"a": "1", "b": "2"})
}

func (t *trial[T]) servesMany() {
	const rule = "RUN-11: obligations serve several goroutines at once"
	want := map[string]string{}
	var all []T
	for i := range 16 {
		key := strconv.Itoa(i)
		want[key] = "x"
		all = append(all, t.record(rule, key, "x"))
	}
	stored := make([]error, len(all))
	var wg sync.WaitGroup
	for i, record := range all {
		wg.Go(func() { stored[i] = fetchAndStore(t.c, record) })
	}
	wg.Wait()
	t.must(rule, "fetch and store", errors.Join(stored...))
	t.holds(rule, want)
}

// fetchAndStore makes a panic an error, as it would end the whole test from a
// goroutine of its own.
func fetchAndStore[T adk.Record](c adk.Collection[T], record T) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &adk.PanicError{Value: value}
		}
	}()
	if _, err := c.Fetch(context.Background(), adk.Scope{}); err != nil {
		return err
	}
	return c.Store(context.Background(), adk.Scope{}, record)
}

func (t *trial[T]) fault(rule, format string, args ...any) {
	t.faults = append(t.faults, fmt.Errorf("%s: %s: %w", t.name, rule, fmt.Errorf(format, args...)))
}

func (t *trial[T]) must(rule, what string, err error) {
	if err != nil {
		t.fault(rule, "%s failed: %w", what, err)
	}
}

// record makes a sample. That it cannot be made is a fault of this suite.
func (t *trial[T]) record(rule, key, text string) T {
	record, err := t.sample(key, text)
	t.must(rule, "making a record", err)
	return record
}

func (t *trial[T]) store(rule, key, text string) {
	t.must(rule, "store", t.c.Store(context.Background(), adk.Scope{}, t.record(rule, key, text)))
}

func (t *trial[T]) mutate(rule, key, text string) {
	t.must(rule, "mutate", t.c.Mutate(context.Background(), adk.Scope{}, t.record(rule, key, text)))
}

func (t *trial[T]) fetch(rule string) []T {
	fetched, err := t.c.Fetch(context.Background(), adk.Scope{})
	t.must(rule, "fetch", err)
	return fetched
}

// holds checks that the collection holds exactly the records of these keys and
// texts.
func (t *trial[T]) holds(rule string, want map[string]string) {
	missing := maps.Clone(want)
	seen := map[string]bool{}
	for _, got := range t.fetch(rule) {
		key := got.Key()
		if seen[key] {
			t.fault(rule, "fetched %q twice", key)
		}
		seen[key] = true
		text, wanted := want[key]
		delete(missing, key)
		switch {
		case !wanted:
			t.fault(rule, "fetched %q, which should not be there", key)
		case got.Digest() != t.record(rule, key, text).Digest():
			t.fault(rule, "fetched %q with other contents than were last given", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		t.fault(rule, "did not fetch %q", key)
	}
}

func sampleMessage(key, text string) (*adk.Message, error) {
	return adk.NewMessage(adk.MessageInit{ID: key, Role: adk.RoleUser, Content: text, CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleMemory(key, text string) (*adk.Memory, error) {
	return adk.NewMemory(adk.MemoryInit{ID: key, Content: text, Confidence: new(0.5), Importance: new(0.5), CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleRetrievable(key, text string) (*adk.Retrievable, error) {
	return adk.NewRetrievable(adk.RetrievableInit{ID: key, Content: text, TrustTier: adk.TrustFirstParty, CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleThought(key, text string) (*adk.Thought, error) {
	return adk.NewThought(adk.ThoughtInit{ID: key, Content: text, CreatedAt: Epoch, UpdatedAt: Epoch})
}

func sampleToolCall(key, text string) (*adk.ToolCall, error) {
	return adk.NewToolCall(adk.ToolCallInit{ID: key, Tool: "sample", Args: map[string]any{}, Results: adk.Text(text),
		CreatedAt: Epoch, UpdatedAt: Epoch, CompletedAt: Epoch})
}

func sampleInstruction(key, _ string) (*adk.Tokenizable, error) { return adk.NewTokenizable(key), nil }

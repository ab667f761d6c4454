package fakes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/storages"
)

func TestStorageSuitePasses(t *testing.T) {
	if err := fakes.TestStorage(func() adk.Storage { return fakes.NewStorage().Storage() }); err != nil {
		t.Error(err)
	}
}

// broken is a collection of messages that breaks rules.
type broken struct {
	adk.Collection[*adk.Message]
	shuffles, strict, panics bool
}

func (b broken) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
	if b.panics {
		panic("no connection")
	}
	fetched, err := b.Collection.Fetch(ctx, scope)
	if b.shuffles {
		rand.Shuffle(len(fetched), func(i, j int) { fetched[i], fetched[j] = fetched[j], fetched[i] })
	}
	return fetched, err
}

func (b broken) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if fetched, _ := b.Collection.Fetch(ctx, scope); b.strict && !slices.ContainsFunc(fetched, func(m *adk.Message) bool { return m.ID() == key }) {
		return errors.New("not found")
	}
	return b.Collection.Delete(ctx, scope, key)
}

// lending is a collection that returns the slice that it keeps.
type lending struct {
	adk.Collection[*adk.Message]
	mu   sync.Mutex
	kept []*adk.Message
}

func (l *lending) Fetch(context.Context, adk.Scope) ([]*adk.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept, nil
}

func (l *lending) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	err := l.Collection.Store(ctx, scope, m)
	fetched, failed := l.Collection.Fetch(ctx, scope)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = fetched
	return errors.Join(err, failed)
}

// RUN-11: a caller that sorts a fetched slice must not change the storage. The suite finds a storage
// that returns its own slice.
func TestStorageSuiteFindsWhatIsLent(t *testing.T) {
	err := fakes.TestStorage(func() adk.Storage {
		s := fakes.NewStorage().Storage()
		s.Messages = &lending{Collection: s.Messages}
		return s
	})
	if err == nil || !strings.Contains(err.Error(), "messages: RUN-11: what a fetch gives is the caller's own") {
		t.Errorf("got %v", err)
	}
}

// The suite finds what is wrong with a storage, names the rule, and reports everything in one error.
func TestStorageSuiteFinds(t *testing.T) {
	for name, c := range map[string]struct {
		broken broken
		says   []string
	}{
		"shuffled": {broken{shuffles: true}, []string{"messages: DET-3"}},
		"strict":   {broken{strict: true}, []string{"messages: DEL-4: delete removes by key, and an unknown key is no error", "not found"}},
		"panics":   {broken{panics: true}, []string{"messages: RUN-2: obligations do not panic: panic: no connection"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := fakes.TestStorage(func() adk.Storage {
				s := fakes.NewStorage().Storage()
				c.broken.Collection = s.Messages
				s.Messages = c.broken
				return s
			})
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant it to say %s", err, want)
				}
			}
			if err != nil && strings.Count(err.Error(), c.says[0]) != 1 {
				t.Errorf("said more than once: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "thoughts") {
				t.Errorf("a fault of the thoughts, which are sound: %v", err)
			}
		})
	}
}

func TestStorageSuiteOfNothing(t *testing.T) {
	err := fakes.TestStorage(func() adk.Storage { return adk.Storage{} })
	if err == nil || !strings.Contains(err.Error(), "RUN-2") || !strings.Contains(err.Error(), "Storage.Tools is missing") {
		t.Errorf("got %v, want RUN-2 and every missing field", err)
	}
	var all []string
	for _, of := range adk.Collections() {
		if of != adk.Tools { // tools have only an obligation that reads
			all = append(all, string(of))
		}
	}
	slices.Sort(all)
	if err = fakes.TestStorage(fakes.NoOpStorage); err == nil {
		t.Fatal("nothing is wrong with a storage that keeps nothing")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, rule := range []string{"RUN-13", "DEL-4: storing", "DEL-4: mutate", "RUN-11"} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			of, fault, _ := strings.Cut(line, ": ")
			return strings.HasPrefix(fault, rule) && slices.Equal(slices.Sorted(slices.Values(strings.Split(of, ", "))), all)
		}) {
			t.Errorf("a storage that keeps nothing: none of %d lines says %s of %q", len(lines), rule, all)
		}
	}
}

// tenants is a storage for several tenants: the stash has to name the tenant. Without a tenant its
// obligations panic, or refuse if refuses is set.
type tenants struct {
	refuses bool
	mu      sync.Mutex
	of      map[string]map[adk.CollectionName]storages.Obligations
}

func newTenants(refuses bool) adk.Storage {
	s := storages.Of(&tenants{refuses: refuses, of: map[string]map[adk.CollectionName]storages.Obligations{}})
	s.Tools = fakes.NewStorage().Storage().Tools
	return s
}

var errNoTenant = errors.New("no tenant")

// collection returns the collection of the tenant in the scope.
func (t *tenants) collection(scope adk.Scope, of adk.CollectionName) (storages.Obligations, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, ok := scope.Stash.Get("tenant", nil).(string)
	switch {
	case !ok && t.refuses:
		return nil, errNoTenant
	case !ok:
		panic("no tenant")
	case t.of[name] == nil:
		t.of[name] = storages.Each(fakes.NewStorage().Storage())
	}
	return t.of[name][of], nil
}

func (t *tenants) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	kept, err := t.collection(scope, of)
	if err != nil {
		return nil, err
	}
	return kept.Fetch(ctx, scope, of)
}

func (t *tenants) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	kept, err := t.collection(scope, of)
	if err != nil {
		return err
	}
	return kept.Write(ctx, scope, of, verb, record, key)
}

// RUN-13: the scope of an obligation has the id of a turn and a readable stash, which the suite fills
// with what its caller passes.
func TestStorageSuiteHasAStash(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		err := fakes.TestStorage(func() adk.Storage { return newTenants(refuses) }, map[string]any{"tenant": "shop"})
		if err != nil {
			t.Errorf("a storage of tenants, with a tenant: %v", err)
		}
	}
	var seen atomic.Pointer[adk.Scope]
	_ = fakes.TestStorage(func() adk.Storage {
		s := fakes.NewStorage().Storage()
		s.Messages = seeing{s.Messages, &seen}
		return s
	})
	if scope := seen.Load(); scope.TurnID == "" || scope.DispatchID != "" || scope.Stash == nil {
		t.Errorf("got %+v, want a turn, no dispatch and a stash", scope)
	}
	err := fakes.TestStorage(fakes.NoOpStorage, map[string]any{"a": make(chan int), "": 1})
	if !errors.Is(err, adk.E_INVALID_TURN_CONTEXT) {
		t.Errorf("got %v, want the stash refused", err)
	}
}

// seeing stores the scope with which it is called.
type seeing struct {
	adk.Collection[*adk.Message]
	seen *atomic.Pointer[adk.Scope]
}

func (s seeing) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
	s.seen.Store(&scope)
	return s.Collection.Fetch(ctx, scope)
}

// A fault that is the same everywhere is reported once, for all collections and checks, with the place of
// the panic, and errors.Is finds the error.
func TestStorageSuiteSaysEachFaultOnce(t *testing.T) {
	var written []string
	for _, of := range adk.Collections() {
		if of != adk.Tools {
			written = append(written, string(of))
		}
	}
	err := fakes.TestStorage(func() adk.Storage { return newTenants(false) })
	if err == nil {
		t.Fatal("a storage that panics passes")
	}
	lines := strings.Split(err.Error(), "\n")
	everywhere, said, _ := strings.Cut(lines[0], ": ")
	if !slices.Equal(slices.Sorted(slices.Values(strings.Split(everywhere, ", "))), slices.Sorted(slices.Values(written))) ||
		said != "RUN-2: obligations do not panic: panic: no tenant" ||
		lines[1] != "    in the checks keeps, replaces, mutates, deletes, heeds its context, keeps order, lends nothing, serves many, first come, any key, to the edge, one key, whole while written, holds many" ||
		!strings.HasPrefix(lines[2], "    at github.com/adkreplay/adkreplay/fakes_test.(*tenants).collection, ") || !strings.Contains(lines[2], "suite_storage_test.go:") {
		t.Errorf("it says\n%v", err)
	}
	if got := strings.Count(err.Error(), "RUN-2"); got != 1 {
		t.Errorf("said %d times:\n%v", got, err)
	}

	err = fakes.TestStorage(func() adk.Storage { return newTenants(true) })
	if !errors.Is(err, errNoTenant) {
		t.Errorf("got %v, want it to lead to the storage's own error", err)
	}
	if first, _, _ := strings.Cut(err.Error(), "\n"); !strings.HasPrefix(first, everywhere+": RUN-13: what is stored can be fetched; DEL-4: ") || !strings.HasSuffix(first, ": fetch failed: no tenant") {
		t.Errorf("it begins %s", first)
	}
	if got := strings.Count(err.Error(), "fetch failed"); got != 1 {
		t.Errorf("said %d times:\n%v", got, err)
	}
}

// RUN-2: the suite abandons an obligation that hangs, and reports the line that waits and what it has
// found until then.
func TestStorageSuiteDoesNotHang(t *testing.T) {
	err := fakes.TestStorage(func() adk.Storage {
		s := fakes.NewStorage().Storage()
		s.Memories = &relocking{Collection: s.Memories}
		return s
	})
	if err == nil || !strings.Contains(err.Error(), `RUN-2: an obligation answers: in the check "keeps" of memories: deadlock`) ||
		!strings.Contains(err.Error(), "suite_storage_test.go:") {
		t.Errorf("want a deadlock with its line, got %v", err)
	}
}

// relocking is a collection whose Store locks the mutex that its Fetch has not unlocked.
type relocking struct {
	adk.Collection[*adk.Memory]
	lock sync.Mutex
}

func (r *relocking) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Memory, error) {
	r.lock.Lock()
	return r.Collection.Fetch(ctx, scope)
}

func (r *relocking) Store(ctx context.Context, scope adk.Scope, m *adk.Memory) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.Collection.Store(ctx, scope, m)
}

package fakes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// odd is a collection of messages in which some obligations behave differently; a nil function behaves
// correctly.
type odd struct {
	adk.Collection[*adk.Message]
	fetch  func(context.Context, adk.Scope) ([]*adk.Message, error)
	store  func(context.Context, adk.Scope, *adk.Message) error
	delete func(context.Context, adk.Scope, string) error
}

func (o odd) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
	if o.fetch != nil {
		return o.fetch(ctx, scope)
	}
	return o.Collection.Fetch(ctx, scope)
}

func (o odd) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	if o.store != nil {
		return o.store(ctx, scope, m)
	}
	return o.Collection.Store(ctx, scope, m)
}

func (o odd) Mutate(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	return o.Store(ctx, scope, m)
}

func (o odd) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if o.delete != nil {
		return o.delete(ctx, scope, key)
	}
	return o.Collection.Delete(ctx, scope, key)
}

// STO-2, STO-3, STO-5, STO-7, STO-8, STO-11: the suite finds the faults of storages that have to
// last.
func TestStorageSuiteFindsWhatDoesNotLast(t *testing.T) {
	shop := map[string]any{"tenant": "shop"}
	refused := errors.New("database is locked")
	for name, c := range map[string]struct {
		odd   func(adk.Collection[*adk.Message]) odd
		suite fakes.Suite
		says  string
	}{
		"replacing moves to the end": {odd: func(c adk.Collection[*adk.Message]) odd {
			return odd{Collection: c, store: func(ctx context.Context, scope adk.Scope, m *adk.Message) error {
				return errors.Join(c.Delete(ctx, scope, m.ID()), c.Store(ctx, scope, m))
			}}
		}, says: "STO-5"},
		"a key ends at NUL": {odd: func(c adk.Collection[*adk.Message]) odd {
			return odd{Collection: c, delete: func(ctx context.Context, scope adk.Scope, key string) error {
				key, _, _ = strings.Cut(key, "\x00")
				return c.Delete(ctx, scope, key)
			}}
		}, says: "STO-7"},
		"a deleted pattern": {odd: func(c adk.Collection[*adk.Message]) odd {
			return odd{Collection: c, delete: func(ctx context.Context, scope adk.Scope, key string) error {
				all, err := c.Fetch(ctx, scope)
				for _, m := range all {
					if m.ID() == key || key == "%" {
						err = errors.Join(err, c.Delete(ctx, scope, m.ID()))
					}
				}
				return err
			}}
		}, says: "STO-7"},
		"milliseconds": {odd: func(c adk.Collection[*adk.Message]) odd {
			return odd{Collection: c, store: func(ctx context.Context, scope adk.Scope, m *adk.Message) error {
				init := m.Init()
				init.CreatedAt, init.UpdatedAt = init.CreatedAt.Truncate(time.Millisecond), init.UpdatedAt.Truncate(time.Millisecond)
				cut, err := adk.NewMessage(init)
				return errors.Join(err, c.Store(ctx, scope, cut))
			}}
		}, says: "STO-2: a record comes back as it was stored"},
		"two writers": {odd: func(c adk.Collection[*adk.Message]) odd {
			var writes atomic.Int64
			return odd{Collection: c, store: func(ctx context.Context, scope adk.Scope, m *adk.Message) error {
				if m.ID() == "one" && writes.Add(1)%2 == 0 {
					return refused
				}
				return c.Store(ctx, scope, m)
			}}
		}, says: "STO-11: of two writers of one key"},
		"half of a fetch": {odd: func(c adk.Collection[*adk.Message]) odd {
			return odd{Collection: c, fetch: func(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
				all, err := c.Fetch(ctx, scope)
				if len(all) > 20 && len(all) < 33 {
					all = all[1:]
				}
				return all, err
			}}
		}, says: "STO-11: a fetch gives whole records"},
		"each among all": {odd: func(c adk.Collection[*adk.Message]) odd {
			return odd{Collection: c, fetch: func(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
				all, err := c.Fetch(ctx, scope)
				for range all {
					waste.Store(new([64 << 10]byte))
				}
				return all, err
			}}
		}, suite: fakes.Suite{Many: 300}, says: "STO-8"},
		"one partition": {suite: fakes.Suite{Scopes: []fakes.OtherScope{{Stash: shop}}}, says: "STO-3"},
		"nothing shared": {odd: func(c adk.Collection[*adk.Message]) odd {
			mine, others := &sync.Mutex{}, map[string]adk.Collection[*adk.Message]{"": c}
			of := func(scope adk.Scope) adk.Collection[*adk.Message] {
				mine.Lock()
				defer mine.Unlock()
				tenant := scope.Stash.Get("tenant", "").(string)
				if others[tenant] == nil {
					others[tenant] = fakes.NewStorage().Storage().Messages
				}
				return others[tenant]
			}
			return odd{Collection: c, fetch: func(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) { return of(scope).Fetch(ctx, scope) }}
		}, suite: fakes.Suite{Scopes: []fakes.OtherScope{{Stash: shop, Shared: adk.Collections()}}}, says: "STO-3"},
		"gone with the process": {suite: fakes.Suite{Reopen: func() (adk.Storage, error) { return fakes.NewStorage().Storage(), nil }}, says: "STO-2: a record is the same after"},
		"cannot be opened":      {suite: fakes.Suite{Reopen: func() (adk.Storage, error) { return adk.Storage{}, refused }}, says: "opening the storage again failed: database is locked"},
		"cannot be broken":      {suite: fakes.Suite{Break: func() {}}, says: "STO-6: an obligation is done, or fails and changes nothing: a store that was broken gave no error"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fakes.TestStorageWith(func() adk.Storage {
				s := fakes.NewStorage().Storage()
				if c.odd != nil {
					s.Messages = c.odd(s.Messages)
				}
				return s
			}, c.suite)
			if err == nil || !strings.Contains(err.Error(), "messages") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v\nwant it to say %s of the messages", err, c.says)
			}
		})
	}
}

// waste is memory that a fetch allocates in excess.
var waste atomic.Pointer[[64 << 10]byte]

// STO-6: the suite finds a write that has an effect and then reports a failure, and accepts a write that
// fails without an effect.
func TestStorageSuiteBreaks(t *testing.T) {
	for _, afterWrite := range []bool{false, true} {
		var made *fakes.Storage
		writes, broken := []fakes.Op{fakes.OpStore, fakes.OpMutate, fakes.OpDelete}, 0
		err := fakes.TestStorageWith(func() adk.Storage {
			made = fakes.NewStorage()
			return made.Storage()
		}, fakes.Suite{Many: 1, Break: func() {
			made.Fail(fakes.Fault{Op: writes[broken%len(writes)], Occurrence: 1, AfterWrite: afterWrite})
			broken++
		}})
		if found := err != nil && strings.Contains(err.Error(), "STO-6"); found != afterWrite {
			t.Errorf("after its write %t: got %v", afterWrite, err)
		}
	}
}

// STO-5, STO-9: the suite does not check the order if the storage decides it, and finds a nil
// tool.
func TestStorageSuiteOfAnyOrder(t *testing.T) {
	newStorage := func() adk.Storage {
		s := fakes.NewStorage().Storage()
		inner := s.Messages
		s.Messages = odd{Collection: inner, fetch: func(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
			all, err := inner.Fetch(ctx, scope)
			for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
				all[i], all[j] = all[j], all[i]
			}
			return all, err
		}}
		return s
	}
	if err := fakes.TestStorageWith(newStorage, fakes.Suite{AnyOrder: true}); err != nil {
		t.Error(err)
	}
	if err := fakes.TestStorage(newStorage); err == nil || !strings.Contains(err.Error(), "messages: STO-5") {
		t.Errorf("got %v, want STO-5 of the messages", err)
	}
	err := fakes.TestStorage(func() adk.Storage {
		s := fakes.NewStorage().Storage()
		s.Tools = noTool{}
		return s
	})
	if err == nil || err.Error() != "tools: STO-9: no tool is nil: tool 0 is nil" {
		t.Errorf("got %v", err)
	}
}

// noTool is a tool source that returns a nil tool.
type noTool struct{}

func (noTool) Fetch(context.Context, adk.Scope) ([]*adk.Tool, error) { return []*adk.Tool{nil}, nil }

// Package storages treats the obligations of all collections of a storage alike. It connects the
// typed collections with code that does not distinguish them, so a new collection is named in this
// file and not in that code.
package storages

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// Obligations are the obligations of a whole storage, for records of any kind.
type Obligations interface {
	// Fetch returns the records of a collection.
	Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error)
	// Write stores or mutates a record, or deletes the one with the key, depending on verb.
	Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error
}

// Deferred is implemented by obligations whose effects may be undone after they have returned.
type Deferred interface {
	// Defers reports whether that may happen for a collection.
	Defers(of adk.CollectionName) bool
}

// Of returns a storage that calls o. It is an error if o fetches a record of another collection.
func Of(o Obligations) adk.Storage {
	w := &whole{}
	w.messages = typed[*adk.Message]{w, o, adk.Messages}
	w.memories = typed[*adk.Memory]{w, o, adk.Memories}
	w.retrievables = typed[*adk.Retrievable]{w, o, adk.Retrievables}
	w.thoughts = typed[*adk.Thought]{w, o, adk.Thoughts}
	w.toolCalls = typed[*adk.ToolCall]{w, o, adk.ToolCalls}
	w.instructions = typed[*adk.Tokenizable]{w, o, adk.Instructions}
	w.tools = typed[*adk.Tool]{w, o, adk.Tools}
	return w.storage()
}

// whole is a storage that Of made. It is one allocation, because code that runs thousands of turns
// makes a storage for each.
type whole struct {
	messages     typed[*adk.Message]
	memories     typed[*adk.Memory]
	retrievables typed[*adk.Retrievable]
	thoughts     typed[*adk.Thought]
	toolCalls    typed[*adk.ToolCall]
	instructions typed[*adk.Tokenizable]
	tools        typed[*adk.Tool]
}

func (w *whole) storage() adk.Storage {
	return adk.Storage{Messages: &w.messages, Memories: &w.memories, Retrievables: &w.retrievables, Thoughts: &w.thoughts,
		ToolCalls: &w.toolCalls, Instructions: &w.instructions, Tools: &w.tools}
}

// Made returns the obligations from which Of made a storage. It returns nil if Of did not make the
// storage, or if a collection of records was replaced; the tools may be.
func Made(s adk.Storage) Obligations {
	messages, ok := s.Messages.(*typed[*adk.Message])
	if !ok {
		return nil
	}
	all := messages.whole.storage()
	if s.Tools, all.Tools = nil, nil; all != s {
		return nil
	}
	return messages.all
}

// Each returns the obligations of each collection of a storage. A collection that is missing has
// none.
func Each(s adk.Storage) map[adk.CollectionName]Obligations {
	p := &parts{
		untyped[*adk.Message]{s.Messages}, untyped[*adk.Memory]{s.Memories}, untyped[*adk.Retrievable]{s.Retrievables},
		untyped[*adk.Thought]{s.Thoughts}, untyped[*adk.ToolCall]{s.ToolCalls}, untyped[*adk.Tokenizable]{s.Instructions}, source{s.Tools},
	}
	all := make(map[adk.CollectionName]Obligations, len(adk.StateDigest{}.Lists))
	put(all, adk.Messages, &p.messages)
	put(all, adk.Memories, &p.memories)
	put(all, adk.Retrievables, &p.retrievables)
	put(all, adk.Thoughts, &p.thoughts)
	put(all, adk.ToolCalls, &p.toolCalls)
	put(all, adk.Instructions, &p.instructions)
	if p.tools.inner != nil {
		all[adk.Tools] = &p.tools
	}
	return all
}

// put adds a collection, unless it is missing.
func put[T adk.Record](all map[adk.CollectionName]Obligations, of adk.CollectionName, c *untyped[T]) {
	if c.inner != nil {
		all[of] = c
	}
}

// parts are the collections of a storage, in one allocation.
type parts struct {
	messages     untyped[*adk.Message]
	memories     untyped[*adk.Memory]
	retrievables untyped[*adk.Retrievable]
	thoughts     untyped[*adk.Thought]
	toolCalls    untyped[*adk.ToolCall]
	instructions untyped[*adk.Tokenizable]
	tools        source
}

// Guard intercepts the obligations of a storage. do performs the obligation, and the result of
// Guard is returned to the caller. record is the record that is written, if any, and key its key,
// or the key of the record that is deleted.
type Guard interface {
	Guard(scope adk.Scope, of adk.CollectionName, record adk.Record, key string, do func() error) error
}

// Guarded returns a storage in which a guard intercepts each obligation. A missing collection stays
// missing, so that the engine reports it.
func Guarded(s adk.Storage, by Guard) adk.Storage {
	s.Messages, s.Memories, s.Retrievables = guard(s.Messages, by, adk.Messages), guard(s.Memories, by, adk.Memories), guard(s.Retrievables, by, adk.Retrievables)
	s.Thoughts, s.ToolCalls, s.Instructions = guard(s.Thoughts, by, adk.Thoughts), guard(s.ToolCalls, by, adk.ToolCalls), guard(s.Instructions, by, adk.Instructions)
	if s.Tools != nil {
		s.Tools = &guardedTools{s.Tools, by}
	}
	return s
}

func guard[T adk.Record](c adk.Collection[T], by Guard, of adk.CollectionName) adk.Collection[T] {
	if c == nil {
		return nil
	}
	return &guarded[T]{c, by, of}
}

// guarded is one collection of Guarded.
type guarded[T adk.Record] struct {
	inner adk.Collection[T]
	by    Guard
	of    adk.CollectionName
}

func (c *guarded[T]) Fetch(ctx context.Context, scope adk.Scope) ([]T, error) {
	return fetchGuarded(ctx, scope, c.inner, c.by, c.of)
}

func (c *guarded[T]) Store(ctx context.Context, scope adk.Scope, record T) error {
	return c.by.Guard(scope, c.of, record, record.Key(), func() error { return c.inner.Store(ctx, scope, record) })
}

func (c *guarded[T]) Mutate(ctx context.Context, scope adk.Scope, record T) error {
	return c.by.Guard(scope, c.of, record, record.Key(), func() error { return c.inner.Mutate(ctx, scope, record) })
}

func (c *guarded[T]) Delete(ctx context.Context, scope adk.Scope, key string) error {
	return c.by.Guard(scope, c.of, nil, key, func() error { return c.inner.Delete(ctx, scope, key) })
}

// guardedTools is the storage of tools, which only reads.
type guardedTools struct {
	inner adk.ToolSource
	by    Guard
}

func (c *guardedTools) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Tool, error) {
	return fetchGuarded(ctx, scope, c.inner, c.by, adk.Tools)
}

// fetchGuarded fetches through a guard.
func fetchGuarded[T any](ctx context.Context, scope adk.Scope, inner interface {
	Fetch(context.Context, adk.Scope) ([]T, error)
}, by Guard, of adk.CollectionName) (fetched []T, err error) {
	err = by.Guard(scope, of, nil, "", func() (err error) {
		fetched, err = inner.Fetch(ctx, scope)
		return err
	})
	if err != nil {
		return nil, err
	}
	return fetched, nil
}

// Mixed returns a storage with the obligations of mine for which takes returns true, given the name
// of a seam such as messages.store, and all others, including those that mine lacks, of rest.
func Mixed(mine, rest adk.Storage, takes func(seam string) bool) adk.Storage {
	s := adk.Storage{
		Messages:     mixed(takes, adk.Messages, mine.Messages, rest.Messages),
		Memories:     mixed(takes, adk.Memories, mine.Memories, rest.Memories),
		Retrievables: mixed(takes, adk.Retrievables, mine.Retrievables, rest.Retrievables),
		Thoughts:     mixed(takes, adk.Thoughts, mine.Thoughts, rest.Thoughts),
		ToolCalls:    mixed(takes, adk.ToolCalls, mine.ToolCalls, rest.ToolCalls),
		Instructions: mixed(takes, adk.Instructions, mine.Instructions, rest.Instructions),
		Tools:        rest.Tools,
	}
	if mine.Tools != nil && takes(Name(adk.Tools, adk.Tools.Reads())) {
		s.Tools = mine.Tools
	}
	return s
}

// Give adds records to those that a standalone dispatch begins with, each to the collection of its
// type. It ignores records of other types.
func Give(raw *adk.RawDispatch, records ...adk.Record) {
	for _, r := range records {
		switch r := r.(type) {
		case *adk.Message:
			raw.Messages = append(raw.Messages, r)
		case *adk.Memory:
			raw.Memories = append(raw.Memories, r)
		case *adk.Retrievable:
			raw.Retrievables = append(raw.Retrievables, r)
		case *adk.Thought:
			raw.Thoughts = append(raw.Thoughts, r)
		case *adk.ToolCall:
			raw.ToolCalls = append(raw.ToolCalls, r)
		}
	}
}

// Set is a set of a context, and the storage behind it, for records of any kind. A nil record is
// passed on as a nil record of the set's type, which the engine refuses. So is a record of another
// type.
type Set interface {
	// Takes reports whether a record is nil or has the set's type.
	Takes(record adk.Record) bool
	Add(record adk.Record) (replaced bool, err error)
	Remove(key string) (found bool, err error)
	Fetch(ctx context.Context) ([]adk.Record, error)
	Store(ctx context.Context, record adk.Record) error
	Mutate(ctx context.Context, record adk.Record) error
	Delete(ctx context.Context, key string) error
}

// SetOf returns the set of a collection in a handle. It returns nil if there is none, as for tools,
// which are in a registry.
func SetOf(h adk.Handle, of adk.CollectionName) Set {
	switch of {
	case adk.Messages:
		return set[*adk.Message]{h.Messages()}
	case adk.Memories:
		return set[*adk.Memory]{h.Memories()}
	case adk.Retrievables:
		return set[*adk.Retrievable]{h.Retrievables()}
	case adk.Thoughts:
		return set[*adk.Thought]{h.Thoughts()}
	case adk.ToolCalls:
		return set[*adk.ToolCall]{h.ToolCalls()}
	case adk.Instructions:
		return set[*adk.Tokenizable]{h.Instructions()}
	}
	return nil
}

// Verbs returns the kinds of the obligations of a collection.
func Verbs(of adk.CollectionName) []adk.Kind {
	if of == adk.Tools { // the turn has a registry of them
		return []adk.Kind{of.Reads()}
	}
	return []adk.Kind{of.Reads(), adk.KindStore, adk.KindMutate, adk.KindDelete}
}

// OutlivesSession reports whether records of a collection are usually useful to all sessions of a
// tenant (STO-4). That is true of what was learned and of instructions, but not of what was said.
func OutlivesSession(of adk.CollectionName) bool {
	return of == adk.Memories || of == adk.Retrievables || of == adk.Instructions
}

// Delete deletes the record with a key.
func Delete(ctx context.Context, o Obligations, scope adk.Scope, of adk.CollectionName, key string) error {
	return o.Write(ctx, scope, of, adk.KindDelete, nil, key)
}

// Name returns the name of the seam of an obligation, such as messages.store.
func Name(of adk.CollectionName, verb adk.Kind) string { return string(of) + "." + verb.String() }

// set implements Set.
type set[T interface {
	comparable
	adk.Record
}] struct{ adk.Records[T] }

func (s set[T]) Takes(record adk.Record) bool {
	_, ok := record.(T)
	return ok || record == nil
}

func (s set[T]) Add(record adk.Record) (bool, error) { return s.Records.Add(as[T](record)) }

func (s set[T]) Fetch(ctx context.Context) ([]adk.Record, error) { return anyOf(s.Records.Fetch(ctx)) }

func (s set[T]) Store(ctx context.Context, record adk.Record) error {
	return s.Records.Store(ctx, as[T](record))
}

func (s set[T]) Mutate(ctx context.Context, record adk.Record) error {
	return s.Records.Mutate(ctx, as[T](record))
}

// as returns a record as a T, or nil if it has another type.
func as[T adk.Record](record adk.Record) T {
	typed, _ := record.(T)
	return typed
}

// typed is one collection of Of.
type typed[T adk.Record] struct {
	whole *whole
	all   Obligations
	of    adk.CollectionName
}

func (c *typed[T]) Fetch(ctx context.Context, scope adk.Scope) ([]T, error) {
	return c.typed(c.all.Fetch(ctx, scope, c.of))
}

// typed converts records that were fetched to the collection's type.
func (c *typed[T]) typed(fetched []adk.Record, err error) ([]T, error) {
	if err != nil || fetched == nil {
		return nil, err
	}
	records := make([]T, len(fetched))
	for i, r := range fetched {
		record, fits := r.(T)
		if !fits {
			return nil, fmt.Errorf("storage of %s: record %d is a %T", c.of, i, r)
		}
		records[i] = record
	}
	return records, nil
}

// Defers reports whether writes to the collection may be undone later, for code that deletes what
// belongs to a record.
func (c *typed[T]) Defers() bool {
	deferred, ok := c.all.(Deferred)
	return ok && deferred.Defers(c.of)
}

func (c *typed[T]) Store(ctx context.Context, scope adk.Scope, record T) error {
	return c.all.Write(ctx, scope, c.of, adk.KindStore, record, record.Key())
}

func (c *typed[T]) Mutate(ctx context.Context, scope adk.Scope, record T) error {
	return c.all.Write(ctx, scope, c.of, adk.KindMutate, record, record.Key())
}

func (c *typed[T]) Delete(ctx context.Context, scope adk.Scope, key string) error {
	return c.all.Write(ctx, scope, c.of, adk.KindDelete, nil, key)
}

// untyped is one collection of Each.
type untyped[T adk.Record] struct{ inner adk.Collection[T] }

func (c *untyped[T]) Fetch(ctx context.Context, scope adk.Scope, _ adk.CollectionName) ([]adk.Record, error) {
	return anyOf(c.inner.Fetch(ctx, scope))
}

func (c *untyped[T]) Write(ctx context.Context, scope adk.Scope, _ adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	switch verb {
	case adk.KindStore:
		return c.inner.Store(ctx, scope, record.(T))
	case adk.KindMutate:
		return c.inner.Mutate(ctx, scope, record.(T))
	default:
		return c.inner.Delete(ctx, scope, key)
	}
}

// source is the storage of tools, which only reads.
type source struct{ inner adk.ToolSource }

func (c *source) Fetch(ctx context.Context, scope adk.Scope, _ adk.CollectionName) ([]adk.Record, error) {
	return anyOf(c.inner.Fetch(ctx, scope))
}

func (c *source) Write(context.Context, adk.Scope, adk.CollectionName, adk.Kind, adk.Record, string) error {
	return fmt.Errorf("storage of %s only reads", adk.Tools)
}

func anyOf[T adk.Record](fetched []T, err error) ([]adk.Record, error) {
	if err != nil || fetched == nil {
		return nil, err
	}
	all := make([]adk.Record, len(fetched))
	for i, r := range fetched {
		all[i] = r
	}
	return all, nil
}

// mixed returns one collection of Mixed.
func mixed[T adk.Record](takes func(string) bool, of adk.CollectionName, mine, rest adk.Collection[T]) adk.Collection[T] {
	if mine == nil {
		return rest
	}
	choose := func(verb adk.Kind) adk.Collection[T] {
		if takes(Name(of, verb)) {
			return mine
		}
		return rest
	}
	return chosen[T]{choose(of.Reads()), choose(adk.KindStore), choose(adk.KindMutate), choose(adk.KindDelete)}
}

// chosen is a collection in which each obligation may come from another collection.
type chosen[T adk.Record] struct{ fetch, store, mutate, delete adk.Collection[T] }

func (c chosen[T]) Fetch(ctx context.Context, s adk.Scope) ([]T, error) { return c.fetch.Fetch(ctx, s) }

func (c chosen[T]) Store(ctx context.Context, s adk.Scope, record T) error {
	return c.store.Store(ctx, s, record)
}

func (c chosen[T]) Mutate(ctx context.Context, s adk.Scope, record T) error {
	return c.mutate.Mutate(ctx, s, record)
}

func (c chosen[T]) Delete(ctx context.Context, s adk.Scope, key string) error {
	return c.delete.Delete(ctx, s, key)
}

// NoOp returns a storage that stores nothing and returns nothing.
func NoOp() adk.Storage {
	return adk.Storage{
		Messages:     noOp[*adk.Message]{},
		Memories:     noOp[*adk.Memory]{},
		Retrievables: noOp[*adk.Retrievable]{},
		Thoughts:     noOp[*adk.Thought]{},
		ToolCalls:    noOp[*adk.ToolCall]{},
		Instructions: noOp[*adk.Tokenizable]{},
		Tools:        noOp[*adk.Tool]{},
	}
}

type noOp[T adk.Record] struct{}

func (noOp[T]) Fetch(context.Context, adk.Scope) ([]T, error)   { return nil, nil }
func (noOp[T]) Store(context.Context, adk.Scope, T) error       { return nil }
func (noOp[T]) Mutate(context.Context, adk.Scope, T) error      { return nil }
func (noOp[T]) Delete(context.Context, adk.Scope, string) error { return nil }

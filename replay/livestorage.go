package replay

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
)

// storage is the scripted storage with the live obligations in their places.
func (l Live) storage(scripted adk.Storage) adk.Storage {
	mine := &l.Config.Storage
	s := adk.Storage{
		Messages:     mixed(l, adk.Messages, mine.Messages, scripted.Messages),
		Memories:     mixed(l, adk.Memories, mine.Memories, scripted.Memories),
		Retrievables: mixed(l, adk.Retrievables, mine.Retrievables, scripted.Retrievables),
		Thoughts:     mixed(l, adk.Thoughts, mine.Thoughts, scripted.Thoughts),
		ToolCalls:    mixed(l, adk.ToolCalls, mine.ToolCalls, scripted.ToolCalls),
		Instructions: mixed(l, adk.Instructions, mine.Instructions, scripted.Instructions),
		Tools:        scripted.Tools,
	}
	if mine.Tools != nil && l.takesSeam(adk.LabelStorage, "tools.fetch") {
		s.Tools = mine.Tools
	}
	return s
}

// mixed is one collection with its live obligations.
func mixed[T adk.Record](l Live, of adk.CollectionName, mine, scripted adk.Collection[T]) adk.Collection[T] {
	if mine == nil {
		return scripted
	}
	choose := func(verb string) adk.Collection[T] {
		if l.takesSeam(adk.LabelStorage, string(of)+"."+verb) {
			return mine
		}
		return scripted
	}
	fetch := "fetch"
	if of == adk.Instructions {
		fetch = "refresh"
	}
	return obligations[T]{choose(fetch), choose("store"), choose("mutate"), choose("delete")}
}

// obligations is a collection of which each obligation comes from its own.
type obligations[T adk.Record] struct{ fetch, store, mutate, delete adk.Collection[T] }

func (o obligations[T]) Fetch(ctx context.Context, s adk.Scope) ([]T, error) {
	return o.fetch.Fetch(ctx, s)
}

func (o obligations[T]) Store(ctx context.Context, s adk.Scope, record T) error {
	return o.store.Store(ctx, s, record)
}

func (o obligations[T]) Mutate(ctx context.Context, s adk.Scope, record T) error {
	return o.mutate.Mutate(ctx, s, record)
}

func (o obligations[T]) Delete(ctx context.Context, s adk.Scope, key string) error {
	return o.delete.Delete(ctx, s, key)
}

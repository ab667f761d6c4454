package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Storage keeps a conversation in memory. A storage with a database has the same methods: four for
// each kind of record, and one for tools. It is safe for concurrent use.
type Storage struct {
	messages     shelf[*adk.Message]
	memories     shelf[*adk.Memory]
	retrievables shelf[*adk.Retrievable]
	thoughts     shelf[*adk.Thought]
	toolCalls    shelf[*adk.ToolCall]
	instructions shelf[*adk.Tokenizable]
}

// NewStorage makes a storage that already holds the given messages and memories.
func NewStorage(seed ...adk.Record) (*Storage, error) {
	s := &Storage{}
	for _, record := range seed {
		switch r := record.(type) {
		case *adk.Message:
			s.messages.put(r)
		case *adk.Memory:
			s.memories.put(r)
		default:
			return nil, fmt.Errorf("agent: a storage is not seeded with a %T", record)
		}
	}
	return s, nil
}

// Obligations returns the storage in the form in which the engine takes it.
func (s *Storage) Obligations() adk.Storage {
	return adk.Storage{
		Messages:     &s.messages,
		Memories:     &s.memories,
		Retrievables: &s.retrievables,
		Thoughts:     &s.thoughts,
		ToolCalls:    &s.toolCalls,
		Instructions: &s.instructions,
		Tools:        noTools{}, // all tools are in the config
	}
}

// shelf keeps the records of one kind in the order in which they came.
type shelf[T adk.Record] struct {
	mu      sync.Mutex
	records []T
}

// Fetch returns the records, the oldest first.
func (s *shelf[T]) Fetch(ctx context.Context, _ adk.Scope) ([]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records), nil
}

// Store keeps a record.
func (s *shelf[T]) Store(ctx context.Context, _ adk.Scope, record T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(record)
	return nil
}

// Mutate replaces the record with the same key.
func (s *shelf[T]) Mutate(ctx context.Context, scope adk.Scope, record T) error {
	return s.Store(ctx, scope, record)
}

// Delete removes the record with the key.
func (s *shelf[T]) Delete(ctx context.Context, _ adk.Scope, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = slices.DeleteFunc(s.records, func(r T) bool { return r.Key() == key })
	return nil
}

// put keeps a record, and replaces one with the same key.
func (s *shelf[T]) put(record T) {
	at := slices.IndexFunc(s.records, func(r T) bool { return r.Key() == record.Key() })
	if at < 0 {
		s.records = append(s.records, record)
		return
	}
	s.records[at] = record
}

// noTools is a storage without tools.
type noTools struct{}

func (noTools) Fetch(context.Context, adk.Scope) ([]*adk.Tool, error) { return nil, nil }

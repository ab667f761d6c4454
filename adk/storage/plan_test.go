package storage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// toolsByName is a tool source whose type is not comparable.
type toolsByName map[string]*adk.Tool

func (toolsByName) Fetch(context.Context, adk.Scope) ([]*adk.Tool, error) { return nil, nil }

// STO-4, STO-8, STO-18: a plan tells code that stages writes what the storage would write, where, and
// which of it a fetch would return.
func TestPlan(t *testing.T) {
	kept := newMemory(t, storagetest.Sharing())
	own := kept.Storage()
	own.Tools = toolsByName{}
	plan, ok := storage.PlanOf(own)
	require.True(t, ok)
	assert.Same(t, kept, plan.Rows())
	assert.True(t, plan.Shared(adk.Thoughts))
	assert.False(t, plan.Shared(adk.Memories))
	assert.False(t, plan.Shared(adk.Messages))
	assert.Equal(t, 3, plan.Limit(adk.Messages))
	assert.Zero(t, plan.Limit(adk.Thoughts))

	scope := storagetest.ScopeOf("shop", "one")
	for _, id := range []string{"1", "2", "3", "4"} {
		m := message(t, id, "text")
		change, err := plan.Change(scope, adk.Messages, adk.KindStore, m, m.Key())
		require.NoError(t, err)
		assert.Equal(t, storage.Place{Partition: storage.Partition{Tenant: "shop", Session: "one"}, Collection: adk.Messages}, change.Place)
		assert.Equal(t, "turn", change.Row.TurnID)
		require.NoError(t, plan.Rows().Write(t.Context(), change))
	}
	some, err := own.Messages.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Len(t, some, 3)
	all, err := plan.Unlimited().Messages.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Len(t, all, 4)

	gone, err := plan.Change(scope, adk.Messages, adk.KindDelete, nil, "1")
	require.NoError(t, err)
	assert.True(t, gone.Delete)
	_, err = plan.Change(storagetest.ScopeOf("a\x00b", ""), adk.Messages, adk.KindDelete, nil, "1")
	assert.ErrorIs(t, err, adk.E_STORAGE_PARTITION)
}

// Foreign storages, and wrappers around one of ours, have no plan.
func TestNoPlan(t *testing.T) {
	one, other := newMemory(t, storage.Config{}), newMemory(t, storage.Config{})
	mixed := one.Storage()
	mixed.Thoughts = other.Storage().Thoughts
	for name, s := range map[string]adk.Storage{
		"none":    {},
		"fakes":   fakes.NewStorage().Storage(),
		"mixed":   mixed,
		"spooled": artifact.Spooling(one.Storage(), artifact.NewMemorySpool(), artifact.SpoolingOptions{}),
	} {
		_, ok := storage.PlanOf(s)
		assert.False(t, ok, name)
	}
}

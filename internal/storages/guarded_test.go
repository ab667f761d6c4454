package storages_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// gate is a guard that notes each call, and lets it pass or not.
type gate struct {
	came []string
	shut error
}

func (g *gate) Guard(scope adk.Scope, of adk.CollectionName, record adk.Record, key string, do func() error) error {
	if record != nil {
		key += " written"
	}
	g.came = append(g.came, string(of)+" "+key)
	if g.shut != nil {
		return g.shut
	}
	return do()
}

func aMemory(t *testing.T) *adk.Memory {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	note, err := adk.NewMemory(adk.MemoryInit{ID: "n", Content: "note", Confidence: new(0.5), Importance: new(0.5), CreatedAt: noon, UpdatedAt: noon})
	require.NoError(t, err)
	return note
}

// RUN-2: a guard is called before every obligation of every collection, and the storage is asked only for
// what the guard lets through.
func TestGuarded(t *testing.T) {
	note := aMemory(t)
	kept, g := fakes.NewStorage(), &gate{}
	s := storages.Guarded(kept.Storage(), g)
	each := storages.Each(s)
	for _, of := range adk.Collections() {
		_, err := each[of].Fetch(t.Context(), adk.Scope{}, of)
		require.NoError(t, err)
	}
	require.NoError(t, s.Memories.Store(t.Context(), adk.Scope{}, note))
	require.NoError(t, s.Memories.Mutate(t.Context(), adk.Scope{}, note))
	fetched, err := s.Memories.Fetch(t.Context(), adk.Scope{})
	require.NoError(t, err)
	assert.Equal(t, []*adk.Memory{note}, fetched)
	require.NoError(t, s.Memories.Delete(t.Context(), adk.Scope{}, "n"))
	var wanted []string
	for _, of := range adk.Collections() {
		wanted = append(wanted, string(of)+" ")
	}
	assert.Equal(t, append(wanted, "memories n written", "memories n written", "memories ", "memories n"), g.came)

	g.shut = errors.New("shut")
	calls := len(kept.Calls())
	_, err = s.Tools.Fetch(t.Context(), adk.Scope{})
	require.ErrorIs(t, err, g.shut)
	require.ErrorIs(t, s.Memories.Store(t.Context(), adk.Scope{}, note), g.shut)
	assert.Len(t, kept.Calls(), calls)
}

// RUN-2: if the guard fails after a fetch, the caller does not get the fetched records.
func TestGuardedFetchFails(t *testing.T) {
	note := aMemory(t)
	s := storages.Guarded(fakes.NewStorage(note).Storage(), failing{})
	fetched, err := s.Memories.Fetch(t.Context(), adk.Scope{})
	require.ErrorIs(t, err, errLate)
	assert.Nil(t, fetched)
}

var errLate = errors.New("late")

// failing is a guard that lets every call pass and fails afterwards.
type failing struct{}

func (failing) Guard(_ adk.Scope, _ adk.CollectionName, _ adk.Record, _ string, do func() error) error {
	return errors.Join(do(), errLate)
}

// RUN-2: a guarded storage that lacks a collection still lacks it, so that the engine can refuse it.
func TestGuardedLacksWhatIsMissing(t *testing.T) {
	s := fakes.NewStorage().Storage()
	s.Thoughts = nil
	assert.Nil(t, storages.Guarded(s, &gate{}).Thoughts)
}

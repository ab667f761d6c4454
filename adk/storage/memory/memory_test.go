package memory_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

func open(t require.TestingT, config storage.Config) adk.Storage {
	kept, err := memory.New(config)
	require.NoError(t, err)
	return kept.Storage()
}

// STO-1: the storage in memory passes the suite of all storages.
func TestSuite(t *testing.T) {
	assert.NoError(t, fakes.TestStorageWith(func() adk.Storage { return open(t, storage.Config{}) }, storagetest.Suite()))
}

// STO-1: the storage in memory, the model of all others, gives the same answers as fakes.Storage.
func TestAgainstFakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		everything := storage.Config{Partition: func(scope adk.Scope) (storage.Partition, error) { return storage.Partition{}, nil }}
		storagetest.Differ(t, fakes.NewStorage().Storage(), open(t, everything))
	})
}

// Deleted records take no memory: a partition without records is forgotten.
func TestEmptyPlacesAreForgotten(t *testing.T) {
	kept, err := memory.New(storage.Config{})
	require.NoError(t, err)
	place := storage.Place{Partition: storage.Partition{Tenant: "shop"}, Collection: adk.Instructions}
	change, err := storage.Storing(place, adk.NewTokenizable("Be brief."))
	require.NoError(t, err)
	require.NoError(t, kept.Write(t.Context(), change))
	rows, err := kept.Fetch(t.Context(), place, 0)
	require.NoError(t, err)
	assert.Len(t, rows, 1)
	require.NoError(t, kept.Write(t.Context(), storage.Deletion(place, "Be brief.")))
	rows, err = kept.Fetch(t.Context(), place, 0)
	require.NoError(t, err)
	assert.Nil(t, rows)
}

// A storage in memory remembers from turn to turn.
func ExampleNew() {
	kept, err := memory.New(storage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	remember := adk.TurnMiddleware{Name: "remember", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		known, err := tc.Instructions().Fetch(ctx)
		if err != nil {
			return err
		}
		fmt.Println("known:", len(known))
		next(ctx)
		return tc.Instructions().Store(ctx, adk.NewTokenizable("Be brief."))
	}}
	config := adk.Config{Executor: fakes.Script{{fakes.Ack()}, {fakes.Ack()}}.Executor("model"), Storage: kept.Storage(), TurnInput: []adk.TurnMiddleware{remember}}
	runner, err := adk.NewRunner(config)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "You are a helpful assistant."}); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// known: 0
	// known: 1
}

// SES-23: a fetch after a write reads no more than the limit of its collection.
func TestFetchBehindWrites(t *testing.T) {
	kept, err := memory.New(storage.Config{})
	require.NoError(t, err)
	storagetest.FetchBehindWrites(t, kept, kept.Sessions())
}

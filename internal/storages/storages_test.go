package storages_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// whole is a storage as obligations, by collection.
type whole map[adk.CollectionName]storages.Obligations

func (w whole) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	return w[of].Fetch(ctx, scope, of)
}

func (w whole) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	return w[of].Write(ctx, scope, of, verb, record, key)
}

// RUN-2: a storage that is taken apart with Each and put together with Of behaves the same.
func TestOfAndEach(t *testing.T) {
	there := fakes.NewStorage().Storage()
	back := storages.Of(whole(storages.Each(there)))
	require.Len(t, storages.Each(back), len(adk.Collections()))
	for v, i := reflect.ValueOf(back), 0; i < v.NumField(); i++ {
		assert.False(t, v.Field(i).IsNil(), "%s is missing: name it in this room", v.Type().Field(i).Name)
	}
	failures := fakes.TestStorage(func() adk.Storage { return storages.Of(whole(storages.Each(fakes.NewStorage().Storage()))) })
	assert.NoError(t, failures)
}

// strange returns a record of one kind for every collection.
type strange struct{ storages.Obligations }

func (strange) Fetch(context.Context, adk.Scope, adk.CollectionName) ([]adk.Record, error) {
	return []adk.Record{adk.NewTokenizable("be brief")}, nil
}

// RUN-2: a record of another collection is refused.
func TestOfRefusesStrangers(t *testing.T) {
	s := storages.Of(strange{})
	instructions, err := s.Instructions.Fetch(t.Context(), adk.Scope{})
	require.NoError(t, err)
	assert.Len(t, instructions, 1)
	_, err = s.Messages.Fetch(t.Context(), adk.Scope{})
	assert.EqualError(t, err, "storage of messages: record 0 is a *adk.Tokenizable")
}

// A missing collection has no obligations, and a collection that only reads cannot write.
func TestEachOfWhatIsThere(t *testing.T) {
	s := fakes.NewStorage().Storage()
	s.Memories, s.Tools = nil, nil
	each := storages.Each(s)
	assert.Len(t, each, len(adk.Collections())-2)
	assert.NotContains(t, each, adk.Memories)
	tools := storages.Each(fakes.NewStorage().Storage())[adk.Tools]
	assert.EqualError(t, tools.Write(t.Context(), adk.Scope{}, adk.Tools, adk.KindStore, samples.Tools[0], "peek"), "storage of tools only reads")
}

// Each obligation of every collection comes from the chosen storage.
func TestMixed(t *testing.T) {
	refused := errors.New("refused")
	for _, of := range adk.Collections() {
		for _, taken := range storages.Verbs(of) {
			mine, rest := fakes.NewStorage(), fakes.NewStorage()
			mine.Fail(fakes.Fault{Collection: of, Err: refused})
			mixed := storages.Each(storages.Mixed(mine.Storage(), rest.Storage(), func(seam string) bool { return seam == storages.Name(of, taken) }))[of]
			for _, verb := range storages.Verbs(of) {
				var err error
				if verb == of.Reads() {
					_, err = mixed.Fetch(t.Context(), adk.Scope{}, of)
				} else {
					err = mixed.Write(t.Context(), adk.Scope{}, of, verb, samples.Records[of][0], "r1")
				}
				if verb == taken {
					assert.ErrorIs(t, err, refused, "%s is not mine", storages.Name(of, verb))
				} else {
					assert.NoError(t, err, "%s is mine", storages.Name(of, verb))
				}
			}
		}
	}
	scripted := fakes.NewStorage().Storage()
	assert.Equal(t, scripted, storages.Mixed(adk.Storage{}, scripted, func(string) bool { return true }), "nothing is taken of what is missing")
}

// DSP-12: each record goes to the collection of its type. A standing instruction and a tool are passed in
// another way.
func TestGive(t *testing.T) {
	var raw adk.RawDispatch
	for _, of := range samples.Collections {
		storages.Give(&raw, samples.Records[of][0])
	}
	lists := reflect.ValueOf(&raw).Elem()
	for _, of := range samples.Collections {
		if of == adk.Instructions {
			continue
		}
		list := lists.FieldByName(strings.ToUpper(string(of[:1])) + string(of[1:]))
		require.Equal(t, 1, list.Len(), "%s", of)
		assert.Same(t, samples.Records[of][0], list.Index(0).Interface(), "%s", of)
		list.SetZero()
	}
	assert.Zero(t, raw)
}

// Thousands of runs each have a storage that is taken apart and put together, so this allocates little.
func TestOfAndEachAllocateLittle(t *testing.T) {
	there := fakes.NewStorage().Storage()
	all := strange{}
	allocs.AtMost(t, 4, 100, func() { storages.Each(there) }, "Each")
	allocs.AtMost(t, 2, 100, func() { storages.Of(all) }, "Of")
}

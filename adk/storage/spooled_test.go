package storage_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// shelf is a storage whose bodies are in a spool.
type shelf struct {
	t     *testing.T
	rows  *memory.Memory
	spool *artifact.MemorySpool
	adk.Storage
}

func newShelf(t *testing.T, config storage.Config, options artifact.SpoolingOptions) shelf {
	return (shelf{t: t, rows: newMemory(t, storage.Config{}), spool: artifact.NewMemorySpool()}).with(config, options)
}

// with returns the same shelf, used through a storage with another config.
func (s shelf) with(config storage.Config, options artifact.SpoolingOptions) shelf {
	config.Spool = s.spool
	s.Storage = artifact.Spooling(newStorage(s.t, config, s.rows), s.spool, options)
	return s
}

// report is an artifact.
func (s shelf) report(body string) *adk.Media {
	media, err := artifact.New(artifact.Init{ID: "m", Flavour: artifact.TextFlavour, Filename: "m.txt", TrustTier: adk.TrustFirstParty, Reader: artifact.MemoryReader([]byte(body))})
	require.NoError(s.t, err)
	return media
}

func (s shelf) store(scope adk.Scope, id string, media *adk.Media) {
	s.t.Helper()
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "t", Args: map[string]any{}, Results: media, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
	require.NoError(s.t, err)
	require.NoError(s.t, s.ToolCalls.Store(s.t.Context(), scope, call))
}

func (s shelf) delete(scope adk.Scope, id string) {
	s.t.Helper()
	require.NoError(s.t, s.ToolCalls.Delete(s.t.Context(), scope, id))
}

// bodies returns the bodies of the tool calls that a fetch returns.
func (s shelf) bodies(scope adk.Scope) (bodies []string) {
	s.t.Helper()
	calls, err := s.ToolCalls.Fetch(s.t.Context(), scope)
	require.NoError(s.t, err)
	for _, call := range calls {
		bodies = append(bodies, bodyOf(s.t, call.Results().(*adk.Media)))
	}
	return bodies
}

// bodyOf returns the body of a media, or the text of its error.
func bodyOf(t *testing.T, media *adk.Media) string {
	stream, err := media.Open(t.Context())
	if err != nil {
		return err.Error()
	}
	data, err := io.ReadAll(stream)
	require.NoError(t, errors.Join(err, stream.Close()))
	return string(data)
}

func (s shelf) keys() (keys []string) {
	for entry, err := range s.spool.List(context.Background(), "") {
		require.NoError(s.t, err)
		keys = append(keys, entry.Key)
	}
	return keys
}

// byHash makes keys from a prefix and the body's hash, which equal bodies share.
func byHash(prefix string) artifact.SpoolingOptions {
	return artifact.SpoolingOptions{Key: func(_ adk.Scope, _ string, media *adk.Media) string {
		mark, _ := artifact.Of(media)
		return prefix + mark.SHA256
	}}
}

// ofTurn is a scope whose stash names no tenant and no session.
func ofTurn(id string) adk.Scope {
	scope := storage.Partition{}.Scope()
	scope.TurnID = id
	return scope
}

// byTurn is a custom partition, which the stash does not show.
func byTurn(scope adk.Scope) (storage.Partition, error) {
	if scope.TurnID == "" {
		return storage.Partition{}, errors.New("no turn")
	}
	return storage.Partition{Tenant: scope.TurnID, Session: "s"}, nil
}

// SPL-9, STO-3: the body of a record belongs to the record's partition, as the storage defines it. When tools
// of two tenants gave the same result under one id, deleting one record keeps the other's body.
func TestBodiesOfOwnPartitions(t *testing.T) {
	s := newShelf(t, storage.Config{Partition: byTurn}, artifact.SpoolingOptions{})
	one, two := ofTurn("a"), ofTurn("b")
	s.store(one, "c", s.report("same"))
	s.store(two, "c", s.report("same"))
	assert.Equal(t, []string{"a/s/c~m~0967115f2813a354", "b/s/c~m~0967115f2813a354"}, s.keys())
	s.delete(two, "c")
	assert.Equal(t, []string{"same"}, s.bodies(one))
	s.delete(one, "c")
	assert.Empty(t, s.keys())
	assert.ErrorContains(t, s.ToolCalls.Delete(t.Context(), adk.Scope{}, "c"), "no turn")
}

// SPL-9, STO-4: where the sessions of a tenant share tool calls, the bodies belong to the tenant, and are
// deleted with the record by whichever session deletes it.
func TestBodiesOfSharedRecords(t *testing.T) {
	s := newShelf(t, storage.Config{Share: map[adk.CollectionName]bool{adk.ToolCalls: true}}, artifact.SpoolingOptions{})
	s.store(storagetest.ScopeOf("shop", "one"), "c", s.report("same"))
	assert.Equal(t, []string{"shop/-/c~m~0967115f2813a354"}, s.keys())
	s.delete(storagetest.ScopeOf("shop", "two"), "c")
	assert.Empty(t, s.keys())
}

// SPL-9: a body under a key that other partitions may use too stays until Sweep, which can check all
// of them.
func TestBodiesUnderCommonKeys(t *testing.T) {
	s := newShelf(t, storage.Config{}, byHash("by-hash/"))
	one, two := storagetest.ScopeOf("shop", "one"), storagetest.ScopeOf("shop", "two")
	s.store(one, "c", s.report("same"))
	s.store(two, "c", s.report("same"))
	s.delete(one, "c")
	assert.Equal(t, []string{"same"}, s.bodies(two))
	s.delete(two, "c")
	assert.Len(t, s.keys(), 1)
}

// SPL-9: bodies under the default keys of earlier releases, which did not know custom partitions, can still
// be read. As another partition may use them, they stay until Sweep.
func TestBodiesUnderFormerKeys(t *testing.T) {
	own := storage.Config{Partition: byTurn}
	s := newShelf(t, own, byHash("-/-/"))
	one, two := ofTurn("a"), ofTurn("b")
	s.store(one, "c", s.report("same"))
	s.store(two, "c", s.report("same"))
	s = s.with(own, artifact.SpoolingOptions{})
	assert.Equal(t, []string{"same"}, s.bodies(one))
	s.delete(one, "c")
	assert.Equal(t, []string{"same"}, s.bodies(two))

	// The same holds for a partition without names.
	s = s.with(storage.Config{Partition: func(adk.Scope) (storage.Partition, error) { return storage.Partition{}, nil }}, artifact.SpoolingOptions{})
	fetched, err := s.with(own, artifact.SpoolingOptions{}).ToolCalls.Fetch(t.Context(), two)
	require.NoError(t, err)
	require.NoError(t, s.ToolCalls.Store(t.Context(), adk.Scope{}, fetched[0]))
	s.delete(adk.Scope{}, "c")
	assert.Len(t, s.keys(), 1)
}

// SPL-9, STO-9: records beyond the limit of a fetch count too: bodies that they name stay, and bodies that
// only they name are deleted with them.
func TestBodiesBeyondTheLimit(t *testing.T) {
	s := newShelf(t, storage.Config{Limit: map[adk.CollectionName]int{adk.ToolCalls: 2}}, byHash("shop/one/"))
	scope := storagetest.ScopeOf("shop", "one")
	for id, body := range []string{"same", "own", "other", "same"} {
		s.store(scope, string(rune('a'+id)), s.report(body))
	}
	s.delete(scope, "d")
	s.delete(scope, "c")
	assert.Equal(t, []string{"same", "own"}, s.bodies(scope))
	s.store(scope, "e", s.report("last"))
	s.store(scope, "f", s.report("very last"))
	s.delete(scope, "a")
	s.delete(scope, "b")
	assert.Equal(t, []string{"last", "very last"}, s.bodies(scope))
	assert.Len(t, s.keys(), 2)
}

// SPL-9: the body of a tool call that is also a message's attachment stays with the message.
func TestBodiesThatMessagesName(t *testing.T) {
	s := newShelf(t, storage.Config{}, artifact.SpoolingOptions{})
	scope := storagetest.ScopeOf("shop", "one")
	s.store(scope, "c", s.report("same"))
	calls, err := s.ToolCalls.Fetch(t.Context(), scope)
	require.NoError(t, err)
	attached, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Attachments: []*adk.Media{calls[0].Results().(*adk.Media)}, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	require.NoError(t, err)
	require.NoError(t, s.Messages.Store(t.Context(), scope, attached))
	s.delete(scope, "c")
	messages, err := s.Messages.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Equal(t, "same", bodyOf(t, messages[0].Attachments()[0]))
}

// hidden is a collection that has only the methods of every collection.
type hidden struct{ adk.Collection[*adk.ToolCall] }

// SPL-9: if a storage does not tell its partitions, the stash has to name tenant and session. If it may not
// return all of its records, only a body under the record's own key is deleted.
func TestBodiesInAStorageOfOnesOwn(t *testing.T) {
	kept, spool := newMemory(t, storage.Config{Limit: map[adk.CollectionName]int{adk.ToolCalls: 1}}).Storage(), artifact.NewMemorySpool()
	kept.ToolCalls = hidden{kept.ToolCalls}
	s := shelf{t: t, spool: spool, Storage: artifact.Spooling(kept, spool, artifact.SpoolingOptions{})}
	nobody, somebody := storagetest.ScopeOf("", ""), storagetest.ScopeOf("shop", "one")
	s.store(nobody, "c", s.report("same"))
	s.delete(nobody, "c")
	assert.Equal(t, []string{"-/-/c~m~0967115f2813a354"}, s.keys())
	s.store(somebody, "c", s.report("same"))
	assert.Len(t, s.keys(), 2)
	s.delete(somebody, "c")
	assert.Equal(t, []string{"-/-/c~m~0967115f2813a354"}, s.keys())

	s.Storage = artifact.Spooling(kept, spool, byHash("shop/one/"))
	s.store(somebody, "a", s.report("same"))
	s.store(somebody, "b", s.report("same"))
	s.delete(somebody, "b")
	assert.Len(t, s.keys(), 2, "a names it, beyond the limit")
}

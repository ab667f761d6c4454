package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// spoiled are rows that are changed, or fail, when they are read.
type spoiled struct {
	storage.Rows
	spoil func(*storage.Row)
	err   error
}

func (s spoiled) Fetch(ctx context.Context, place storage.Place, last int) ([]storage.Row, error) {
	rows, err := s.Rows.Fetch(ctx, place, last)
	for i := range rows {
		rows[i].Body = bytes.Clone(rows[i].Body)
		s.spoil(&rows[i])
	}
	return rows, errors.Join(err, s.err)
}

func (s spoiled) Write(ctx context.Context, changes ...storage.Change) error {
	return errors.Join(s.err, s.Rows.Write(ctx, changes...))
}

func newMemory(t *testing.T, config storage.Config) *memory.Memory {
	kept, err := memory.New(config)
	require.NoError(t, err)
	return kept
}

func newStorage(t *testing.T, config storage.Config, rows storage.Rows) adk.Storage {
	s, err := storage.New(config, rows)
	require.NoError(t, err)
	return s
}

func message(t *testing.T, id, text string) *adk.Message {
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	require.NoError(t, err)
	return m
}

// STO-2, STO-19: a record that differs from what was stored gives an error. The error names collection
// and key as far as they are certain, and shows nothing of the record's content.
func TestCorruptRecords(t *testing.T) {
	redigest := func(r *storage.Row) { r.Digest = adk.DigestOf(r.Body) }
	for name, c := range map[string]struct {
		spoil func(*storage.Row)
		key   string
	}{
		"a bit":        {func(r *storage.Row) { r.Body[len(r.Body)-5] ^= 1 }, `"m1"`},
		"its key":      {func(r *storage.Row) { r.Body[8] ^= 1 }, `"of the hash `},
		"cut":          {func(r *storage.Row) { r.Body = r.Body[:20] }, `"m1"`},
		"empty":        {func(r *storage.Row) { r.Body = nil }, `"of the hash `},
		"other digest": {func(r *storage.Row) { r.Digest[3] ^= 1 }, `"m1"`},
		"other key":    {func(r *storage.Row) { r.Key[3] ^= 1 }, `"of the hash `},
		"no record":    {func(r *storage.Row) { r.Body = []byte(`{"id":"m1"}`); redigest(r) }, `"m1"`},
		"no JSON":      {func(r *storage.Row) { r.Body = []byte("secret"); redigest(r) }, `"of the hash `},
		"more than is known": {func(r *storage.Row) {
			r.Body = bytes.Replace(r.Body, []byte(`"role"`), []byte(`"mood":"secret","role"`), 1)
			redigest(r)
		}, `"m1"`},
		"other bytes for the same": {func(r *storage.Row) { r.Body = append(r.Body, ' ') }, `"m1"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, known := range []bool{false, true} { // whether it was read before, when it was intact
				kept, scope, whole := newMemory(t, storage.Config{}), storagetest.ScopeOf("shop", "one"), known
				require.NoError(t, kept.Storage().Messages.Store(t.Context(), scope, message(t, "m1", "secret")))
				messages := newStorage(t, storage.Config{}, spoiled{Rows: kept, spoil: func(r *storage.Row) {
					if !whole {
						c.spoil(r)
					}
				}}).Messages
				if known {
					fetched, err := messages.Fetch(t.Context(), scope)
					require.NoError(t, err)
					require.Len(t, fetched, 1)
				}
				whole = false
				fetched, err := messages.Fetch(t.Context(), scope)
				assert.ErrorIs(t, err, adk.E_STORAGE_CORRUPT)
				assert.Nil(t, fetched)
				assert.ErrorContains(t, err, "storage: messages: fetch "+c.key)
				assert.NotContains(t, err.Error(), "secret")
			}
		})
	}
}

// STO-3: the stash says to which partition records belong. An invalid partition is refused before
// anything happens.
func TestPartitionsThatAreNone(t *testing.T) {
	strict := storage.Config{Strict: new(true)}
	for name, c := range map[string]struct {
		config          storage.Config
		tenant, session any
		says            string
	}{
		"strict without a session": {strict, "shop", "", "the session is empty: set storage.session"},
		"strict without a tenant":  {strict, nil, "one", "the tenant is empty: set storage.tenant"},
		"no text":                  {storage.Config{}, 5, "one", "the tenant at storage.tenant in the stash is a int, want a text"},
		"NUL":                      {storage.Config{}, "a\x00", "one", "the tenant is not UTF-8 without NUL"},
		"no UTF-8":                 {storage.Config{}, "a", "\xff", "the session is not UTF-8 without NUL"},
		"too long":                 {storage.Config{}, strings.Repeat("a", 256), "", "the tenant has 256 bytes, want at most 255"},
	} {
		t.Run(name, func(t *testing.T) {
			never := spoiled{newMemory(t, storage.Config{}), nil, errors.New("the rows were asked")}
			s := storages.Each(newStorage(t, c.config, never))
			turn(t, map[string]any{"storage": map[string]any{"tenant": c.tenant, "session": c.session}}, func(scope adk.Scope) {
				for of, records := range samples.Records {
					for _, verb := range storages.Verbs(of)[1:] {
						err := s[of].Write(t.Context(), scope, of, verb, records[0], records[0].Key())
						assert.ErrorIs(t, err, adk.E_STORAGE_PARTITION)
						assert.ErrorContains(t, err, c.says)
					}
					_, err := s[of].Fetch(t.Context(), scope, of)
					assert.ErrorIs(t, err, adk.E_STORAGE_PARTITION)
				}
			})
		})
	}
	mine := errors.New("nobody is logged in")
	s := newStorage(t, storage.Config{Partition: func(adk.Scope) (storage.Partition, error) { return storage.Partition{}, mine }}, newMemory(t, storage.Config{}))
	_, err := s.Messages.Fetch(t.Context(), adk.Scope{})
	assert.ErrorIs(t, err, mine)
}

// turn calls f in a turn that begins with the given stash.
func turn(t *testing.T, stash map[string]any, f func(adk.Scope)) {
	called := false
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Executor: fakes.Script{{fakes.Ack()}}.Executor("model"), Storage: fakes.NoOpStorage(),
		TurnInput: []adk.TurnMiddleware{{Name: "turn", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			f(adk.Scope{TurnID: tc.TurnID(), Stash: tc.Stash()})
			called = true
			next(ctx)
			return nil
		}}}}))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x", Stash: stash}))
	require.True(t, called, "it came to its end")
}

// STO-4: by default messages, thoughts and tool calls belong to a session, and all other records are
// shared by the sessions of a tenant.
func TestWhatIsShared(t *testing.T) {
	usually := map[adk.CollectionName]bool{adk.Memories: true, adk.Retrievables: true, adk.Instructions: true}
	otherwise := map[adk.CollectionName]bool{adk.Messages: true, adk.Thoughts: true, adk.ToolCalls: true, adk.Memories: false, adk.Retrievables: false, adk.Instructions: false}
	for _, share := range []map[adk.CollectionName]bool{usually, otherwise} {
		config := storage.Config{}
		if len(share) == len(otherwise) {
			config.Share = share
		}
		s := storages.Each(newMemory(t, config).Storage())
		for of, records := range samples.Records {
			require.NoError(t, s[of].Write(t.Context(), storagetest.ScopeOf("shop", "one"), of, adk.KindStore, records[0], ""))
			for _, c := range []struct {
				tenant, session string
				sees            bool
			}{{"shop", "one", true}, {"shop", "two", share[of]}, {"other", "one", false}} {
				fetched, err := s[of].Fetch(t.Context(), storagetest.ScopeOf(c.tenant, c.session), of)
				require.NoError(t, err)
				assert.Equal(t, c.sees, len(fetched) == 1, "%s of %s in %s", of, c.session, c.tenant)
			}
		}
	}
}

// STO-6: a context that ends, before an obligation or in the middle of it, makes the obligation fail with
// the context's cause.
func TestCauseOfTheContext(t *testing.T) {
	over := errors.New("the shop closes")
	ctx, cancel := context.WithCancelCause(t.Context())
	kept, scope := newMemory(t, storage.Config{}), storagetest.ScopeOf("", "")
	late := newStorage(t, storage.Config{}, ending{kept, func() { cancel(over) }})
	assert.ErrorIs(t, late.Messages.Store(ctx, scope, message(t, "m1", "x")), over)
	for name, s := range map[string]adk.Storage{"late": late, "before": kept.Storage()} {
		_, err := s.Messages.Fetch(ctx, scope)
		assert.ErrorIs(t, err, over, name)
		assert.ErrorIs(t, s.Messages.Mutate(ctx, scope, message(t, "m1", "x")), over, name)
		assert.ErrorIs(t, s.Messages.Delete(ctx, scope, "m1"), over, name)
		_, err = s.Tools.Fetch(ctx, scope)
		assert.ErrorIs(t, err, over, name)
	}
	left, err := kept.Storage().Messages.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// ending are rows that end a context in the middle of a call, and return the error that a driver would
// return.
type ending struct {
	storage.Rows
	end func()
}

func (e ending) Write(context.Context, ...storage.Change) error {
	e.end()
	return errors.New("interrupted (9)")
}

// STO-8: with a limit, a fetch returns the last records, in order.
func TestLimit(t *testing.T) {
	s, scope := newMemory(t, storage.Config{Limit: map[adk.CollectionName]int{adk.Messages: 2}}).Storage(), storagetest.ScopeOf("", "")
	for i, want := range [][]string{{"0"}, {"0", "1"}, {"1", "2"}, {"2", "3"}} {
		require.NoError(t, s.Messages.Store(t.Context(), scope, message(t, fmt.Sprint(i), "x")))
		fetched, err := s.Messages.Fetch(t.Context(), scope)
		require.NoError(t, err)
		ids := []string{}
		for _, m := range fetched {
			ids = append(ids, m.ID())
		}
		assert.Equal(t, want, ids)
	}
}

// STO-9: tools come from the config, and are not nil.
func TestTools(t *testing.T) {
	none, err := newMemory(t, storage.Config{}).Storage().Tools.Fetch(t.Context(), adk.Scope{})
	assert.NoError(t, err)
	assert.Empty(t, none)
	tools := samples.Tools
	s := newMemory(t, storage.Config{Tools: func(_ context.Context, scope adk.Scope) ([]*adk.Tool, error) {
		if scope.TurnID == "" {
			return nil, errors.New("no turn")
		}
		return tools, nil
	}}).Storage()
	_, err = s.Tools.Fetch(t.Context(), adk.Scope{})
	assert.EqualError(t, err, "storage: tools: fetch: no turn")
	fetched, err := s.Tools.Fetch(t.Context(), storagetest.ScopeOf("", ""))
	require.NoError(t, err)
	assert.Equal(t, samples.Tools, fetched)
	tools = []*adk.Tool{samples.Tools[0], nil}
	_, err = s.Tools.Fetch(t.Context(), storagetest.ScopeOf("", ""))
	assert.ErrorContains(t, err, "a tool that is nil, number 1")
}

// STO-10: fetched media get their readers from the spool of the config, and have none without
// one.
func TestMediaReaders(t *testing.T) {
	media, err := artifact.New(artifact.Init{ID: "a", Flavour: artifact.TextFlavour, Filename: "a.txt", TrustTier: adk.TrustFirstParty, Reader: artifact.MemoryReader([]byte("one\n"))})
	require.NoError(t, err)
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "t", Args: map[string]any{}, Results: media, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
	require.NoError(t, err)
	kept, spool, scope := newMemory(t, storage.Config{}), artifact.NewMemorySpool(), storagetest.ScopeOf("shop", "one")
	require.NoError(t, artifact.Spooling(kept.Storage(), spool, artifact.SpoolingOptions{}).ToolCalls.Store(t.Context(), scope, call))

	body := func(config storage.Config) (string, error) {
		fetched, err := newStorage(t, config, kept).ToolCalls.Fetch(t.Context(), scope)
		require.NoError(t, err)
		require.Len(t, fetched, 1)
		stream, err := fetched[0].Results().(*adk.Media).Open(t.Context())
		if err != nil {
			return "", err
		}
		data, err := io.ReadAll(stream)
		return string(data), errors.Join(err, stream.Close())
	}
	text, err := body(storage.Config{Spool: spool})
	require.NoError(t, err)
	assert.Equal(t, "one\n", text)
	_, err = body(storage.Config{})
	assert.ErrorIs(t, err, adk.E_NOT_A_MEDIA_READER)
}

// taken are rows that are written as JSON, as on a disk.
type taken struct{ storage.Rows }

// SPL-9, SPL-10: a record is refused, and nothing of it is stored, if only its JSON would be kept while the
// body of its artifact is kept nowhere. Rows in memory keep the body with the record.
func TestNoBodyIsLost(t *testing.T) {
	result, err := artifact.Text(t.Context(), adk.Text("28 bytes"))
	require.NoError(t, err)
	report := result.(*adk.Media)
	at := fakes.Epoch
	call := func(results adk.ToolResult) *adk.ToolCall {
		c, err := adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "t", Args: map[string]any{}, Results: results, CreatedAt: at, UpdatedAt: at, CompletedAt: at})
		require.NoError(t, err)
		return c
	}
	attached, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Attachments: []*adk.Media{report}, CreatedAt: at, UpdatedAt: at})
	require.NoError(t, err)
	scope, kept := storagetest.ScopeOf("", ""), newMemory(t, storage.Config{})
	durable := newStorage(t, storage.Config{Spool: artifact.NewMemorySpool()}, taken{kept})

	for _, results := range []adk.ToolResult{report, adk.MediaList{report}} {
		assert.EqualError(t, durable.ToolCalls.Store(t.Context(), scope, call(results)), `storage: toolCalls: store "c": E_NOT_A_SPOOL_READER: `+
			`nobody keeps the body of artifact "`+report.ID()+`": put artifact.Spooling(storage, spool, artifact.SpoolingOptions{}) around the storage, under a session host in Config.Wrap`)
		assert.ErrorIs(t, durable.ToolCalls.Mutate(t.Context(), scope, call(results)), adk.E_NOT_A_SPOOL_READER)
	}
	assert.ErrorContains(t, durable.Messages.Store(t.Context(), scope, attached), "artifact.SpoolingOptions{Messages: true}")
	none, err := durable.ToolCalls.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Empty(t, none)

	assert.NoError(t, durable.ToolCalls.Store(t.Context(), scope, call(report.WithReader(nil))), "nothing is lost of what is not here")
	assert.NoError(t, artifact.Spooling(durable, artifact.NewMemorySpool(), artifact.SpoolingOptions{}).ToolCalls.Store(t.Context(), scope, call(report)))

	own := kept.Storage()
	for _, results := range []adk.ToolResult{report, adk.MediaList{report}} {
		require.NoError(t, own.ToolCalls.Store(t.Context(), scope, call(results)))
		for range 2 {
			fetched, err := own.ToolCalls.Fetch(t.Context(), scope)
			require.NoError(t, err)
			require.Len(t, fetched, 1)
			assert.Equal(t, call(results).Digest(), fetched[0].Digest())
			media, single := fetched[0].Results().(*adk.Media)
			if !single {
				media = fetched[0].Results().(adk.MediaList)[0]
			}
			body, err := media.Bytes(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "28 bytes", string(body))
			require.NoError(t, own.ToolCalls.Mutate(t.Context(), scope, fetched[0]), "what was fetched can be stored again")
		}
	}
	require.NoError(t, own.Messages.Store(t.Context(), scope, attached))
	messages, err := own.Messages.Fetch(t.Context(), scope)
	require.NoError(t, err)
	body, err := messages[0].Attachments()[0].Bytes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "28 bytes", string(body))
}

// STO-19: an error names the collection, the operation, the beginning of the key and the
// cause.
func TestErrors(t *testing.T) {
	full := errors.New("no space left on device")
	s, scope := newStorage(t, storage.Config{}, spoiled{newMemory(t, storage.Config{}), nil, full}), storagetest.ScopeOf("", "")
	err := s.Messages.Store(t.Context(), scope, message(t, strings.Repeat("🎉", 70), "secret"))
	assert.ErrorIs(t, err, full)
	assert.EqualError(t, err, `storage: messages: store "`+strings.Repeat("🎉", 64)+`": no space left on device`)
	assert.EqualError(t, s.Instructions.Delete(t.Context(), scope, "x"), `storage: instructions: delete "x": no space left on device`)
	_, err = s.Instructions.Fetch(t.Context(), scope)
	assert.EqualError(t, err, `storage: instructions: refresh: no space left on device`)
	_, err = storage.Storing(storage.Place{Collection: adk.Memories}, message(t, "m1", "secret"))
	assert.EqualError(t, err, "a message is no record of memories")
	_, err = storage.Storing(storage.Place{Collection: adk.Messages}, &adk.Message{})
	assert.ErrorContains(t, err, "no constructor made")
}

// A config is checked as a whole, with one error for all its faults.
func TestConfig(t *testing.T) {
	_, err := memory.New(storage.Config{
		Share: map[adk.CollectionName]bool{"tools": true, "mesages": true},
		Limit: map[adk.CollectionName]int{adk.Messages: 0, "x": -1},
	})
	require.ErrorIs(t, err, adk.E_INVALID_STORAGE_CONFIG)
	var faults *adk.Error
	require.ErrorAs(t, err, &faults)
	assert.Len(t, faults.Faults, 5)
	assert.EqualError(t, err, `E_INVALID_STORAGE_CONFIG: Share names "mesages", want a collection of records; Share names "tools", want a collection of records; `+
		`Limit of "messages" is 0, want at least 1; Limit names "x", want a collection of records; Limit of "x" is -1, want at least 1`)
}

// A program that has logged its users in says itself whose turn it is, and how much of a
// long session a turn shall see.
func ExampleConfig() {
	type login struct{ company, user string }
	logins := map[string]login{"turn-1": {"shop", "ada"}}
	kept, err := memory.New(storage.Config{
		Partition: func(scope adk.Scope) (storage.Partition, error) {
			who, known := logins[scope.TurnID]
			if !known {
				return storage.Partition{}, errors.New("nobody is logged in")
			}
			return storage.Partition{Tenant: who.company, Session: who.user}, nil
		},
		Limit: map[adk.CollectionName]int{adk.Messages: 50},
	})
	if err != nil {
		log.Fatal(err)
	}
	instructions := kept.Storage().Instructions
	fmt.Println(instructions.Store(context.Background(), adk.Scope{TurnID: "turn-1"}, adk.NewTokenizable("Be brief.")))
	fmt.Println(instructions.Store(context.Background(), adk.Scope{TurnID: "turn-2"}, adk.NewTokenizable("Be rude.")))
	// Output:
	// <nil>
	// storage: instructions: store "Be rude.": nobody is logged in
}

// What a user says is kept before the turn that answers it.
func ExamplePartition_Scope() {
	kept, err := memory.New(storage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, ada := context.Background(), storage.Partition{Tenant: "shop", Session: "ada"}.Scope()
	now := time.Date(2026, 7, 30, 9, 0, 0, 0, time.UTC)
	said, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "Where is my order?", CreatedAt: now, UpdatedAt: now})
	if err != nil {
		log.Fatal(err)
	}
	if err := kept.Storage().Messages.Store(ctx, ada, said); err != nil {
		log.Fatal(err)
	}
	for _, session := range []string{"ada", "bob"} {
		messages, err := kept.Storage().Messages.Fetch(ctx, storage.Partition{Tenant: "shop", Session: session}.Scope())
		fmt.Println(session, len(messages), err)
	}
	// Output:
	// ada 1 <nil>
	// bob 0 <nil>
}

// The scope of a partition has the partition's names where a turn's stash has them, and no empty names.
func TestScopeOfAPartition(t *testing.T) {
	for p, keys := range map[storage.Partition][]string{
		{Tenant: "shop", Session: "ada"}: {storage.StashSession, storage.StashTenant},
		{Session: "ada"}:                 {storage.StashSession},
		{}:                               nil,
	} {
		scope := p.Scope()
		assert.ElementsMatch(t, keys, scope.Stash.Keys())
		assert.Equal(t, p.Tenant != "", scope.Stash.Has(storage.StashTenant))
		assert.Equal(t, "none", scope.Stash.Get("storage.user", "none"))
		all := scope.Stash.All()
		all["storage"] = "another"
		turn(t, map[string]any{"storage": map[string]any{"session": p.Session, "tenant": p.Tenant}}, func(of adk.Scope) {
			for _, path := range []string{storage.StashTenant, storage.StashSession} {
				assert.Equal(t, of.Stash.Get(path, ""), scope.Stash.Get(path, ""))
			}
		})
	}
}

// Package storagetest runs the same tests on every storage of this project: the suite that users
// have for their storages, and comparisons with the storage in memory, which is the model of the
// others.
package storagetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same values on every run
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// Stash returns the stash of a turn in a tenant's session.
func Stash(tenant, session string) map[string]any {
	return map[string]any{"storage": map[string]any{"tenant": tenant, "session": session}}
}

// ScopeOf returns the scope of a turn in a tenant's session.
func ScopeOf(tenant, session string) adk.Scope {
	scope := storage.Partition{Tenant: tenant, Session: session}.Scope()
	scope.TurnID, scope.DispatchID = "turn", "dispatch"
	return scope
}

// Others are scopes of other partitions than that of Stash("shop%", "s_1"), with names that are
// easily confused with it, in storages with the usual sharing.
func Others() []fakes.OtherScope {
	shared := []adk.CollectionName{adk.Memories, adk.Retrievables, adk.Instructions}
	others := []fakes.OtherScope{{Stash: Stash("shop%", "s_2"), Shared: shared}, {Stash: Stash("shop%", "S_1"), Shared: shared}, {Stash: Stash("shop%", ""), Shared: shared}}
	for _, tenant := range []string{"shop", "shop_", "SHOP%", "", "%", "shop%/s_1", "..", "shop%25", "é", strings.Repeat("t", storage.MaxID), strings.Repeat("🎉", 60)} {
		others = append(others, fakes.OtherScope{Stash: Stash(tenant, "s_1")})
	}
	return others
}

// Suite returns the suite for a storage whose partitions are those of Others.
func Suite() fakes.Suite { return fakes.Suite{Stash: Stash("shop%", "s_1"), Scopes: Others()} }

// Sharing returns a config with unusual settings for the sharing and the limits of collections.
func Sharing() storage.Config {
	return storage.Config{Strict: new(false), Limit: map[adk.CollectionName]int{adk.Messages: 3, adk.Memories: 1},
		Share: map[adk.CollectionName]bool{adk.Thoughts: true, adk.Memories: false}}
}

// Differ draws calls of obligations, for two sessions of a tenant and one of another, and compares
// the answers of subject with those of model. Each check uses new tenants, because both storages
// are used for all checks.
func Differ(t *rapid.T, model, subject adk.Storage) {
	tenant := fmt.Sprint("tenant-", rapid.Uint64().Draw(t, "tenant"))
	scopes := []adk.Scope{ScopeOf(tenant, "one"), ScopeOf(tenant, "two"), ScopeOf(tenant+"'", "one")}
	want, got := storages.Each(model), storages.Each(subject)
	for range rapid.IntRange(1, 30).Draw(t, "calls") {
		scope := scopes[rapid.IntRange(0, len(scopes)-1).Draw(t, "scope")]
		of := rapid.SampledFrom(samples.Collections).Draw(t, "of")
		ctx, record := context.Background(), rapid.SampledFrom(samples.Records[of]).Draw(t, "record")
		verb, key := rapid.SampledFrom(storages.Verbs(of)).Draw(t, "verb"), record.Key()
		if verb == adk.KindDelete {
			record = nil
		}
		if verb != of.Reads() {
			require.NoError(t, want[of].Write(ctx, scope, of, verb, record, key))
			require.NoError(t, got[of].Write(ctx, scope, of, verb, record, key))
		}
		for _, scope := range scopes {
			expected, err := want[of].Fetch(ctx, scope, of)
			require.NoError(t, err)
			fetched, err := got[of].Fetch(ctx, scope, of)
			require.NoError(t, err)
			require.Equal(t, Digests(expected), Digests(fetched), "%s of %v", of, scope.Stash)
		}
	}
}

// Digests returns the digests of records, in order.
func Digests[T adk.Record](records []T) []string {
	all := make([]string, len(records))
	for i, r := range records {
		all[i] = r.Digest().String()
	}
	return all
}

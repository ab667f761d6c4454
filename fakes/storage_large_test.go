package fakes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// manyMemories returns n memories with different keys.
func manyMemories(n int) (all []adk.Record) {
	sure := 1.0
	for i := range n {
		memory, err := adk.NewMemory(adk.MemoryInit{ID: fmt.Sprintf("m%d", i), Content: "something", Confidence: &sure, Importance: &sure, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
		if err != nil {
			panic(err)
		}
		all = append(all, memory)
	}
	return all
}

// With few records and with many, each record stays where its key was first stored, is replaced in its
// place, and leaves the others in their order.
func TestStorageOfManyRecords(t *testing.T) {
	for _, n := range []int{5, 16, 17, 100} {
		seed := manyMemories(n)
		storage := fakes.NewStorage(append(seed, seed[n/2])...)
		memories, ctx, scope := storage.Storage().Memories, t.Context(), adk.Scope{}
		want := make([]string, n)
		for i := range want {
			want[i] = seed[i].Key()
		}
		keys := func() (all []string) {
			for _, m := range storage.Memories() {
				all = append(all, m.Key())
			}
			return all
		}
		assert.Equal(t, want, keys())
		for _, at := range []int{n - 1, 0, (n - 2) / 2} {
			gone := want[at]
			require.NoError(t, memories.Delete(ctx, scope, gone))
			require.NoError(t, memories.Delete(ctx, scope, gone), "it is not there any more")
			want = slices.Delete(want, at, at+1)
			assert.Equal(t, want, keys())
			for _, kept := range seed {
				if slices.Contains(want, kept.Key()) {
					require.NoError(t, memories.Mutate(ctx, scope, kept.(*adk.Memory)))
				}
			}
			assert.Equal(t, want, keys(), "what is there is replaced where it is")
		}
		require.NoError(t, memories.Store(ctx, scope, seed[0].(*adk.Memory)))
		assert.Equal(t, append(want, seed[0].Key()), keys(), "what comes again comes last")
	}
}

// BenchmarkNewStorage doubles the number of records: ns/record should stay the same.
func BenchmarkNewStorage(b *testing.B) {
	for _, n := range []int{10_000, 20_000, 40_000} {
		seed := manyMemories(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_ = fakes.NewStorage(seed...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}

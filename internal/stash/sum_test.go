package stash_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/stash"
)

// DET-8: trees that differ in anything have different sums, and equal trees have the same sum.
func TestSumsTellTreesApart(t *testing.T) {
	type tree = map[string]any
	known := map[[16]byte]int{}
	for i, root := range []tree{
		{"a": 1}, {"a": 2}, {"a": 1.0}, {"a": "1"}, {"b": 1}, {"a": 1, "b": 1}, {"a": tree{}}, {"a": tree{"a": 1}}, {"a": tree{"b": 1}},
		{"ab": 1}, {"a": tree{"b": tree{}}}, {"a": tree{}, "b": tree{}}, {"a": []any{}}, {"a": []any{tree{"b": 1}}}, {"a": map[string]int{"b": 1}},
		{"a": tree{"x": 1}, "b": tree{"y": 2}}, {"a": tree{"y": 2}, "b": tree{"x": 1}}, {"a": 2, "b": 1},
	} {
		sum := stash.SumOf(root).Digest()
		assert.NotContains(t, known, sum, "%v", root)
		known[sum] = i
		var set stash.Kept
		for name, value := range root {
			require.NoError(t, set.Set(name, value))
		}
		assert.Equal(t, sum, set.Sum().Digest(), "%v", root)
	}
	assert.Zero(t, stash.SumOf(nil).Digest())
	assert.Zero(t, stash.SumOf(tree{}).Digest())
}

// DET-8: the sum of a tree is the same on every machine and in every release, as the traces that exist
// require.
func TestSumByHand(t *testing.T) {
	of := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, "")))
		return string(sum[:])
	}
	branch := of(strings.Repeat("\x00", 32), "a")
	sum := new(big.Int)
	for _, part := range []string{of(branch), of(of(branch, "b"), "1")} {
		number := []byte(part)
		slices.Reverse(number) // little-endian
		sum.Add(sum, new(big.Int).SetBytes(number))
	}
	text := binary.BigEndian.AppendUint64(nil, 2)
	for range 4 {
		text = binary.BigEndian.AppendUint64(text, sum.Uint64())
		sum.Rsh(sum, 64)
	}
	assert.Equal(t, of(string(text))[:16], string(digestText(map[string]any{"a": map[string]any{"b": 1}})))
}

func digestText(tree map[string]any) []byte { sum := stash.SumOf(tree).Digest(); return sum[:] }

// DET-8, STA-6: the incremental sum equals the sum of the tree, whatever was set and removed, in the tree and in
// its copies. A refused change does not change it.
func TestKeptIsItsTree(t *testing.T) {
	value := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.IntRange(0, 3), func(n int) any { return n }),
		rapid.Just[any](map[string]any{}), rapid.Just[any](map[string]any{"a": map[string]any{"b": 1}, "c": nil}), rapid.Just[any]([]any{"x"}))
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 4), func(names []string) string { return strings.Join(names, ".") })
	rapid.Check(t, func(t *rapid.T) {
		given := stash.Kept{Tree: stash.New(map[string]any{"a": 1, "b": map[string]any{"c": 2}})}
		all := []*stash.Kept{{}, &given}
		one := func(t *rapid.T) *stash.Kept { return rapid.SampledFrom(all).Draw(t, "stash") }
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) { _ = one(t).Set(path.Draw(t, "path"), value.Draw(t, "value")) },
			"ask": func(t *rapid.T) { one(t).Sum() },
			"copy": func(t *rapid.T) {
				copied := one(t).Copy()
				all = append(all, &copied)
			},
		})
		for _, k := range all {
			require.Equal(t, stash.SumOf(k.Root()), k.Sum(), "%v", k.Root())
		}
	})
}

// rendered is a value that counts how often it is marshaled.
type rendered struct{ times *int }

func (r rendered) PlainTag() string { return "rendered" }

func (r rendered) MarshalJSON() ([]byte, error) { *r.times++; return []byte("1"), nil }

// DET-8: updating the sum of a growing tree costs only what is new: values next to a change are hashed once.
func TestKeptIsCarriedOn(t *testing.T) {
	times := 0
	var kept stash.Kept
	require.NoError(t, kept.Set("held.a", rendered{&times}))
	require.NoError(t, kept.Set("held.b", rendered{&times}))
	for i := range 1000 {
		kept.Sum()
		require.NoError(t, kept.Set("held.more.n"+strings.Repeat("n", i%7), i))
	}
	assert.Equal(t, 2, times)
	require.NoError(t, kept.Set("held.a", 1))
	assert.Equal(t, 3, times, "it is taken out")
	assert.Equal(t, stash.SumOf(kept.Root()), kept.Sum())
}

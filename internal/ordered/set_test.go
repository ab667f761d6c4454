package ordered

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/allocs"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

// twin is a simple set from which Set must not differ in behavior.
type twin struct {
	keys   []int
	values []string
}

func (w *twin) add(key int, value string) bool {
	if at := slices.Index(w.keys, key); at >= 0 {
		w.values[at] = value
		return true
	}
	w.keys, w.values = append(w.keys, key), append(w.values, value)
	return false
}

func (w *twin) remove(key int) (string, bool) {
	at := slices.Index(w.keys, key)
	if at < 0 {
		return "", false
	}
	value := w.values[at]
	w.keys = slices.Delete(w.keys, at, at+1)
	w.values = slices.Delete(w.values, at, at+1)
	return value, true
}

func (w *twin) get(key int) (string, bool) {
	at := slices.Index(w.keys, key)
	if at < 0 {
		return "", false
	}
	return w.values[at], true
}

// RUN-12, DSP-9: a set keeps the order of insertion, replaces in place, finds by key, and has independent copies.
func TestSetIsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, dumb := new(Set[int, string]), new(twin)
		for k := range rapid.SampledFrom([]int{0, 3, 40, 90}).Draw(t, "long") {
			dumb.add(k, "first")
			set.Add(k, "first")
		}
		key, value := rapid.IntRange(0, 130), rapid.StringN(0, 3, -1)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), value.Draw(t, "value")
				require.Equal(t, dumb.add(k, v), set.Add(k, v))
			},
			"remove": func(t *rapid.T) {
				k := key.Draw(t, "key")
				want, had := dumb.remove(k)
				got, removed := set.Remove(k)
				require.Equal(t, want, got)
				require.Equal(t, had, removed)
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "key")
				want, had := dumb.get(k)
				got, found := set.Get(k)
				require.Equal(t, want, got)
				require.Equal(t, had, found)
				require.Equal(t, had, set.Has(k))
			},
			"add many": func(t *rapid.T) {
				for k := range rapid.IntRange(30, 50).Draw(t, "many") {
					require.Equal(t, dumb.add(200+k, "many"), set.Add(200+k, "many"))
				}
			},
			"clone, and forget the original": func(t *rapid.T) {
				old := set
				set = old.Clone()
				old.Add(99, "only in the original")
				old.Remove(key.Draw(t, "key"))
			},
			"clone, and forget the clone": func(t *rapid.T) {
				other := set.Clone()
				other.Add(key.Draw(t, "key"), "only in the clone")
				other.Remove(key.Draw(t, "key"))
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(dumb.keys), set.Len())
				require.Equal(t, append([]string{}, dumb.values...), set.All())
				require.True(t, slices.Equal(dumb.values, slices.Collect(set.Values())))
			},
		})
	})
}

func TestSetValuesStopsWhenAsked(t *testing.T) {
	var set Set[int, int]
	for i := range 20 {
		set.Add(i, i*i)
	}
	for value := range set.Values() {
		if value == 4 {
			return
		}
		require.Less(t, value, 4)
	}
}

func TestSetAllIsTheCallersSlice(t *testing.T) {
	var set Set[string, int]
	set.Add("a", 1)
	set.All()[0] = 2
	value, _ := set.Get("a")
	assert.Equal(t, 1, value)
}

// DSP-9: adding to a dispatch's copy of a long history, and then to the history itself, costs no more than with a
// short history. The same holds for a dispatch within a dispatch.
func TestCopiesOfLongSetsCostTheSame(t *testing.T) {
	work := func(length int) (bytes uint64) {
		var history Set[int, int]
		for i := range length {
			history.Add(i, i)
		}
		turn := func(n int) {
			outer := history.Clone()
			outer.Add(-1-n, n)
			inner := outer.Clone()
			require.True(t, inner.Has(0))
			require.True(t, inner.Has(-1-n))
			inner.Add(-100_000-n, n)
			history.Add(length+n, n)
		}
		turn(0) // creates what all copies share
		const rounds = 400
		return allocs.Bytes(func() {
			for n := range rounds {
				turn(1 + n)
			}
		}) / rounds
	}
	short, long := work(2_000), work(8_000)
	t.Logf("%d and %d bytes a dispatch", short, long)
	assert.Less(t, long, 2*short)
	assert.Less(t, long, uint64(8<<10))
}

// Two readers may concurrently be the first to need the index of a set.
func TestSetReadsRunBesideReads(t *testing.T) {
	var set Set[int, int]
	for i := range 100 {
		set.Add(i, i)
	}
	clone := set.Clone()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range 100 {
				assert.True(t, clone.Has(i))
			}
		})
	}
	readers.Wait()
}

// A set that is cleared, or copied into again, reuses the memory of its members.
func TestRoomIsUsedAgain(t *testing.T) {
	var one, other Set[int, string]
	for i := range 20 {
		other.Add(i, "a")
	}
	one.CopyFrom(&other)
	allocs.AtMost(t, 0, 100, func() { one.CopyFrom(&other) }, "copying")
	one.Clear()
	assert.Zero(t, one.Len())
	assert.False(t, one.Has(1))
	assert.Equal(t, 20, other.Len())
}

// Clone returns an independent set with the same members in the same order. The
// values themselves are shared.
func (s *Set[K, V]) Clone() *Set[K, V] {
	clone := &Set[K, V]{}
	clone.CopyFrom(s)
	return clone
}

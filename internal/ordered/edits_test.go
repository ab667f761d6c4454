package ordered_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/allocs"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// DET-8: Since says up to where a set is unchanged since a moment, for every moment of the set and of the
// sets it was copied from.
func TestSince(t *testing.T) {
	type memory struct {
		at     ordered.Moment
		values []int
	}
	rapid.Check(t, func(t *rapid.T) {
		set, next, moments := &ordered.Set[int, int]{}, 0, []memory{{}}
		t.Repeat(map[string]func(*rapid.T){
			"grow": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "by") {
					next++
					set.Add(next, next)
				}
			},
			"replace": func(t *rapid.T) { next++; set.Add(rapid.IntRange(1, next).Draw(t, "key"), next) },
			"remove":  func(t *rapid.T) { set.Remove(rapid.IntRange(1, next+1).Draw(t, "key")) },
			"copy":    func(*rapid.T) { set = set.Clone() },
			"ask": func(*rapid.T) {
				now, _ := set.Since(ordered.Moment{})
				moments = append(moments, memory{now, set.All()})
			},
		})
		all := set.All()
		for _, m := range moments {
			_, same := set.Since(m.at)
			require.LessOrEqual(t, same, len(all))
			known := min(same, len(m.values))
			require.Equal(t, append([]int{}, m.values[:known]...), append([]int{}, all[:known]...))
		}
	})
}

// DET-8: the members that existed stay known as unchanged while a set grows, and those before an edit too.
func TestSinceKnowsWhatStays(t *testing.T) {
	var set ordered.Set[int, int]
	since := func(then ordered.Moment) int { _, same := set.Since(then); return same }
	for i := range 1000 {
		set.Add(i, i)
	}
	assert.Equal(t, 1000, since(ordered.Moment{}), "it grew")
	set.Add(700, -1)
	first, same := set.Since(ordered.Moment{})
	assert.Equal(t, 640, same)
	assert.Equal(t, 1000, since(first))
	set.Remove(900)
	assert.Equal(t, 896, since(first))
	assert.Equal(t, 640, since(ordered.Moment{}))
	set.Remove(0)
	assert.Zero(t, since(first))
}

// DSP-9: copying a set of any size allocates nothing until one of the two changes.
func TestCopiesAreFree(t *testing.T) {
	set := &ordered.Set[int, int]{}
	for i := range 10_000 {
		set.Add(i, i)
	}
	copied := &ordered.Set[int, int]{}
	allocs.AtMost(t, 0, 100, func() {
		*copied = ordered.Set[int, int]{}
		copied.CopyFrom(set)
	}, "copying")
	copied.Add(1, -1)
	set.Add(10_000, 10_000)
	copied.Add(10_000, -1)
	assert.Equal(t, 1, set.At(1))
	assert.Equal(t, 10_000, set.At(10_000))
	assert.Equal(t, -1, copied.At(10_000))
}

// DSP-9: copying the record of where an edited set was changed takes one allocation.
func TestCopiesOfEditedSets(t *testing.T) {
	set := &ordered.Set[int, int]{}
	for i := range 100 {
		set.Add(i, i)
	}
	set.Add(1, -1)
	copied := &ordered.Set[int, int]{}
	allocs.AtMost(t, 1, 100, func() {
		*copied = ordered.Set[int, int]{}
		copied.CopyFrom(set)
	}, "copying")
}

package ordered_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/ordered"
)

func TestShared(t *testing.T) {
	var s, other ordered.Shared[string, string]
	assert.True(t, s.AddNew("a", "a"))
	assert.True(t, s.AddNew("b", "bb"))
	assert.True(t, s.AddNew("c", "c"))
	assert.False(t, s.AddNew("a", "other"), "it is taken")
	s.Add("a", "aa") // keeps its place
	assert.Equal(t, []string{"aa", "bb", "c"}, s.All())
	other.CopyFrom(&s)
	first := func(text string) string { return text[:1] }
	assert.Equal(t, []string{"a", "b"}, s.Prune(first, func(text string) bool { return len(text) == 2 }))
	assert.Empty(t, s.Prune(first, func(text string) bool { return len(text) == 2 }))
	assert.Equal(t, 1, s.Len())
	assert.True(t, s.Remove("c"))
	assert.False(t, s.Remove("c"))
	_, found := s.Get("c")
	assert.False(t, found)
	got, found := other.Get("b")
	assert.True(t, found)
	assert.Equal(t, "bb", got)
	other.Read(func(set *ordered.Set[string, string]) { assert.Equal(t, 3, set.Len()) })
}

// If many goroutines add the same key concurrently, exactly one succeeds.
func TestSharedTakesOneOfMany(t *testing.T) {
	var (
		s     ordered.Shared[int, int]
		group sync.WaitGroup
		added = make([]bool, 8)
	)
	for i := range added {
		group.Go(func() { added[i] = s.AddNew(1, i) })
	}
	group.Wait()
	count := 0
	for _, one := range added {
		if one {
			count++
		}
	}
	assert.Equal(t, 1, count)
	assert.Equal(t, 1, s.Len())
}

package ordered_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// DET-8: what is derived of a list is that of its values, whatever became of it since it
// was asked for, and of those that stand where they stood it is not worked out again.
func TestDerived(t *testing.T) {
	var derived ordered.Derived[int, string, string]
	var set ordered.Set[int, string]
	for _, c := range []struct {
		values []string
		anew   int // of how many it is worked out
	}{
		{nil, 0}, {[]string{"a"}, 1}, {[]string{"a", "b", "c"}, 2}, {[]string{"a", "x", "c"}, 1}, {[]string{"a", "c"}, 1},
		{[]string{"a", "c"}, 0}, {nil, 0}, {[]string{"a", "c", "d"}, 3},
	} {
		worked, want := 0, []string{}
		become(&set, c.values)
		got := derived.Of(&set, func(v string) string { worked++; return strings.ToUpper(v) })
		for _, v := range c.values {
			want = append(want, strings.ToUpper(v))
		}
		assert.Equal(t, want, append([]string{}, got...))
		assert.Equal(t, c.anew, worked, "%v", c.values)
		assert.Equal(t, len(got), cap(got), "who appends changes nothing of it")
	}
}

// become has a set hold values, by their places.
func become(set *ordered.Set[int, string], values []string) {
	for i, v := range values {
		if was, there := set.Get(i); !there || was != v {
			set.Add(i, v)
		}
	}
	for i := set.Len() - 1; i >= len(values); i-- {
		set.Remove(i)
	}
}

// A set that has not changed is asked again at no cost.
func TestDerivedAllocatesNothing(t *testing.T) {
	var derived ordered.Derived[int, string, string]
	var set ordered.Set[int, string]
	set.Add(1, "a")
	derived.Of(&set, strings.ToUpper)
	allocs.AtMost(t, 0, 100, func() { derived.Of(&set, strings.ToUpper) }, "deriving again")
}

package ordered_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/ordered"
)

// DET-8: the derived list equals what its values give now, however the set changed since the last time. Values
// that are still in the same place are not derived again.
func TestDerived(t *testing.T) {
	var derived ordered.Derived[int, string, string]
	var set ordered.Set[int, string]
	for _, c := range []struct {
		values []string
		anew   int // number of values that are derived anew
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

// become changes a set until it holds these values, keyed by their places.
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

// Asking again for the list of an unchanged set allocates nothing.
func TestDerivedAllocatesNothing(t *testing.T) {
	var derived ordered.Derived[int, string, string]
	var set ordered.Set[int, string]
	set.Add(1, "a")
	derived.Of(&set, strings.ToUpper)
	allocs.AtMost(t, 0, 100, func() { derived.Of(&set, strings.ToUpper) }, "deriving again")
}

package digest_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/digest"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/ordered"
)

type sum = [16]byte

func ofLists(before sum, lists [][]sum, behind sum) sum {
	all := digest.Begin(before)
	for _, list := range lists {
		all.Add(sum{}, list)
	}
	return all.End(behind)
}

// some returns n digests, which differ for each number.
func some(n, number int) []sum {
	list := make([]sum, n)
	for i := range list {
		list[i] = digest.Of([]byte{byte(number), byte(i), byte(i >> 8)})
	}
	return list
}

// DET-8: moving an element from one list to the next changes the digest, however many elements there are.
func TestLists(t *testing.T) {
	a, b := sum{1}, sum{2}
	states := map[sum]string{}
	for name, lists := range map[string][][]sum{
		"none": {nil, nil}, "first": {{a}, nil}, "second": {nil, {a}}, "both": {{a}, {b}}, "other": {{b}, {a}}, "two": {{a, b}, nil},
		"many": {make([]sum, 100), {a}}, "more": {make([]sum, 101), nil},
		"a block": {make([]sum, digest.Block), nil}, "one as a block is told": {{digest.Of(make([]byte, 16*digest.Block))}, nil},
	} {
		at := ofLists(a, lists, b)
		assert.Empty(t, states[at], "%s is like another", name)
		states[at] = name
	}
	assert.NotEqual(t, ofLists(a, nil, b), ofLists(b, nil, a))
}

// DET-8: a list that was added in a later release does not change the digest while it is empty. Once it has an
// element, the digest differs from all others, in each of the three ways to add a list.
func TestMarkedLists(t *testing.T) {
	before, behind := sum{1}, sum{2}
	adds := map[string]func(all digest.Lists[sum], mark sum, n int){
		"list":   func(all digest.Lists[sum], mark sum, n int) { all.Add(mark, some(n, 0)) },
		"former": func(all digest.Lists[sum], mark sum, n int) { all.AddFormer(mark, some(n, 0)) },
		"set": func(all digest.Lists[sum], mark sum, n int) {
			var set ordered.Set[int, sum]
			for i, d := range some(n, 0) {
				set.Add(i, d)
			}
			digest.AddSet(all, mark, &set, &digest.Chain[sum]{}, func(d sum) sum { return d })
		},
	}
	told := map[sum]string{}
	for name, add := range adds {
		of := func(notes, toys int) sum {
			all := digest.Begin(before)
			add(all, sum{}, 0)
			add(all, sum{3}, notes)
			add(all, sum{4}, toys)
			return all.End(behind)
		}
		assert.Equal(t, ofLists(before, [][]sum{nil}, behind), of(0, 0), name)
		for _, lengths := range [][2]int{{1, 0}, {0, 1}, {1, 1}, {2, 0}, {0, 2}} {
			at, words := of(lengths[0], lengths[1]), fmt.Sprint(lengths)
			if told[at] == "" {
				told[at] = words
			}
			assert.Equal(t, words, told[at], "%s: like another", name)
		}
	}
	assert.Len(t, told, 5, "the ways differ")
}

// DET-8: the digest of a state is the same on every machine and in every release, as the traces that exist
// require. Whole blocks are hashed one after the other, and the elements after the last whole block are
// included as they are. The former digest is a single hash over everything.
func TestListsByHand(t *testing.T) {
	for _, lengths := range [][]int{{}, {0, 0}, {1, 2}, {63}, {64}, {65}, {127, 128, 129}, {0, 1000, 0, 3, 256}} {
		before, behind := digest.Of([]byte("prompt")), digest.Of([]byte("stash"))
		whole, text := append([]byte(nil), before[:]...), append([]byte(nil), before[:]...)
		var lists [][]sum
		former := digest.Begin(before)
		for _, length := range lengths {
			list := some(length, len(lists))
			lists = append(lists, list)
			text = binary.BigEndian.AppendUint32(text, uint32(length))
			whole = binary.BigEndian.AppendUint32(whole, uint32(length))
			var block []byte
			for i, d := range list {
				whole = append(whole, d[:]...)
				if block = append(block, d[:]...); i%64 == 63 {
					known := digest.Of(block)
					block = known[:]
				}
			}
			text = append(text, block...)
			former.AddFormer(sum{}, list)
		}
		assert.Equal(t, digest.Of(append(text, behind[:]...)), ofLists(before, lists, behind), "%v", lengths)
		assert.Equal(t, digest.Of(append(whole, behind[:]...)), former.End(behind), "%v, before", lengths)
	}
}

// carried is a set whose digest is updated incrementally.
type carried struct {
	set   ordered.Set[int, int]
	chain digest.Chain[sum]
	keys  []int
	asked int // number of values whose digest was computed
}

func (c *carried) digest() sum {
	all := digest.Begin(sum{})
	digest.AddSet(all, sum{}, &c.set, &c.chain, func(value int) sum { c.asked++; return digest.Of([]byte(strconv.Itoa(value))) })
	return all.End(sum{})
}

func (c *carried) copied() *carried {
	other := &carried{chain: c.chain.Copy(), keys: append([]int(nil), c.keys...)}
	other.set.CopyFrom(&c.set)
	return other
}

// anew computes the digest from the content of the set alone.
func (c *carried) anew() sum {
	var list []sum
	for value := range c.set.Values() {
		list = append(list, digest.Of([]byte(strconv.Itoa(value))))
	}
	return ofLists(sum{}, [][]sum{list}, sum{})
}

// DET-8, DSP-9: the incremental digest of a set equals the digest of its content, whatever was added, replaced or
// removed since it was last computed, in the set and in its copies.
func TestChainIsItsList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []*carried{{}}
		next := 0
		one := func(t *rapid.T) *carried { return rapid.SampledFrom(all).Draw(t, "set") }
		t.Repeat(map[string]func(*rapid.T){
			"grow": func(t *rapid.T) {
				c := one(t)
				for range rapid.IntRange(1, 150).Draw(t, "by") {
					next++
					c.set.Add(next, next)
				}
			},
			"replace": func(t *rapid.T) {
				if c := one(t); next > 0 {
					c.set.Add(rapid.IntRange(1, next).Draw(t, "key"), -next)
				}
			},
			"remove": func(t *rapid.T) {
				if c := one(t); next > 0 {
					c.set.Remove(rapid.IntRange(1, next).Draw(t, "key"))
				}
			},
			"ask":  func(t *rapid.T) { c := one(t); require.Equal(t, c.anew(), c.digest()) },
			"copy": func(t *rapid.T) { all = append(all, one(t).copied()) },
		})
		for _, c := range all {
			require.Equal(t, c.anew(), c.digest())
		}
	})
}

// DET-8: updating the digest of a growing list costs only what is new: with twice as many records, and a digest
// after each, twice as many digests are hashed. An edit costs what comes after it, and a copy
// starts with what is already known.
func TestChainIsCarriedOn(t *testing.T) {
	grown := func(n int) *carried {
		c := &carried{}
		for i := range n {
			c.set.Add(i, i)
			c.digest()
		}
		return c
	}
	c := grown(20_000)
	assert.InDelta(t, 2, float64(c.asked)/float64(grown(10_000).asked), 0.01)
	assert.Less(t, c.asked, 20_000*digest.Block)
	asked := func(c *carried) int {
		c.asked = 0
		c.digest()
		return c.asked
	}
	assert.Less(t, asked(c), digest.Block)
	c.set.Add(19_000, -1)
	assert.Less(t, asked(c), 1000+2*digest.Block, "what lies behind an edit")
	c.set.Remove(19_990)
	assert.Less(t, asked(c), 3*digest.Block)
	assert.Less(t, asked(c.copied()), digest.Block)
}

// DET-8: the digest of a turn's state is computed after every crossing, so computing it allocates
// nothing.
func TestListsAllocateNothing(t *testing.T) {
	var c carried
	for i := range 1000 {
		c.set.Add(i, i)
	}
	list, of := some(1000, 1), func(int) sum { return sum{1} }
	allocs.AtMost(t, 0, 100, func() {
		all := digest.Begin(sum{})
		digest.AddSet(all, sum{}, &c.set, &c.chain, of)
		all.Add(sum{}, list[:20])
		all.End(sum{})
	}, "a state")
}

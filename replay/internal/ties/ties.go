// Package ties finds answers of the world that were recorded so close together that no trace shows
// which of them user code saw first: what a goroutine does with its answer is no crossing, and
// another goroutine may have overtaken it.
package ties

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// near is the longest time between two answers that user code may have seen the other way round.
const near = 2 * time.Millisecond

// most is how many other orders are worth a run each.
const most = 8

// Orders returns other orders in which user code may have seen the answers to what a recorded call
// asked, the closest answers first. In each order, one answer comes before those just before it:
// the map has the new places of the delayed ones, by the numbers of the crossings that end their
// asks.
func Orders(in *calls.Call) []map[int]int {
	type order struct {
		apart time.Duration
		late  map[int]int
	}
	var orders []order
	asks := ended(in)
	for i, first := range asks {
		one := order{late: map[int]int{}}
		for _, other := range asks[:i] {
			if apart := first.Done.At.Sub(other.Done.At); apart <= near {
				one.late[other.Done.Seq] = first.Done.Seq + 1
				one.apart = max(one.apart, apart)
			}
		}
		if len(one.late) > 0 {
			orders = append(orders, one)
		}
	}
	slices.SortStableFunc(orders, func(a, b order) int { return cmp.Compare(a.apart, b.apart) })
	late := make([]map[int]int, min(most, len(orders)))
	for i := range late {
		late[i] = orders[i].late
	}
	return late
}

// SameWords reports whether two texts consist of the same words, in any order: a text that was
// joined from several answers differs where these came in another order. Random ids do not count as
// words.
func SameWords(a, b string) bool { return slices.Equal(words(a), words(b)) }

// spaces replaces the escapes with which JSON writes white space.
var spaces = strings.NewReplacer(`\n`, " ", `\r`, " ", `\t`, " ")

func words(text string) (all []string) {
	text = likeness.RandomID.ReplaceAllString(spaces.Replace(text), " ")
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-.", r)
	}) {
		if word = strings.TrimRight(word, "-."); word != "" { // the end of a sentence belongs to no word, but a sign does
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// AtOnce reports whether goroutines that user code started ask the world in a call. isApart reports
// whether such a goroutine made an ask. A nil call asks nothing.
func AtOnce(in *calls.Call, isApart func(*adk.Crossing) bool) bool {
	return in != nil && slices.ContainsFunc(in.Script, func(s *calls.Step) bool { return wire.Asks(s.X) && isApart(s.X) })
}

// ended returns the asks of a call that have an end, in the order of their ends.
func ended(in *calls.Call) []*calls.Step {
	asks := slices.DeleteFunc(slices.Clone(in.Script), func(s *calls.Step) bool { return !wire.Asks(s.X) || s.Done == nil })
	slices.SortFunc(asks, func(a, b *calls.Step) int { return cmp.Compare(a.Done.Seq, b.Done.Seq) })
	return asks
}

// Package ties finds answers of the world that were recorded so close to one another that no
// trace tells which of them user code saw first: what a goroutine does with its answer is no
// crossing, and another one may have overtaken it.
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

// near is how far two answers are apart at most that may have been seen the other way round.
const near = 2 * time.Millisecond

// most is how many of the other orders are worth a run each.
const most = 8

// Orders gives other orders in which the answers of what a recorded call asked may have been
// seen, those first whose answers came closest: in each, one of them comes before those just
// before it. Of the end of such an ask it says in which place that comes now.
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

// SameWords reports whether two texts say the same words, in whatever order: what was joined from
// several answers is another text where these came in another order. Ids that are made at random are
// words of no text.
func SameWords(a, b string) bool { return slices.Equal(words(a), words(b)) }

// spaces are how JSON writes what stands between words.
var spaces = strings.NewReplacer(`\n`, " ", `\r`, " ", `\t`, " ")

func words(text string) (all []string) {
	text = likeness.RandomID.ReplaceAllString(spaces.Replace(text), " ")
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-.", r)
	}) {
		if word = strings.TrimRight(word, "-."); word != "" { // the end of a sentence is no part of a word, and a sign is
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// AtOnce reports whether goroutines of user code's own ask the world in a call: of each ask isApart
// says whether one of them made it. A nil call asks nothing.
func AtOnce(in *calls.Call, isApart func(*adk.Crossing) bool) bool {
	return in != nil && slices.ContainsFunc(in.Script, func(s *calls.Step) bool { return wire.Asks(s.X) && isApart(s.X) })
}

// ended are the asks of a call that have an end, in the order of that.
func ended(in *calls.Call) []*calls.Step {
	asks := slices.DeleteFunc(slices.Clone(in.Script), func(s *calls.Step) bool { return !wire.Asks(s.X) || s.Done == nil })
	slices.SortFunc(asks, func(a, b *calls.Step) int { return cmp.Compare(a.Done.Seq, b.Done.Seq) })
	return asks
}

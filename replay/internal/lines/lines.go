// Package lines finds lines of a recording by the strand and by the step that made them.
package lines

import (
	"cmp"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Index has the lines of a recording. The zero value has none.
type Index struct {
	byStrand map[int][]*adk.Crossing
	inCalls  []*adk.Crossing // all lines, call by call, ordered by compareSteps
}

// Of makes the index of the lines of a recording, which must be in order.
func Of(all []*adk.Crossing) Index {
	inCalls := slices.Clone(all)
	slices.SortFunc(inCalls, func(a, b *adk.Crossing) int {
		return cmp.Or(compareSteps(stepOf(a), stepOf(b)), cmp.Compare(a.Seq, b.Seq))
	})
	return Index{byStrand(all), inCalls}
}

// byStrand are the lines of each strand, all in one allocation: a turn may have as many strands as
// it has tool calls.
func byStrand(lines []*adk.Crossing) map[int][]*adk.Crossing {
	counts := map[int]int{}
	for _, x := range lines {
		counts[x.Strand]++
	}
	of := make(map[int][]*adk.Crossing, len(counts))
	room := make([]*adk.Crossing, len(lines))
	for _, x := range lines {
		if of[x.Strand] == nil {
			n := counts[x.Strand]
			of[x.Strand], room = room[:0:n], room[n:]
		}
		of[x.Strand] = append(of[x.Strand], x)
	}
	return of
}

// stepOf is the step that made a recorded line.
func stepOf(x *adk.Crossing) adk.Step {
	return adk.Step{Kind: x.Kind, Phase: x.Phase, Call: x.Call, Strand: x.Strand}
}

// compareSteps orders steps call by call, and those of one call so that all of one strand, kind and
// phase are adjacent.
func compareSteps(a, b adk.Step) int {
	return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Strand, b.Strand), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Phase, b.Phase))
}

// Like is the first line after a number that an equal step made; nil if there is none.
func (n Index) Like(step adk.Step, behind int) *adk.Crossing {
	at, _ := slices.BinarySearchFunc(n.inCalls, step, func(x *adk.Crossing, step adk.Step) int {
		return cmp.Or(compareSteps(stepOf(x), step), cmp.Compare(x.Seq, behind+1))
	})
	if at == len(n.inCalls) || stepOf(n.inCalls[at]) != step {
		return nil
	}
	return n.inCalls[at]
}

// First is, of the lines that Like finds one after the other, the one with the lowest place for
// which left is true; nil if there is none. Places and numbers differ where several goroutines of a
// strand made the lines.
func (n Index) First(step adk.Step, behind int, place func(seq int) int, left func(seq int) bool) (first *adk.Crossing) {
	for x := n.Like(step, behind); x != nil; x = n.Like(step, x.Seq) {
		if left(x.Seq) && (first == nil || place(x.Seq) < place(first.Seq)) {
			first = x
		}
	}
	return first
}

// AnyIn reports whether anything was done in a call, or after it through its handle.
func (n Index) AnyIn(call int) bool {
	_, ok := slices.BinarySearchFunc(n.inCalls, call, func(x *adk.Crossing, call int) int { return cmp.Compare(x.Call, call) })
	return ok
}

// From returns the lines of a strand from a number on.
func (n Index) From(strand, seq int) []*adk.Crossing {
	of := n.byStrand[strand]
	at, _ := slices.BinarySearchFunc(of, seq, func(x *adk.Crossing, seq int) int { return x.Seq - seq })
	return of[at:]
}

// Package siblings finds out which of the sub-agents that goroutines dispatch at once, by one
// name, stands for which of the recorded ones. Nothing of a dispatch says so: the one that begins
// first now may have begun last. What is done in it does.
package siblings

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Pair gives the recorded dispatch for each of the new ones, as far as what was done in them
// shows it: none is given twice. newSeq is, of each recorded operation by its number, the number
// of the new one that stands for it; 0 is none. Operations that several of the recorded
// dispatches made, with the same arguments, show nothing.
func Pair(known wire.Comparer, want, got []*calls.Step, newSeq []int) map[*calls.Step]*calls.Step {
	in := map[int]*calls.Step{} // of the new operations, the dispatch that they are in
	for _, g := range got {
		for x := range operations(g.Call) {
			in[x.Seq] = g
		}
	}
	votes := map[vote]int{}
	for _, x := range once(known, want) {
		if g := in[newSeq[x.seq]]; g != nil {
			votes[vote{x.in, g}]++
		}
	}
	ranked := slices.SortedFunc(maps.Keys(votes), func(a, b vote) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a.want.X.Seq, b.want.X.Seq), cmp.Compare(a.got.X.Seq, b.got.X.Seq))
	})
	pairs, taken := map[*calls.Step]*calls.Step{}, map[*calls.Step]bool{}
	for _, v := range ranked {
		if pairs[v.got] == nil && !taken[v.want] {
			pairs[v.got], taken[v.want] = v.want, true
		}
	}
	return pairs
}

// vote is that something done in a recorded dispatch was done in a new one.
type vote struct{ want, got *calls.Step }

// operation is one, by its number, and the dispatch that it is in.
type operation struct {
	in  *calls.Step
	seq int
}

// once are the operations that one of the dispatches alone made, by what user code gave them.
func once(known wire.Comparer, dispatches []*calls.Step) map[string]operation {
	all, twice := map[string]operation{}, map[string]bool{}
	for _, d := range dispatches {
		for x := range operations(d.Call) {
			text := compare.ArgumentsText(known, x)
			_, made := all[text]
			twice[text] = twice[text] || made
			all[text] = operation{d, x.Seq}
		}
	}
	maps.DeleteFunc(all, func(text string, _ operation) bool { return twice[text] })
	return all
}

// first is the first operation in a call and below it, but for what makes an id or a time; nil
// where there is none.
func first(c *calls.Call) *adk.Crossing {
	for x := range operations(c) {
		if !wire.OnlyMakes(x) {
			return x
		}
	}
	return nil
}

// Line is a crossing of a run in a line; of a sub-agent, of which there may be several by
// one name, with what it begins with.
func Line(of *describe.Run, x *adk.Crossing) string {
	line := of.Line(x)
	if wire.IsDispatched(x) {
		if one := first(of.Calls[x.ID]); one != nil {
			line += ", which begins with " + of.Line(one)
		}
	}
	return line
}

// operations are all that user code did in a call and below it, in the order of the calls.
func operations(c *calls.Call) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) { each(c, yield) }
}

func each(c *calls.Call, yield func(*adk.Crossing) bool) bool {
	for _, s := range c.Steps {
		below := s.Calls
		switch {
		case s.Call != nil:
			below = []*calls.Call{s.Call}
		case s.X.Kind.Class() == adk.ClassOperation && !yield(s.X):
			return false
		}
		for _, call := range below {
			if !each(call, yield) {
				return false
			}
		}
	}
	return true
}

// Package siblings finds out which of several sub-agents of one name, dispatched by goroutines at
// the same time, stands for which recorded one. The dispatch itself does not show it, because the
// first one to begin now may have begun last; what is done in it does.
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

// Pair returns the recorded dispatch for each of the new ones, as far as what was done in them
// shows it; no recorded dispatch is returned twice. newSeq has, at the number of each recorded
// operation, the number of the new one that stands for it; 0 is none. Operations that several of
// the recorded dispatches made with the same arguments show nothing.
func Pair(known wire.Comparer, want, got []*calls.Step, newSeq []int) map[*calls.Step]*calls.Step {
	in := map[int]*calls.Step{} // the dispatch that each new operation is in
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

// vote says that something done in a recorded dispatch was done in a new one.
type vote struct{ want, got *calls.Step }

// operation is an operation, by its number, and the dispatch that it is in.
type operation struct {
	in  *calls.Step
	seq int
}

// once returns the operations that only one of the dispatches made, by what user code gave them.
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

// first is the first operation in a call and below it that does not only make an id or a time; nil
// where there is none.
func first(c *calls.Call) *adk.Crossing {
	for x := range operations(c) {
		if !wire.OnlyMakes(x) {
			return x
		}
	}
	return nil
}

// Line is the line of a crossing of a run. For a sub-agent, of which several may have one name, it
// adds what the sub-agent begins with.
func Line(of *describe.Run, x *adk.Crossing) string {
	line := of.Line(x)
	if wire.IsDispatched(x) {
		if one := first(of.Calls[x.ID]); one != nil {
			line += ", which begins with " + of.Line(one)
		}
	}
	return line
}

// operations are all operations of user code in a call and below it, in the order of the calls.
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

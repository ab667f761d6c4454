package replay

import (
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/streams"
)

// otherPieces removes from two lists of steps the streams that say the same text in other pieces,
// and adds one difference for each. It returns what is left of both. There is no difference where
// the pieces are the same except for empty ones next to a placeholder: redaction leaves empty
// pieces where it cut a secret that went over several, and code often drops empty pieces.
func (c *comparison) otherPieces(in *calls.Call, want, got []*calls.Step) (restWant, restGot []*calls.Step) {
	if !slices.ContainsFunc(got, func(s *calls.Step) bool { return wire.IsDelta(s.X) }) {
		return want, got
	}
	before, _ := streams.In(want)
	after, order := streams.In(got)
	gone := map[*calls.Step]bool{}
	for _, key := range order {
		w, g := before[key], after[key]
		if len(w) == 0 || !w.SaysTheSame(g) || w.Same(g) {
			continue
		}
		if wire.Placeholder.MatchString(w.Text()) && w.OfSomething().Same(g.OfSomething()) {
			for _, s := range slices.Concat(w, g) {
				gone[s] = wire.SaysNothing(s.X)
			}
			c.emptied(w)
			continue
		}
		c.add(&difference{class: ChangedInput, want: w[0].X, got: g[0].X, call: in, at: w[0].X.Seq, lines: len(w), fields: []compare.FieldDiff{{
			Field: compare.FieldPieces, Want: strconv.Itoa(len(w)), Got: strconv.Itoa(len(g)), Input: true, Of: adk.FieldText}}})
		for i, s := range w {
			c.counterparts[s.X.Seq-1] = g[min(i, len(g)-1)].X.Seq
		}
		for _, s := range slices.Concat(w, g) {
			gone[s] = true
		}
	}
	without := func(list []*calls.Step) []*calls.Step {
		return slices.DeleteFunc(slices.Clone(list), func(s *calls.Step) bool { return gone[s] })
	}
	return without(want), without(got)
}

// emptied counts the empty pieces among some as equal, as if the new run had them, too.
func (c *comparison) emptied(pieces []*calls.Step) {
	for _, s := range pieces {
		if !wire.SaysNothing(s.X) {
			continue
		}
		for _, x := range append([]*adk.Crossing{s.X}, s.Notes...) {
			c.equal = append(c.equal, x.Seq)
		}
	}
}

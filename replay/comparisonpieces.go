package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/subjects"
)

// otherPieces takes the streams out of two lists of steps that say the same text in other
// pieces, and adds one difference for each. It gives the rest of both. Where a secret was cut
// over pieces, redaction has left some of nothing behind the placeholder: who drops such, as
// many do, says the same pieces.
func (j *comparison) otherPieces(in *calls.Call, want, got []*calls.Step) (restWant, restGot []*calls.Step) {
	if !slices.ContainsFunc(got, func(s *calls.Step) bool { return wire.IsDelta(s.X) }) {
		return want, got
	}
	before, _ := streamsOf(want)
	after, order := streamsOf(got)
	gone := map[*calls.Step]bool{}
	for _, key := range order {
		w, g := before[key], after[key]
		if len(w) == 0 || textOf(w) != textOf(g) || w[len(w)-1].X.Flag != g[len(g)-1].X.Flag || slices.EqualFunc(w, g, sameDelta) {
			continue
		}
		if some, others := ofSomething(w), ofSomething(g); wire.Placeholder.MatchString(textOf(w)) && slices.EqualFunc(some, others, sameDelta) {
			for _, s := range slices.Concat(w, g) {
				gone[s] = wire.SaysNothing(s.X)
			}
			j.emptied(w)
			continue
		}
		j.add(&difference{class: ChangedInput, want: w[0].X, got: g[0].X, call: in, at: w[0].X.Seq, lines: len(w), fields: []compare.FieldDiff{{
			Field: compare.FieldPieces, Want: strconv.Itoa(len(w)), Got: strconv.Itoa(len(g)), Input: true, Of: adk.FieldText}}})
		for i, s := range w {
			j.counterparts[s.X.Seq-1] = g[min(i, len(g)-1)].X.Seq
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

// emptied takes the pieces of nothing among some for such that the new run has too.
func (j *comparison) emptied(pieces []*calls.Step) {
	for _, s := range pieces {
		if !wire.SaysNothing(s.X) {
			continue
		}
		for _, x := range append([]*adk.Crossing{s.X}, s.Notes...) {
			j.equal = append(j.equal, x.Seq)
		}
	}
}

// ofSomething are the pieces that say something, or end their text.
func ofSomething(pieces []*calls.Step) []*calls.Step {
	return slices.DeleteFunc(slices.Clone(pieces), func(s *calls.Step) bool { return wire.SaysNothing(s.X) })
}

// streamsOf are the pieces of each streamed text in a list of steps, by strand, kind and
// id, and these in the order in which they begin.
func streamsOf(steps []*calls.Step) (streams map[string][]*calls.Step, order []string) {
	streams = map[string][]*calls.Step{}
	for _, s := range steps {
		if !wire.IsDelta(s.X) {
			continue
		}
		key := subjects.Of(s)
		if streams[key] == nil {
			order = append(order, key)
		}
		streams[key] = append(streams[key], s)
	}
	return streams, order
}

func textOf(pieces []*calls.Step) string {
	var b strings.Builder
	for _, s := range pieces {
		b.WriteString(s.X.Text)
	}
	return b.String()
}

func sameDelta(a, b *calls.Step) bool { return a.X.Text == b.X.Text && a.X.Flag == b.X.Flag }

// Package unmade keeps track of the recorded crossings that the strands of a new run have still to
// make.
package unmade

import (
	"slices"
	"sort"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Strand is a strand of a new run.
type Strand interface {
	comparable
	// Ahead reports whether the strand has still to make a recorded crossing of its own, and
	// never whether it cannot come to it any more.
	Ahead(seq int) (ahead, never bool)
}

// Crossings are the recorded crossings that strands have still to make, grouped by the reason why
// others wait for them. Each group is searched from its first crossing that is not made; otherwise
// every step would look at every strand.
type Crossings[S Strand] struct {
	Every, Shared, Aborting Lines
	Turns                   Lines // those for which TakesTurn is true
	OfGate                  map[string]*Lines
	by                      map[int]S             // the strands of the new run, by the recorded ones
	forks                   map[int]*adk.Crossing // of the recorded strands
}

// TakesTurn reports whether user code goes on after a recorded crossing with something that it did
// not know before: its strand begins, or it gets an answer of the world. What it looks at then,
// other strands may look at too.
func TakesTurn(x *adk.Crossing) bool {
	return x.Kind == adk.KindCall && x.Seam.Label == adk.LabelStrand || wire.EndsAsk(x)
}

// Lines are recorded crossings in order. Those before next are made, or never will be.
type Lines struct {
	lines []*adk.Crossing
	next  int
}

// New has all crossings of a recording. Its first strand is made by first.
func New[S Strand](t *calls.Tree, first S) *Crossings[S] {
	c := &Crossings[S]{by: map[int]S{0: first}, forks: map[int]*adk.Crossing{}, OfGate: map[string]*Lines{}}
	c.Every.lines = t.Lines
	if slices.ContainsFunc(t.Lines, wire.IsCancel) {
		c.Every.lines = slices.DeleteFunc(slices.Clone(t.Lines), wire.IsCancel)
	}
	for _, x := range c.Every.lines {
		if wire.Forks(x) && x.Strand < x.ID { // in an edited file a strand may seem to fork itself
			c.forks[x.ID] = x
		}
		if t.Shares(x) {
			c.Shared.lines = append(c.Shared.lines, x)
		}
		if TakesTurn(x) {
			c.Turns.lines = append(c.Turns.lines, x)
		}
		if wire.Aborts(x) {
			c.Aborting.lines = append(c.Aborting.lines, x)
		}
		if id := calls.GateID(x); id != "" {
			if c.OfGate[id] == nil {
				c.OfGate[id] = &Lines{}
			}
			c.OfGate[id].lines = append(c.OfGate[id].lines, x)
		}
	}
	return c
}

// Begins notes that the new strand s, forked after the crossing behind, makes a recorded strand. If
// that happens later than in the recording, its crossings may have been given up already, so Begins
// looks at them again.
func (c *Crossings[S]) Begins(s S, recorded, behind int) {
	c.by[recorded] = s
	for _, l := range []*Lines{&c.Every, &c.Shared, &c.Aborting, &c.Turns} {
		l.rewind(behind)
	}
	for _, l := range c.OfGate {
		l.rewind(behind)
	}
}

func (l *Lines) rewind(seq int) {
	if l.next > 0 && l.lines[l.next-1].Seq > seq {
		l.next = sort.Search(l.next, func(i int) bool { return l.lines[i].Seq > seq })
	}
}

// Before reports whether a strand other than s has still to make a crossing of l before a place,
// either itself or through a strand that it has not forked yet.
func (c *Crossings[S]) Before(s S, seq int, l *Lines) bool {
	if l == nil {
		return false
	}
	var nobody S
	for i := l.next; i < len(l.lines) && l.lines[i].Seq < seq; i++ {
		switch by, never := c.maker(l.lines[i]); {
		case never && i == l.next:
			l.next++
		case by != nobody && by != s:
			return true
		}
	}
	return false
}

// maker is the strand that makes a crossing, or that forks the strand which does. It is the zero S
// if that strand has passed the place; never is true if it cannot come back to it.
func (c *Crossings[S]) maker(x *adk.Crossing) (by S, never bool) {
	var nobody S
	for c.by[x.Strand] == nobody {
		if x = c.forks[x.Strand]; x == nil {
			return nobody, true
		}
	}
	ahead, never := c.by[x.Strand].Ahead(x.Seq)
	if !ahead {
		return nobody, never
	}
	return c.by[x.Strand], false
}

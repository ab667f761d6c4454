package distil

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/eachtrace"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Options say how to choose.
type Options struct {
	// Keep is the maximum number of traces to choose; 0 means as many as are needed.
	Keep int
	eachtrace.Options
}

// Selection is the result of Choose.
type Selection struct {
	// Traces is the number of traces read. The Unreadable ones among them are not chosen.
	Traces     int `json:"traces"`
	Unreadable int `json:"unreadable"`
	// Behaviours is the number of behaviours that all traces show, and Covered the number that the
	// chosen traces show.
	Behaviours int `json:"behaviours"`
	Covered    int `json:"covered"`
	// Chosen lists the chosen traces, beginning with the one that shows most.
	Chosen []Chosen `json:"chosen"`
	// Left lists what no chosen trace shows, and Missing what no trace shows.
	Left    []string `json:"left"`
	Missing []string `json:"missing"`
}

// Chosen is one chosen trace.
type Chosen struct {
	// Trace is the name of its source.
	Trace     string `json:"trace"`
	Crossings int    `json:"crossings"`
	// Adds lists what it shows and no trace before it does.
	Adds []string `json:"adds"`
}

// Choose chooses the fewest traces that show everything that any of them shows, or the Keep traces
// that show most. It is deterministic. If ctx ends, it returns the error of ctx and no Selection.
func Choose(ctx context.Context, sources []corpus.Source, o Options) (*Selection, error) {
	all := newCollection()
	selection := &Selection{Chosen: []Chosen{}, Left: []string{}, Missing: []string{}}
	traces, unreadable, err := eachtrace.Read(ctx, sources, o.Options, all.read)
	if err != nil {
		return nil, err
	}
	selection.Traces, selection.Unreadable = traces, unreadable
	all.choose(selection, cmp.Or(o.Keep, len(all.shortest)))
	return selection, nil
}

// collection holds what all traces show.
type collection struct {
	behaviours []string
	numbers    map[string]int // indexes in behaviours
	seen       *seams
	// shortest maps each set of behaviours (its numbers as varints) to the shortest trace that
	// shows exactly that set.
	shortest map[string]candidate
}

func newCollection() *collection {
	return &collection{numbers: map[string]int{}, seen: newSeams(), shortest: map[string]candidate{}}
}

// candidate is the shortest trace that shows a certain set of behaviours.
type candidate struct {
	name      string
	crossings int
	shows     []int // the numbers of the behaviours
}

// before orders traces that add equally much: by length, and then by name.
func (c candidate) before(other candidate) bool {
	return cmp.Or(cmp.Compare(c.crossings, other.crossings), cmp.Compare(c.name, other.name)) < 0
}

// read begins reading one trace.
func (all *collection) read(source corpus.Source, header trace.Header) eachtrace.Taker {
	return &reading{newObservation(all.seen, header.Info), all, candidate{name: source.Name}}
}

// reading observes one trace.
type reading struct {
	*observation
	of *collection
	candidate
}

// Take observes a crossing.
func (r *reading) Take(x *adk.Crossing) {
	r.crossings++
	r.take(x)
}

// Ended adds the trace. A trace that breaks off is never added, because it would be no test.
func (r *reading) Ended() { r.of.add(r.candidate, r.shown) }

// add adds a trace, unless a shorter one shows the same.
func (all *collection) add(c candidate, shown map[string]bool) {
	for behaviour := range shown {
		number, known := all.numbers[behaviour]
		if !known {
			number = len(all.behaviours)
			all.numbers[behaviour] = number
			all.behaviours = append(all.behaviours, behaviour)
		}
		c.shows = append(c.shows, number)
	}
	slices.Sort(c.shows)
	var key []byte
	for _, number := range c.shows {
		key = binary.AppendUvarint(key, uint64(number))
	}
	if held, ok := all.shortest[string(key)]; !ok || c.before(held) {
		all.shortest[string(key)] = c
	}
}

// choose chooses at most most traces.
func (all *collection) choose(selection *Selection, most int) {
	chosen := all.needed(all.greedy(most))
	covered := make([]bool, len(all.behaviours))
	for len(chosen) > 0 { // take the one that adds most first
		at := 0
		for i := range chosen {
			if a, b := chosen[i].adds(covered), chosen[at].adds(covered); a > b || a == b && chosen[i].before(chosen[at]) {
				at = i
			}
		}
		one := Chosen{Trace: chosen[at].name, Crossings: chosen[at].crossings, Adds: []string{}}
		for _, number := range chosen[at].shows {
			if !covered[number] {
				covered[number] = true
				one.Adds = append(one.Adds, all.behaviours[number])
			}
		}
		slices.Sort(one.Adds)
		selection.Chosen = append(selection.Chosen, one)
		selection.Covered += len(one.Adds)
		chosen = slices.Delete(chosen, at, at+1)
	}
	selection.Behaviours = len(all.behaviours)
	for number, behaviour := range all.behaviours {
		if !covered[number] {
			selection.Left = append(selection.Left, behaviour)
		}
	}
	slices.Sort(selection.Left)
	selection.Missing = append(selection.Missing, all.seen.missing()...)
}

// adds returns how many behaviours a trace shows that are not covered.
func (c candidate) adds(covered []bool) (n int) {
	for _, number := range c.shows {
		if !covered[number] {
			n++
		}
	}
	return n
}

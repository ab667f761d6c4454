// Package causes finds the recorded operation that answers a new one: one with the same cause.
package causes

import (
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/encoded"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// Pool has recorded operations by what they are answered by. It is not safe for concurrent use.
type Pool struct {
	known   wire.Comparer
	byCause map[adk.Digest][]*calls.Step
	taken   map[*calls.Step]bool
	scopes  map[string]int // of the dispatches that operations are in, numbered
	scopeOf map[*calls.Call]int
	said    encoded.Recorded // what the operations are asked
}

// New is a pool without operations.
func New(known wire.Comparer) *Pool {
	return &Pool{known: known, byCause: map[adk.Digest][]*calls.Step{}, taken: map[*calls.Step]bool{}, scopes: map[string]int{}, scopeOf: map[*calls.Call]int{}}
}

// Add files a recorded operation of a call under its cause, and where its id is one that live code
// may have made under its cause but for the id that it is about.
func (p *Pool) Add(c *calls.Call, s *calls.Step, live bool) {
	said := compare.ArgumentsText(p.known, s.X)
	if _, inBytes := s.X.Value.([]byte); !inBytes { // of which the base64 is the format's
		p.said.Add(said)
	}
	causes := append(make([]adk.Digest, 0, 3), p.of(c, s.X, said))
	if wire.AsksForGate(s.X) {
		causes = append(causes, ofGate(said))
	}
	if live && rename.Subject(s.X) != "" {
		x := rename.WithID(s.X, rename.AnyID)
		causes = append(causes, p.of(c, x, compare.ArgumentsText(p.known, x)))
	}
	for _, cause := range causes {
		p.byCause[cause] = append(p.byCause[cause], s)
	}
}

// Of is what a new operation in a call of the recording is answered by, but for its occurrence: the
// seam without its iteration, the dispatch that the seam is in, the strand, the kind and the
// arguments, with what was recorded for the placeholders that are encoded in them. Its numbers are
// the recording's.
func (p *Pool) Of(c *calls.Call, x *adk.Crossing) adk.Digest {
	return p.of(c, x, p.asRecorded(x))
}

func (p *Pool) asRecorded(x *adk.Crossing) string {
	return p.said.InText(compare.ArgumentsText(p.known, x))
}

func (p *Pool) of(c *calls.Call, x *adk.Crossing, said string) adk.Digest {
	seam := c.Begin.Seam
	key := seam.Label + "/" + seam.Name + "\n" + c.Strand + "\n" + strconv.Itoa(p.scope(c.Owner)) + "\n"
	if wire.Awaits(x) { // strands of one name are several
		key += strconv.Itoa(x.ID) + "\n"
	}
	return adk.DigestOf([]byte(key + said))
}

// OfGate is what a wait for a gate is found by where no other of its seam and strand is recorded:
// who asks may have moved, and somebody settled what was asked.
func (p *Pool) OfGate(x *adk.Crossing) adk.Digest { return ofGate(p.asRecorded(x)) }

func ofGate(said string) adk.Digest { return adk.DigestOf([]byte("gate\n" + said)) }

// scope is the number of a run or dispatch that calls are in: the same for those that
// are called alike by calls that are in the same. It stands for all that is above them,
// which may be as much as there is.
func (p *Pool) scope(owner *calls.Call) int {
	if !owner.Called() {
		return 0
	}
	number, known := p.scopeOf[owner]
	if !known {
		caller := owner.Parent.Begin.Seam
		key := strconv.Itoa(p.scope(owner.Parent.Owner)) + " " + owner.Begin.Seam.String() + " in " + caller.Label + "/" + caller.Name
		if number, known = p.scopes[key]; !known {
			number = len(p.scopes) + 1
			p.scopes[key] = number
		}
		p.scopeOf[owner] = number
	}
	return number
}

// mostEqual is how many operations of one cause are looked at for one of the own call.
const mostEqual = 100

// Take takes an operation of a cause that nobody took and that will do: one of the call in, where
// several are called alike at once, or else the first; nil if there is none.
func (p *Pool) Take(in *calls.Call, cause adk.Digest, will func(*calls.Step) bool) *calls.Step {
	left := p.byCause[cause]
	for len(left) > 0 && p.taken[left[0]] {
		left = left[1:]
	}
	p.byCause[cause] = left
	takes := func(s *calls.Step) bool { return !p.taken[s] && will(s) }
	at := slices.IndexFunc(left[:min(len(left), mostEqual)], func(s *calls.Step) bool { return s.In == in && takes(s) })
	if at < 0 {
		at = slices.IndexFunc(left, takes)
	}
	if at < 0 {
		return nil
	}
	p.taken[left[at]] = true
	return left[at]
}

// Took notes that an operation was taken that is not looked for by its cause.
func (p *Pool) Took(s *calls.Step) { p.taken[s] = true }

// IsTaken reports whether somebody has taken an operation.
func (p *Pool) IsTaken(s *calls.Step) bool { return p.taken[s] }

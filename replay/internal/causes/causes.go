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

// Pool has recorded operations by their causes. It is not safe for concurrent use.
type Pool struct {
	known   wire.Comparer
	byCause map[adk.Digest][]*calls.Step
	taken   map[*calls.Step]bool
	scopes  map[string]int // the numbers of dispatches that operations are in
	scopeOf map[*calls.Call]int
	said    encoded.Recorded // the arguments of the operations
}

// New makes a pool without operations.
func New(known wire.Comparer) *Pool {
	return &Pool{known: known, byCause: map[adk.Digest][]*calls.Step{}, taken: map[*calls.Step]bool{}, scopes: map[string]int{}, scopeOf: map[*calls.Call]int{}}
}

// Add files a recorded operation of a call under its cause. A wait for a gate it files under OfGate
// as well. If the call is live, live code may have made the id of the operation, so Add also files
// it under its cause with rename.AnyID.
func (p *Pool) Add(c *calls.Call, s *calls.Step, live bool) {
	said := compare.ArgumentsText(p.known, s.X)
	if _, inBytes := s.X.Value.([]byte); !inBytes { // the format writes bytes in base64
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

// Of is the cause of a new operation in a recorded call: the seam without its iteration, the
// dispatch that the seam is in, the strand, the kind and the arguments. The occurrence is not part
// of it. Placeholders that are encoded in the arguments are replaced by what the recording has for
// them. Numbers in x must be the recording's.
func (p *Pool) Of(c *calls.Call, x *adk.Crossing) adk.Digest {
	return p.of(c, x, p.asRecorded(x))
}

func (p *Pool) asRecorded(x *adk.Crossing) string {
	return p.said.InText(compare.ArgumentsText(p.known, x))
}

func (p *Pool) of(c *calls.Call, x *adk.Crossing, said string) adk.Digest {
	seam := c.Begin.Seam
	key := seam.Label + "/" + seam.Name + "\n" + c.Strand + "\n" + strconv.Itoa(p.scope(c.Owner)) + "\n"
	if wire.Awaits(x) { // several strands may have one name
		key += strconv.Itoa(x.ID) + "\n"
	}
	return adk.DigestOf([]byte(key + said))
}

// OfGate is the cause of a wait for a gate without its seam and strand. It is used where the same
// wait is not recorded in the same place: the code that asks may have moved, and somebody settled
// the question.
func (p *Pool) OfGate(x *adk.Crossing) adk.Digest { return ofGate(p.asRecorded(x)) }

func ofGate(said string) adk.Digest { return adk.DigestOf([]byte("gate\n" + said)) }

// scope is the number of a run or dispatch: equal for dispatches of one seam that are called by one
// seam in equal scopes. A number stands for all calls above, which may be arbitrarily many.
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

// mostEqual is how many operations of one cause Take inspects for one of its own call.
const mostEqual = 100

// Take takes an operation of a cause that was not taken and for which will is true: one of the call
// in if there is any, since several equal calls may run at once; or else the first. nil if there is
// none.
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

// Took notes that an operation was taken without being looked up by its cause.
func (p *Pool) Took(s *calls.Step) { p.taken[s] = true }

// IsTaken reports whether an operation was taken.
func (p *Pool) IsTaken(s *calls.Step) bool { return p.taken[s] }

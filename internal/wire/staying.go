package wire

import (
	"maps"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Staying follows what of a trace stays in memory while its crossings are gone through, by
// whoever plays it or folds it: its records for ever, a value of a stash until another
// stands in its place or its dispatch is over, what a call or an operation is given until
// that is done. The zero Staying is ready.
type Staying struct {
	// Weight is about how many bytes stay.
	Weight int64

	calls map[int]openCall // that have not returned
	ops   map[int]int64    // the weight of operations that are not done, of those that are heavy
}

// copies are how often plain data is held: by the engine, by who folds what it does, and
// by what compares or tells it.
const copies = 3

// heavy is the weight from which on it is noted what an operation or a report was given:
// the rest is no more than a few times its text.
const heavy = 4 << 10

// deepest is how deep a path of a stash is followed.
const deepest = 1 << 16

// openCall is a seam call that has not returned.
type openCall struct {
	depth int
	given int64 // the weight of what it was given, and of the members of its own sets
	scope *scope
	owns  bool // the scope began with it
}

// scope is what a turn or a dispatch has of its own.
type scope struct {
	stash    *branch
	members  int              // of its sets, at most
	reported map[string]int64 // the weight of calls of tools, by their ids
	told     int64            // that of texts, of which each is more of what is told
}

// Pass takes in a crossing whose line has a weight, and gives how deep it lies where it
// begins a call; else 0.
func (s *Staying) Pass(x *adk.Crossing, w Weight) (depth int) {
	s.Weight += w.Records
	switch {
	case x.Kind == adk.KindCall:
		return s.enter(x, w.Data)
	case x.Kind == adk.KindReturn:
		s.leave(x.ID)
	case setsStash(x):
		s.put(s.calls[x.Call].scope, x.Name, x.Value, w.Data)
	case ReportsToolCall(x) && w.Data >= heavy:
		s.report(s.calls[x.Call].scope, x.Name, copies*w.Data)
	case ReportsText(x) && len(x.Text) >= heavy:
		s.tell(s.calls[x.Call].scope, copies*int64(len(x.Text)))
	case x.Collection != "" && x.Record != nil:
		if scope := s.calls[x.Call].scope; scope != nil {
			scope.members++
		}
	}
	switch {
	case x.Phase == adk.Done:
		s.Weight -= s.ops[x.Op]
		delete(s.ops, x.Op)
	case x.Phase == adk.Begin && w.Data >= heavy:
		if s.ops == nil {
			s.ops = map[int]int64{}
		}
		s.Weight += copies*w.Data - s.ops[x.Op]
		s.ops[x.Op] = copies * w.Data
	}
	if bytes, ok := x.Value.([]byte); ok && OpensMedia(x) {
		s.Weight += int64(len(bytes))
	}
	return 0
}

// enter takes in that a call begins. A dispatch has copies of what its caller sees (DSP-9).
func (s *Staying) enter(x *adk.Crossing, data int64) (depth int) {
	above := s.calls[x.Call]
	c := openCall{depth: above.depth + 1, scope: above.scope, given: copies * data}
	if c.scope == nil || x.Seam.Label == adk.LabelDispatch {
		c.scope, c.owns = &scope{members: len(x.Records) + len(x.Texts)}, true
		if from := above.scope; from != nil {
			c.scope.stash, c.scope.members = from.stash, from.members
			c.given += slotWeight * int64(from.members)
			from.stash.share()
		}
	}
	if s.calls == nil {
		s.calls = map[int]openCall{}
	}
	s.leave(x.ID) // which no engine begins twice
	s.calls[x.ID] = c
	s.Weight += c.given
	return c.depth
}

// leave takes in that a call has returned.
func (s *Staying) leave(id int) {
	c, open := s.calls[id]
	if !open {
		return
	}
	delete(s.calls, id)
	s.Weight -= c.given
	if c.owns {
		s.drop(c.scope.stash)
		s.Weight -= c.scope.told
		for _, weight := range c.scope.reported {
			s.Weight -= weight
		}
	}
}

// tell takes in a text that is reported behind those before it.
func (s *Staying) tell(in *scope, weight int64) {
	if in != nil {
		s.Weight, in.told = s.Weight+weight, in.told+weight
	}
}

// report takes in what is reported of a call of a tool, in the place of what was.
func (s *Staying) report(in *scope, id string, weight int64) {
	if in == nil {
		return
	}
	if in.reported == nil {
		in.reported = map[string]int64{}
	}
	s.Weight += weight - in.reported[id]
	in.reported[id] = weight
}

// branch is a place in a stash. Scopes share those that none of them has changed.
type branch struct {
	shares int   // by how many branches and scopes it is held
	value  int64 // the weight of what was set here
	below  map[string]*branch
}

// slotWeight is that of an entry of a branch, or of a set.
const slotWeight = copies * valueWeight

func (b *branch) share() {
	if b != nil {
		b.shares++
	}
}

// weight is that of a branch alone.
func (b *branch) weight() int64 {
	if len(b.below) == 0 {
		return b.value
	}
	return b.value + copies*objectWeight + slotWeight*int64(len(b.below))
}

// put takes in a value at a path of a stash, which removes what is there where it is nil.
func (s *Staying) put(in *scope, path string, value any, data int64) {
	if in == nil {
		return
	}
	if deep := strings.Count(path, "."); deep > deepest { // nobody follows it: it weighs what it would
		s.Weight += copies * (objectWeight + valueWeight) * int64(deep)
		return
	}
	in.stash = s.own(in.stash)
	node := in.stash
	for more := true; more; {
		var name string
		name, path, more = strings.Cut(path, ".")
		s.Weight -= node.weight()
		child := node.below[name]
		switch {
		case more:
			child = s.own(child)
		case value == nil:
			s.drop(child)
			child = nil
		default:
			s.drop(child)
			child = s.own(nil)
			child.value = copies * data
			s.Weight += child.value
		}
		if child == nil {
			delete(node.below, name)
		} else {
			if node.below == nil {
				node.below = map[string]*branch{}
			}
			node.below[name] = child
		}
		s.Weight += node.weight()
		node = child
	}
}

// own is a branch that nobody shares: itself, or another like it.
func (s *Staying) own(b *branch) *branch {
	switch {
	case b == nil:
		return &branch{shares: 1}
	case b.shares == 1:
		return b
	}
	b.shares--
	for _, child := range b.below {
		child.shares++
	}
	s.Weight += b.weight()
	return &branch{shares: 1, value: b.value, below: maps.Clone(b.below)}
}

// drop takes in that one holds a branch no more.
func (s *Staying) drop(b *branch) {
	for left := []*branch{b}; len(left) > 0; {
		b, left = left[len(left)-1], left[:len(left)-1]
		if b == nil {
			continue
		}
		if b.shares--; b.shares > 0 {
			continue
		}
		s.Weight -= b.weight()
		for _, child := range b.below {
			left = append(left, child)
		}
	}
}

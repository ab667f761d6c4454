package wire

import (
	"maps"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Staying estimates how much of a trace stays in memory while its crossings are played or folded
// one after the other. Records stay for ever. A value of a stash stays until another value replaces
// it or its dispatch ends. What a call or an operation is given stays until that is done. The zero
// Staying is ready to use.
type Staying struct {
	// Weight is the approximate number of bytes that stay.
	Weight int64

	calls map[int]openCall // those that have not returned
	ops   map[int]int64    // the weight of heavy operations that are not done
}

// copies is how often plain data is held: by the engine, by the fold of the run, and by what
// compares or reports it.
const copies = 3

// heavy is the smallest weight of the data of an operation or a report that is counted. Lighter
// data takes no more than a few times its text.
const heavy = 4 << 10

// deepest is how deep a path of a stash is followed.
const deepest = 1 << 16

// openCall is a seam call that has not returned.
type openCall struct {
	depth int
	given int64 // the weight of what it was given, and of the members of its own sets
	scope *scope
	owns  bool // the call began the scope
}

// scope is the state that belongs to a turn or a dispatch.
type scope struct {
	stash    *branch
	members  int              // of its sets, at most
	reported map[string]int64 // the weight of tool calls, by their ids
	told     int64            // the weight of texts, which only grows
}

// Pass adds a crossing whose line has the given weight. If x begins a call, Pass returns how deep
// the call is nested; otherwise it returns 0.
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

// enter adds a call that begins. A dispatch has copies of what its caller sees (DSP-9).
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
	s.leave(x.ID) // in case the id is open already, which no engine does
	s.calls[x.ID] = c
	s.Weight += c.given
	return c.depth
}

// leave removes a call that has returned.
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

// tell adds a reported text. It extends the texts before it, so they stay too.
func (s *Staying) tell(in *scope, weight int64) {
	if in != nil {
		s.Weight, in.told = s.Weight+weight, in.told+weight
	}
}

// report sets the weight of what is reported of a tool call. It replaces what was reported of that
// call before.
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

// branch is a node in the tree of a stash. Scopes share branches until one of them changes a
// branch.
type branch struct {
	shares int   // how many branches and scopes hold it
	value  int64 // the weight of the value that was set here
	below  map[string]*branch
}

// slotWeight is the weight of an entry of a branch or of a set.
const slotWeight = copies * valueWeight

func (b *branch) share() {
	if b != nil {
		b.shares++
	}
}

// weight returns the weight of a branch without those below it.
func (b *branch) weight() int64 {
	if len(b.below) == 0 {
		return b.value
	}
	return b.value + copies*objectWeight + slotWeight*int64(len(b.below))
}

// put sets the value at a path of a stash. A nil value removes what is there.
func (s *Staying) put(in *scope, path string, value any, data int64) {
	if in == nil {
		return
	}
	if deep := strings.Count(path, "."); deep > deepest { // never followed this deep: count the most that it can weigh
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

// own returns a branch that is not shared: b itself, or a copy of it.
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

// drop releases one hold of a branch.
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

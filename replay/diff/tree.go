package diff

import (
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// node is a crossing with everything that happened within it. It is a seam call or a spanning
// operation including its end, or a crossing of one line.
//
// Pipelines are flat: a middleware's call and its next contain nothing. They are in one list with
// everything else that the pipeline's owner did, and so are their ends. So inserting a middleware
// between two others moves nothing.
//
// What a strand did is within the fork that began it, in the order in which the strand did it. How
// strands interleave has no influence on the tree.
type node struct {
	head, tail int // the indexes of its crossings; -1 if there is none
	kids       []*node
	// opener is the node that this node ends, if the two are in one list.
	opener *node
	depth  int
	alone  bool // the other trace has no counterpart
	// continues is true if it can be shown on the line of the node that contains it: the obligation
	// that an operation calls, or the event that an operation causes.
	continues bool
	// owner is the middleware that it belongs to, in a pipeline's flat list.
	owner string
	// cause and whole are numbers that are equal if two nodes agree: cause in why the node happens
	// here, whole in everything that happens in it.
	cause, whole int32
}

// call is what the builder of a tree knows about a seam call.
type call struct {
	node    *node // the node of the call
	within  *node // the node that gets the crossings of the call
	owner   string
	depth   int
	flat    bool // a middleware, or too deep
	running []*operation
}

// operation is an operation that is not done.
type operation struct {
	kind   adk.Kind
	number int
	node   *node
	flat   bool // a next
}

// deepestTree is the maximum depth of a tree. Deeper calls become siblings. No turn comes near it,
// but a hostile file must not exhaust the stack.
const deepestTree = 5_000

// treeBuilder makes the tree of a trace. It accepts any crossings: those that no engine can emit
// are put into the nearest known call. So it cannot use a calls.Tree, which holds only what an
// engine can emit: for a trace whose beginning is missing, that may be nothing at all, but a diff
// shows every line.
type treeBuilder struct {
	lines []trace.Line
	calls map[int]*call
	forks map[int]*node // by strand
	root  *call
}

// treeOf returns the tree of a trace. The root contains the crossings that belong to no call.
func treeOf(lines []trace.Line) *node {
	root := &call{within: &node{head: -1, tail: -1}}
	b := &treeBuilder{lines: lines, calls: map[int]*call{}, forks: map[int]*node{}, root: root}
	for i := range lines {
		b.add(i, &lines[i].Crossing)
	}
	return root.within
}

func (b *treeBuilder) add(i int, x *adk.Crossing) {
	c := b.calls[x.Call]
	if c == nil {
		c = b.root
	}
	switch {
	case x.Kind == adk.KindCall:
		b.enter(c, i, x)
	case x.Kind == adk.KindReturn:
		b.leave(c, i, x)
	case x.Phase == adk.Done:
		c.finish(i, x)
	case b.follows(c, x):
		cause := c.within.kids[len(c.within.kids)-1]
		cause.kids = append(cause.kids, &node{head: i, tail: -1, depth: cause.depth + 1, owner: c.owner, continues: true})
	default:
		node, at := c.put(i, x.Kind.Class() == adk.ClassOperation)
		node.continues = at != c.within && isEffect(x, &b.lines[at.head].Crossing)
		switch {
		case x.Phase == adk.Begin:
			c.running = append(c.running, &operation{x.Kind, x.Op, node, wire.IsNext(x)})
		case wire.Forks(x):
			b.forks[x.ID] = node
		}
	}
}

// follows reports whether a crossing is the event of the report just before it in the same call. It
// then belongs to the report, as the event of an emit belongs to the emit.
func (b *treeBuilder) follows(c *call, x *adk.Crossing) bool {
	if len(c.within.kids) == 0 {
		return false
	}
	last := c.within.kids[len(c.within.kids)-1]
	cause := &b.lines[last.head].Crossing
	return isEffect(x, cause) && cause.Call == x.Call && cause.Phase == adk.Whole && len(last.kids) == 0
}

// isEffect reports whether a crossing can be the event of an operation.
func isEffect(x, cause *adk.Crossing) bool {
	return x.Kind != 0 && cause.Kind.Event() == x.Kind
}

// place returns the node that gets the next crossing of a call. That is the operation that began
// last and is not done, or the call itself. An operation contains calls, events and facts, but no
// other operations of the call.
func (c *call) place(operation bool) *node {
	if n := len(c.running); n > 0 && !operation && !c.running[n-1].flat {
		return c.running[n-1].node
	}
	return c.within
}

func (c *call) put(i int, operation bool) (made, at *node) {
	at = c.place(operation)
	made = &node{head: i, tail: -1, depth: at.depth + 1, owner: c.owner}
	if at == c.within {
		made.depth = c.inside()
	}
	at.kids = append(at.kids, made)
	return made, at
}

// inside returns the depth of what a call does.
func (c *call) inside() int {
	depth := c.depth
	for _, op := range c.running {
		if op.flat {
			depth++
		}
	}
	return depth
}

func (b *treeBuilder) enter(above *call, i int, x *adk.Crossing) {
	c := &call{}
	if fork := b.forks[x.Strand]; x.Seam.Label == adk.LabelStrand && fork != nil {
		c.node = &node{head: i, tail: -1, depth: fork.depth + 1, owner: above.owner}
		fork.kids = append(fork.kids, c.node)
	} else {
		var at *node
		c.node, at = above.put(i, false)
		c.node.continues = x.Seam.Label == adk.LabelStorage && at != above.within
	}
	c.depth = c.node.depth + 1
	switch {
	case wire.IsPipeline(x.Seam):
		// The call is its own owner, because the pipeline makes it and not the middleware before
		// it.
		c.flat, c.owner, c.node.owner = true, x.Seam.String(), x.Seam.String()
		c.within = above.place(false)
	default:
		c.within = c.node
		if c.depth > deepestTree {
			c.flat, c.within = true, above.place(false)
		}
	}
	if b.calls[x.ID] == nil {
		b.calls[x.ID] = c
	}
}

func (b *treeBuilder) leave(above *call, i int, x *adk.Crossing) {
	c := b.calls[x.ID]
	switch {
	case c == nil:
		above.put(i, true)
	case c.flat || c.node.tail >= 0:
		c.running = nil
		c.within.kids = append(c.within.kids, &node{head: i, tail: -1, depth: c.depth, owner: c.owner, opener: c.node})
	default:
		c.node.tail = i
	}
}

func (c *call) finish(i int, x *adk.Crossing) {
	for at, op := range c.running {
		if op.number != x.Op || op.kind != x.Kind {
			continue
		}
		c.running = append(c.running[:at:at], c.running[at+1:]...)
		if !op.flat {
			op.node.tail = i
			return
		}
		node, _ := c.put(i, true)
		node.depth, node.opener = node.depth+1, op.node
		return
	}
	c.put(i, true)
}

// number sets the cause and whole of a node, after those of all nodes within it.
func (n *node) number(forms []key, all *interner) {
	var whole []byte
	for _, at := range [2]int{n.head, n.tail} {
		if at >= 0 {
			whole = strconv.AppendInt(whole, int64(forms[at].whole), 36)
		}
		whole = append(whole, ' ')
	}
	for _, kid := range n.kids {
		kid.number(forms, all)
		whole = append(strconv.AppendInt(whole, int64(kid.whole), 36), ' ')
	}
	cause := "root"
	if n.head >= 0 {
		cause = strconv.FormatInt(int64(forms[n.head].cause), 36)
	}
	n.cause = all.of("c" + cause + " " + n.owner)
	n.whole = all.of("w" + string(whole) + n.owner)
}

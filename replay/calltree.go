package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// callTree is a whole run as the tree of its seam calls.
type callTree struct {
	info    adk.RunInfo
	lines   []*adk.Crossing // all of them, in order; crossing n is at n-1
	calls   map[int]*seamCall
	root    *seamCall      // nil if there are no crossings
	strands map[int]string // their paths
	opens   map[int]*step  // the openings of media, by their operations
	media   *openings      // what they gave; nil where the run is not run again
	// order is the place of each crossing, by its number, in the order in which the
	// strands take their steps when it is run again, but for what they share, which
	// stays as it is; nil where they run freely.
	order []int
	// cancels are made behind the crossings of their numbers although they were
	// not recorded.
	cancels []*adk.Crossing
	// unwaited is that nothing is told of waiting for strands, as in a trace of a
	// version of the format that does not know it; where that is told all the same,
	// it is no step.
	unwaited bool
}

// seamCall is one call of a seam.
type seamCall struct {
	call   *adk.Crossing
	ret    *adk.Crossing // nil if the run ends within
	parent *seamCall     // the caller; nil for the run
	owner  *seamCall     // the nearest run or dispatch above; nil for the run
	strand string        // the path of its strand
	// steps are what belongs to it, in order: its operations, the calls below it,
	// events, facts. Middlewares belong to their run or dispatch, and not to the
	// middleware above, so that one more or less moves nobody.
	steps []*step
	// script is what its user code did, in order: its operations, also those made
	// through a handle that was passed on to it.
	script []*step

	forks map[string]int // how often each name of a strand was used
}

// step is one thing that happened in a call.
type step struct {
	in   *seamCall
	x    *adk.Crossing // the line; of a spanning operation the first, of a call the call's
	done *adk.Crossing // the second line of a spanning operation
	// call is set where the step is a call of a seam below.
	call *seamCall
	// Of an operation: the seam calls that it led to, and the events and facts.
	calls []*seamCall
	notes []*adk.Crossing
	// script is what the reader of an opening did, in order.
	script []*step
	waits  string // of a wait for a strand, the path of that
}

// newCallTree makes the tree of a run that was recorded in a version of the format,
// or that is held against one.
func newCallTree(version int, info adk.RunInfo, lines []Line) *callTree {
	t := &callTree{info: info, unwaited: version < versionOfWait, calls: map[int]*seamCall{}, strands: map[int]string{0: ""}, opens: map[int]*step{}}
	b := treeBuilder{callTree: t, ops: map[int]*step{}, gates: map[string]*step{}, forks: map[int]*step{}, stacks: map[int][]*seamCall{}}
	for i := range lines {
		x := &lines[i].Crossing
		t.lines = append(t.lines, x)
		b.add(x)
	}
	return t
}

// callTreeOf is the run of a trace that was read, to be run again: it has what the
// openings of media gave.
func callTreeOf(trace *Trace) *callTree {
	t := newCallTree(trace.Version, trace.Info, trace.Lines)
	t.media = trace.openings()
	return t
}

// version is that of the format which the run was recorded in, as far as it makes a
// difference to what is compared.
func (t *callTree) version() int {
	if t.unwaited {
		return versionOfWait - 1
	}
	return FormatVersion
}

// last is the last line of a step. What follows a middleware in its pipeline
// begins within it.
func (s *step) last() *adk.Crossing {
	switch {
	case s.done != nil:
		return s.done
	case s.call != nil && s.call.ret != nil && !isPipeline(s.x.Seam):
		return s.call.ret
	}
	return s.x
}

// seams are the seams of user code that a pipeline, an executor and the like
// are; the run and dispatches are the engine's.
func byEngine(seam adk.Seam) bool {
	return seam.Label == adk.LabelRun || seam.Label == adk.LabelDispatch
}

// pipelineLabels are the labels of the pipelines, in the order of a turn.
var pipelineLabels = []string{adk.LabelTurnInput, adk.LabelDispatchInput, adk.LabelDispatchOutput, adk.LabelTurnOutput}

// isPipeline reports whether a seam is a middleware.
func isPipeline(seam adk.Seam) bool { return slices.Contains(pipelineLabels, seam.Label) }

// callOf is the call that a crossing belongs to; of a call or a return it is
// that.
func callOf(x *adk.Crossing) int {
	if x.Kind.Class() == adk.ClassCall {
		return x.ID
	}
	return x.Call
}

// seamOf is the seam call that a crossing belongs to.
func (t *callTree) seamOf(x *adk.Crossing) adk.Seam {
	if c := t.calls[callOf(x)]; c != nil {
		return c.call.Seam
	}
	return x.Seam
}

// inCalledDispatch reports whether a call is of a middleware or an executor of a
// dispatch that user code called, and not of the one of the turn.
func (c *seamCall) inCalledDispatch() bool {
	return (isPipeline(c.call.Seam) || c.call.Seam.Label == adk.LabelExecutor) && c.owner.called()
}

// called reports whether user code called a run or dispatch.
func (c *seamCall) called() bool {
	return c != nil && c.parent != nil && !byEngine(c.parent.call.Seam)
}

// isOf reports whether a call is of a seam that is chosen. The middlewares and the
// executor of a dispatch that user code calls are none: they are that code's.
func (c *seamCall) isOf(chosen func(adk.Seam) bool) bool {
	return !byEngine(c.call.Seam) && !c.inCalledDispatch() && chosen(c.call.Seam)
}

// isUnder reports whether a call is of a seam that is chosen, or of what such a seam
// brings.
func (c *seamCall) isUnder(chosen func(adk.Seam) bool) bool {
	for c != nil && !c.isOf(chosen) {
		switch label := c.call.Seam.Label; {
		case label == adk.LabelStrand || label == adk.LabelOnAck || label == adk.LabelDispatch:
			c = c.parent
		case c.inCalledDispatch():
			c = c.owner
		default:
			return false
		}
	}
	return c != nil
}

// sightBefore is the sight that was told before an executor call.
func (t *callTree) sightBefore(call *adk.Crossing) *adk.Crossing {
	for _, x := range slices.Backward(t.lines[:call.Seq-1]) {
		if x.Kind == adk.KindSight && x.Call == call.Call {
			return x
		}
	}
	return nil
}

// cancelsBefore reports whether a run was cancelled before a crossing.
func (t *callTree) cancelsBefore(seq int) bool {
	return slices.ContainsFunc(t.lines[:seq-1], func(x *adk.Crossing) bool { return x.Kind == adk.KindCancel })
}

// treeBuilder adds the lines one after the other.
type treeBuilder struct {
	*callTree
	ops    map[int]*step       // the open spanning operations
	gates  map[string]*step    // the waits for the gates that are open
	forks  map[int]*step       // by the strand
	stacks map[int][]*seamCall // the open calls of user code, by strand
}

func (b *treeBuilder) add(x *adk.Crossing) {
	switch {
	case x.Kind == adk.KindCall:
		b.enter(x)
		return
	case x.Kind == adk.KindReturn:
		b.leave(x)
		return
	}
	c := b.calls[x.Call]
	if c == nil {
		c = b.root // a cancel may come before the run's call, and belongs to it
	}
	if c == nil {
		return
	}
	switch x.Kind.Class() {
	case adk.ClassOperation:
		b.operation(c, x)
	case adk.ClassEvent:
		b.event(c, x)
	default:
		b.fact(c, x)
	}
}

func (b *treeBuilder) enter(x *adk.Crossing) {
	parent := b.calls[x.Call]
	c := &seamCall{call: x, parent: parent, forks: map[string]int{}, strand: b.strands[x.Strand]}
	b.calls[x.ID] = c
	if parent == nil {
		b.root = c
	} else {
		c.owner = parent
		if !byEngine(parent.call.Seam) {
			c.owner = parent.owner
		}
		b.place(c)
	}
	if !byEngine(x.Seam) {
		b.stacks[x.Strand] = append(b.stacks[x.Strand], c)
	}
}

// place puts a call below what led to it: the owner for middlewares, the
// operation for what an operation calls, the caller for all others.
func (b *treeBuilder) place(c *seamCall) {
	s := &step{in: c.parent, x: c.call, call: c}
	switch label := c.call.Seam.Label; {
	case isPipeline(c.call.Seam) && c.owner != nil: // in a damaged trace there may be none
		s.in = c.owner
	case label == adk.LabelStrand:
		if fork := b.forks[c.call.Strand]; fork != nil {
			fork.calls = append(fork.calls, c)
			return
		}
	case label == adk.LabelStorage || label == adk.LabelTool || label == adk.LabelOnAck:
		if op := b.cause(c); op != nil {
			op.calls = append(op.calls, c)
			return
		}
	case label == adk.LabelDispatch && !byEngine(c.parent.call.Seam):
		b.performed(s)
	}
	s.in.steps = append(s.in.steps, s)
}

// cause is the open operation of the caller that led to a call.
func (b *treeBuilder) cause(c *seamCall) *step {
	for i := len(c.parent.steps) - 1; i >= 0; i-- {
		s := c.parent.steps[i]
		if s.x.Phase == adk.Begin && s.done == nil && s.x.Strand == c.call.Strand && leadsTo(s.x, c.call) {
			return s
		}
	}
	return nil
}

// leadsTo reports whether an operation can call a seam.
func leadsTo(op, call *adk.Crossing) bool {
	switch op.Kind {
	case adk.KindExecute:
		return call.Seam.Label == adk.LabelTool && toolName(op.Record) == call.Seam.Name
	case adk.KindAck:
		return call.Seam.Label == adk.LabelOnAck
	}
	return call.Seam.Label == adk.LabelStorage && call.Seam.Name == string(op.Collection)+"."+op.Kind.String()
}

// performed adds a step to the script of the user code that is running in its
// strand.
func (b *treeBuilder) performed(s *step) {
	stack := b.stacks[s.x.Strand]
	if len(stack) == 0 { // the handle of a strand that has ended, or never began
		if s.in != nil && !byEngine(s.in.call.Seam) {
			s.in.script = append(s.in.script, s)
		}
		return
	}
	by := stack[len(stack)-1]
	if open := b.reading(by); open != nil {
		open.script = append(open.script, s)
		return
	}
	by.script = append(by.script, s)
}

// reading is the innermost opening of a media that is under way since a call
// began: what happens in its strand is the reader's doing.
func (b *treeBuilder) reading(since *seamCall) (innermost *step) {
	for _, s := range b.ops {
		if s.x.Kind == adk.KindOpenMedia && s.x.Strand == since.call.Strand && s.x.Seq > since.call.Seq &&
			(innermost == nil || s.x.Seq > innermost.x.Seq) {
			innermost = s
		}
	}
	return innermost
}

func (b *treeBuilder) leave(x *adk.Crossing) {
	c := b.calls[x.ID]
	if c == nil {
		return
	}
	c.ret = x
	stack := b.stacks[x.Strand]
	for i := len(stack) - 1; i >= 0; i-- {
		if stack[i] == c {
			b.stacks[x.Strand] = append(stack[:i:i], stack[i+1:]...)
			break
		}
	}
}

func (b *treeBuilder) operation(c *seamCall, x *adk.Crossing) {
	if x.Kind == adk.KindWait && b.unwaited {
		return
	}
	if x.Phase == adk.Done {
		if s := b.ops[x.Op]; s != nil {
			s.done = x
			delete(b.ops, x.Op)
		}
		return
	}
	s := &step{in: c, x: x}
	c.steps = append(c.steps, s)
	b.performed(s)
	if x.Phase == adk.Begin {
		b.ops[x.Op] = s
	}
	switch x.Kind {
	case adk.KindOpenMedia:
		b.opens[x.Op] = s
	case adk.KindWaitFor:
		if b.gates[x.Name] == nil { // a second one of the id does not open (GAT-5)
			b.gates[x.Name] = s
		}
	case adk.KindWait:
		s.waits = b.strands[x.ID]
	case adk.KindFork:
		if x.Err != nil {
			return
		}
		b.forks[x.ID] = s
		path := x.Name
		if above := c.strand; above != "" {
			path = above + "/" + x.Name
		}
		if n := c.forks[x.Name]; n > 0 {
			path += "#" + strconv.Itoa(n)
		}
		c.forks[x.Name]++
		b.strands[x.ID] = path
	}
}

// ownEvent reports whether an event comes of the engine's own course, and not of
// an operation.
func ownEvent(kind adk.Kind) bool {
	switch kind {
	case adk.KindTurnStart, adk.KindTurnEnd, adk.KindDispatchStart, adk.KindDispatchEnd,
		adk.KindIterationStart, adk.KindIterationEnd, adk.KindErrorEvent:
		return true
	}
	return false
}

// event adds an event to the operation that caused it.
func (b *treeBuilder) event(c *seamCall, x *adk.Crossing) {
	if !ownEvent(x.Kind) {
		for i := len(c.steps) - 1; i >= 0; i-- {
			if s := c.steps[i]; s.x.Kind.Class() == adk.ClassOperation && s.x.Strand == x.Strand {
				s.notes = append(s.notes, x)
				return
			}
		}
	}
	c.steps = append(c.steps, &step{in: c, x: x})
}

func (b *treeBuilder) fact(c *seamCall, x *adk.Crossing) {
	switch x.Kind {
	case adk.KindSettle:
		if s := b.gates[x.Name]; s != nil {
			s.notes = append(s.notes, x)
			if x.Status != adk.GateRefused {
				delete(b.gates, x.Name)
			}
			return
		}
	case adk.KindTimer:
		if s := b.ops[x.N]; s != nil {
			s.notes = append(s.notes, x)
			return
		}
	}
	s := &step{in: c, x: x}
	c.steps = append(c.steps, s)
	if isMisuse(x) {
		b.performed(s)
	}
}

// isMisuse reports whether a contained failure is something that user code did with
// a handle or with next, and not a panic.
func isMisuse(x *adk.Crossing) bool {
	return x.Kind == adk.KindContained && (x.Name == "second next" || strings.HasPrefix(x.Name, "late "))
}

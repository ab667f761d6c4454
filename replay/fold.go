package replay

import (
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Fold arrives at what an engine holds by its crossings alone (DET-8): what is
// visible in the turn and in each dispatch, the changes that wait for a flush,
// signals, streams, gates, and everything that is open. It is written from the
// contract and not from the engine, so that the two can be held against each
// other.
//
// Crossings go in one after the other, with Apply. Check, CheckPayload and
// Payload are about the next crossing, the one that is not applied yet. A Fold
// keeps nothing of a Crossing that its owner may change, so an observer can use
// it. Time and memory are linear in what happened. It is not safe for
// concurrent use.
type Fold struct {
	seq    int
	lastID int // of the calls
	lastOp int

	turnID    string
	startedAt time.Time // of the turn
	cancelled bool      // the run's context is done
	outputDue bool      // the turn's dispatch was acked: its output stage is next
	root      *Visible
	calls     map[int]*foldCall // all of them: events may belong to one that has ended
	ops       map[int]*foldOp   // those that are open
	gates     []*foldGate       // those that are open, or settled and not yet closed
	untold    int               // events that an operation causes and that have not come

	spareCalls room[foldCall]
	spareOps   room[foldOp]
}

// room is memory for what one turn needs many of, so that a fold that is used
// again does not ask for it again.
type room[T any] struct {
	all  []T
	used int
}

// next is one more, in the room that is left or by itself.
func (r *room[T]) next() *T {
	r.used++
	if r.used > len(r.all) {
		return new(T)
	}
	return &r.all[r.used-1]
}

// again gives all of it back, and makes it as large as was needed.
func (r *room[T]) again() {
	if r.used > len(r.all) {
		r.all = make([]T, r.used)
	}
	clear(r.all[:min(r.used, len(r.all))])
	r.used = 0
}

// foldCall is one seam call.
type foldCall struct {
	id       int
	strand   int
	seam     adk.Seam
	parent   *foldCall
	visible  *Visible
	dispatch *foldDispatch // nil outside a dispatch
	ended    bool
	causes   []causedEvent // events to come, in the order of their operations
	executes []*foldOp     // tool executions that are open
}

// foldOp is a spanning operation that has begun and is not done.
type foldOp struct {
	number  int
	kind    adk.Kind
	call    *foldCall
	change  foldDelta // of store, mutate and delete
	refused bool      // an ack that comes after a signal

	execution foldExecution
}

// foldDelta is one change of a set: a record to keep, or a key to remove.
type foldDelta struct {
	of     adk.CollectionName
	record adk.Record
	key    string
}

// foldDispatch is one run of the dispatch loop.
type foldDispatch struct {
	call    *foldCall
	visible *Visible
	above   *foldDispatch // that it was called from, which the queue is flushed to
	source  *Visible      // of its caller; nil when called alone

	id          string
	startedAt   time.Time
	iteratingAt time.Time // when the present iteration started
	iteration   int
	started     int // how many iterations were started

	acked, nacked bool
	queue         []foldDelta

	messages map[string]*foldStream
	thoughts map[string]*foldStream
	reported map[string]*adk.ToolCallEvent
	streams  []thing // all of these, in the order in which they were met
}

// foldGate is a gate that somebody waits for.
type foldGate struct {
	id         string
	op         int
	call       *foldCall
	at         time.Time
	opened     bool   // turnGateOpen was told
	closed     bool   // turnGateClosed was told
	refused    bool   // it was asked for in an aborted run, or while one of its id was open
	result, by string // once it has settled
}

// NewFold is a fold before the first crossing.
func NewFold() *Fold {
	return &Fold{calls: map[int]*foldCall{}, ops: map[int]*foldOp{}}
}

// Reset makes it a fold before the first crossing again, with the memory that it
// has: what Seen gave is not good any more.
func (f *Fold) Reset() {
	clear(f.calls)
	clear(f.ops)
	f.spareCalls.again()
	f.spareOps.again()
	*f = Fold{calls: f.calls, ops: f.ops, spareCalls: f.spareCalls, spareOps: f.spareOps}
}

// Apply takes the next crossing in. The error says why no engine tells it at
// this point; the fold has then taken in what it could, and can go on.
func (f *Fold) Apply(x *adk.Crossing) error {
	f.seq++
	if err := f.apply(x); err != nil {
		return fmt.Errorf("crossing %d, %s: %w", f.seq, x.Kind, err)
	}
	return nil
}

func (f *Fold) apply(x *adk.Crossing) error {
	if x.Seq != 0 && x.Seq != f.seq {
		return fmt.Errorf("is number %d", x.Seq)
	}
	switch x.Kind {
	case adk.KindCall:
		return f.enter(x)
	case adk.KindReturn:
		return f.leave(x)
	}
	c := f.calls[x.Call]
	if c == nil && x.Kind == adk.KindCancel {
		return f.fact(nil, x) // a run may be cancelled before its first call
	}
	if c == nil {
		return fmt.Errorf("belongs to call %d, which has not begun", x.Call)
	}
	if x.Phase == adk.Done {
		return f.finish(c, x)
	}
	if x.Kind.Class() == adk.ClassOperation && c.ended && x.Kind != adk.KindOffAck {
		return fmt.Errorf("is an operation of call %d, which has returned", x.Call)
	}
	if x.Phase == adk.Begin {
		return f.begin(c, x)
	}
	switch x.Kind.Class() {
	case adk.ClassEvent:
		return f.event(c, x)
	case adk.ClassFact:
		return f.fact(c, x)
	}
	return f.operate(c, x)
}

// enter takes in that a seam call begins.
func (f *Fold) enter(x *adk.Crossing) error {
	if x.ID <= f.lastID {
		return fmt.Errorf("call %d has begun before", x.ID)
	}
	f.lastID = x.ID
	c := f.spareCalls.next()
	c.id, c.strand, c.seam = x.ID, x.Strand, x.Seam
	f.calls[c.id] = c
	if x.Call == 0 {
		return f.enterRoot(c, x)
	}
	c.parent = f.calls[x.Call]
	if c.parent == nil || c.parent == c || c.parent.ended {
		if f.root == nil {
			f.root = newVisible(&adk.Crossing{})
		}
		c.parent, c.visible = nil, f.root
		return fmt.Errorf("is below call %d, which is not open", x.Call)
	}
	c.visible, c.dispatch = c.parent.visible, c.parent.dispatch
	switch c.seam.Label {
	case adk.LabelDispatch:
		// DSP-9: its sets are its own copies of what its caller sees now.
		f.dispatch(c, c.visible.copyOf(), c.visible)
	case adk.LabelTool:
		c.parent.handles(c)
	}
	return nil
}

// enterRoot takes in the first crossing: what the caller handed in (RUN-7).
func (f *Fold) enterRoot(c *foldCall, x *adk.Crossing) error {
	if f.root != nil {
		c.visible = f.root
		return fmt.Errorf("is a second first call")
	}
	f.root = newVisible(x)
	c.visible = f.root
	switch c.seam.Label {
	case adk.LabelDispatch:
		f.dispatch(c, f.root, nil)
	case adk.LabelRun:
	default:
		return fmt.Errorf("of %s has no caller: a run begins with run, or with a dispatch called alone", c.seam)
	}
	return nil
}

func (f *Fold) dispatch(c *foldCall, visible, source *Visible) {
	above := c.dispatch
	c.visible = visible
	c.dispatch = &foldDispatch{call: c, visible: visible, above: above, source: source,
		messages: map[string]*foldStream{}, thoughts: map[string]*foldStream{}, reported: map[string]*adk.ToolCallEvent{}}
}

// leave takes in that a seam call has returned.
func (f *Fold) leave(x *adk.Crossing) error {
	c := f.calls[x.ID]
	if c == nil || c.ended {
		return fmt.Errorf("of call %d, which is not open", x.ID)
	}
	c.end()
	if parent := c.parent; parent != nil && c.seam.Label == adk.LabelTool {
		parent.handled(c, x.Outcome != adk.OutcomeOK)
	}
	if above := c.parentID(); above != x.Call || c.strand != x.Strand {
		return fmt.Errorf("of call %d says call %d and strand %d, which began in call %d and strand %d", x.ID, x.Call, x.Strand, above, c.strand)
	}
	return nil
}

// end marks the call as ended. As all calls are kept, the room that its lists
// took is not.
func (c *foldCall) end() {
	c.ended = true
	if len(c.causes) == 0 {
		c.causes = nil
	}
	if len(c.executes) == 0 {
		c.executes = nil
	}
}

// parentID is the number of the caller, 0 for the run.
func (c *foldCall) parentID() int {
	if c.parent == nil {
		return 0
	}
	return c.parent.id
}

// begin takes in the first line of a spanning operation.
func (f *Fold) begin(c *foldCall, x *adk.Crossing) error {
	if x.Op <= f.lastOp {
		return fmt.Errorf("operation %d has begun before", x.Op)
	}
	f.lastOp = x.Op
	op := f.spareOps.next()
	op.number, op.kind, op.call = x.Op, x.Kind, c
	f.ops[x.Op] = op
	switch x.Kind {
	case adk.KindStore, adk.KindMutate, adk.KindDelete:
		op.change = foldDelta{of: x.Collection, record: x.Record, key: x.Key}
		return op.change.fault(x.Kind)
	case adk.KindAck:
		return f.ack(c, op)
	case adk.KindExecute:
		op.execution = newExecution(x)
		c.executes = append(c.executes, op)
	case adk.KindEmitMessage, adk.KindEmitThought, adk.KindEmitToolCall:
		f.cause(c, causedEvent{kind: emitted[x.Kind], payload: x.Payload, given: true})
	case adk.KindWaitFor:
		f.gates = append(f.gates, &foldGate{id: x.Name, op: x.Op, call: c, at: x.At, refused: f.cancelled || f.openGate(x.Name) != nil})
	}
	return nil
}

// finish takes in the last line of a spanning operation.
func (f *Fold) finish(c *foldCall, x *adk.Crossing) error {
	op := f.ops[x.Op]
	if op == nil || op.kind != x.Kind || op.call != c {
		return fmt.Errorf("operation %d has not begun here", x.Op)
	}
	delete(f.ops, x.Op)
	switch x.Kind {
	case adk.KindStore, adk.KindMutate, adk.KindDelete:
		// On a turn context the storage alone is called (RUN-13).
		if d := c.dispatch; d != nil && x.Err == nil {
			d.take(op.change)
		}
	case adk.KindAck:
		if op.refused != (x.Err != nil) {
			return fmt.Errorf("the first signal wins, and this %s the first (SIG-1)", isOrNot(!op.refused))
		}
	case adk.KindExecute:
		c.executes = without(c.executes, op)
		if e := &op.execution; e.started != e.ended {
			return fmt.Errorf("no toolExecutionEnd was told (TOL-3)")
		}
	case adk.KindWaitFor:
		return f.close(x)
	case adk.KindOpenMedia:
		if _, isBytes := x.Value.([]byte); isBytes == (x.Err != nil) {
			return fmt.Errorf("a media gives its bytes or an error, and this gave neither or both (PRM-8)")
		}
	}
	return nil
}

// close takes in that the wait for a gate is over.
func (f *Fold) close(x *adk.Crossing) error {
	g := f.gate(func(g *foldGate) bool { return g.op == x.Op })
	f.gates = without(f.gates, g)
	if g != nil && g.refused && x.Err != nil { // it did not open (ABT-7, GAT-5)
		return nil
	}
	if g == nil || !g.opened || !g.closed {
		return fmt.Errorf("the gate's two events were not told before (GAT-4)")
	}
	return nil
}

// ack takes in the first line of an ack: from here on the dispatch is signalled.
func (f *Fold) ack(c *foldCall, op *foldOp) error {
	d := c.dispatch
	if d == nil {
		return errNoDispatch
	}
	op.refused = d.acked || d.nacked
	d.acked = d.acked || !op.refused
	return nil
}

// operate takes in an operation of one line.
func (f *Fold) operate(c *foldCall, x *adk.Crossing) error {
	switch x.Kind {
	case adk.KindAdd, adk.KindRemove:
		return c.visible.edit(x)
	case adk.KindRegister, adk.KindUnregister, adk.KindPrune:
		return c.visible.editTools(x)
	case adk.KindStash:
		if x.Err != nil {
			return nil
		}
		return c.visible.stash.set(x.Name, x.Value)
	case adk.KindNack:
		return f.nack(c, x)
	case adk.KindReportMessage, adk.KindReportThought, adk.KindReportToolCall, adk.KindReportLog:
		return f.report(c, x)
	}
	return nil
}

func (f *Fold) nack(c *foldCall, x *adk.Crossing) error {
	d := c.dispatch
	if d == nil {
		return errNoDispatch
	}
	late := d.acked || d.nacked
	d.nacked = d.nacked || !late
	if late != (x.Err != nil) {
		return fmt.Errorf("the first signal wins, and this %s the first (SIG-1)", isOrNot(!late))
	}
	return nil
}

// event takes in an event: what it says about the loop, and that the operation
// which caused it has been told of.
func (f *Fold) event(c *foldCall, x *adk.Crossing) error {
	d := c.dispatch
	switch x.Kind {
	case adk.KindTurnStart:
		f.turnID, f.startedAt = x.Name, x.At
		return nil
	case adk.KindTurnEnd, adk.KindErrorEvent:
		return nil
	case adk.KindMessageEvent, adk.KindThoughtEvent, adk.KindToolCallEvent, adk.KindLogEvent:
		return f.told(c, x)
	case adk.KindTurnGateOpen, adk.KindTurnGateClosed:
		return f.gateEvent(c, x)
	case adk.KindToolExecutionStart, adk.KindToolExecutionEnd:
		return c.executionEvent(x)
	}
	if d == nil || d.call != c {
		return fmt.Errorf("call %d is no dispatch", c.id)
	}
	d.event(x, f.cancelled)
	if x.Kind == adk.KindDispatchEnd && c.seam.Name == "" {
		f.outputDue = x.Status == adk.StatusAck && !f.cancelled
	}
	return nil
}

// event takes in the events of the loop itself, with the flush that comes
// before the end of an iteration and of the dispatch (DEL-2, DEL-3).
func (d *foldDispatch) event(x *adk.Crossing, cancelled bool) {
	switch x.Kind {
	case adk.KindDispatchStart:
		d.id, d.startedAt = x.Name, x.At
	case adk.KindIterationStart:
		d.iteration, d.iteratingAt = d.started, x.At
		d.started++
	case adk.KindIterationEnd, adk.KindDispatchEnd:
		d.flush(d.flushes(x, cancelled))
	}
}

// flushes reports whether what is queued was flushed before the end of an
// iteration or of the dispatch, and not discarded (DEL-2, DEL-3).
func (d *foldDispatch) flushes(end *adk.Crossing, cancelled bool) bool {
	if end.Kind == adk.KindDispatchEnd {
		return end.Status == adk.StatusAck
	}
	return !d.nacked && !cancelled
}

// flush applies what is queued to what is above, in order, or discards it.
func (d *foldDispatch) flush(keep bool) {
	if keep && d.source != nil {
		for _, change := range d.queue {
			if d.above != nil {
				d.above.take(change)
			} else {
				d.source.change(change)
			}
		}
	}
	d.queue = nil
}

// take makes a change and queues it (DEL-1).
func (d *foldDispatch) take(change foldDelta) {
	d.visible.change(change)
	d.queue = append(d.queue, change)
}

// name is the name of a dispatch that user code called; empty for the turn's own.
func (d *foldDispatch) name() string { return d.call.seam.Name }

// fact takes in what nobody called.
func (f *Fold) fact(c *foldCall, x *adk.Crossing) error {
	switch x.Kind {
	case adk.KindCancel:
		if f.cancelled {
			return fmt.Errorf("is a second cancel of one run (ABT-5)")
		}
		f.cancelled = true
	case adk.KindSettle:
		g := f.openGate(x.Name)
		if g == nil {
			return fmt.Errorf("no gate %q is open", x.Name)
		}
		if x.Status != adk.GateRefused {
			g.result, g.by = x.Status, x.Key
		}
	case adk.KindTimer:
		if op := f.ops[x.N]; op == nil || op.call != c {
			return fmt.Errorf("no operation %d waits", x.N)
		}
	case adk.KindSight:
		if c.seam.Label == adk.LabelRun {
			f.outputDue = false
		}
	}
	return nil
}

func (f *Fold) gate(is func(*foldGate) bool) *foldGate {
	for _, g := range f.gates {
		if is(g) {
			return g
		}
	}
	return nil
}

// openGate is the gate of an id that has not settled; there is one at the most (GAT-5).
func (f *Fold) openGate(id string) *foldGate {
	return f.gate(func(g *foldGate) bool { return g.id == id && !g.refused && g.result == "" })
}

// gateFor finds the gate that an event of the call is about.
func (f *Fold) gateFor(c *foldCall, x *adk.Crossing) *foldGate {
	open := x.Kind == adk.KindTurnGateOpen
	return f.gate(func(g *foldGate) bool {
		return g.call == c && g.id == x.Name && !g.refused && (open && !g.opened || !open && !g.closed && g.result != "")
	})
}

func (f *Fold) gateEvent(c *foldCall, x *adk.Crossing) error {
	g := f.gateFor(c, x)
	if g == nil {
		return fmt.Errorf("the call waits for no gate %q in this state", x.Name)
	}
	if x.Kind == adk.KindTurnGateOpen {
		g.opened = true
	} else {
		g.closed = true
	}
	return nil
}

var errNoDispatch = errors.New("is not in a dispatch")

func isOrNot(is bool) string {
	if is {
		return "is"
	}
	return "is not"
}

// without takes one out of a short list.
func without[T comparable](list []T, one T) []T {
	for i, at := range list {
		if at == one {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// Sight is the digests of all that the handles of a call see at this point, in
// order (DET-8). Of a call that has not begun it is empty.
func (f *Fold) Sight(call int) adk.Sight {
	if v := f.Seen(call); v != nil {
		return v.Sight()
	}
	return adk.Sight{}
}

// Check reports whether the next crossing, where it is a sight, gives the digest
// that the crossings before it lead to (DET-8).
func (f *Fold) Check(x *adk.Crossing) error {
	if x.Kind != adk.KindSight {
		return nil
	}
	if want := f.Sight(x.Call).Digest(); want != x.Digest {
		return fmt.Errorf("sight: what was told before leads to the digest %s, and the engine gives %s (DET-8)", want, x.Digest)
	}
	return nil
}

// Turn is what is visible in the turn; nil before the first crossing.
func (f *Fold) Turn() *Visible { return f.root }

// seamOf is the path of the seam call that a crossing belongs to; of a call and
// a return it is that call.
func (f *Fold) seamOf(x *adk.Crossing) string {
	id := x.Call
	switch x.Kind {
	case adk.KindCall:
		return x.Seam.String()
	case adk.KindReturn:
		id = x.ID
	}
	if c := f.calls[id]; c != nil {
		return c.seam.String()
	}
	return ""
}

// Seen is what the handles of a call see: that of the turn, or of the dispatch
// it belongs to; nil for a call that has not begun.
func (f *Fold) Seen(call int) *Visible {
	if c := f.calls[call]; c != nil {
		return c.visible
	}
	return nil
}

// Untold is how many events are still to come from operations that caused one.
// At the end of a run it is zero, unless user code ended its goroutine.
func (f *Fold) Untold() int { return f.untold }

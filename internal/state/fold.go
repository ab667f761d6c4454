package state

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Fold derives the state of an engine from crossings alone (DET-8): what is visible in the turn and
// in each dispatch, the changes that wait for a flush, signals, streams, gates, and everything that
// is open. It is written from the contract and not from the engine, so that the two can be checked
// against each other.
//
// Apply takes the crossings one after the other. Check, CheckPayload and Payload are about the next
// crossing, which is not applied yet. A Fold keeps nothing of a Crossing that its owner may change,
// so an observer can use it. Time and memory are linear in the length of the run. A Fold is not
// safe for concurrent use.
type Fold struct {
	seq    int
	lastID int // the last call's number
	lastOp int

	TurnID    string
	StartedAt time.Time // of the turn
	Cancelled bool      // the run's context is done
	OutputDue bool      // the turn's dispatch was acked, so its output stage is next
	Root      *View
	Calls     map[int]*Call // all of them: an event may belong to a call that has ended
	Ops       map[int]*Op   // those that are open
	Gates     []*Gate       // those that are open, or settled and not yet closed
	lastCall  toolCall      // the last call with textual arguments; Reset keeps it

	spareCalls arena[Call]
	spareOps   arena[Op]
	views      []*View // all that were made
	used       int     // how many of them are in use
}

// arena is memory for the many objects of one turn, which a fold reuses for the next turn.
type arena[T any] struct {
	all  []T
	used int
}

// next returns another object, from the arena if there is room.
func (r *arena[T]) next() *T {
	r.used++
	if r.used > len(r.all) {
		return new(T)
	}
	return &r.all[r.used-1]
}

// again makes all of the memory free, and enlarges it to what was needed.
func (r *arena[T]) again() {
	if r.used > len(r.all) {
		r.all = make([]T, r.used)
	}
	clear(r.all[:min(r.used, len(r.all))])
	r.used = 0
}

// Call is one seam call.
type Call struct {
	ID       int
	Strand   int
	Seam     adk.Seam
	Parent   *Call
	visible  *View
	Dispatch *Dispatch // nil outside a dispatch
	Ended    bool
	causes   []causedEvent // events to come, in the order of their operations
	executes []*Op         // tool executions that are open
}

// Op is a spanning operation that has begun and is not done.
type Op struct {
	Number  int
	Kind    adk.Kind
	Call    *Call
	change  foldDelta // for store, mutate and delete
	refused bool      // an ack that comes after a signal

	Execution Execution
}

// foldDelta is one change of a set: a record to keep, or a key to remove.
type foldDelta struct {
	of     adk.CollectionName
	record adk.Record
	key    string
}

// Dispatch is one run of the dispatch loop.
type Dispatch struct {
	Call    *Call
	Visible *View
	Above   *Dispatch // the dispatch that called it, to which it flushes its queue
	Source  *View     // the caller's view; nil for a standalone dispatch

	ID          string
	startedAt   time.Time
	iteratingAt time.Time // when the current iteration started
	Iteration   int
	Started     int // how many iterations were started

	Acked, Nacked bool
	Queue         []foldDelta

	messages map[string]*foldStream
	thoughts map[string]*foldStream
	reported map[string]*adk.ToolCallEvent
	Streams  []Ref // all of these, in the order of their first reports
}

// Gate is a gate with a waiting operation.
type Gate struct {
	ID         string
	Op         int
	Call       *Call
	at         time.Time
	opened     bool   // turnGateOpen was recorded
	closed     bool   // turnGateClosed was recorded
	refused    bool   // it was asked for in an aborted run, or while another gate with its id was open
	Result, by string // set when it has settled
}

// New returns a fold before the first crossing.
func New() *Fold {
	return &Fold{Calls: map[int]*Call{}, Ops: map[int]*Op{}}
}

// Reset returns the fold to its initial state but keeps its memory. The views that Seen returned
// become invalid.
func (f *Fold) Reset() {
	clear(f.Calls)
	clear(f.Ops)
	f.spareCalls.again()
	f.spareOps.again()
	for _, v := range f.views[:f.used] {
		v.clear()
	}
	*f = Fold{Calls: f.Calls, Ops: f.Ops, spareCalls: f.spareCalls, spareOps: f.spareOps, views: f.views, lastCall: f.lastCall}
}

// Apply takes in the next crossing. The error says why no engine may record it at this point; the
// fold has then applied what it could and can go on.
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
	c := f.Calls[x.Call]
	if c == nil && x.Kind == adk.KindCancel {
		return f.fact(nil, x) // a run may be cancelled before its first call
	}
	if c == nil {
		return fmt.Errorf("belongs to call %d, which has not begun", x.Call)
	}
	if x.Phase == adk.Done {
		return f.finish(c, x)
	}
	if x.Kind.Class() == adk.ClassOperation && c.Ended && x.Kind != adk.KindOffAck {
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

// enter applies the beginning of a seam call.
func (f *Fold) enter(x *adk.Crossing) error {
	if x.ID <= f.lastID {
		return fmt.Errorf("call %d has begun before", x.ID)
	}
	f.lastID = x.ID
	c := f.spareCalls.next()
	c.ID, c.Strand, c.Seam = x.ID, x.Strand, x.Seam
	f.Calls[c.ID] = c
	if x.Call == 0 {
		return f.enterRoot(c, x)
	}
	c.Parent = f.Calls[x.Call]
	if c.Parent == nil || c.Parent == c || c.Parent.Ended {
		if f.Root == nil {
			f.Root = f.beginning(&adk.Crossing{})
		}
		c.Parent, c.visible = nil, f.Root
		return fmt.Errorf("is below call %d, which is not open", x.Call)
	}
	c.visible, c.Dispatch = c.Parent.visible, c.Parent.Dispatch
	switch c.Seam.Label {
	case adk.LabelDispatch:
		// DSP-9: its sets are its own copies of what its caller sees now.
		f.dispatch(c, f.copyOf(c.visible), c.visible)
	case adk.LabelTool:
		f.handles(c.Parent, c, x)
	}
	return nil
}

// enterRoot applies the first crossing: what the caller supplied (RUN-7).
func (f *Fold) enterRoot(c *Call, x *adk.Crossing) error {
	if f.Root != nil {
		c.visible = f.Root
		return fmt.Errorf("is a second first call")
	}
	f.Root = f.beginning(x)
	c.visible = f.Root
	switch c.Seam.Label {
	case adk.LabelDispatch:
		f.dispatch(c, f.Root, nil)
	case adk.LabelRun:
	default:
		return fmt.Errorf("of %s has no caller: a run begins with run, or with a standalone dispatch", c.Seam)
	}
	return nil
}

func (f *Fold) dispatch(c *Call, visible, source *View) {
	above := c.Dispatch
	c.visible = visible
	c.Dispatch = &Dispatch{Call: c, Visible: visible, Above: above, Source: source,
		messages: map[string]*foldStream{}, thoughts: map[string]*foldStream{}, reported: map[string]*adk.ToolCallEvent{}}
}

// leave applies the return of a seam call.
func (f *Fold) leave(x *adk.Crossing) error {
	c := f.Calls[x.ID]
	if c == nil || c.Ended {
		return fmt.Errorf("of call %d, which is not open", x.ID)
	}
	c.end()
	if d := c.Dispatch; d != nil && d.Call == c && d.Visible != f.Root {
		d.Visible.release()
	}
	if parent := c.Parent; parent != nil && c.Seam.Label == adk.LabelTool {
		parent.handled(c, x.Outcome != adk.OutcomeOK)
	}
	if above := c.ParentID(); above != x.Call || c.Strand != x.Strand {
		return fmt.Errorf("of call %d says call %d and strand %d, which began in call %d and strand %d", x.ID, x.Call, x.Strand, above, c.Strand)
	}
	return nil
}

// end marks the call as ended. The fold keeps all calls, so end frees the memory of their empty
// lists.
func (c *Call) end() {
	c.Ended = true
	if len(c.causes) == 0 {
		c.causes = nil
	}
	if len(c.executes) == 0 {
		c.executes = nil
	}
}

// ParentID returns the number of the caller, or 0 for the run.
func (c *Call) ParentID() int {
	if c.Parent == nil {
		return 0
	}
	return c.Parent.ID
}

// begin applies the first line of a spanning operation.
func (f *Fold) begin(c *Call, x *adk.Crossing) error {
	if x.Op <= f.lastOp {
		return fmt.Errorf("operation %d has begun before", x.Op)
	}
	f.lastOp = x.Op
	op := f.spareOps.next()
	op.Number, op.Kind, op.Call = x.Op, x.Kind, c
	f.Ops[x.Op] = op
	f.follows(c, x)
	switch x.Kind {
	case adk.KindStore, adk.KindMutate, adk.KindDelete:
		op.change = foldDelta{of: x.Collection, record: x.Record, key: x.Key}
		return op.change.fault(x.Kind)
	case adk.KindAck:
		return f.ack(c, op)
	case adk.KindExecute:
		op.Execution = f.execution(x)
		c.executes = append(c.executes, op)
	case adk.KindWaitFor:
		f.Gates = append(f.Gates, &Gate{ID: x.Name, Op: x.Op, Call: c, at: x.At, refused: f.Cancelled || f.openGate(x.Name) != nil})
	}
	return nil
}

// finish applies the last line of a spanning operation.
func (f *Fold) finish(c *Call, x *adk.Crossing) error {
	op := f.Ops[x.Op]
	if op == nil || op.Kind != x.Kind || op.Call != c {
		return fmt.Errorf("operation %d has not begun here", x.Op)
	}
	delete(f.Ops, x.Op)
	if x.Err != nil {
		c.refused(x.Op)
	}
	switch x.Kind {
	case adk.KindStore, adk.KindMutate, adk.KindDelete:
		// On a turn context only the storage is called (RUN-13).
		if d := c.Dispatch; d != nil && x.Err == nil {
			d.take(op.change)
		}
	case adk.KindAck:
		if op.refused != (x.Err != nil) {
			return fmt.Errorf("the first signal wins, and this %s the first (SIG-1)", isOrNot(!op.refused))
		}
	case adk.KindExecute:
		c.executes = Without(c.executes, op)
		c.exchange(op, x.Err != nil)
		if e := &op.Execution; e.started != e.ended {
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

// close applies the end of the wait for a gate.
func (f *Fold) close(x *adk.Crossing) error {
	g := f.gate(func(g *Gate) bool { return g.Op == x.Op })
	f.Gates = Without(f.Gates, g)
	if g != nil && g.refused && x.Err != nil { // it did not open (ABT-7, GAT-5)
		return nil
	}
	if g == nil || !g.opened || !g.closed {
		return fmt.Errorf("the gate's two events were not told before (GAT-4)")
	}
	return nil
}

// ack applies the first line of an ack. From here on the dispatch is signalled.
func (f *Fold) ack(c *Call, op *Op) error {
	d := c.Dispatch
	if d == nil {
		return errNoDispatch
	}
	op.refused = d.Acked || d.Nacked
	d.Acked = d.Acked || !op.refused
	return nil
}

// operate applies an operation of one line.
func (f *Fold) operate(c *Call, x *adk.Crossing) error {
	if x.Kind.Touches() == adk.TouchStream {
		return f.report(c, x)
	}
	f.follows(c, x)
	switch x.Kind {
	case adk.KindAdd, adk.KindRemove:
		return c.visible.edit(x)
	case adk.KindRegister, adk.KindUnregister, adk.KindPrune:
		return c.visible.editTools(x)
	case adk.KindStash:
		if x.Err != nil {
			return nil
		}
		return c.visible.Values.set(x.Name, x.Value)
	case adk.KindNack:
		return f.nack(c, x)
	}
	return nil
}

func (f *Fold) nack(c *Call, x *adk.Crossing) error {
	d := c.Dispatch
	if d == nil {
		return errNoDispatch
	}
	late := d.Acked || d.Nacked
	d.Nacked = d.Nacked || !late
	if late != (x.Err != nil) {
		return fmt.Errorf("the first signal wins, and this %s the first (SIG-1)", isOrNot(!late))
	}
	return nil
}

// event applies an event: what it says about the loop, or that the operation which caused it has
// its event.
func (f *Fold) event(c *Call, x *adk.Crossing) error {
	if alone[x.Kind] {
		return c.told(x)
	}
	switch x.Kind {
	case adk.KindTurnStart:
		f.TurnID, f.StartedAt = x.Name, x.At
	case adk.KindTurnGateOpen, adk.KindTurnGateClosed:
		return f.gateEvent(c, x)
	case adk.KindToolExecutionStart, adk.KindToolExecutionEnd:
		return c.executionEvent(x)
	case adk.KindDispatchStart, adk.KindDispatchEnd, adk.KindIterationStart, adk.KindIterationEnd:
		d := c.Dispatch
		if d == nil || d.Call != c {
			return fmt.Errorf("call %d is no dispatch", c.ID)
		}
		d.event(x, f.Cancelled)
		if x.Kind == adk.KindDispatchEnd && c.Seam.Name == "" {
			f.OutputDue = x.Status == adk.StatusAck && !f.Cancelled
		}
	}
	return nil
}

// event applies the events of the loop itself, including the flush before the end of an iteration
// or of the dispatch (DEL-2, DEL-3).
func (d *Dispatch) event(x *adk.Crossing, cancelled bool) {
	switch x.Kind {
	case adk.KindDispatchStart:
		d.ID, d.startedAt = x.Name, x.At
	case adk.KindIterationStart:
		d.Iteration, d.iteratingAt = d.Started, x.At
		d.Started++
	case adk.KindIterationEnd, adk.KindDispatchEnd:
		d.flush(d.Flushes(x, cancelled))
	}
}

// Flushes reports whether the queued changes are flushed, and not discarded, before the end of an
// iteration or of the dispatch (DEL-2, DEL-3).
func (d *Dispatch) Flushes(end *adk.Crossing, cancelled bool) bool {
	if end.Kind == adk.KindDispatchEnd {
		return end.Status == adk.StatusAck
	}
	return !d.Nacked && !cancelled
}

// flush applies the queued changes to the caller's view, in order, or discards them.
func (d *Dispatch) flush(keep bool) {
	if keep && d.Source != nil {
		for _, change := range d.Queue {
			if d.Above != nil {
				d.Above.take(change)
			} else {
				d.Source.change(change)
			}
		}
	}
	d.Queue = nil
}

// take makes a change and queues it (DEL-1).
func (d *Dispatch) take(change foldDelta) {
	d.Visible.change(change)
	d.Queue = append(d.Queue, change)
}

// name returns the name of a dispatch that user code called; it is empty for the turn's own.
func (d *Dispatch) name() string { return d.Call.Seam.Name }

// fact applies a fact.
func (f *Fold) fact(c *Call, x *adk.Crossing) error {
	switch x.Kind {
	case adk.KindCancel:
		if f.Cancelled {
			return fmt.Errorf("is a second cancel of one run (ABT-5)")
		}
		f.Cancelled = true
	case adk.KindSettle:
		g := f.openGate(x.Name)
		if g == nil {
			return fmt.Errorf("no gate %q is open", x.Name)
		}
		if x.Status != adk.GateRefused {
			g.Result, g.by = x.Status, x.Key
		}
	case adk.KindTimer:
		if op := f.Ops[x.N]; op == nil || op.Call != c {
			return fmt.Errorf("no operation %d waits", x.N)
		}
	case adk.KindPiece:
		if op := f.Ops[x.Op]; op == nil || op.Kind != adk.KindAsk || op.Call != c {
			return fmt.Errorf("nobody has begun to ask as operation %d (WLD-4)", x.Op)
		}
	case adk.KindState:
		if c.Seam.Label == adk.LabelRun {
			f.OutputDue = false
		}
	}
	return nil
}

func (f *Fold) gate(is func(*Gate) bool) *Gate {
	for _, g := range f.Gates {
		if is(g) {
			return g
		}
	}
	return nil
}

// openGate returns the gate with an id that is open and not settled; there is at most one (GAT-5).
func (f *Fold) openGate(id string) *Gate {
	return f.gate(func(g *Gate) bool { return g.ID == id && !g.refused && g.Result == "" })
}

// gateFor returns the gate that an event of the call is about.
func (f *Fold) gateFor(c *Call, x *adk.Crossing) *Gate {
	open := x.Kind == adk.KindTurnGateOpen
	return f.gate(func(g *Gate) bool {
		return g.Call == c && g.ID == x.Name && !g.refused && (open && !g.opened || !open && !g.closed && g.Result != "")
	})
}

func (f *Fold) gateEvent(c *Call, x *adk.Crossing) error {
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

func isOrNot(ok bool) string {
	if ok {
		return "is"
	}
	return "is not"
}

// Without removes an element from a list, in place. It searches from the end: usually what began
// last ends first, so this is fast however long the list is.
func Without[T comparable](list []T, one T) []T {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == one {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// StateDigest returns the digests of everything that the handles of a call see at this point, in
// order (DET-8). It is empty for a call that has not begun.
func (f *Fold) StateDigest(call int) adk.StateDigest {
	if v := f.Seen(call); v != nil {
		return v.StateDigest()
	}
	return adk.StateDigest{}
}

// Digest returns the single digest of the StateDigest. Its cost depends only on what has changed.
func (f *Fold) Digest(call int) adk.Digest {
	if v := f.Seen(call); v != nil {
		return v.Digest()
	}
	return adk.StateDigest{}.Digest()
}

// FormerDigest returns the digest as traces of format 4 and older have it.
func (f *Fold) FormerDigest(call int) adk.Digest {
	if v := f.Seen(call); v != nil {
		return v.FormerDigest()
	}
	return adk.StateDigest{}.Digest()
}

// Check checks the digest of the next crossing, if it is a state, against the crossings before it
// (DET-8).
func (f *Fold) Check(x *adk.Crossing) error {
	if x.Kind != adk.KindState {
		return nil
	}
	if want := f.Digest(x.Call); want != x.Digest {
		return fmt.Errorf("state: what was told before leads to the digest %s, and the engine gives %s (DET-8)", want, x.Digest)
	}
	return nil
}

// Turn returns what is visible in the turn; nil before the first crossing.
func (f *Fold) Turn() *View { return f.Root }

// SeamOf returns the path of the seam of the call that a crossing belongs to. A call or a return
// belongs to its own call.
func (f *Fold) SeamOf(x *adk.Crossing) string {
	id := x.Call
	switch x.Kind {
	case adk.KindCall:
		return x.Seam.String()
	case adk.KindReturn:
		id = x.ID
	}
	if c := f.Calls[id]; c != nil {
		return c.Seam.String()
	}
	return ""
}

// Seen returns what the handles of a call see: the view of the turn, or of the dispatch that it
// belongs to. It is nil for a call that has not begun.
func (f *Fold) Seen(call int) *View {
	if c := f.Calls[call]; c != nil {
		return c.visible
	}
	return nil
}

// OpOf returns the number of the operation of an execution, or 0 if there is none.
func (c *Call) OpOf(e *Execution) int {
	for _, op := range c.executes {
		if &op.Execution == e {
			return op.Number
		}
	}
	return 0
}

// OpHandledBy returns the number of the operation whose tool's handler is the given call, or 0 if
// there is none.
func (c *Call) OpHandledBy(call int) int {
	for _, op := range c.executes {
		if h := op.Execution.handler; h != nil && h.ID == call {
			return op.Number
		}
	}
	return 0
}

// Open returns the calls that have not returned, in the order in which they began.
func (f *Fold) Open() (calls []*Call) {
	for _, c := range f.Calls {
		if !c.Ended {
			calls = append(calls, c)
		}
	}
	slices.SortFunc(calls, func(a, b *Call) int { return a.ID - b.ID })
	return calls
}

// Running returns the operations of a call that are not done, in order.
func (f *Fold) Running(c *Call) (ops []*Op) {
	for _, op := range f.Ops {
		if op.Call == c {
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b *Op) int { return a.Number - b.Number })
	return ops
}

// Standalone reports whether the run is a standalone dispatch.
func (f *Fold) Standalone() bool {
	for _, c := range f.Calls {
		if c.Parent == nil && c.Dispatch != nil && c.Dispatch.Visible == f.Root {
			return true
		}
	}
	return false
}

// Stream returns a stream of the dispatch. The stream must be one of d.Streams.
func (d *Dispatch) Stream(s Ref) HeldStream {
	switch s.Space {
	case SpaceMessage:
		m := d.messages[s.ID]
		return HeldStream{Kind: string(adk.RecordMessage), ID: s.ID, Sealed: m.sealed, Text: m.full.String()}
	case SpaceThought:
		t := d.thoughts[s.ID]
		return HeldStream{Kind: string(adk.RecordThought), ID: s.ID, Sealed: t.sealed, Text: t.full.String()}
	}
	call := d.reported[s.ID]
	return HeldStream{Kind: string(adk.RecordToolCall), ID: s.ID, Sealed: call.Complete, Tool: call.Tool, Args: call.Args}
}

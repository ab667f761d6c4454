package replay

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// causal runs a recorded turn again with live seams: it answers by cause, and
// never by position. It is the probe, the clock, the id source and every
// scripted seam of the new run. Nothing is compared here: the new run is
// recorded beside, and the two are held against each other when it is over.
//
// Every call of the new run has its counterpart in the recording, or none: a
// middleware, an executor and a strand by seam path and occurrence below their
// run, dispatch or fork; a storage obligation and a tool by the operation that
// leads to it; and that, if live code made it, by seam, strand, kind, arguments
// and occurrence. A call without a counterpart gets ErrUnanswered.
//
// Strands run freely, as live code may wait for one another in ways that nobody
// sees, but for three things that are put in the recorded order: what comes from
// outside (acts), what is shared between strands (isShared), and the clock.
//
// Locks: the engine calls Tell and the clock under its own lock, so the engine
// is never called while mu is held.
type causal struct {
	tree   *callTree
	live   Live
	stage  *stage
	loud   loudness
	known  comparer
	cancel func(cause, err error) // ends the context of the new run
	noAnswerChecks

	timers       // with the lock that guards what follows
	moved        *sync.Cond
	now          time.Time
	failed       error // why it stopped before its end
	calls        map[int]*newCall
	ops          map[int]*newOp     // the open operations
	strands      map[int]*newStrand // those that have begun, or were forked
	pools        map[string][]*step // recorded operations, by their causes
	counterparts map[int]int        // the recorded numbers of strands, -1 of none, by those of the new run
	gone         map[*step]bool     // those that were taken
	ids          *renaming
	used         map[*seamCall]*newCall       // recorded calls, and their counterparts
	met          map[*seamCall]int            // for unmet
	lists        map[adk.Step][]*adk.Crossing // for foresee
	acts         []*act
	acting       int                // goroutines that settle a gate
	aborts       bool               // an operation aborted the recorded run
	aborted      bool               // the new run was aborted
	outcry       map[int]outcry     // of listeners, by the recorded event
	unasked      map[int]bool       // calls of tools of its own that live code made
	brought      map[*adk.Tool]bool // tools that live code registered
	missed       []int              // calls that the recording has no answer for
	passed       []int              // of each recorded call, return and operation, the new crossing in its place; 0 if there is none
	made         int                // ids that are not in the recording
	turn         *waiter            // whose step is being taken: the times and ids are for it
}

// newCall is a call of the new run.
type newCall struct {
	id, strand int
	seam       adk.Seam
	rec        *seamCall // its counterpart; nil if there is none
	owner      *newCall  // the nearest run or dispatch above
	path       string    // of its strand
	doing      *step     // what a scripted seam performs through its handle
	open       []*newOp
	below      []*newCall // the calls that it made and that have not returned
}

// newOp is an open operation of the new run.
type newOp struct {
	number int
	call   *newCall
	rec    *step // nil if it was not recorded
	kind   adk.Kind
	gate   string // the gate that is waited for
	over   bool   // it has settled
	heard  bool   // its opening was
	opened *adk.TurnGate
}

func newCausal(tree *callTree, live Live, known comparer) *causal {
	if !live.any() && tree.order == nil {
		tree.order = asRecorded(tree)
	}
	p := &causal{
		tree: tree, live: live, known: known,
		calls: map[int]*newCall{}, ops: map[int]*newOp{}, pools: map[string][]*step{},
		used: map[*seamCall]*newCall{}, met: map[*seamCall]int{}, strands: map[int]*newStrand{0: {}}, lists: map[adk.Step][]*adk.Crossing{},
		unasked: map[int]bool{}, brought: map[*adk.Tool]bool{}, counterparts: map[int]int{}, gone: map[*step]bool{}, outcry: map[int]outcry{}, passed: make([]int, len(tree.lines)+1),
	}
	p.ids = newRenaming(tree, p.isLive)
	p.moved = sync.NewCond(&p.mu)
	p.stage = newStage(p)
	p.stage.gates = adk.Observability{TurnGateOpen: p.gateOpened}
	p.loud.opened, p.loud.leaving = p.gateOpened, p.leaving
	if len(tree.lines) > 0 {
		p.came(p.strands[0], tree.lines[0].At)
	}
	p.made = madeIn(tree.lines)
	p.index()
	return p
}

// asRecorded is the recorded order of a run: without live code nobody waits where
// it is not seen, and every strand can keep to it.
func asRecorded(tree *callTree) []int {
	order := make([]int, len(tree.lines)+1)
	for i := range order {
		order[i] = i
	}
	return order
}

// index prepares what is looked up while the run goes on.
func (p *causal) index() {
	for _, x := range p.tree.lines {
		key := adk.Step{Kind: x.Kind, Phase: x.Phase, Call: x.Call, Strand: x.Strand}
		p.lists[key] = append(p.lists[key], x)
		p.aborts = p.aborts || isAbort(x)
		if x.Kind == adk.KindCall {
			for _, s := range p.tree.calls[x.ID].steps {
				if s.x.Kind.Class() == adk.ClassOperation {
					p.pool(p.tree.calls[x.ID], s)
				}
			}
		}
	}
	p.listen()
	for _, x := range p.tree.lines {
		if x.Kind == adk.KindCancel && x.Key == outsideCancel {
			p.acts = append(p.acts, &act{seq: x.Seq, at: x.At, cancel: x})
		}
	}
	for _, x := range p.tree.cancels {
		p.acts = append(p.acts, &act{seq: x.Seq, at: x.At, cancel: x})
	}
}

// listen finds the events at which recorded listeners were loud. Those that settle
// gates may be live, and are not made loud then.
func (p *causal) listen() {
	past := trail{}
	for at, x := range p.tree.lines {
		if x.Kind.Class() != adk.ClassEvent {
			past.pass(x)
			continue
		}
		by := p.tree.calls[x.Call]
		o := past.event(x, by != nil && p.isLive(by), func(i int) *adk.Crossing {
			if at+i < len(p.tree.lines) {
				return p.tree.lines[at+i]
			}
			return nil
		})
		if o.listeners() > 0 && !(x.Kind == adk.KindTurnGateOpen && p.live.SettlesGates()) {
			p.outcry[x.Seq] = o
		}
	}
}

// pool files a recorded operation under its cause, and under its cause but for
// the id that it is about.
func (p *causal) pool(c *seamCall, s *step) {
	key := p.cause(c, s.x)
	p.pools[key] = append(p.pools[key], s)
	if s.x.Kind == adk.KindWaitFor {
		key = p.gateCause(s.x)
		p.pools[key] = append(p.pools[key], s)
	}
	if idOf(s.x) != "" && p.isLive(c) {
		key = p.cause(c, withID(s.x, anyID))
		p.pools[key] = append(p.pools[key], s)
	}
}

// cause is what an operation is answered by, but for its occurrence: the seam
// without its iteration, the dispatch that the seam is in, the strand, the kind
// and the arguments.
func (p *causal) cause(c *seamCall, x *adk.Crossing) string { return causeOf(p.known, c, x) }

// gateCause is what a wait for a gate is found by where no other of its seam and
// strand is recorded: who asks may have moved, and somebody settled what was asked.
func (p *causal) gateCause(x *adk.Crossing) string { return "gate\n" + argumentsText(p.known, x) }

func causeOf(known comparer, c *seamCall, x *adk.Crossing) string { // x is in the numbers of the recording
	seam := c.call.Seam
	key := seam.Label + "/" + seam.Name + "\n" + c.strand + "\n"
	for owner := c.owner; owner.called(); owner = owner.parent.owner {
		key += owner.call.Seam.String() + " in " + owner.parent.call.Seam.Label + "/" + owner.parent.call.Seam.Name + "\n"
	}
	if x.Kind == adk.KindWait { // strands of one name are several
		key += strconv.Itoa(x.ID) + "\n"
	}
	return key + argumentsText(known, x)
}

// argumentsText are the kind of an operation and what user code gave it, in a text.
func argumentsText(c comparer, x *adk.Crossing) string {
	e := newEncoder(c.sentinels)
	defer e.free()
	e.begin(nil)
	for _, use := range x.Kind.Fields(x.Phase) {
		switch {
		case !use.Input:
		case use.Field == adk.FieldRecord:
			e.string(use.Label, recordText(x.Record))
		case x.Kind == adk.KindNewID: // the id is the answer
		case x.Kind == adk.KindExecute && use.Field == adk.FieldArgs:
			e.string(use.Label, arguments(x.Args))
		default:
			if err := e.field(use, x); err != nil {
				e.string(use.Label, "unwritable")
			}
		}
	}
	return x.Kind.String() + string(e.out)
}

// recordText tells a record by what it says; a tool by its name, as what a model
// is told of it is compared where it is told.
func recordText(record adk.Record) string {
	if record == nil {
		return ""
	}
	if tool, ok := record.(*adk.Tool); ok {
		return "tool " + tool.Name()
	}
	return string(record.RecordKind()) + " " + record.Digest().String()
}

// Observe makes the player the observer of the new run.
func (p *causal) Observe(adk.RunInfo) adk.Observer { return watcher{p, p.fail} }

// Now is the present of the step that is being taken; of what comes from outside
// it is the latest that was.
func (p *causal) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != nil && p.acting == 0 {
		return p.present(p.turn)
	}
	return p.now
}

// came notes that a strand has come to a time.
func (p *causal) came(s *newStrand, at time.Time) {
	s.now = later(s.now, at)
	p.now = later(p.now, at)
}

// NewID is the id that the recorded counterpart brought; one of its own where
// there is none.
func (p *causal) NewID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != nil && p.turn.next != nil {
		switch x := p.turn.next; x.Kind {
		case adk.KindTurnStart, adk.KindDispatchStart, adk.KindNewID:
			return x.Name
		}
	}
	p.made++
	return fmt.Sprintf(madeID, p.made)
}

// madeID is an id that is not in the recording.
const madeID = "live-%d"

// madeIn is the highest number of such an id that is: the recording may be of a
// replay.
func madeIn(lines []*adk.Crossing) (highest int) {
	for _, x := range lines {
		switch x.Kind {
		case adk.KindTurnStart, adk.KindDispatchStart, adk.KindNewID:
			var n int
			if _, err := fmt.Sscanf(x.Name, madeID, &n); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return highest
}

// Tell follows the new run.
func (p *causal) Tell(got *adk.Crossing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.taken(got)
	p.aborted = p.aborted || got.Kind == adk.KindCancel || isAbort(got)
	switch got.Kind {
	case adk.KindContained, adk.KindTimer:
		if next == nil {
			next = p.fact(got)
		}
	case adk.KindSettle:
		next = p.fact(got)
		if op := p.gateOp(got.Name); op != nil && got.Status != adk.GateRefused {
			op.over = true
		}
	case adk.KindCall:
		p.called(got)
	case adk.KindReturn:
		p.returned(got)
	case adk.KindFork:
		if got.Err == nil {
			p.forked(got, next)
			break
		}
		fallthrough // a refused one is an operation like any other
	default:
		next = p.matched(got, next)
		if next != nil && got.Kind.Class() == adk.ClassOperation {
			p.passed[next.Seq] = got.Seq
		}
	}
	if s := p.strands[got.Strand]; s != nil && next != nil {
		s.cursor = max(s.cursor, next.Seq)
		p.came(s, next.At)
	}
	if next != nil && got.Kind.Class() == adk.ClassEvent {
		p.loud.expect(got, p.outcry[next.Seq])
	}
	p.outside()
	p.moved.Broadcast()
}

// fact is the recorded counterpart of a fact: among what its strand comes to before
// anything else. No fact is announced as what it is, and so none is foreseen: misuse is
// announced as the operation that it was meant to be, a settlement not at all. mu is
// held.
func (p *causal) fact(got *adk.Crossing) *adk.Crossing {
	s := p.strands[got.Strand]
	if s == nil || s.rec < 0 {
		return nil
	}
	for _, x := range p.tree.lines[s.cursor:] {
		switch {
		case x.Strand != s.rec:
		case x.Kind.Class() != adk.ClassFact:
			return nil
		case x.Kind == got.Kind && x.Name == got.Name && x.Status == got.Status:
			return x
		}
	}
	return nil
}

// upcoming is the first recorded line of a strand that it has not passed, but for
// cancels, which are told by whoever crosses next; nil if there is none. mu is held.
func (p *causal) upcoming(s *newStrand) *adk.Crossing {
	for _, x := range p.tree.lines[s.cursor:] {
		if x.Strand == s.rec && x.Kind != adk.KindCancel {
			return x
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// called finds the counterpart of a call. mu is held.
func (p *causal) called(got *adk.Crossing) {
	parent := p.calls[got.Call]
	c := &newCall{id: got.ID, strand: got.Strand, seam: got.Seam}
	p.calls[got.ID] = c
	if s := p.strands[got.Strand]; s != nil && s.rec >= 0 {
		c.path = p.tree.strands[s.rec]
	}
	if parent == nil {
		c.rec = p.tree.root
	} else {
		c.owner = parent
		if !byEngine(parent.seam) {
			c.owner = parent.owner
		}
		parent.below = append(parent.below, c)
		c.rec = p.counterpart(parent, c, got)
	}
	if c.rec == nil {
		return
	}
	p.used[c.rec] = c
	p.passed[c.rec.call.Seq] = got.Seq
	if s := p.strands[got.Strand]; s != nil {
		s.cursor = max(s.cursor, c.rec.call.Seq)
		p.came(s, c.rec.call.At)
	}
}

// counterpart is the recorded call for a new one.
func (p *causal) counterpart(parent, c *newCall, got *adk.Crossing) *seamCall {
	switch got.Seam.Label {
	case adk.LabelStrand:
		if s := p.strands[got.Strand]; s != nil && s.fork != nil {
			return p.first(s.fork.calls, c)
		}
		return nil
	case adk.LabelStorage, adk.LabelTool, adk.LabelOnAck:
		if op := p.opFor(parent, got); op != nil {
			if op.rec == nil {
				return nil
			}
			return p.first(op.rec.calls, c)
		}
	}
	above := c.owner
	if !isPipeline(got.Seam) {
		above = parent
	}
	if above.rec == nil {
		return nil
	}
	for _, s := range p.unmet(above.rec) {
		if s.call != nil && p.used[s.call] == nil && s.call.call.Seam == got.Seam && s.call.strand == c.path && sameRecord(s.x.Record, got.Record) && s.x.Key == got.Key {
			return s.call
		}
	}
	return nil
}

// unmet are the steps of a recorded call from the first call on that has no
// counterpart yet. The front is remembered: a dispatch of many iterations has many.
func (p *causal) unmet(rec *seamCall) []*step {
	met := p.met[rec]
	for met < len(rec.steps) && (rec.steps[met].call == nil || p.used[rec.steps[met].call] != nil) {
		met++
	}
	p.met[rec] = met
	return rec.steps[met:]
}

// first is the first of the recorded calls that is of the seam and has no
// counterpart yet.
func (p *causal) first(calls []*seamCall, c *newCall) *seamCall {
	for _, rec := range calls {
		if p.used[rec] == nil && rec.call.Seam == c.seam {
			return rec
		}
	}
	return nil
}

// opFor is the open operation of the caller that leads to a call.
func (p *causal) opFor(parent *newCall, got *adk.Crossing) *newOp {
	for i := len(parent.open) - 1; i >= 0; i-- {
		if op := parent.open[i]; opCalls(op.kind, got.Seam) {
			return op
		}
	}
	return nil
}

func opCalls(op adk.Kind, seam adk.Seam) bool {
	switch seam.Label {
	case adk.LabelTool:
		return op == adk.KindExecute
	case adk.LabelOnAck:
		return op == adk.KindAck
	}
	switch op {
	case adk.KindFetch, adk.KindRefresh, adk.KindStore, adk.KindMutate, adk.KindDelete:
		return true
	}
	return false
}

// returned follows a call that has returned. mu is held.
func (p *causal) returned(got *adk.Crossing) {
	if parent := p.calls[got.Call]; parent != nil {
		parent.below = without(parent.below, p.calls[got.ID])
	}
	if c := p.calls[got.ID]; c != nil && c.rec != nil && c.rec.ret != nil {
		p.passed[c.rec.ret.Seq] = got.Seq
		if s := p.strands[got.Strand]; s != nil {
			s.cursor = max(s.cursor, c.rec.ret.Seq)
			p.came(s, c.rec.ret.At)
		}
	}
}

// forked notes a strand that will come. mu is held.
func (p *causal) forked(got, next *adk.Crossing) {
	s := &newStrand{number: got.ID, rec: -1, now: got.At}
	if c := p.calls[got.Call]; c != nil && got.Err == nil {
		if s.fork = p.take(c, got); s.fork != nil {
			p.passed[s.fork.x.Seq] = got.Seq
			s.rec, s.cursor = s.fork.x.ID, s.fork.x.Seq
		}
	}
	p.strands[got.ID] = s
	p.counterparts[got.ID] = s.rec
}

// matched finds the recorded operation for a new one, and gives the recorded
// crossing that has been passed. mu is held.
func (p *causal) matched(got, next *adk.Crossing) *adk.Crossing {
	if got.Kind.Class() != adk.ClassOperation {
		return next
	}
	if got.Phase == adk.Done {
		op := p.ops[got.Op]
		delete(p.ops, got.Op)
		if op == nil {
			return nil
		}
		op.call.open = without(op.call.open, op)
		if op.rec != nil {
			return op.rec.done
		}
		return nil
	}
	c := p.calls[got.Call]
	if c == nil {
		return nil
	}
	if tool, ok := got.Record.(*adk.Tool); ok && got.Kind == adk.KindRegister && got.Err == nil && !p.stage.made(tool) {
		p.brought[tool] = true
	}
	rec := p.take(c, got)
	if got.Phase == adk.Begin {
		op := &newOp{number: got.Op, call: c, rec: rec, kind: got.Kind}
		if open := p.gateOp(got.Name); got.Kind == adk.KindWaitFor && (open == nil || open.over) { // a second one of the id does not open (GAT-5)
			op.gate = got.Name
		}
		p.ops[got.Op] = op
		c.open = append(c.open, op)
		p.expectEnd(op, got)
		if got.Kind == adk.KindOpenMedia && rec != nil {
			p.tree.media.reached(rec.x)
		}
		if got.Kind == adk.KindExecute && p.isUnasked(got.Record) {
			p.unasked[got.Seq] = true
		}
	}
	if rec == nil {
		return nil
	}
	return rec.x
}

// take takes the recorded operation that a new one is answered by: what the
// script performs, or the next with the same cause, but for an id that live code
// made.
func (p *causal) take(c *newCall, got *adk.Crossing) *step {
	s := p.takeByCause(c, got)
	if s == nil && got.Kind == adk.KindWaitFor {
		s = p.next(p.gateCause(got), func(*step) bool { return true })
	}
	return s
}

func (p *causal) takeByCause(c *newCall, got *adk.Crossing) *step {
	if s := c.doing; s != nil && s.x.Kind == got.Kind {
		c.doing = nil
		return s
	}
	if c.rec == nil {
		return nil
	}
	if got.Kind == adk.KindWait {
		recorded := *got
		recorded.ID = p.counterparts[got.ID]
		got = &recorded
	}
	id := idOf(got)
	if want, renamed := p.ids.want[id]; renamed {
		got = withID(got, want)
	}
	if s := p.next(p.cause(c.rec, got), func(s *step) bool { return p.ids.keeps(idOf(s.x), id) }); s != nil {
		return s
	}
	if id == "" {
		return nil
	}
	s := p.next(p.cause(c.rec, withID(got, anyID)), func(s *step) bool { return p.ids.may(idOf(s.x), id) })
	if s != nil {
		p.ids.pair(idOf(s.x), id)
	}
	return s
}

// next takes the first recorded operation of a cause that nobody took and that
// will do.
func (p *causal) next(cause string, will func(*step) bool) *step {
	pool := p.pools[cause]
	for len(pool) > 0 && p.gone[pool[0]] {
		pool = pool[1:]
	}
	p.pools[cause] = pool
	for _, s := range pool {
		if !p.gone[s] && will(s) {
			p.gone[s] = true
			return s
		}
	}
	return nil
}

// play performs a scripted call as its counterpart was.
func (p *causal) play(h *handle, id, strand int) (*adk.Crossing, error) {
	p.mu.Lock()
	c := p.calls[id]
	if c == nil || c.rec == nil || c.rec.ret == nil {
		p.missed = append(p.missed, id)
		p.mu.Unlock()
		return nil, ErrUnanswered
	}
	p.mu.Unlock()
	h.strand = c.rec.call.Strand
	p.stage.enter(c.rec.call.ID, h)
	if err := p.perform(c.rec.script); err != nil {
		return nil, err
	}
	if c.rec.ret.Outcome == adk.OutcomeGoexit {
		p.leaving(strand)
	}
	return c.rec.ret, nil
}

// perform performs what user code did.
func (p *causal) perform(script []*step) error {
	for _, s := range script {
		p.mu.Lock()
		stopped := p.stopped
		if by := p.used[p.tree.calls[s.x.Call]]; by != nil {
			by.doing = s // through the handle that it was recorded on
		}
		p.mu.Unlock()
		if stopped {
			return errStopped
		}
		p.stage.operate(s.x)
	}
	return nil
}

// isLive reports whether a recorded call is of a seam that is live now.
func (p *causal) isLive(c *seamCall) bool { return p.live.isLive(c) }

// today is a recorded tool with the handler that it has in the new run: the
// user's if that is live, and else what the recorded one did.
func (p *causal) today(tool *adk.Tool) *adk.Tool {
	if p.live.takesSeam(adk.LabelTool, tool.Name()) {
		for _, mine := range p.live.Config.Tools {
			if mine.Name() == tool.Name() {
				return tool.WithHandlerOf(mine)
			}
		}
	}
	return tool.WithHandler(p.stage.scriptedHandler)
}

// executable is the tool that a scripted execute is made with: the one that is
// registered under its name today.
func (p *causal) executable(h adk.Handle, recorded *adk.Tool) *adk.Tool {
	if tool, found := h.Tools().Get(recorded.Name()); found {
		return tool
	}
	return p.stage.tool(recorded)
}

// Handler lets the recording answer for a tool that live code brought and that is
// not to run.
func (p *causal) Handler(tool *adk.Tool) adk.ToolHandler {
	if p.stage.made(tool) || p.live.mayRun(tool) {
		return nil
	}
	return p.stage.scriptedHandler
}

// isUnasked reports whether a tool that is executed is of live code's own and does
// not belong there: the context has another of its name, or it is chosen and could
// write. mu is held.
func (p *causal) isUnasked(record adk.Record) bool {
	tool, ok := record.(*adk.Tool)
	if !ok || p.stage.made(tool) || p.live.mayRun(tool) {
		return false
	}
	return !p.brought[tool] || p.live.takesSeam(adk.LabelTool, tool.Name())
}

// opened performs what the reader of a recorded opening did.
func (p *causal) opened(x *adk.Crossing) ([]byte, error) {
	s := p.tree.opens[x.Op]
	if s == nil || s.done == nil {
		return nil, ErrUnanswered
	}
	if err := p.perform(s.script); err != nil {
		return nil, err
	}
	data, _ := s.done.Value.([]byte)
	return data, s.done.Err
}

// noAnswerChecks leaves out what only a replay of a whole recording can check:
// that the engine hands out what it tells.
type noAnswerChecks struct{}

func (noAnswerChecks) answered(*adk.Crossing, error)              {}
func (noAnswerChecks) wrong(*adk.Crossing, string, any, any)      {}
func (noAnswerChecks) answeredBytes(*adk.Crossing, []byte, error) {}
func (noAnswerChecks) lastReturn(*adk.Crossing) *adk.Crossing     { return nil }
func (noAnswerChecks) resolution(*adk.Crossing) *adk.Crossing     { return nil }
func (noAnswerChecks) handed(adk.Scope, adk.Record, string)       {}

// fail stops a replay that cannot go on.
func (p *causal) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
	p.stop()
}

// stop lets everybody run out. mu is held.
func (p *causal) stop() {
	if p.stopped {
		return
	}
	p.stopped = true
	for _, a := range p.acts {
		if a.timer != nil {
			a.timer.expire()
		}
	}
	p.cancel(errStopped, context.Canceled)
	p.moved.Broadcast()
}

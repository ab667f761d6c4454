package bycause

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/forging"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/asks"
	"github.com/adkreplay/adkreplay/replay/internal/atrest"
	"github.com/adkreplay/adkreplay/replay/internal/ownsecrets"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
	"github.com/adkreplay/adkreplay/replay/internal/unmade"
)

// player makes a recorded run again. It is the probe, the clock, the id source and every scripted
// seam of the new run.
//
// Locks: the engine calls Tell and the clock while it holds its own lock, so mu must not be held
// while the engine is called.
type player struct {
	tables
	stage     *stub.Stage
	listeners stub.ListenerFaults
	cancel    func(cause, err error) // ends the context of the new run
	kept      adk.Probe              // records the new run
	callers   codeplace.Callers
	noAnswerChecks

	stub.Timers   // with the lock Mu ("mu") that guards what follows
	queue         queue
	moving        int                // strands that are running: they wait neither for a step nor inside the engine
	parked        map[int]*newStrand // strands that wait inside the engine
	now           time.Time
	failed        error // why the replay stopped before its end
	calls         map[int]*newCall
	ops           map[int]*newOp     // the open operations
	strands       map[int]*newStrand // those that have begun, or were forked
	unmade        *unmade.Crossings[*newStrand]
	counterparts  map[int]int              // recorded numbers of strands by their new ones; -1: none
	tookIDs       map[*calls.Step]*earlyID // the new id that took the place of a recorded one, and may give it up
	passed        map[int]bool             // recorded crossings by number; kept only where Tree.Mixed is set
	heard         []bool                   // nil before the first; by number, the recorded pieces that the new run has got, or that came after its answer was over
	asks          asks.Recorded
	asksTheWorld  bool                     // asks may be real from here on (Live.OutsideFrom)
	newCalls      map[*calls.Call]*newCall // the new call that stands for a recorded one
	nextUnmatched map[*calls.Call]int      // where unmet goes on
	outsideEvents []*outsideEvent
	acting        int // goroutines that are settling a gate
	aborted       bool
	registered    map[*adk.Tool]bool // tools that live code registered
	made          int                // the number of the last id that newID made
	pieces        bool               // the recording has several strands, and answers in pieces
	many          bool               // live code has started goroutines of its own
	stepping      *waiter            // whose step is being taken: the clock and the ids answer for it
	blocked       bool               // the running goroutines are blocked outside the engine
	passes        int                // how often passBlocked was called
	rest          *atrest.Queue      // the answers that goroutines started by live code wait for
	progress      atomic.Int64       // changes with everything that the new run does

	telling sync.Mutex // locked before mu, while a crossing is told or the run is given up
	Outcome
}

// newCall is a call of the new run. Its counterpart is the recorded call that it stands for.
type newCall struct {
	id, strand int
	began      int // the number of its first crossing
	seam       adk.Seam
	rec        *calls.Call // the counterpart; nil if there is none
	parent     *newCall
	owner      *newCall    // the nearest run or dispatch above
	path       string      // the recorded path of its strand
	doing      *calls.Step // what a scripted seam is about to perform through its handle
	open       []*newOp
	below      []*newCall    // the calls that it made and that have not returned
	apart      bool          // goroutines that live code started use its handle
	beside     bool          // such a goroutine made it, or a call above it: what it stands for is a guess
	shown      bool          // what it stands for is certain now
	made       []*earlyID    // the ids that it made before that
	makesApart bool          // a goroutine that live code started makes ids in it
	makers     int           // how many goroutines are about to make an id in it
	unsure     []string      // new ids that may stand for any of several recorded ones
	done       int           // how many steps of its counterpart's Script, from the first on, are done or in unended
	unended    []*calls.Step // of those steps, the ones that have begun and were not over
	cursor     int           // the last recorded crossing that was passed in it
	madeTo     int           // the last recorded id before which none is missing
	readTo     int           // the last recorded clock reading before which none is missing
	unread     int           // before this crossing no clock reading was left out (leavesReadings)
}

// newOp is an open operation of the new run.
type newOp struct {
	number int
	began  *adk.Crossing // says which call it leads to; nil unless several may be open at once
	led    bool          // it has led to a call
	by     int           // the goroutine, where the strand has several and it matters which began it
	call   *newCall
	rec    *calls.Step // the recorded operation; nil if there is none
	kind   adk.Kind
	gate   string // the id of the gate that it waits for
	pieces int    // how many pieces of its answer it has got
	over   bool   // the gate was settled
	heard  bool   // a listener has heard that the gate is open
	opened *adk.TurnGate
	awaits awaits // the strand that it waits for, if it waits for one
}

func newPlayer(tree *calls.Tree, live Live, known wire.Comparer) *player {
	if !live.Any && tree.Order == nil {
		tree.Order = tree.AsRecorded()
	}
	p := &player{
		tables: newTables(tree, live, known), queue: queue{tree: tree},
		calls: map[int]*newCall{}, ops: map[int]*newOp{},
		newCalls: map[*calls.Call]*newCall{}, nextUnmatched: map[*calls.Call]int{}, strands: map[int]*newStrand{0: {}}, parked: map[int]*newStrand{},
		tookIDs: map[*calls.Step]*earlyID{}, passed: map[int]bool{}, registered: map[*adk.Tool]bool{}, counterparts: map[int]int{},
		Outcome: Outcome{Pairing: Pairing{NewSeq: make([]int, len(tree.Lines)+1), Unanswered: map[int]bool{}, Unasked: map[int]bool{}}},
	}
	p.IDs = rename.New(tree, p.isLive)
	if live.Hides {
		p.asks.Own = ownsecrets.New(tree, p.isLive, wire.Apart{Sentinels: known.Sentinels}, live.Redact)
	}
	p.stage = stub.NewStage(p)
	p.stage.Gates = adk.Observability{TurnGateOpen: p.gateOpened}
	p.listeners.Opened, p.listeners.Leaving = p.gateOpened, p.leaving
	p.count(p.strands[0])
	if len(tree.Lines) > 0 {
		p.came(p.strands[0], tree.Lines[0])
	}
	p.made = rename.HighestMade(tree.Lines, wire.MadeByReplay)
	p.pieces = len(tree.Strands) > 1 && slices.ContainsFunc(tree.Lines, wire.IsPiece)
	p.unmade = unmade.New(tree, p.strands[0])
	p.rest = atrest.New(&p.Mu, watchdog.NewLabel())
	p.expectOutside()
	return p
}

// expectOutside collects the recorded cancels that come from outside.
func (p *player) expectOutside() {
	for _, x := range p.tree.Lines {
		if wire.CancelledBy(x) == wire.OutsideCancel {
			p.outsideEvents = append(p.outsideEvents, &outsideEvent{seq: x.Seq, at: x.At, cancel: x})
		}
	}
	for _, x := range p.tree.Cancels {
		p.outsideEvents = append(p.outsideEvents, &outsideEvent{seq: x.Seq, at: x.At, cancel: x})
	}
}

// Observe makes the observer of the new run. A panic in the observer fails the replay.
func (p *player) Observe(info adk.RunInfo) adk.Observer {
	return stub.Watcher{Observer: &newRun{p, p.kept.Observe(info)}, Fail: p.fail}
}

// newRun is the observer of a new run. It passes crossings on to the player, which directs the run,
// to the observer that records it, and to callers, which notes where user code called each
// operation. The last two need crossings only. newRun is no MultiProbe: every layer between the
// engine and an observer costs time for each crossing, and for each stack that is noted.
type newRun struct {
	*player
	kept adk.Observer // nil where the run cannot be recorded; the probe itself says why
}

// Tell notes first where the operation was called, because the player asks for that. The player
// comes before the recording, as it decides what comes next. After a run that never ends was given
// up, Tell ignores what that run still does.
func (r *newRun) Tell(x *adk.Crossing) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.Endless != nil {
		return
	}
	r.callers.Tell(x)
	r.player.Tell(x)
	if r.kept != nil {
		r.kept.Tell(x)
	}
}

// Now is the time of the step that is being taken (timeOf). While a gate is being settled it is the
// latest time that the run has reached. For what is not announced as a step, such as a piece of an
// answer, Now returns the zero time: the engine's time never goes back within a strand (EVT-6), so
// the crossing keeps the last time of its strand.
func (p *player) Now() time.Time {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.acting > 0 {
		return p.now
	}
	if w := p.stepping; w != nil && (w.goroutine == 0 || w.goroutine == watchdog.ID()) {
		return p.timeOf(w)
	}
	return time.Time{}
}

// came notes that a strand has reached a crossing, and so the time of that crossing. It does
// nothing where a strand has several goroutines and one of them still has to do something that was
// recorded earlier.
func (p *player) came(s *newStrand, x *adk.Crossing) {
	if s.several && p.leavesUndone(s, x.Seq) {
		return
	}
	s.now = later(s.now, x.At)
	p.now = later(p.now, x.At)
}

// NewID is the id of the recorded counterpart. Where there is none, or it is not known which
// recorded id this is, NewID makes a new id (newID).
func (p *player) NewID() string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	passed := p.passesOver(p.stepping)
	if w := p.stepping; w != nil && w.next != nil && !passed && !p.isOfSeveral(w) {
		if id := wire.MadeID(w.next); id != "" {
			p.IDs.IsItself(id)
			return id
		}
	}
	id := p.newID(p.stepping)
	if p.many || passed { // whose step is being taken is not certain here
		p.IDs.StandsForAny(id)
		if w := p.stepping; w != nil && wire.MakesID(w.step) && p.calls[w.step.Call] != nil {
			c := p.calls[w.step.Call]
			c.unsure = append(c.unsure, id)
		}
	}
	return id
}

// newID is an id that is not in the recording. mu is held.
func (p *player) newID(w *waiter) string {
	like := ""
	if w != nil && w.next != nil {
		like = wire.MadeID(w.next)
	}
	for {
		p.made++
		if id := rename.Anew(p.made, like); !p.IDs.IsRecorded(id) {
			return id
		}
	}
}

// pairUnused runs when the new run is over. Ids of which no crossing has shown which recorded ones
// they are, as nothing else was done with them, it pairs with the recorded ids of their call that
// are left over. mu is held.
func (p *player) pairUnused() {
	for _, c := range p.calls {
		if c.rec == nil || len(c.unsure) == 0 {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(c.unsure), func(id string) bool { _, stands := p.IDs.Wanted(id); return stands })
		for _, s := range c.rec.Steps {
			if len(left) > 0 && wire.OnlyMakes(s.X) && wire.MadeID(s.X) != "" && p.IDs.May(wire.MadeID(s.X), left[0]) {
				p.IDs.Pair(wire.MadeID(s.X), left[0])
				left = left[1:]
			}
		}
	}
}

// passesOver reports whether a step makes an id too late: the counterpart of its call made an id
// that the new call has not made, although the new call has already passed what was recorded after
// it. Today's code makes that id later, or not at all. Which recorded id the new one stands for
// shows when it is used. mu is held.
func (p *player) passesOver(w *waiter) bool {
	if w == nil || !wire.MakesID(w.step) {
		return false
	}
	c := p.calls[w.step.Call]
	if c == nil || c.rec == nil || c.doing != nil || c.apart || c.beside || w.strand.rec < 0 { // isOfSeveral decides for goroutines
		return false
	}
	x := p.nextUnmade(w.strand, w.step)
	return x != nil && p.NewSeq[x.Seq] == 0 && x.Seq < c.cursor
}

// nextUnmade is the first recorded crossing of the same kind as step, which makes an id or reads
// the clock, that the counterpart of its call made and the new call has not; nil if there is none.
func (p *player) nextUnmade(s *newStrand, step adk.Step) *adk.Crossing {
	c := p.calls[step.Call]
	if c == nil || c.rec == nil || s.rec < 0 {
		return nil
	}
	upTo := &c.madeTo
	if wire.ReadsClock(step) {
		upTo = &c.readTo
	}
	step.Call, step.Strand = c.rec.Begin.ID, s.rec
	for {
		x := p.lines.Like(step, max(*upTo, c.rec.Begin.Seq))
		if x == nil || p.NewSeq[x.Seq] == 0 {
			return x
		}
		*upTo = x.Seq
	}
}

// leavesReadings skips the recorded clock readings that a call with no other goroutine has passed
// without making: today's code reads the clock less often. Without this, a goroutine of the call
// that reads the clock later would get the time of a skipped reading. mu is held.
func (p *player) leavesReadings(s *newStrand, c *newCall) {
	if c.cursor <= c.unread || c.apart {
		return
	}
	now := wire.Reading(c.id, s.number)
	x := p.nextUnmade(s, now)
	for ; x != nil && x.Seq < c.cursor && p.isAlone(s); x = p.nextUnmade(s, now) {
		c.readTo = x.Seq
	}
	if c.unread = math.MaxInt; x != nil {
		c.unread = x.Seq
	}
}

// isOfSeveral reports whether a step makes an id for one of several goroutines, so that only its
// use shows which recorded id it is. The id is known at once where no other goroutine of the call
// was about to make one when all of them were at rest. It is also known where the code of the call
// itself makes the id, none of the goroutines that it started makes any, and all that was recorded
// before the id is done once these goroutines are at rest. mu is held.
func (p *player) isOfSeveral(w *waiter) bool {
	c := p.calls[w.step.Call]
	oneOfThem := c != nil && c.beside && !c.shown
	switch {
	case !wire.MakesID(w.step) || c == nil || !c.apart && !oneOfThem:
		return false
	case oneOfThem || c.rec == nil:
		return true
	case w.apart || c.makesApart:
		return !w.only
	}
	return !p.isDoneBefore(c, w.next)
}

// isDoneBefore reports whether everything that the counterpart of a call did before next is done.
// What the counterpart began before next and ended after it only has to have begun. Each step of the
// script is looked at once, and those that are not over yet each time.
func (p *player) isDoneBefore(c *newCall, next *adk.Crossing) bool {
	c.unended = slices.DeleteFunc(c.unended, func(s *calls.Step) bool { return p.firstUnmade(s) == nil })
	if slices.ContainsFunc(c.unended, func(s *calls.Step) bool { return p.firstUnmade(s).Seq < next.Seq }) {
		return false
	}
	for ; c.done < len(c.rec.Script); c.done++ {
		s := c.rec.Script[c.done]
		if s.X.Seq >= next.Seq {
			return true
		}
		switch lacks := p.firstUnmade(s); {
		case lacks == nil:
		case lacks.Seq < next.Seq:
			return false
		default:
			c.unended = append(c.unended, s)
		}
	}
	return true
}

// firstUnmade returns the first line of a step that the new run has not made; nil if it has made
// all of them.
func (p *player) firstUnmade(s *calls.Step) *adk.Crossing {
	switch {
	case !p.isMade(s.X):
		return s.X
	case s.Done != nil && !p.isMade(s.Done):
		return s.Done
	case s.Call != nil && s.Call.Return != nil && !p.isMade(s.Call.Return):
		return s.Call.Return
	}
	return nil
}

// isMade reports whether a recorded line of a script has its counterpart in the new run, or holds
// nothing back: a piece of an answer that was over before it, or a misuse, whose counterpart nobody
// notes.
func (p *player) isMade(x *adk.Crossing) bool {
	return p.NewSeq[x.Seq] != 0 || p.heard != nil && p.heard[x.Seq] || wire.IsMisuse(x)
}

// Tell finds the recorded counterpart of a crossing of the new run and moves the cursors of its
// strand and its call.
func (p *player) Tell(got *adk.Crossing) {
	p.progress.Add(1)
	p.Mu.Lock()
	defer p.Mu.Unlock()
	next := p.endStep(got)
	p.aborted = p.aborted || wire.IsCancel(got) || wire.Aborts(got)
	switch {
	case wire.IsContained(got) || wire.IsTimer(got):
		if next == nil {
			next = p.fact(got)
		}
	case wire.IsSettlement(got):
		next = p.fact(got)
		if op := p.gateOp(got.Name); op != nil && wire.Settles(got) {
			op.over = true
		}
	case got.Kind == adk.KindCall: // the foreseen call may be another one
		p.called(got)
		next = nil
	case got.Kind == adk.KindReturn:
		p.returned(got)
	case wire.Forks(got):
		p.forked(got)
	default:
		next = p.matched(got, next)
		if next != nil && got.Kind.Class() == adk.ClassOperation {
			p.NewSeq[next.Seq] = got.Seq
		}
	}
	if s := p.strands[got.Strand]; s != nil && wire.IsPiece(got) {
		p.hears(s, p.ops[got.Op])
	} else if s != nil && next != nil {
		s.cursor = max(s.cursor, next.Seq)
		p.came(s, next)
		if c := p.calls[got.Call]; c != nil {
			c.cursor = max(c.cursor, next.Seq)
			p.leavesReadings(s, c)
		}
	}
	if next != nil && p.tree.Mixed {
		p.passed[next.Seq] = true
	}
	if next != nil && got.Kind.Class() == adk.ClassEvent {
		p.listeners.Expect(got, p.faults[next.Seq])
	}
	p.outside()
	p.wake()
}

// fact is the recorded counterpart of a fact: the first equal one among the facts that its strand
// has recorded before anything else. The engine announces no fact as what it is, so no fact is
// foreseen: misuse is announced as the operation that it was meant to be, and a settlement is not
// announced at all. mu is held.
func (p *player) fact(got *adk.Crossing) *adk.Crossing {
	s := p.strands[got.Strand]
	if s == nil || s.rec < 0 {
		return nil
	}
	for _, x := range p.ahead(s) {
		switch {
		case x.Kind.Class() != adk.ClassFact:
			return nil
		case x.Kind == got.Kind && x.Name == got.Name && x.Status == got.Status:
			return x
		}
	}
	return nil
}

// upcoming is the first recorded line of a strand that the strand has not passed; nil if there is
// none. It ignores cancels, which whichever strand crosses next observes. mu is held.
func (p *player) upcoming(s *newStrand) *adk.Crossing {
	for _, x := range p.ahead(s) {
		if !wire.IsCancel(x) {
			return x
		}
	}
	return nil
}

// ahead returns the recorded lines of a strand that it has not passed. mu is held.
func (p *player) ahead(s *newStrand) []*adk.Crossing { return p.lines.From(s.rec, s.cursor+1) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// called records that a call of the new run has begun, and finds its counterpart. mu is held.
func (p *player) called(got *adk.Crossing) {
	parent := p.calls[got.Call]
	c := &newCall{id: got.ID, began: got.Seq, parent: parent, strand: got.Strand, seam: got.Seam}
	p.calls[got.ID] = c
	if s := p.strands[got.Strand]; s != nil {
		if got.Seam.Label == adk.LabelStrand {
			s.begins(got)
		}
		if s.rec >= 0 {
			c.path = p.tree.Strands[s.rec]
		}
	}
	if parent == nil {
		c.rec = p.tree.Root
	} else {
		c.owner = parent
		if !wire.ByEngine(parent.seam) {
			c.owner = parent.owner
		}
		parent.below = append(parent.below, c)
		c.beside, c.shown = parent.beside, parent.shown
		if p.callers.IsApart(got) {
			c.beside, c.shown, parent.apart, p.many = true, false, true, true
			if s := p.strands[got.Strand]; s != nil {
				s.several = true
			}
		}
		c.rec = p.counterpart(parent, c, got)
	}
	if c.rec == nil {
		return
	}
	p.stands(c, c.rec)
	if s := p.strands[got.Strand]; s != nil {
		s.cursor = max(s.cursor, c.rec.Begin.Seq)
		p.came(s, c.rec.Begin)
	}
}

// counterpart is the recorded call that a new call stands for; nil if there is none.
func (p *player) counterpart(parent, c *newCall, got *adk.Crossing) *calls.Call {
	switch {
	case got.Seam.Label == adk.LabelStrand:
		if s := p.strands[got.Strand]; s != nil && s.fork != nil {
			return p.first(s.fork.Calls, c)
		}
		return nil
	case wire.IsLedTo(got.Seam):
		if op := p.opFor(parent, got); op != nil {
			if op.rec == nil {
				return nil
			}
			return p.first(op.rec.Calls, c)
		}
	}
	above := c.owner
	if !wire.IsPipeline(got.Seam) {
		above = parent
	}
	if above.rec == nil {
		return nil
	}
	for _, s := range p.unmet(above.rec) {
		if s.Call != nil && p.newCalls[s.Call] == nil && s.Call.Begin.Seam == got.Seam && s.Call.Strand == c.path && wire.SameRecord(s.X.Record, got.Record) && s.X.Key == got.Key {
			return s.Call
		}
	}
	return nil
}

// unmet returns the steps of a recorded call from its first call without a counterpart on. It
// remembers where that was, because a dispatch of many iterations has many steps.
func (p *player) unmet(rec *calls.Call) []*calls.Step {
	met := p.nextUnmatched[rec]
	for met < len(rec.Steps) && (rec.Steps[met].Call == nil || p.newCalls[rec.Steps[met].Call] != nil) {
		met++
	}
	p.nextUnmatched[rec] = met
	return rec.Steps[met:]
}

// first is the first of the recorded calls that belongs to the seam of c and has no counterpart
// yet.
func (p *player) first(made []*calls.Call, c *newCall) *calls.Call {
	for _, rec := range made {
		if p.newCalls[rec] == nil && rec.Begin.Seam == c.seam {
			return rec
		}
	}
	return nil
}

// opFor is the open operation of the caller that leads to a call. Where goroutines of the caller
// have begun several at once, it prefers one that has led to no call yet and one with the call's
// arguments.
func (p *player) opFor(parent *newCall, got *adk.Crossing) (best *newOp) {
	most := -1
	for _, op := range slices.Backward(parent.open) {
		if op.kind.LeadsTo() != got.Seam.Label || op.began != nil && !calls.LeadsTo(op.began, got) {
			continue
		}
		fits := 0
		if !op.led {
			fits++
		}
		if op.began != nil && calls.HasArguments(op.began, got) {
			fits += 2
		}
		if fits > most {
			best, most = op, fits
		}
		if fits == 3 {
			break // nothing can fit better
		}
	}
	if best != nil {
		best.led = true
	}
	return best
}

// exchange corrects a guess of opFor. Where an operation ends without having led to a call, and an
// equal open operation has led to one, the call belonged to the operation that ends: no crossing
// says to which of the two. They exchange their counterparts.
func (op *newOp) exchange() {
	if op.led || op.began == nil {
		return
	}
	for _, other := range op.call.open {
		if other.led && other.began != nil && calls.AreEqual(op.began, other.began) {
			op.led, other.led = true, false
			op.rec, other.rec = other.rec, op.rec
			return
		}
	}
}

// returned closes a call that has returned. mu is held.
func (p *player) returned(got *adk.Crossing) {
	if parent := p.calls[got.Call]; parent != nil {
		parent.below = state.Without(parent.below, p.calls[got.ID])
	}
	if c := p.calls[got.ID]; c != nil && c.rec != nil && c.rec.Return != nil {
		p.NewSeq[c.rec.Return.Seq] = got.Seq
		if s := p.strands[got.Strand]; s != nil {
			s.cursor = max(s.cursor, c.rec.Return.Seq)
			p.came(s, c.rec.Return)
		}
	}
}

// forked notes a strand that was forked and has not begun yet. mu is held.
func (p *player) forked(got *adk.Crossing) {
	s := &newStrand{number: got.ID, rec: -1, now: got.At, forkedIn: got.Call}
	if c := p.calls[got.Call]; c != nil && got.Err == nil {
		if s.fork = p.take(c, got); s.fork != nil {
			p.NewSeq[s.fork.X.Seq] = got.Seq
			s.rec, s.cursor = s.fork.X.ID, s.fork.X.Seq
			p.unmade.Begins(s, s.rec, s.cursor)
		}
	}
	p.strands[got.ID] = s
	p.count(s)
	p.counterparts[got.ID] = s.rec
}

// matched finds the recorded operation that a new one stands for, and returns the recorded crossing
// that the new run has passed with it. mu is held.
func (p *player) matched(got, next *adk.Crossing) *adk.Crossing {
	if got.Kind.Class() != adk.ClassOperation {
		return next
	}
	if got.Phase == adk.Done {
		return p.ended(got)
	}
	c := p.calls[got.Call]
	if c == nil {
		return nil
	}
	if tool, ok := got.Record.(*adk.Tool); ok && wire.RegistersTool(got) && !p.stage.Made(tool) {
		p.registered[tool] = true
	}
	if s := p.strands[got.Strand]; s != nil && p.callers.IsApart(got) {
		c.apart, s.several, p.many = true, true, true
	}
	rec := p.itsOwn(c, got, next)
	if rec == nil {
		rec = p.take(c, got)
	}
	if c.beside && !c.shown && wire.OnlyMakes(got) && wire.MadeID(got) != "" {
		made := &earlyID{id: wire.MadeID(got), seq: got.Seq}
		if c.made = append(c.made, made); rec != nil {
			p.takesID(made, rec)
		}
	}
	if got.Phase == adk.Begin {
		p.opens(c, rec, got)
	}
	if rec == nil {
		return nil
	}
	return rec.X
}

// ended closes an operation, and returns the recorded end of its counterpart.
func (p *player) ended(got *adk.Crossing) *adk.Crossing {
	op := p.ops[got.Op]
	delete(p.ops, got.Op)
	if op == nil {
		return nil
	}
	op.call.open = state.Without(op.call.open, op)
	op.exchange()
	if op.rec != nil {
		for _, x := range op.rec.Notes[min(op.pieces, len(op.rec.Notes)):] {
			if wire.IsPiece(x) {
				p.hear(x)
			}
		}
		return op.rec.Done
	}
	return nil
}

// opens keeps an operation until it ends. rec is its counterpart, or nil.
func (p *player) opens(c *newCall, rec *calls.Step, got *adk.Crossing) {
	op := &newOp{number: got.Op, call: c, rec: rec, kind: got.Kind}
	if s := p.strands[got.Strand]; s != nil && (got.Kind.LeadsTo() != "" || rec.Failed() && !rec.IsAsk()) { // an ask waits for its turn before it ends
		op.by = s.byGoroutine()
	}
	if c.apart && got.Kind.LeadsTo() != "" {
		op.began = &adk.Crossing{Kind: got.Kind, Collection: got.Collection, Record: got.Record, Key: got.Key}
		if args, err := canonical.Object(got.Args); err == nil { // a copy: the map belongs to user code
			op.began.Args = args
		}
	}
	if wire.AsksForGate(got) {
		if open := p.gateOp(got.Name); open == nil || open.over { // a second wait for an id that is open does not open a gate (GAT-5)
			op.gate = got.Name
		}
	}
	p.ops[got.Op] = op
	c.open = append(c.open, op)
	p.expectEnd(op, got)
	if wire.Awaits(got) {
		op.awaits = awaiting(got)
	}
	if wire.OpensMedia(got) && rec != nil {
		p.tree.Media.Reached(rec.X)
	}
	if wire.RunsTool(got) && p.isUnasked(got.Record) {
		p.Unasked[got.Seq] = true
	}
}

// take takes the recorded operation whose answer a new one gets: the one that the script performs,
// or the next one with the same cause. Where none is left, it takes for a gate the same wait from
// another call, and then one whose answer is certain (takeCertain). nil means that there is no
// answer.
func (p *player) take(c *newCall, got *adk.Crossing) *calls.Step {
	s := p.takeByCause(c, got)
	if s == nil && wire.AsksForGate(got) {
		s = p.causes.Take(c.rec, p.causes.OfGate(got), func(*calls.Step) bool { return true })
	}
	if s == nil {
		s = p.takeCertain(c, got)
	}
	return s
}

// takeByCause is take by cause alone. Ids that live code made may differ from the recorded ones.
func (p *player) takeByCause(c *newCall, got *adk.Crossing) *calls.Step {
	if s := c.doing; s != nil && s.X.Kind == got.Kind {
		c.doing = nil
		return s
	}
	if wire.IsAsk(got) {
		s, equal := p.asks.Take(p.tree, p.IDs, p.live.Strict, asks.Asker{In: c.rec, Strand: c.path, Uncertain: c.beside}, got)
		switch {
		case !c.beside || c.shown:
		case equal:
			if p.shows(c, s.In); c.shown {
				p.shown(c, s)
			}
		case s == nil && p.asks.Shared[got.Op] == nil:
			p.shows(c, nil)
		}
		return s
	}
	if c.rec == nil {
		return nil
	}
	if wire.Awaits(got) {
		recorded := *got
		recorded.ID = p.counterparts[got.ID]
		got = &recorded
	}
	got = p.IDs.Recorded(got)
	id := rename.Subject(got)
	if want, renamed := p.IDs.Wanted(id); renamed {
		got = rename.WithID(got, want)
	}
	if s := p.causes.Take(c.rec, p.causes.Of(c.rec, got), func(s *calls.Step) bool { return p.IDs.Keeps(rename.Subject(s.X), id) }); s != nil {
		return s
	}
	if id == "" {
		return nil
	}
	s := p.causes.Take(c.rec, p.causes.Of(c.rec, rename.WithID(got, rename.AnyID)), func(s *calls.Step) bool { return p.IDs.May(rename.Subject(s.X), id) })
	if s != nil {
		p.IDs.Pair(rename.Subject(s.X), id)
	}
	return s
}

// Play performs a scripted call as its counterpart was performed, and returns the recorded return.
func (p *player) Play(h *stub.Handle, id, strand int) (*adk.Crossing, error) {
	p.Mu.Lock()
	c := p.calls[id]
	if c == nil || c.rec == nil || c.rec.Return == nil {
		p.Unanswered[id] = true
		p.Mu.Unlock()
		return nil, stub.ErrUnanswered
	}
	p.Mu.Unlock()
	h.Strand = c.rec.Begin.Strand
	if p.lines.AnyIn(c.rec.Begin.ID) { // only where it is used: a handle keeps all that the engine has of its call until the run ends
		p.stage.Enter(c.rec.Begin.ID, h)
	}
	if err := p.perform(c.rec.Script); err != nil {
		return nil, err
	}
	if c.rec.Return.Outcome == adk.OutcomeGoexit {
		p.leaving(strand)
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.IDs.AsMade(c.rec.Return), nil
}

// perform performs the recorded operations of a script.
func (p *player) perform(script []*calls.Step) error {
	for _, s := range script {
		p.Mu.Lock()
		stopped := p.Stopped
		if by := p.newCalls[p.tree.Calls[s.X.Call]]; by != nil && !p.isLive(by.rec) { // what is done through a live call's handle live code does itself
			by.doing = s
			p.inOrder(by, s.X)
		}
		p.Mu.Unlock()
		if stopped {
			return stub.ErrStopped
		}
		p.stage.Operate(s.X)
	}
	return nil
}

// inOrder holds back a piece of an answer until it is in order, if the strands keep to an order:
// the engine does not announce pieces. The piece gets its time from that, too. mu is held.
func (p *player) inOrder(by *newCall, x *adk.Crossing) {
	s := p.strands[by.strand]
	if !wire.IsPiece(x) || p.tree.Order == nil || s == nil || s.rec != x.Strand {
		return
	}
	p.give(s)
	p.wait(&waiter{strand: s, step: adk.Step{Kind: x.Kind, Phase: x.Phase, Call: by.id, Strand: by.strand}, next: x})
}

// Today is a recorded tool with the handler that it has in the new run: the user's handler if that
// is live, and else what was recorded. The code that makes an artifact of its results is always the
// user's, because it is no seam and executors call it.
func (p *player) Today(tool *adk.Tool) *adk.Tool {
	for _, mine := range p.live.Config.Tools {
		if mine.Name() == tool.Name() {
			tool = tool.WithHandlerOf(mine)
			if p.live.takesNamed(adk.LabelTool, tool.Name()) {
				return tool
			}
		}
	}
	return tool.WithHandler(p.stage.ScriptedHandler)
}

// Executable is the tool with which a scripted execute is made: the tool that is registered under
// its name today, or else the recorded one.
func (p *player) Executable(h adk.Handle, recorded *adk.Tool) *adk.Tool {
	if tool, found := h.Tools().Get(recorded.Name()); found {
		return tool
	}
	return p.stage.Tool(recorded)
}

var _ adk.ToolServer = (*player)(nil)

// Handler lets the recording answer for a tool that live code brought and that must not run.
func (p *player) Handler(tool *adk.Tool, _ adk.ToolHandler) adk.ToolHandler {
	if p.stage.Made(tool) || p.live.MayRun(tool) {
		return nil
	}
	return p.stage.ScriptedHandler
}

// isUnasked reports whether an executed tool is live code's own and should not be there. That is so
// for a tool that live code did not register, since the context has another one of its name, and
// for one that is chosen to be live but may not run (Live.MayRun), since it could write. A forged
// tool belongs wherever it was merged for a call of the model, and is answered by its call and
// arguments (ART-24). mu is held.
func (p *player) isUnasked(record adk.Record) bool {
	tool, ok := record.(*adk.Tool)
	if !ok || p.stage.Made(tool) || p.live.MayRun(tool) || forging.IsForged(tool) {
		return false
	}
	return !p.registered[tool] || p.live.takesNamed(adk.LabelTool, tool.Name())
}

// Opened performs what the reader of a recorded media opening did.
func (p *player) Opened(x *adk.Crossing) ([]byte, error) {
	s := p.tree.Opens[x.Op]
	if s == nil || s.Done == nil {
		return nil, stub.ErrUnanswered
	}
	if err := p.perform(s.Script()); err != nil {
		return nil, err
	}
	data, _ := s.Done.Value.([]byte)
	return data, s.Done.Err
}

// noAnswerChecks leaves out the checks that only a replay of a whole recording can make: that the
// engine hands to user code what it says in its crossings.
type noAnswerChecks struct{}

func (noAnswerChecks) Answered(*adk.Crossing, error)              {}
func (noAnswerChecks) Wrong(*adk.Crossing, string, any, any)      {}
func (noAnswerChecks) AnsweredBytes(*adk.Crossing, []byte, error) {}
func (noAnswerChecks) LastReturn(*adk.Crossing) *adk.Crossing     { return nil }
func (noAnswerChecks) Resolution(*adk.Crossing) *adk.Crossing     { return nil }
func (noAnswerChecks) Handed(adk.Scope, adk.Record, string)       {}

// fail stops a replay that cannot go on.
func (p *player) fail(err error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.failed = err
	p.stop()
}

// stop ends the run early: every timer fires, and every goroutine that waits goes on. mu is held.
func (p *player) stop() {
	if p.Stopped {
		return
	}
	p.Stopped = true
	for _, a := range p.outsideEvents {
		if a.timer != nil {
			a.timer.Expire()
		}
	}
	p.cancel(stub.ErrStopped, context.Canceled)
	for _, w := range p.queue.all() {
		w.wake()
	}
	p.rest.Stop()
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/makers"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// source gives the recorded lines one after the other, and io.EOF after the last. spare gives it
// back a line that is no longer needed, so that it can use its memory again.
type source interface {
	next() (*trace.Line, error)
	spare(*trace.Line)
}

// readerSource gives the lines of a Reader. It reads into spare lines where it has any: lines are
// large, and allocating them took most of the time.
type readerSource struct {
	r      *trace.Reader
	spares []*trace.Line
}

func (s *readerSource) next() (*trace.Line, error) {
	last := len(s.spares) - 1
	if last < 0 {
		return s.r.Next()
	}
	line := s.spares[last]
	read, err := s.r.NextInto(line)
	if read == line {
		s.spares = s.spares[:last]
	}
	return read, err
}

func (s *readerSource) spare(line *trace.Line) { s.spares = append(s.spares, line) }

// linesSource gives the lines of a trace that is in memory, which are not reused.
type linesSource struct{ rest []trace.Line }

func (s *linesSource) next() (*trace.Line, error) {
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	line := &s.rest[0]
	s.rest = s.rest[1:]
	return line, nil
}

func (*linesSource) spare(*trace.Line) {}

// passing is a recorded line from when it is read until it is forgotten.
type passing struct {
	*trace.Line
	performers int // goroutines that are making it again now, wherever the cursor stands
}

// forgotten reports whether a line that the cursor has long passed is not needed any more. Only
// events and reports are ever forgotten: they are most of the lines, and neither the player nor the
// stage keeps one. Lines of other kinds stand for a call, an answer or a wait.
func (x passing) forgotten() bool {
	return x.Line != nil && x.performers == 0 && (x.Kind.Class() == adk.ClassEvent || x.Kind.Reports())
}

// player runs a recorded turn again. It is the probe, the clock, the id source and every scripted
// seam of the new run. It walks along the recording with one cursor: every crossing of the new run
// must be the next recorded one. The head is the recorded crossing at the cursor.
//
// A strand moves only when the next recorded crossing is its own, so the strands of the new run
// interleave as they did in the recording. All waiting is done in await, Resume and Begin;
// everything else follows from the head moving on.
//
// Locks: the engine calls Tell and the clock while it holds its own lock, so mu must not be held
// while the engine is called.
type player struct {
	source    source
	stage     *stub.Stage
	listeners stub.ListenerFaults
	trail     stub.Trail
	cancel    func(cause, err error) // ends the context of the new run

	stub.Timers // with the lock Mu ("mu") that guards what follows
	ahead       []passing
	readErr     error // what ended the reading, io.EOF included
	matched     int
	found       *Divergence
	recent      [linesBefore]passing // the recorded crossings that agreed last
	comparer    wire.Comparer
	namer       *describe.Namer
	began       time.Time // the time of the first crossing
	outdated    bool      // the recording follows an older revision of the contract

	strands map[int]*strand
	alive   int                 // goroutines of the new run: those of strands that have begun, or were forked, and have not ended
	parked  int                 // how many goroutines wait inside the engine
	waits   map[*wait]bool      // the goroutines that are held back here
	running map[int]*stub.Timer // by the recorded operation that waits
	// What answers of the engine are compared with: the end of each operation,
	// the last return in each strand, and what the gate of each wait was resolved with.
	done     map[int]*adk.Crossing
	returned map[int]*adk.Crossing // by presentIn
	resolved map[int]*adk.Crossing

	gates   map[string]*adk.TurnGate
	calls   map[int]*adk.Crossing // the seam calls that are open
	gateOps map[string]int
	aborted bool
	oddIDs  int
	claimed int // the crossing that a scripted goroutine has taken on for another strand
	acted   int // the crossing that is a settlement and was made last
	acting  int // goroutines that are making a settlement, whatever their strands do
	besides besides
}

// strand is what the player knows of a strand of the new run.
type strand struct {
	parked []parked   // its goroutines that wait inside the engine
	held   int        // its goroutines that are held back here
	ended  bool       // its own goroutine has ended; others may still use its handle
	moved  *sync.Cond // signalled when its goroutines may be able to go on, or the replay has stopped
}

type parked struct {
	ready func() bool // reports whether what it waits for has come
	by    int         // its number (besides.byNumber)
}

// wait is a goroutine that is held back until it may make the head.
type wait struct {
	strand   int
	of       *strand
	scripted bool     // it can perform operations
	step     adk.Step // the step that it announced, if it announced one
	by       int      // its number (besides.byNumber)
	// ends is set for a scripted call: it reports whether a crossing is the last line of the call.
	ends func(*adk.Crossing) bool
}

func newPlayer(src source, known wire.Comparer) *player {
	p := &player{
		source:   src,
		comparer: known,
		namer:    describe.New(state.New()),
		strands:  map[int]*strand{},
		waits:    map[*wait]bool{},
		alive:    1,
		running:  map[int]*stub.Timer{},
		gates:    map[string]*adk.TurnGate{},
		calls:    map[int]*adk.Crossing{},
		done:     map[int]*adk.Crossing{},
		returned: map[int]*adk.Crossing{},
		resolved: map[int]*adk.Crossing{},
		gateOps:  map[string]int{},
		trail:    stub.Trail{},
	}
	p.strand(0)
	p.besides.settled.L = &p.Mu
	p.besides.goroutines = map[int]int{}
	p.besides.Makers = makers.Makers{Fold: p.namer.Fold, Peek: p.peek}
	p.stage = stub.NewStage(p)
	p.stage.Gates = adk.Observability{TurnGateOpen: p.gateOpened}
	p.listeners.Opened, p.listeners.Leaving = p.gateOpened, p.leaving
	return p
}

// The run.

// play replays the recording that src gives.
func play(ctx context.Context, header trace.Header, src source, known *wire.Sentinels) (*Report, error) {
	if ctx.Err() != nil { // a short run may be over before the AfterFunc below is called
		return nil, stub.Interrupted(ctx)
	}
	p := newPlayer(src, wire.Comparer{Sentinels: known, Format: header.Version})
	p.outdated = header.Contract < trace.ContractRevision
	runCtx := stub.NewRunContext(ctx)
	p.cancel = runCtx.End
	defer context.AfterFunc(ctx, func() { p.fail(stub.Interrupted(ctx)) })()

	again, err := p.again(header.Info)
	if err != nil {
		return nil, err
	}
	if refused, err := stub.OwnGoroutine(func() error { return again(runCtx) }); err != nil {
		return nil, err
	} else if refused != nil {
		return nil, stub.Impossible(calls.LineOfFirst, fmt.Errorf("it describes a run that cannot be made: %w", refused))
	}
	return p.finish()
}

// again prepares the recorded run to be run again. The function that it returns gives an error if
// the engine refuses what the recording says was handed in.
func (p *player) again(info adk.RunInfo) (func(context.Context) error, error) {
	first, err := p.opening()
	if err != nil {
		return nil, err
	}
	if info.Standalone {
		return stub.RunStandalone(p.stage.DispatchStandalone(first, info, p, &p.listeners)), nil
	}
	config, raw, err := p.stage.Turn(first, info, p)
	if err != nil {
		return nil, err
	}
	return stub.RunTurn(config, raw, &p.listeners)
}

// opening is the first crossing, which is the call of the run. A cancel may come before it, and is
// made at once.
func (p *player) opening() (*adk.Crossing, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	first := p.head()
	if first == nil && p.readErr != io.EOF {
		return nil, p.readErr
	}
	if err := stub.MustOpen(first); err != nil {
		return nil, err
	}
	p.began = p.peek(0).At
	p.outside()
	return first, nil
}

// finish makes the report when the new run is over.
func (p *player) finish() (*Report, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if x := p.peek(0); x != nil && !p.Stopped {
		p.missing(x)
	}
	p.endBesides()
	report := &Report{Crossings: p.matched, Divergence: p.found}
	if p.readErr != nil && p.readErr != io.EOF {
		return report, p.readErr
	}
	return report, nil
}

// The cursor.

// peek is the i-th crossing from the cursor on; nil if there is none. mu is held.
func (p *player) peek(i int) *adk.Crossing {
	for len(p.ahead) <= i && p.readErr == nil {
		line, err := p.source.next()
		if err != nil {
			p.readErr = err
			if !errors.Is(err, io.EOF) {
				p.stop()
			}
			break
		}
		p.ahead = append(p.ahead, passing{Line: line})
	}
	if i < len(p.ahead) {
		return &p.ahead[i].Crossing
	}
	return nil
}

// performing adds by to the number of goroutines that make the crossing x, which is the head when
// they begin. mu is held.
func (p *player) performing(x *adk.Crossing, by int) {
	for i := range p.recent {
		if at := &p.recent[i]; at.Line != nil && &at.Crossing == x {
			at.performers += by
			return
		}
	}
	for i := range p.ahead {
		if at := &p.ahead[i]; &at.Crossing == x {
			at.performers += by
		} else if wire.IsCancel(&at.Crossing) {
			continue
		}
		return
	}
}

// head is the next recorded crossing that user code or the engine makes. A cancel is neither, so
// head skips it: the next crossing of any strand observes it. mu is held.
func (p *player) head() *adk.Crossing {
	for i := 0; ; i++ {
		x := p.peek(i)
		if x == nil || !wire.IsCancel(x) {
			return x
		}
	}
}

// fewAhead is the number of lines up to which moving them costs less than a new slice.
const fewAhead = 64

// advance moves the cursor past the first crossing, and makes what comes from outside at the new
// one. mu is held.
func (p *player) advance() {
	last := &p.recent[p.matched%len(p.recent)]
	if last.forgotten() {
		p.source.spare(last.Line)
	}
	*last = p.ahead[0]
	if len(p.ahead) > fewAhead {
		p.ahead[0] = passing{}
		p.ahead = p.ahead[1:]
	} else {
		p.ahead = slices.Delete(p.ahead, 0, 1) // in place
	}
	p.matched++
	p.outside()
	p.wake()
}

// wake wakes the goroutines that may make the head. Usually that is one strand of possibly
// thousands; it wakes all of them only where any may make it. mu is held.
func (p *player) wake() {
	x := p.head()
	if x == nil || x != p.peek(0) || p.settles(x) || p.orphaned(x) {
		p.wakeAll()
	} else if s := p.strands[x.Strand]; s != nil {
		s.moved.Broadcast()
	}
}

// wakeAll wakes all goroutines that are held back. mu is held.
func (p *player) wakeAll() {
	for w := range p.waits {
		w.of.moved.Broadcast()
	}
}

// outside makes what comes from outside when the cursor reaches it: a cancel, a timer, or the end
// of a context that a scripted wait was given. None of these calls the engine. mu is held.
func (p *player) outside() {
	x := p.peek(0)
	if x == nil {
		return
	}
	switch {
	case wire.IsCancel(x):
		p.aborted = true
		if x.Key == wire.OutsideCancel {
			p.cancel(x.Cause, x.Err)
		}
	case wire.IsTimer(x):
		if t := p.running[x.N]; t != nil {
			delete(p.running, x.N)
			t.Expire()
		}
	case wire.WakesEarly(x) && !p.aborted:
		p.stage.EndWait(x.Op, x.Err)
	case wire.IsSettlement(x) && x.Status == adk.GateAborted && !p.aborted && errors.Unwrap(x.Err) != nil:
		p.stage.EndWait(p.gateOps[x.Name], errors.Unwrap(x.Err))
	}
}

// Answer answers nothing: the scripted seams have all the answers.
func (p *player) Answer(context.Context, adk.Question) *adk.Answer { return nil }

// gateOpened keeps the gates of the new run by their ids, so that they can be settled.
func (p *player) gateOpened(e adk.TurnGateOpen) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.gates[e.Gate.ID()] = e.Gate
}

// settles reports whether x is a settlement that came from outside and can be made now.
func (p *player) settles(x *adk.Crossing) bool {
	if x == nil || !wire.IsSettlement(x) || p.gates[x.Name] == nil {
		return false
	}
	return stub.IsOutside(x) && (x.Status != adk.GateAborted || !p.aborted)
}

// act settles a gate when the cursor stands at its settlement. It calls the engine, so mu is
// released meanwhile; it is called wherever a goroutine is about to wait. The goroutine that gets
// there first makes the settlement, once: a settlement that the engine refuses could otherwise be
// made again. mu is held.
func (p *player) act() {
	for !p.Stopped {
		x := p.peek(0)
		if !p.settles(x) || p.acted == p.matched+1 {
			return
		}
		gate := p.gates[x.Name]
		before := p.matched
		p.acted = p.matched + 1
		p.settle(gate, x)
		if p.matched == before && !p.Stopped {
			p.missing(x)
		}
	}
}

// settle makes a recorded settlement. A listener that hears of it may end the goroutine. mu is
// held, except while the engine is called.
func (p *player) settle(gate *adk.TurnGate, x *adk.Crossing) {
	p.acting++
	defer func() { p.acting-- }()
	p.unlocked(func() { stub.Settle(gate, x) })
}

// decided reports whether x is a cancel that the engine decided on. The strand in which that
// happens makes it without announcing a step, so no other strand may go before.
func decided(x *adk.Crossing) bool {
	return x != nil && wire.IsCancel(x) && (x.Key == wire.CancelStage || x.Key == wire.CancelGoexit)
}

// exits is the return of the waiting call, if the next thing that the call does is to end its
// goroutine and the cursor stands at the cancel that this causes. The call must then go on before
// the strands that it waits for. nil in all other cases. mu is held.
func (p *player) exits(w wait) *adk.Crossing {
	if x := p.peek(0); w.ends == nil || x == nil || wire.CancelledBy(x) != wire.CancelGoexit {
		return nil
	}
	for i := 1; ; i++ {
		x := p.peek(i)
		if x == nil || x.Strand == w.strand {
			if x != nil && x.Outcome == adk.OutcomeGoexit && w.ends(x) {
				return x
			}
			return nil
		}
	}
}

// unlocked calls the engine with mu released. mu is held again however the call ends: user code
// below it may end the goroutine.
func (p *player) unlocked(call func()) {
	p.Mu.Unlock()
	defer p.Mu.Lock()
	call()
}

// Waiting.

// strand returns the state of a strand, and makes it if there is none. mu is held.
func (p *player) strand(n int) *strand {
	s := p.strands[n]
	if s == nil {
		s = &strand{moved: sync.NewCond(&p.Mu)}
		p.strands[n] = s
	}
	return s
}

// await blocks until the next recorded crossing belongs to the strand, and returns it; nil when the
// replay has stopped or the recording has ended. mu is held.
func (p *player) await(n int) *adk.Crossing {
	return p.awaitFor(wait{strand: n})
}

// awaitScripted is await for a goroutine that can perform operations. It also takes on an operation
// of a parked strand, which another goroutine made through that strand's handle. ends reports
// whether a line is the last one that the goroutine performs.
func (p *player) awaitScripted(n int, ends func(*adk.Crossing) bool) *adk.Crossing {
	x := p.awaitFor(wait{strand: n, scripted: true, ends: ends})
	if x != nil && x.Strand != n {
		p.claimed = p.matched + 1
	}
	return x
}

func (p *player) awaitFor(w wait) *adk.Crossing {
	s := p.strands[w.strand]
	if s == nil {
		s = &strand{moved: sync.NewCond(&p.Mu)} // the strand has ended, and its handle is used late
	}
	w.of, w.by = s, p.besides.byNumber()
	for {
		p.act()
		x := p.head()
		if p.Stopped || x == nil {
			return nil
		}
		if last := p.exits(w); last != nil {
			return last
		}
		if p.comesBetween(x, w) {
			if x.Op != 0 && !wire.IsAsk(x) && !wire.IsPiece(x) { // it may wait
				p.beside(x)
			} else {
				p.besides.nested = true
				p.operates(x, w.strand)
			}
			continue
		}
		if p.takes(w, x) {
			return x
		}
		held := new(wait) // allocated only here: most goroutines find the head theirs
		*held = w
		p.waits[held] = true
		s.held++
		if p.stuck(x) {
			p.deadlock(x)
		} else {
			s.moved.Wait()
		}
		s.held--
		delete(p.waits, held)
	}
}

// takes reports whether a goroutine makes the head x, if no other goroutine has claimed x. mu is
// held.
func (p *player) takes(w wait, x *adk.Crossing) bool {
	return p.mayTake(w, x) && !(w.scripted && p.claimed == p.matched+1)
}

// mayTake reports whether the head x is a goroutine's to make. A scripted goroutine also makes what
// no strand will make itself (orphaned). mu is held.
func (p *player) mayTake(w wait, x *adk.Crossing) bool {
	mine := x.Strand == w.strand && p.besides.isOf(w, x) || w.scripted && p.orphaned(x)
	return mine && !p.settles(p.peek(0)) && !decided(p.peek(0))
}

// leaving holds back a listener that ends its goroutine until the engine's next crossing about that
// is the head, before the strands that go on meanwhile (exits).
func (p *player) leaving(n int) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.strand(n)
	p.awaitFor(wait{strand: n, ends: func(*adk.Crossing) bool { return true }})
}

// orphaned reports whether x is made through the handle of a strand that will not make it itself:
// an operation of a parked strand, or misuse of the handle of a strand that has ended. mu is held.
func (p *player) orphaned(x *adk.Crossing) bool {
	s := p.strands[x.Strand]
	if s == nil || s.ended {
		return wire.IsContained(x)
	}
	if !wire.IsPerformed(x) {
		return false
	}
	if !p.besides.Any() {
		return s.held == 0 && s.blocked() > 0 && s.blocked() == len(s.parked)
	}
	by, _ := p.besides.Of(x)
	return slices.ContainsFunc(s.parked, func(g parked) bool { return g.by == by && !g.ready() })
}

// blocked counts the goroutines of a strand that wait inside the engine for something that has not
// come.
func (s *strand) blocked() (n int) {
	for _, g := range s.parked {
		if !g.ready() {
			n++
		}
	}
	return n
}

// stuck reports whether no goroutine will make the head x: none of those that are held back may
// make it, and all others wait inside the engine. At the end of the recording, where x is nil, no
// goroutine is held back any more. stuck counts goroutines instead of looking up their strands,
// because a broken engine may name a wrong strand and must not be waited for. mu is held.
func (p *player) stuck(x *adk.Crossing) bool {
	if p.acting > 0 || len(p.waits)+p.parked < p.alive || p.settles(p.peek(0)) {
		return false
	}
	if x != nil && x == p.peek(0) {
		if s := p.strands[x.Strand]; s != nil && s.held > 0 && !p.besides.Any() {
			return false // the strand makes x
		}
	}
	for w := range p.waits {
		if x == nil || p.mayTake(*w, x) || p.exits(*w) != nil {
			return false
		}
	}
	return len(p.waits)+p.blocked() >= p.alive
}

// blocked counts all goroutines that wait inside the engine for something that has not come. mu is
// held.
func (p *player) blocked() (n int) {
	for _, s := range p.strands {
		n += s.blocked()
	}
	return n
}

// check stops the replay if no goroutine can go on. mu is held.
func (p *player) check() {
	x := p.head()
	if p.Stopped || !p.stuck(x) {
		return
	}
	if x == nil {
		x = p.peek(0) // a cancel that no crossing observes
	}
	if x == nil {
		p.unended()
		return
	}
	p.deadlock(x)
}

// Play runs one scripted call: it performs every recorded operation up to the call's own return
// line, and returns that line. It also performs operations of outer calls that were made in between
// through a handle that was passed on.
func (p *player) Play(h *stub.Handle, id, strand int) (*adk.Crossing, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	h.Strand = strand
	p.stage.Enter(id, h)
	return p.playUntil(strand, func(x *adk.Crossing) bool { return x.Kind == adk.KindReturn && x.ID == id })
}

// Opened performs what the reader of an opening did with the handles that it could reach.
func (p *player) Opened(x *adk.Crossing) ([]byte, error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	done, err := p.playUntil(x.Strand, func(at *adk.Crossing) bool {
		return wire.OpensMedia(at) && at.Phase == adk.Done && at.Op == x.Op
	})
	if err != nil {
		return nil, err
	}
	data, _ := done.Value.([]byte)
	return data, done.Err
}

// playUntil performs what was recorded in a strand up to the line that ends it, and returns that
// line. mu is held.
func (p *player) playUntil(strand int, ends func(*adk.Crossing) bool) (*adk.Crossing, error) {
	for {
		x := p.awaitScripted(strand, ends)
		switch {
		case x == nil:
			return nil, stub.ErrStopped
		case ends(x):
			return x, nil
		}
		p.operates(x, strand)
	}
}

// operates makes the operation x, which is the head, in a strand. mu is held.
func (p *player) operates(x *adk.Crossing, strand int) {
	if p.isBeside(x, strand) {
		p.beside(x)
		return
	}
	before := p.matched
	p.performing(x, 1)
	p.unlocked(func() { p.stage.Operate(x) })
	p.performing(x, -1)
	if p.matched == before && !p.Stopped { // no crossing came: user code cannot have made it there
		p.missing(x)
	}
}

// The probe.

// Observe makes the player the observer of the new run.
func (p *player) Observe(adk.RunInfo) adk.Observer { return stub.Watcher{Observer: p, Fail: p.fail} }

// Begin holds a strand back until its step is the next one in the recording.
func (p *player) Begin(s adk.Step) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.awaitFor(wait{strand: s.Strand, step: s})
}

// Park notes that a strand waits inside the engine, or has ended.
func (p *player) Park(n int, ready func() bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if ready == nil {
		p.ended(n)
		p.alive--
	} else {
		s := p.strand(n)
		s.parked = append(s.parked, parked{ready, p.besides.byNumber()})
		p.parked++
	}
	p.act()
	p.check()
	p.wake()
	p.besides.settled.Broadcast()
}

// ended notes that a strand has ended. Its other goroutines that still wait for something are
// counted until that has come. mu is held.
func (p *player) ended(n int) {
	delete(p.returned, n)
	s := p.strands[n]
	if s == nil || len(s.parked) == 0 {
		delete(p.strands, n)
		return
	}
	s.ended = true
}

// Resume holds a woken strand back until its next crossing is the next one in the recording.
func (p *player) Resume(n int) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.resumed(p.strand(n))
	p.await(n)
}

// resumed removes the wait of a goroutine that goes on. mu is held.
func (p *player) resumed(s *strand) {
	by := p.besides.byNumber()
	at := max(slices.IndexFunc(s.parked, func(g parked) bool { return g.by == by && g.ready() }), 0)
	if at < len(s.parked) {
		s.parked = slices.Delete(s.parked, at, at+1)
		p.parked--
	}
}

// Tell compares a crossing with the next recorded one.
func (p *player) Tell(got *adk.Crossing) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Stopped {
		return
	}
	want := p.peek(0)
	if want == nil {
		if p.readErr == io.EOF {
			p.extra(got)
		}
		return
	}
	fields := compare.Crossings(p.comparer, want, got)
	if len(fields) == 0 {
		fields = p.unexplained(want, got)
	}
	if len(fields) > 0 {
		p.differs(want, got, fields)
		return
	}
	if wire.RunsTool(got) && !p.stage.Made(got.Record) {
		p.report(divergence(p.namer, Extra, want, nil, []compare.FieldDiff{{Field: "tool", Want: "the recorded tool",
			Got: "a tool of the live code's own, which is not asked for: take tools from the context", Input: true}}), want)
		return
	}
	p.note(want)
	if wire.OpensGate(got) { // an earlier gate with the same id is over; listeners hear of the new one later
		delete(p.gates, got.Name)
	}
	p.listened(got)
	p.advance()
}

// unexplained checks a crossing on which recording and engine agree against what the contract
// derives from the crossings before it: a recording of a broken engine is no better than a broken
// engine. It also updates the folded state with the crossing. mu is held.
func (p *player) unexplained(want, got *adk.Crossing) []compare.FieldDiff {
	field := "contract"
	err := p.namer.Fold.Check(got)
	if err != nil {
		field = "digest"
	} else if err = p.namer.Fold.CheckPayload(got); err != nil {
		field = "payload"
	} else {
		err = p.namer.Pass(p.besides.told(want, got))
	}
	if err != nil {
		return []compare.FieldDiff{{Field: field, Got: err.Error()}}
	}
	return nil
}

// note keeps what later steps need of a crossing that agreed. mu is held.
func (p *player) note(x *adk.Crossing) {
	p.remember(x)
	p.besides.Note(x, p.besides.byNumber())
	switch {
	case x.Kind == adk.KindCall:
		p.calls[x.ID] = x
	case x.Kind == adk.KindReturn:
		delete(p.calls, x.ID)
	case wire.Forks(x):
		p.strand(x.ID)
		p.alive++ // it will come: the run is not stuck before it has
	case wire.AsksForGate(x):
		if _, open := p.gateOps[x.Name]; !open { // a second wait for an open id does not open a gate (GAT-5)
			p.gateOps[x.Name] = x.Op
		}
		p.startTimer(x)
	case wire.Settles(x):
		delete(p.gateOps, x.Name)
	case wire.Sleeps(x):
		p.startTimer(x)
	}
}

// listened prepares what the listeners of an event did in the recording, as far as the crossings
// after it show that. mu is held.
func (p *player) listened(x *adk.Crossing) {
	if x.Kind.Class() != adk.ClassEvent {
		p.trail.Pass(x)
		return
	}
	p.listeners.Expect(x, p.trail.Event(x, false, func(i int) *adk.Crossing {
		if i > listenerReach {
			return nil
		}
		return p.peek(i)
	}))
}

// listenerReach is how many crossings ahead listened looks: other strands may have made some in
// between.
const listenerReach = 256

// The clock and the ids.

// Now is the time of the next recorded crossing. So an engine that reads the clock once more than
// the recorded one gets the same answer.
func (p *player) Now() time.Time {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if x := p.peek(0); x != nil {
		return x.At
	}
	return time.Time{}
}

// startTimer binds the timer that was started last to the operation that waits for it. mu is held.
func (p *player) startTimer(x *adk.Crossing) {
	if p.Untold != nil {
		p.running[x.Op] = p.Untold
		p.Untold = nil
	}
}

// NewID is the id that the next recorded crossing brought; a made-up one where that brought none.
func (p *player) NewID() string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if x := p.head(); x != nil {
		if id := wire.MadeID(x); id != "" {
			return id
		}
	}
	p.oddIDs++
	return fmt.Sprintf("unrecorded-%d", p.oddIDs)
}

// Stopping.

// stop ends the comparison and lets every goroutine run to its end: scripted seams return, and
// waits end. mu is held.
func (p *player) stop() {
	if p.Stopped {
		return
	}
	p.Stopped = true
	for _, t := range p.running {
		t.Expire()
	}
	p.cancel(stub.ErrStopped, context.Canceled)
	p.wakeAll()
}

// fail stops a replay that cannot go on.
func (p *player) fail(err error) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.readErr = err
	p.stop()
}

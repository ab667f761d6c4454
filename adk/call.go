package adk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
)

// call is one seam call: user code that the engine has entered and not yet
// left. The handles that the user code gets are part of it, so that an
// operation knows whose it is (DET-5), and cost no allocation of their own.
type call struct {
	run      *run
	dispatch *dispatch // nil outside a dispatch
	visible  *visible  // what the handles of this call see
	parent   *call
	id       int
	strand   int
	seam     Seam

	ended   bool      // guarded by run.mu: the handles are no longer good
	joining bool      // guarded by run.mu: no further strand can begin
	strands []*Strand // guarded by run.mu: what join waits for

	below  downstream     // what a middleware's next leads to
	handed handed.Context // the context that the user code was given
	asks   []*Exchange    // guarded by run.mu: those that are not done

	tc      TurnContext
	dc      DispatchContext
	helpers Helpers
}

// hand makes the context that the call's user code is given: the one beneath, with what the
// observer adds, and the call as its handle (WLD-1). It is a part of the call and costs no
// allocation.
func (c *call) hand(beneath context.Context) context.Context {
	c.handed = handed.Over(c.run.contextOf(c.id, beneath), c)
	return &c.handed
}

// String names the call where its context is printed.
func (c *call) String() string { return c.seam.String() }

// errEnded is what an operation on a handle answers after its seam call.
func (c *call) errEnded(kind Kind) error {
	return &Error{Code: E_CONTEXT_ENDED, Message: fmt.Sprintf(
		"%s on a handle of %s, which has returned: a handle ends with the seam call it was handed to; use Fork for work in parallel", kind, c.seam)}
}

// errNilContext is what an operation answers that was given no context; nothing
// is told of it.
func errNilContext(kind Kind) error {
	return fmt.Errorf("adk: %s: %s", kind, nilContext)
}

const nilContext = "the context is nil: context.Background() was meant"

// enter admits an operation: it lets the observer decide when, takes the lock
// and refuses a handle that has ended. On nil error the caller holds run.mu.
func (c *call) enter(kind Kind) error {
	if c.run.observed() {
		phase := Whole
		if kind.Spanning() {
			phase = Begin
		}
		c.run.before(c, kind, phase)
	}
	c.run.mu.Lock()
	if c.ended {
		defer c.run.mu.Unlock()
		return c.late(kind)
	}
	return nil
}

// step is an operation of one line: do makes its effect at a time, and fills in the line,
// which is nil where nobody observes.
func (c *call) step(kind Kind, do func(at time.Time, x *Crossing)) error {
	if err := c.enter(kind); err != nil {
		return err
	}
	r := c.run
	defer r.mu.Unlock()
	at := c.now()
	x := r.crossing(c, kind, Whole, at)
	do(at, x)
	if x != nil {
		r.tell(x)
	}
	return nil
}

// begin numbers a spanning operation and tells that it has begun: say fills in what the
// line says beside, and is called where somebody observes. run.mu is held.
func (c *call) begin(kind Kind, say func(x *Crossing)) (op int) {
	at, r := c.now(), c.run
	op = r.nextOp()
	if x := r.crossing(c, kind, Begin, at); x != nil {
		x.Op = op
		say(x)
		r.tell(x)
	}
	return op
}

// done tells that a spanning operation has had its effect, which it makes in
// the same step.
func (c *call) done(kind Kind, op int, err error, effect func()) {
	_ = c.conclude(kind, op, func(time.Time) error {
		if effect != nil {
			effect()
		}
		return err
	})
}

// conclude is done where how the operation ended is decided in that step too.
func (c *call) conclude(kind Kind, op int, decide func(at time.Time) error) error {
	r := c.run
	r.before(c, kind, Done)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := c.now()
	r.latchCancel(at)
	err := decide(at)
	if x := r.line(c, kind, Done, at); x != nil {
		x.Op, x.Err = op, err
		r.tell(x)
	}
	return err
}

// late tells of an operation on an ended handle. run.mu is held.
func (c *call) late(kind Kind) error {
	err := c.errEnded(kind)
	c.run.containLocked(c, LatePrefix+kind.String(), err.Error())
	return err
}

// opened is what a call line carries beside the seam.
type opened struct {
	args   any
	record Record
	key    string
	// Of a run, or of a standalone dispatch: what its caller handed in.
	prompt       string
	instructions []string
	stash        map[string]any
	records      []Record
	// Of a dispatch called by user code in a turn: the names of its seams, and why
	// its caller's context had ended before, if it had.
	seams *RunInfo
	ended error
}

func (with opened) fill(x *Crossing) {
	x.Args, x.Record, x.Key, x.Seams, x.Cause = with.args, with.record, with.key, with.seams, with.ended
	x.Text, x.Texts, x.Records = with.prompt, with.instructions, with.records
	if len(with.stash) > 0 {
		x.Value = with.stash
	}
}

// open begins a seam call below parent: numbers it and tells it.
func (r *run) open(parent *call, seam Seam, strand int, with opened) *call {
	return r.openIf(func() bool { return true }, parent, seam, strand, with)
}

// openUnlessAborted is open for what an aborted run does not enter any more; it
// gives nil then. Looking and telling is one step.
func (r *run) openUnlessAborted(parent *call, seam Seam, with opened) *call {
	return r.openIf(func() bool { return !r.cancelTold }, parent, seam, parent.strand, with)
}

func (r *run) openIf(admitted func() bool, parent *call, seam Seam, strand int, with opened) *call {
	caller := callerOf(parent, strand)
	r.before(caller, KindCall, Whole)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now(strand)
	r.latchCancel(at)
	if !admitted() {
		return nil
	}
	c := r.newCall()
	c.parent, c.seam, c.strand = parent, seam, strand
	if parent != nil {
		c.dispatch, c.visible = parent.dispatch, parent.visible
	}
	if x := r.line(caller, KindCall, Whole, at); x != nil {
		x.ID, x.Seam = c.id, seam
		with.fill(x)
		r.tell(x)
	}
	return c
}

// newCall numbers a call and makes room for it, and for some more: the smallest
// useful turn, which loads, answers and stores, has six. mu is held.
func (r *run) newCall() *call {
	if len(r.room) == 0 {
		r.room = make([]call, 6)
	}
	c := &r.room[0]
	r.room = r.room[1:]
	r.calls++
	c.run, c.id = r, r.calls
	c.tc.call, c.dc.call, c.helpers.call = c, c, c
	return c
}

// callerOf is what the lines of a call and of its return are stamped with: the
// calling call, and the called strand. The first call of a run has no caller.
func callerOf(parent *call, strand int) *call {
	switch {
	case parent == nil:
		return &call{strand: strand}
	case parent.strand == strand:
		return parent
	}
	return &call{id: parent.id, strand: strand}
}

// result is what a seam call came back with: the outcome is invoke's to say, the
// rest is the user code's.
type result struct {
	outcome Outcome
	err     error // nil when ok; a *PanicError after a panic
	records []Record
	tool    ToolResult
}

// panicked reports whether the call ended in a panic.
func (res result) panicked() bool { return res.outcome == OutcomePanic }

// invoke calls the user code of c and tells its return, whatever the way it
// ends: an error, a panic, which becomes an error here, or runtime.Goexit,
// which goes on when the return has been told (PIP-11). Results travel by value
// so that none of them is allocated.
func (c *call) invoke(body func() result) (res result) {
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil {
				res = result{outcome: OutcomePanic, err: newPanicError(value)}
			} else {
				res = result{outcome: OutcomeGoexit, err: errGoexit}
			}
		}
		c.close(res)
	}()
	res = body()
	res.outcome = OutcomeOK
	if res.err != nil {
		res.outcome = OutcomeError
	}
	returned = true
	return res
}

// errGoexit stands for runtime.Goexit where an error is asked for.
var errGoexit = errors.New("user code ended its goroutine with runtime.Goexit")

// close waits for the strands of the call and for what its next began, ends its
// handles and tells the return. A goroutine that ends itself aborts the run
// first, so that nothing waits for it for ever. Strands come before next, as
// they are part of the call and may be the ones to go on.
func (c *call) close(res result) {
	r := c.run
	if res.outcome == OutcomeGoexit {
		r.abort(cancelGoexit, errGoexit)
	}
	c.join()
	c.settle()
	caller := callerOf(c.parent, c.strand)
	r.before(caller, KindReturn, Whole)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := c.now()
	c.endAsks(at)
	c.ended = true
	if x := r.crossing(caller, KindReturn, Whole, at); x != nil {
		x.ID, x.Outcome, x.Err, x.Records, x.Result = c.id, res.outcome, res.err, res.records, res.tool
		r.tell(x)
	}
}

// join waits for the strands that were forked in this call.
func (c *call) join() {
	c.run.mu.Lock()
	c.joining = true
	strands := c.strands
	c.run.mu.Unlock()
	for _, s := range strands {
		c.awaitEnd(s)
		<-s.gone // at once: Park does not block
	}
}

// awaitEnd waits for a strand. What c does from here on is not before what that did
// (EVT-6).
func (c *call) awaitEnd(s *Strand) {
	c.waitFor(s.done)
	defer c.lock()()
	c.run.times.Join(c.strand, s.number)
}

// waitFor parks until done is closed.
func (c *call) waitFor(done <-chan struct{}) {
	if isClosed(done) {
		return
	}
	c.run.park(c.strand, func() bool { return isClosed(done) })
	<-done
	c.run.resume(c.strand)
}

// Strand is parallel work that Fork began (DET-7).
type Strand struct {
	parent *call
	number int
	name   string
	done   chan struct{}
	gone   chan struct{} // closed when the observer was told that it has ended
	err    error
}

// Wait blocks until the strand has finished and gives its error. It is for the
// seam call that forked the strand: that is the one that waits, and a scheduler
// takes it to be. A panic of the strand is a *PanicError. The engine waits for
// every strand before the seam call returns, whether or not Wait is called; an
// error that nobody waits for is seen in the trace only. When that seam call has
// returned, Wait is E_CONTEXT_ENDED (DET-5).
func (s *Strand) Wait() error {
	c := s.parent
	if err := c.enter(KindWait); err != nil {
		return err
	}
	op := c.begin(KindWait, func(x *Crossing) { x.Name, x.ID = s.name, s.number })
	c.run.mu.Unlock()
	c.awaitEnd(s)
	c.done(KindWait, op, s.err, nil)
	return s.err
}

var errNoStrand = errors.New("adk: Fork: the strand has no function: give it one")

// fork runs body as a strand of c: the only place where the engine starts a
// goroutine.
func (c *call) fork(ctx context.Context, name string, body func(ctx context.Context, strand *call) error) (*Strand, error) {
	if name == "" {
		return nil, errors.New("adk: Fork: the strand has no name: every seam has one")
	}
	if ctx == nil {
		return nil, errNilContext(KindFork)
	}
	if err := c.enter(KindFork); err != nil {
		return nil, err
	}
	r := c.run
	if c.joining {
		defer r.mu.Unlock()
		return nil, c.late(KindFork)
	}
	at := c.now()
	x := r.crossing(c, KindFork, Whole, at)
	if x != nil {
		x.Name = name
	}
	if err := r.refusal(); err != nil {
		defer r.mu.Unlock()
		if x != nil {
			x.Err = err
			r.tell(x)
		}
		return nil, err
	}
	number := r.times.Fork(at)
	s := &Strand{parent: c, number: number, name: name, done: make(chan struct{}), gone: make(chan struct{})}
	c.strands = append(c.strands, s)
	if x != nil {
		x.ID = number
		r.tell(x)
	}
	r.mu.Unlock()
	go c.runStrand(ctx, s, Seam{Label: LabelStrand, Name: name}, number, body)
	return s, nil
}

// runStrand is the goroutine of a strand.
func (c *call) runStrand(ctx context.Context, s *Strand, seam Seam, number int, body func(context.Context, *call) error) {
	defer close(s.gone)
	defer c.run.park(number, nil)
	defer close(s.done)
	s.err = errGoexit // stands if the goroutine ends itself
	strand := c.run.open(c, seam, number, opened{})
	s.err = strand.invoke(func() result { return result{err: body(strand.hand(ctx), strand)} }).err
}

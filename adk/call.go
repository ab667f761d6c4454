package adk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
)

// call is one seam call: user code that the engine has entered and not yet left. It contains the
// handles that the user code gets. So an operation knows the seam call it belongs to (DET-5), and
// handles need no allocation of their own.
type call struct {
	run      *run
	dispatch *dispatch // nil outside a dispatch
	visible  *visible  // what the handles of this call see
	parent   *call
	id       int
	strand   int
	seam     Seam

	ended   bool      // guarded by run.mu: the handles have ended
	joining bool      // guarded by run.mu: no further strand may begin
	strands []*Strand // guarded by run.mu: the strands that join waits for

	below  downstream     // what a middleware's next leads to
	handed handed.Context // the context that the user code was given
	asks   []*Exchange    // guarded by run.mu: the asks that are not done

	tc      TurnContext
	dc      DispatchContext
	helpers Helpers
}

// hand makes the context that the call's user code gets: the context beneath, with the values that
// the observer adds, and with the call as its handle (WLD-1). The context is part of the call and
// needs no allocation.
func (c *call) hand(beneath context.Context) context.Context {
	c.handed = handed.Over(c.run.contextOf(c.id, beneath), c)
	return &c.handed
}

// String names the call where its context is printed.
func (c *call) String() string { return c.seam.String() }

// errEnded is the error of an operation on a handle whose seam call has returned.
func (c *call) errEnded(kind Kind) error {
	return &Error{Code: E_CONTEXT_ENDED, Message: fmt.Sprintf(
		"%s on a handle of %s, which has returned: a handle ends with the seam call it was handed to; use Fork for work in parallel", kind, c.seam)}
}

// errNilContext is the error of an operation that was given a nil context. Such an operation is not
// reported to the observer.
func errNilContext(kind Kind) error {
	return fmt.Errorf("adk: %s: %s", kind, nilContext)
}

const nilContext = "the context is nil: context.Background() was meant"

// enter admits an operation. It lets the observer decide when, takes the lock, and refuses a handle
// that has ended. If it returns nil, the caller holds run.mu.
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

// step runs an operation that is reported as one crossing. do makes the effect at the given time
// and fills in the crossing, which is nil if nobody observes.
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

// begin numbers a spanning operation and reports its begin. say fills in the rest of the crossing;
// it is called only if somebody observes. run.mu is held.
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

// done makes the effect of a spanning operation, if any, and reports in the same step that the
// operation is done.
func (c *call) done(kind Kind, op int, err error, effect func()) {
	_ = c.conclude(kind, op, func(time.Time) error {
		if effect != nil {
			effect()
		}
		return err
	})
}

// conclude is done for an operation whose error is decided in that step too.
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

// late reports an operation on an ended handle as contained, and returns its error. run.mu is held.
func (c *call) late(kind Kind) error {
	err := c.errEnded(kind)
	c.run.containLocked(c, LatePrefix+kind.String(), err.Error())
	return err
}

// opened holds what the crossing of a call carries in addition to the seam.
type opened struct {
	args   any
	record Record
	key    string
	// For a run or a standalone dispatch: what its caller passed in.
	prompt       string
	instructions []string
	stash        map[string]any
	records      []Record
	// For a dispatch that user code calls in a turn: the names of its seams and, if its caller's
	// context was already done, the cause of that.
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

// open begins a seam call below parent: it numbers the call and reports it.
func (r *run) open(parent *call, seam Seam, strand int, with opened) *call {
	return r.openIf(func() bool { return true }, parent, seam, strand, with)
}

// openUnlessAborted is open for a seam that an aborted run does not enter any more; it then returns
// nil. It tests for the abort and reports the call in one step, under run.mu.
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

// newCall numbers a call. It allocates calls six at a time, because the smallest useful turn, which
// loads, answers and stores, has six. mu is held.
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

// callerOf is the call with which the crossings of a call and of its return are stamped: the
// calling call and the called strand. The first call of a run has no caller.
func callerOf(parent *call, strand int) *call {
	switch {
	case parent == nil:
		return &call{strand: strand}
	case parent.strand == strand:
		return parent
	}
	return &call{id: parent.id, strand: strand}
}

// result is what a seam call came back with. invoke sets the outcome, user code the rest.
type result struct {
	outcome Outcome
	err     error // nil when ok; a *PanicError after a panic
	records []Record
	tool    ToolResult
}

// panicked reports whether the call ended in a panic.
func (res result) panicked() bool { return res.outcome == OutcomePanic }

// invoke calls the user code of c and reports its return, however it ends: with an error, with a
// panic, which becomes an error here, or with runtime.Goexit, which continues when the return has
// been reported (PIP-11). Results are passed by value so that none of them is allocated.
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

// errGoexit stands for runtime.Goexit where an error is needed.
var errGoexit = errors.New("user code ended its goroutine with runtime.Goexit")

// close waits for the strands of the call and for what its next began, ends its handles and reports
// the return. If the user code ended its goroutine, close aborts the run first, so that nothing
// waits for it for ever. close waits for strands before next, because strands are part of the call
// and may be what calls next.
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

// awaitEnd waits for a strand. The later times of c's strand are not before those of the strand
// that ended (EVT-6).
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
	gone   chan struct{} // closed when the observer has learned that it has ended
	err    error
}

// Wait blocks until the strand has finished and returns its error. A panic of the strand is a
// *PanicError. Wait is meant for the seam call that forked the strand: it is reported as an
// operation of that call, and a scheduler assumes that it is the one that waits. The engine waits
// for every strand before the seam call returns, whether or not Wait is called; the error of a
// strand for which Wait is not called is seen in the trace only. After the seam call has returned,
// Wait returns E_CONTEXT_ENDED (DET-5).
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

// fork runs body as a strand of c. It is the only place where the engine starts a goroutine.
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

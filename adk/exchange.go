package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
	"github.com/adkreplay/adkreplay/adk/internal/timelimit"
	"github.com/adkreplay/adkreplay/adk/internal/unheld"
	"github.com/adkreplay/adkreplay/internal/schema"
)

// Outside answers in the world's place, for replays and for those who break what the
// world says. It is asked once for each ask, on the goroutine that asks and outside
// every lock of the engine, and gives the answer; nil leaves it to the world. It must
// be safe for concurrent use. The context is the one that would have been asked with.
type Outside func(context.Context, Question) *Answer

// Question is what Outside is told of an ask.
type Question struct {
	// Of is who is asked.
	Of string
	// Request is what is asked, as compact JSON; nil where that could not be made.
	Request json.RawMessage
	// Effect is what asking changes, as far as the caller said.
	Effect Effect
	// Stream says that the answer is wanted in pieces.
	Stream bool
	// Op, Call and Strand are the numbers that crossings give to the ask.
	Op, Call, Strand int
}

// Answer is what Outside gives.
type Answer struct {
	// Value is the answer of Ask, as JSON; nil is one that is not known.
	Value json.RawMessage
	// Err is the error with which the asking ends, with the type that the world's had;
	// nil is none.
	Err error
	// After is how long the end takes, on the config's clock, after the last piece where
	// there are pieces.
	After time.Duration
	// Asked has the world asked as well, and what it answers lost: what was asked for is
	// done, and this is the answer. Of a transport's ask it says nothing.
	Asked bool
	// Final says that who asked did not ask the same again: nobody came back when an answer
	// told them to, and a deadline that passed was the caller's own, which passes again
	// before Err is given.
	Final bool
	// Next gives the pieces of an AskStream one after the other; ok is false behind the
	// last. Without it there are none.
	Next func() (piece Piece, ok bool)
}

// Piece is a piece of an answer, as Outside gives it.
type Piece struct {
	// Value is the piece as JSON.
	Value json.RawMessage
	// Open says that the piece was cut off.
	Open bool
	// After is how long it takes to come after the one before it, or after the ask,
	// on the config's clock.
	After time.Duration
}

// Exchange is one ask while it lasts. Ask and AskStream are made of it; it is there
// for transports, whose answers are read at the pace of somebody else: package
// adkhttp is one. A nil Exchange is one of which nothing is told. Methods may be
// called from any goroutine.
type Exchange struct {
	call   *call
	op     int
	of     string
	ctx    context.Context
	with   AskOptions
	answer *Answer
	limits timelimit.Limiter
	over   bool // guarded by run.mu: it is done, or is an upload that is not told yet
}

// OpenExchange begins an ask of whom it names (WLD-1). request makes the JSON of what
// is asked, and is called only where somebody is told it; where it fails, the ask goes
// on without (WLD-2). The Exchange is nil where ctx carries no handle. In a turn that
// is aborted the error is the abort's cause, but for AskOptions.AfterAbort; after the seam
// call whose handle it is has returned it is E_CONTEXT_ENDED. An Exchange has to be ended
// with Done.
func OpenExchange(ctx context.Context, of string, request func() (json.RawMessage, error), options ...AskOptions) (*Exchange, error) {
	return openExchange(ctx, true, of, request, options)
}

func openExchange(ctx context.Context, stream bool, of string, request func() (json.RawMessage, error), options []AskOptions) (*Exchange, error) {
	if ctx == nil {
		return nil, errNilContext(KindAsk)
	}
	if of == "" {
		return nil, errors.New("adk: ask of nobody: say who is asked")
	}
	if len(options) > 1 {
		return nil, fmt.Errorf("adk: ask of %s with %d AskOptions: want one that says all", schema.Clip(of), len(options))
	}
	c := handed.In[*call](ctx)
	if c == nil {
		return nil, nil
	}
	x := newExchange(c, of, options)
	asked := x.question(stream)
	if request != nil && (c.run.observed() || c.run.config.Outside != nil) {
		asked.Request = unheld.Line(request())
	}
	if err := x.begin(ctx, &asked); err != nil {
		return nil, err
	}
	return x.start(ctx, asked), nil
}

func newExchange(c *call, of string, options []AskOptions) *Exchange {
	x := &Exchange{call: c, of: of}
	for _, with := range options { // one at most
		x.with, x.limits.Limits, x.limits.Late = with, timelimit.Limits(with.Limits), x.errLate
	}
	return x
}

func (x *Exchange) question(stream bool) Question {
	return Question{Of: x.of, Effect: x.with.Effect, Stream: stream, Call: x.call.id, Strand: x.call.strand}
}

// start asks who may answer in the world's place, and lets the limits run where the
// world is asked.
func (x *Exchange) start(ctx context.Context, asked Question) *Exchange {
	x.ctx = x.limits.Context(handed.Without(ctx))
	if outside := x.call.run.config.Outside; outside != nil {
		x.answer = outside(x.ctx, asked)
	}
	if x.answer == nil {
		x.limits.Start()
	}
	return x
}

// OpenUpload begins an ask whose request is sent while it is still being written (WLD-3):
// the world is asked at once, and Asked tells the ask as soon as the request is known;
// nothing of it is told before. The Exchange is nil where nothing is gained by that: ctx
// carries no handle, nobody is told, the turn is aborted or the seam call has returned, or
// somebody answers in the world's place and has to know the request; and where OpenExchange
// refuses the options. That begins it then.
func OpenUpload(ctx context.Context, of string, options ...AskOptions) *Exchange {
	c := handed.In[*call](ctx)
	if c == nil || c.run.config.Outside != nil || !c.run.observed() || c.over() || len(options) > 1 {
		return nil
	}
	x := newExchange(c, of, options)
	x.over = true // so far
	return x.start(ctx, Question{})
}

// Asked tells the ask of an upload, with the JSON of its request or why there is none.
// Only the first call counts. Where the turn was aborted or the seam call has returned
// meanwhile, it is told as OpenExchange would, and nothing of its answer.
func (x *Exchange) Asked(request json.RawMessage, err error) {
	if x == nil {
		return
	}
	asked := x.question(true)
	asked.Request = unheld.Line(request, err)
	_ = x.begin(x.ctx, &asked)
}

// begin tells the ask, unless the turn is over. In an aborted turn it is refused (ABT-7), but
// where it may be asked then, and ctx goes on.
func (x *Exchange) begin(ctx context.Context, asked *Question) error {
	c := x.call
	if err := c.enter(KindAsk); err != nil {
		return err
	}
	r := c.run
	defer r.mu.Unlock()
	if x.op != 0 {
		return nil
	}
	at := c.now()
	x.op, x.over = r.nextOp(), false
	asked.Op = x.op
	line, refused := r.crossing(c, KindAsk, Begin, at), r.refusal() // in this order: a crossing finds the abort
	late := x.with.AfterAbort && refused != nil && ctx.Err() == nil
	if line != nil {
		line.Op, line.Name, line.JSON, line.Status, line.Key, line.Flag = x.op, asked.Of, asked.Request, string(asked.Effect), x.with.Key, late
		r.tell(line)
	}
	if refused != nil && !late {
		x.tellDone(at, nil, refused)
		return refused
	}
	c.asks = append(c.asks, x)
	return nil
}

// The names of contained crossings.
const (
	// PassedBy says that the world was asked something of which nothing else is told
	// (PassBy).
	PassedBy = "passed by"
	// SecondNext says that a middleware called next once more (PIP-10).
	SecondNext = "second next"
	// LatePrefix begins the name of what was done with a handle that had ended, or with
	// next behind its middleware; the name of the operation's kind follows.
	LatePrefix = "late "
	// ListenerPrefix begins the name of a listener's panic; the name of the event's kind
	// follows.
	ListenerPrefix = "listener of "
)

// Context is what the world is asked with: the caller's context, without the handle,
// which ends when a limit passes (WLD-8). Of a nil Exchange it is nil.
func (x *Exchange) Context() context.Context {
	if x == nil {
		return nil
	}
	return x.ctx
}

// Broken is why nothing more of an answer is to be handed out, or nil. In a run that is
// broken on purpose (Config.FaultPoints) it is the cause of the end of Context: how much of
// an answer was on its way by then is the network's choice, and another one each time. In
// all other runs the world decides (WLD-5, WLD-9).
func (x *Exchange) Broken() error {
	if x == nil || !x.call.run.config.FaultPoints {
		return nil
	}
	return context.Cause(x.ctx)
}

// Answered reports whether somebody answers in the world's place: Next has the answer
// then, and the world is not asked.
func (x *Exchange) Answered() bool { return x != nil && x.answer != nil }

// Next gives the next piece of an answer that is not the world's when its time has
// come; ok is false behind the last, or where a limit passes first, and err is then what
// the asking ends with. Piece tells that it is handed out.
func (x *Exchange) Next() (given Piece, ok bool, err error) {
	if !x.Answered() {
		return Piece{}, false, nil
	}
	after := x.answer.After
	if x.answer.Next != nil {
		if given, ok = x.answer.Next(); ok {
			after = given.After
		}
	}
	if late := x.await(after); late != nil {
		return Piece{}, false, late
	}
	if !ok {
		return Piece{}, false, x.failed()
	}
	if IsUnheld(given.Value) {
		return Piece{}, false, x.errUnheld(unheld.Within(given.Value))
	}
	return given, true, nil
}

// failed is the error of an answer that is not the world's. The caller's own deadline, where
// it passed and nothing was asked again, passes before (WLD-8).
func (x *Exchange) failed() error { return timelimit.Outlast(x.ctx, x.answer.Err, x.answer.Final) }

// Final is that of the answer: whether nothing was asked again because of it.
func (x *Exchange) Final() bool { return x.Answered() && x.answer.Final }

// Told reports whether anybody is told of the ask, so that its pieces are worth
// making.
func (x *Exchange) Told() bool { return x != nil && x.call.run.observed() }

// Touch says that something of the answer has come, which lets the limit of silence
// begin anew.
func (x *Exchange) Touch() {
	if x != nil {
		x.limits.Touch()
	}
}

// Refused says that what comes is not what was asked for, such as a page that says why: the
// limit of the beginning holds for all of it, as nobody waits for more (WLD-8). It is called
// before the first Piece.
func (x *Exchange) Refused() {
	if x != nil {
		x.limits.Bound()
	}
}

// Piece tells that a piece of the answer is handed out, or with open as much of it as
// came; the caller hands it out afterwards (WLD-4). piece is JSON. After Done, and
// after the seam call, nothing is told any more.
func (x *Exchange) Piece(piece json.RawMessage, open bool) { x.piece(given(piece), open) }

// piece is Piece, which makes the JSON only where somebody is told it.
func (x *Exchange) piece(make func() (json.RawMessage, error), open bool) {
	if x == nil {
		return
	}
	x.limits.Touch()
	told, c := x.line(make), x.call
	defer c.lock()()
	if x.over {
		return
	}
	if line := c.run.crossing(c, KindPiece, Whole, c.now()); line != nil {
		line.Op, line.JSON, line.Flag = x.op, told, open
		c.run.tell(line)
	}
}

// line is what is told of a JSON; nil where nobody is told.
func (x *Exchange) line(make func() (json.RawMessage, error)) json.RawMessage {
	if !x.Told() {
		return nil
	}
	return unheld.Line(make())
}

// Done tells that the asking has ended: with err, or well where that is nil, or with
// E_ASK_STOPPED where the reader had enough. answer is the JSON of an answer that did not
// come in pieces, and else nil. Only the first call counts.
func (x *Exchange) Done(answer json.RawMessage, err error) { x.conclude(given(answer), err) }

// Release lets go of Context, which an Exchange with limits keeps until the turn ends: what was
// asked with it has ended, and nothing of an answer is read any more. Done does not, as bytes may
// still come of which nothing is told.
func (x *Exchange) Release() {
	if x != nil {
		x.limits.Release()
	}
}

// given makes a JSON that there is.
func given(told json.RawMessage) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) { return told, nil }
}

// conclude is Done, which makes the JSON only where somebody is told it.
func (x *Exchange) conclude(answer func() (json.RawMessage, error), err error) {
	if x == nil {
		return
	}
	x.limits.Stop()
	told, c := x.line(answer), x.call
	c.run.before(c, KindAsk, Done)
	defer c.lock()()
	if x.over {
		return
	}
	c.asks = slices.DeleteFunc(c.asks, func(open *Exchange) bool { return open == x })
	x.tellDone(c.now(), told, err)
}

// tellDone tells the end. run.mu is held.
func (x *Exchange) tellDone(at time.Time, answer json.RawMessage, err error) {
	x.over = true
	if line := x.call.run.crossing(x.call, KindAsk, Done, at); line != nil {
		line.Op, line.JSON, line.Err = x.op, answer, err
		x.call.run.tell(line)
	}
}

// endAsks tells the end of the asks that nobody has ended, as the handle they were
// made with ends (WLD-5). run.mu is held.
func (c *call) endAsks(at time.Time) {
	for _, open := range c.asks {
		open.tellDone(at, nil, c.errEnded(KindAsk))
	}
	c.asks = nil
}

// PassBy says that the world is to be asked in a way that no trace can hold: it is told
// as contained, with whom and why. The error is nil where the asking may go on, and
// E_UNANSWERED where Config.Outside answers in the world's place: nothing may be asked
// then. A context without a handle tells nothing.
func PassBy(ctx context.Context, of, why string) error {
	c := handed.In[*call](ctx)
	if c == nil {
		return nil
	}
	text := schema.Clip(of) + ": " + why
	c.run.contain(c, PassedBy, text)
	if c.run.config.Outside != nil {
		return &Error{Code: E_UNANSWERED, Message: text + ", and so no recording has the answer"}
	}
	return nil
}

// FaultPoints is who a fault point is told to ask: what stands behind it is the name of
// the point.
const FaultPoints = "fault point "

// FaultPoint is a place, within user code, at which something can go wrong that the
// engine cannot see: between two rows of one write, say. It does nothing, and gives nil,
// but for a run whose config says FaultPoints, which is for those who break turns on
// purpose. There the point is told, as an ask of FaultPoints and its name, and the error
// is what Config.Outside gives. A caller returns it as any other error.
//
//	if err := adk.FaultPoint(ctx, "between the rows"); err != nil {
//		return err
//	}
//
// The context is one that carries the handle of a seam call (WLD-1). With any other it does
// nothing, and so with the one that an ask's function is given (WLD-3): within a transaction
// that is one ask, give it the context around the ask. An aborted run has no fault points: the
// error is never that of the abort (WLD-9).
func FaultPoint(ctx context.Context, name string) error {
	if ctx == nil {
		return nil
	}
	c := handed.In[*call](ctx)
	if c == nil || !c.run.config.FaultPoints || c.over() {
		return nil
	}
	x, err := openExchange(ctx, false, FaultPoints+name, nil, []AskOptions{{Effect: EffectReads}})
	if err != nil {
		return nil
	}
	if x.answer != nil {
		err = x.answer.Err
	}
	x.Done(nil, err)
	return err
}

// over reports whether nothing of the call can be told any more but that it comes late:
// it has returned, or the run's context has ended.
func (c *call) over() bool {
	defer c.lock()()
	return c.ended || c.run.ctx.Err() != nil
}

// HasHandle reports whether a context carries the handle of a seam call, so that what
// is asked with it crosses (WLD-1).
func HasHandle(ctx context.Context) bool { return handed.In[*call](ctx) != nil }

// Unheld is what is told in the place of a request, of an answer, or of a part of one,
// that a trace cannot hold or is not to: an object that says why.
func Unheld(why string) json.RawMessage { return unheld.Because(why) }

// IsUnheld reports whether raw is what Unheld makes.
func IsUnheld(raw json.RawMessage) bool { return unheld.Is(raw) }

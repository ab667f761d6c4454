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

// Outside answers asks in place of the world. It is for replays, and for tests that change what the
// world says. It is called once for each ask, on the goroutine that asks and outside every lock of
// the engine. It returns the answer, or nil to let the world be asked. It must be safe for
// concurrent use. The context is the one with which the world would be asked.
type Outside func(context.Context, Question) *Answer

// Question describes an ask to Outside.
type Question struct {
	// Of names who is asked.
	Of string
	// Request is what is asked, as compact JSON. It is nil if there is no request, and an object
	// made by Unheld if its JSON could not be made.
	Request json.RawMessage
	// Effect is what asking changes, as far as the caller said.
	Effect Effect
	// Stream is true if the answer is wanted in pieces.
	Stream bool
	// Op, Call and Strand are the numbers that crossings give to the ask, its seam call and its
	// strand.
	Op, Call, Strand int
}

// Answer is an answer that Outside gives.
type Answer struct {
	// Value is the answer of Ask, as JSON; nil means that it is not known.
	Value json.RawMessage
	// Err is the error with which the ask ends, with the type that the world's error had, or nil.
	Err error
	// After is how long the end takes to come, on the config's clock: after the last piece if there
	// are pieces, otherwise after the ask.
	After time.Duration
	// Asked makes the engine ask the world too and discard what the world answers: the effect of
	// the ask happens, and this is the answer. It has no effect on the asks of a transport.
	Asked bool
	// Final says that the same was not asked again after this answer. So there was no retry, even
	// if the answer called for one; and if Err is a passed deadline, it was the deadline of the
	// caller's own context, which then passes again before Err is returned.
	Final bool
	// Next returns the pieces of an AskStream one after the other; ok is false after the last. If
	// Next is nil there are no pieces.
	Next func() (piece Piece, ok bool)
}

// Piece is a piece of an answer, as Outside gives it.
type Piece struct {
	// Value is the piece as JSON.
	Value json.RawMessage
	// Open is true if the piece was cut off.
	Open bool
	// After is how long the piece takes to come after the one before it, or after the ask, on the
	// config's clock.
	After time.Duration
}

// Exchange is one ask while it lasts. Ask and AskStream are built on it. It is exported for
// transports such as package adkhttp, whose answers are read at the pace of their caller. A nil
// Exchange is an ask that is not reported. Methods may be called from any goroutine.
type Exchange struct {
	call   *call
	op     int
	of     string
	ctx    context.Context
	with   AskOptions
	answer *Answer
	limits timelimit.Limiter
	over   bool // guarded by run.mu: it is done, or is an upload that is not reported yet
}

// OpenExchange begins an ask; of names who is asked (WLD-1). request makes the JSON of what is
// asked. It is called only if somebody gets that JSON; if it fails, the ask goes on without
// it (WLD-2). The Exchange is nil if ctx carries no handle. In an aborted turn the error is the
// abort's cause, unless AskOptions.AfterAbort allows the ask. After the seam call of the handle has
// returned, the error is E_CONTEXT_ENDED. An Exchange has to be ended with Done.
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

// start calls Config.Outside, if any. If that gives no answer, it starts the limits, because the
// world is going to be asked.
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

// OpenUpload begins an ask whose request is sent while it is still being written (WLD-3). The world
// is asked at once; Asked reports the ask as soon as the request is known, and nothing is reported
// before.
//
// OpenUpload returns nil if it gains nothing over OpenExchange, which the caller then has to use
// instead: if ctx carries no handle, nobody observes, the turn is aborted or the seam call has
// returned; if Config.Outside is set, because it has to know the request; and if there is more than
// one AskOptions, which OpenExchange refuses.
func OpenUpload(ctx context.Context, of string, options ...AskOptions) *Exchange {
	c := handed.In[*call](ctx)
	if c == nil || c.run.config.Outside != nil || !c.run.observed() || c.over() || len(options) > 1 {
		return nil
	}
	x := newExchange(c, of, options)
	x.over = true // so far
	return x.start(ctx, Question{})
}

// Asked reports the ask of an upload, with the JSON of its request or the reason why there is none.
// Only the first call counts. If the turn was aborted or the seam call has returned meanwhile, the
// ask is reported as OpenExchange would report it, and nothing of its answer is.
func (x *Exchange) Asked(request json.RawMessage, err error) {
	if x == nil {
		return
	}
	asked := x.question(true)
	asked.Request = unheld.Line(request, err)
	_ = x.begin(x.ctx, &asked)
}

// begin reports the ask, unless the seam call has returned. In an aborted turn the ask is refused
// (ABT-7), unless its options allow it there and ctx has not ended.
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
	line, refused := r.crossing(c, KindAsk, Begin, at), r.refusal() // in this order: making a crossing notices the abort
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
	// PassedBy is an ask of the world of which nothing else is reported (PassBy).
	PassedBy = "passed by"
	// SecondNext is a second call of next by the same middleware (PIP-10).
	SecondNext = "second next"
	// LatePrefix begins the name of an operation on a handle that had ended, or of a next after its
	// middleware had returned. The name of the operation's kind follows.
	LatePrefix = "late "
	// ListenerPrefix begins the name of a listener's panic. The name of the event's kind follows.
	ListenerPrefix = "listener of "
)

// Context returns the context with which the world is asked: the caller's context without the
// handle, which also ends when a limit passes (WLD-8). For a nil Exchange it is nil.
func (x *Exchange) Context() context.Context {
	if x == nil {
		return nil
	}
	return x.ctx
}

// Broken returns why nothing more of an answer may be handed out, or nil. In a run with
// Config.FaultPoints it is the cause of the end of Context, because how much of an answer has
// arrived by then depends on the network and differs from run to run. In all other runs it is nil,
// and the world decides (WLD-5, WLD-9).
func (x *Exchange) Broken() error {
	if x == nil || !x.call.run.config.FaultPoints {
		return nil
	}
	return context.Cause(x.ctx)
}

// Answered reports whether Config.Outside has answered. Next then returns the answer, and the world
// is not asked.
func (x *Exchange) Answered() bool { return x != nil && x.answer != nil }

// Next waits until the next piece of an answer from Outside is due, and returns it. ok is false
// after the last piece, or if a limit passes first; err is then the error with which the ask ends.
// The caller reports with Piece that it hands the piece out.
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

// failed returns the error of an answer from Outside. If that is the passed deadline of the
// caller's own context and nothing was asked again, failed waits for that deadline first (WLD-8).
func (x *Exchange) failed() error { return timelimit.Outlast(x.ctx, x.answer.Err, x.answer.Final) }

// Final returns Answer.Final of the answer from Outside, if any.
func (x *Exchange) Final() bool { return x.Answered() && x.answer.Final }

// Told reports whether the ask is observed, so that it is worth making the JSON of its pieces.
func (x *Exchange) Told() bool { return x != nil && x.call.run.observed() }

// Touch says that something of the answer has arrived. It restarts the limit of silence.
func (x *Exchange) Touch() {
	if x != nil {
		x.limits.Touch()
	}
}

// Refused says that what arrives is not what was asked for, such as an error page. The Headers
// limit then holds for all of it, because the caller waits for nothing else (WLD-8). It is called
// before the first Piece.
func (x *Exchange) Refused() {
	if x != nil {
		x.limits.Bound()
	}
}

// Piece reports that a piece of the answer is handed out or, if open, as much of it as arrived. The
// caller hands it out afterwards (WLD-4). piece is JSON. After Done, and after the seam call has
// returned, nothing is reported any more.
func (x *Exchange) Piece(piece json.RawMessage, open bool) { x.piece(given(piece), open) }

// piece is Piece, but makes the JSON only if somebody observes.
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

// line returns a JSON as it is reported, or nil if nobody observes.
func (x *Exchange) line(make func() (json.RawMessage, error)) json.RawMessage {
	if !x.Told() {
		return nil
	}
	return unheld.Line(make())
}

// Done reports that the ask has ended: with err, successfully if err is nil, or with E_ASK_STOPPED
// if the reader stopped early. answer is the JSON of an answer that did not come in pieces,
// otherwise nil. Only the first call counts.
func (x *Exchange) Done(answer json.RawMessage, err error) { x.conclude(given(answer), err) }

// Release releases Context, which an Exchange with limits otherwise keeps until the turn ends. Call
// it when nothing of the answer is read any more. Done does not release it, because bytes that are
// not reported may still arrive.
func (x *Exchange) Release() {
	if x != nil {
		x.limits.Release()
	}
}

// given makes a function that returns a JSON that already exists.
func given(told json.RawMessage) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) { return told, nil }
}

// conclude is Done, but makes the JSON only if somebody observes.
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

// tellDone reports the end. run.mu is held.
func (x *Exchange) tellDone(at time.Time, answer json.RawMessage, err error) {
	x.over = true
	if line := x.call.run.crossing(x.call, KindAsk, Done, at); line != nil {
		line.Op, line.JSON, line.Err = x.op, answer, err
		x.call.run.tell(line)
	}
}

// endAsks reports the end of the asks that were not ended, because the handle with which they were
// made ends (WLD-5). run.mu is held.
func (c *call) endAsks(at time.Time) {
	for _, open := range c.asks {
		open.tellDone(at, nil, c.errEnded(KindAsk))
	}
	c.asks = nil
}

// PassBy reports, as contained, that the world is about to be asked in a way that no trace can
// hold: of names who is asked, and why says why. The error is nil if the caller may go on. It is
// E_UNANSWERED if Config.Outside answers in place of the world; then the caller must not ask. With
// a context without a handle PassBy does nothing.
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

// FaultPoints begins the Of of a fault point's ask; the name of the point follows.
const FaultPoints = "fault point "

// FaultPoint marks a place within user code at which something can go wrong that the engine cannot
// see, for example between two rows of one write. It does nothing and returns nil, except in a run
// whose config sets FaultPoints, which is for tests that break turns on purpose. There it is
// reported as an ask of FaultPoints and its name, and it returns the error that Config.Outside
// gives. The caller treats that like any other error.
//
//	if err := adk.FaultPoint(ctx, "between the rows"); err != nil {
//		return err
//	}
//
// The context has to carry the handle of a seam call (WLD-1). With any other context FaultPoint
// does nothing. That includes the context given to the function of an ask (WLD-3): inside a
// transaction that is one ask, pass the context from around the ask. In an aborted run FaultPoint
// does nothing, so its error is never that of the abort (WLD-9).
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

// over reports whether all that can still be reported of the call is that something comes late: the
// call has returned, or the run's context has ended.
func (c *call) over() bool {
	defer c.lock()()
	return c.ended || c.run.ctx.Err() != nil
}

// HasHandle reports whether a context carries the handle of a seam call, so that an ask with it is
// reported (WLD-1).
func HasHandle(ctx context.Context) bool { return handed.In[*call](ctx) != nil }

// Unheld makes the object that stands in a trace for a request, an answer, or a part of one that
// the trace cannot or must not hold. The object says why.
func Unheld(why string) json.RawMessage { return unheld.Because(why) }

// IsUnheld reports whether raw was made by Unheld.
func IsUnheld(raw json.RawMessage) bool { return unheld.Is(raw) }

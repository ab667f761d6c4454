package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"github.com/adkreplay/adkreplay/adk/internal/pieces"
	"github.com/adkreplay/adkreplay/adk/internal/roundtrip"
	"github.com/adkreplay/adkreplay/adk/internal/unheld"
	"github.com/adkreplay/adkreplay/internal/schema"
)

// AskOptions is what the engine cannot know of an ask. The zero value says nothing:
// an unknown effect, and no limits. Of an ask it is said once: two AskOptions are refused,
// for no rule would join them as whoever added the second one meant.
type AskOptions struct {
	// Effect says whether asking changes anything outside the turn, so that a replay
	// can refuse it (WLD-6).
	Effect Effect
	// Limits is how long the answer may take.
	Limits AskLimits
	// Key is the idempotency key that goes with what is asked beside the request, as a
	// header of HTTP does: who is asked knows a request again by it. Who watches the turn is
	// told it (Crossing.Key), and no trace holds it: it may be another one in each run.
	// Empty is none.
	Key string
	// AfterAbort asks in an aborted turn too, for what takes back what was done, or has to be
	// known all the same: with a context that has not ended with the turn, as one of
	// context.WithoutCancel. With one that has, the turn's refusal stands. Crossings of such
	// asks say so (Crossing.Flag).
	AfterAbort bool
}

// Ask asks the world: do runs outside the engine; what it was asked and what it
// answered crosses. A replay answers from the recording and does not call do.
//
// of says who is asked, in the words in which divergences speak of it. With the context
// of a seam call, or one made from it, the ask is told; with any other Ask only calls do
// (WLD-1). The caller gets what do gave, as it is; the trace holds its JSON. Refused with
// E_INVALID_ANSWER are answers of a type whose values JSON does not give back, and requests
// of one whose values it does not hold (WLD-2). So is, after do was called, an answer that
// has in an interface anything but nil, a bool, a float64, a string, or a []any or a
// map[string]any of these: an int64 in an any would come back as a float64. What else JSON
// cannot hold, such as NaN or a text that is no UTF-8, changes nothing for the caller, and a
// replay has no answer then (E_UNANSWERED): bytes that may be no text are a []byte.
//
// Of an error a replay gives back the text, its causes, and what errors.Is finds: the
// sentinels and, for errors.As, the types that trace.Options knows or is told. Whoever wants
// more of it than that reads it within do, and has it as a member of the answer or as a
// sentinel of its own.
//
// do is called at most once; its panic is a *PanicError (WLD-3). In an aborted turn it is
// not called, unless the options say that it is (AskOptions.AfterAbort), and the error is
// the abort's cause; after the seam call it is E_CONTEXT_ENDED (WLD-5). Two AskOptions
// are refused.
func Ask[Req, Res any](ctx context.Context, of string, request Req, do func(context.Context, Req) (Res, error), options ...AskOptions) (Res, error) {
	x, err := openAsk[Req, Res](ctx, do != nil, false, of, request, options)
	switch {
	case err != nil:
		return *new(Res), err
	case x == nil:
		return do(ctx, request)
	}
	return ask(x, request, do)
}

// ask is Ask where it is told.
func ask[Req, Res any](x *Exchange, request Req, do func(context.Context, Req) (Res, error)) (res Res, err error) {
	defer x.limits.Release()
	err = errGoexit // stands if do ends the goroutine
	defer func() { x.conclude(heldAnswer(x, &res, err), err) }()
	if x.answer == nil || x.answer.Asked {
		err = x.Failure(guarded(func() (err error) {
			res, err = roundtrip.Answer(do, errLost)(x.ctx, request)
			return err
		}))
	}
	if x.answer != nil {
		res, err = served[Res](x)
	}
	return res, err
}

// heldAnswer makes the JSON of an answer; of one that failed, where there is any.
func heldAnswer[Res any](x *Exchange, res *Res, err error) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) {
		if x.answer != nil {
			return x.answer.Value, nil
		}
		if err != nil && reflect.ValueOf(res).Elem().IsZero() {
			return nil, nil
		}
		return unheld.JSON(*res)
	}
}

// served gives the answer that is not the world's.
func served[Res any](x *Exchange) (res Res, err error) {
	if err := x.await(x.answer.After); err != nil {
		return res, err
	}
	switch value := x.answer.Value; {
	case value != nil:
		if err := x.decode(value, &res); err != nil {
			return res, err
		}
	case x.answer.Err == nil:
		return res, x.errUnheld("")
	}
	return res, x.failed()
}

// decode makes an answer, or a piece of one, of what was recorded.
func (x *Exchange) decode(value json.RawMessage, res any) error {
	if why := unheld.Within(value); why != "" {
		return x.errUnheld(why)
	}
	if err := json.Unmarshal(value, res); err != nil {
		return x.errMisfit(err)
	}
	return nil
}

// errUnheld says that the recording lacks the answer, or a part of it, and why where that is
// known.
func (x *Exchange) errUnheld(why string) error {
	message := "the recording does not hold what " + schema.Clip(x.of) + " answered"
	if why != "" {
		message += ": " + why
	}
	return &Error{Code: E_UNANSWERED, Message: message}
}

// errMisfit says that what was recorded is no value of today's type.
func (x *Exchange) errMisfit(err error) error {
	return &Error{Code: E_INVALID_ANSWER, Message: "what " + schema.Clip(x.of) + " answered does not fit the type that is asked for", Cause: err}
}

// errLost says what JSON would not give back.
func errLost(fault string) error { return &Error{Code: E_INVALID_ANSWER, Message: fault} }

// guarded calls user code whose panic is an error.
func guarded(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
	}()
	return do()
}

// openAsk opens the exchange of an ask. Where it would be told it refuses what JSON does
// not carry: a request is held against another one and never made again, an answer is.
func openAsk[Req, Res any](ctx context.Context, given, stream bool, of string, request Req, options []AskOptions) (*Exchange, error) {
	if !given {
		return nil, fmt.Errorf("adk: ask of %s: nobody does the asking: give a function", schema.Clip(of))
	}
	if ctx != nil && HasHandle(ctx) {
		if fault := roundtrip.FaultOfAsk(reflect.TypeFor[Req](), reflect.TypeFor[Res]()); fault != "" {
			return nil, errLost(fault)
		}
	}
	return openExchange(ctx, stream, of, func() (json.RawMessage, error) { return unheld.JSON(request) }, options)
}

// AskStream is Ask for an answer in pieces. do hands out each piece with the function
// it is given, whose error, E_ASK_STOPPED, says that nobody wants more. Stopping the
// loop early ends the asking: the context of do ends.
//
// The last round of the loop has the error, if there is one, and no piece. Asking begins
// with the loop; a stream is ranged over once, and a second loop gets an error (WLD-4).
func AskStream[Req, Piece any](ctx context.Context, of string, request Req, do func(context.Context, Req, func(Piece) error) error, options ...AskOptions) iter.Seq2[Piece, error] {
	return pieces.Seq(func(loop *pieces.Loop[Piece]) error {
		s := askStream[Req, Piece]{loop: loop}
		return s.run(ctx, of, request, do, options)
	}, errRangedTwice)
}

var errRangedTwice = errors.New("adk: AskStream: the stream was ranged over already: ask again for another one")

// errStoppedAsk is what ends an ask whose reader has had enough.
var errStoppedAsk = &Error{Code: E_ASK_STOPPED, Message: "nobody reads any more"}

// askStream is one loop over an AskStream.
type askStream[Req, P any] struct {
	loop   *pieces.Loop[P]
	x      *Exchange
	cancel context.CancelCauseFunc
}

// run asks, and gives the error that is the loop's to see.
func (s *askStream[Req, P]) run(ctx context.Context, of string, request Req, do func(context.Context, Req, func(P) error) error, options []AskOptions) (err error) {
	if s.x, err = openAsk[Req, P](ctx, do != nil, true, of, request, options); err != nil {
		return err
	}
	if s.x != nil {
		ctx = s.x.ctx
		defer s.x.limits.Release()
	}
	ctx, s.cancel = context.WithCancelCause(ctx)
	defer s.cancel(nil)
	err = errGoexit // stands if do ends the goroutine
	defer func() { s.x.Done(nil, s.told(err)) }()
	if s.x.Answered() {
		if s.x.answer.Asked {
			s.askInVain(ctx, request, do)
		}
		err = s.served()
	} else {
		err = s.ask(ctx, request, do)
	}
	return err
}

// told is the error that the ask is told to have ended with.
func (s *askStream[Req, P]) told(err error) error {
	if s.loop.Left() {
		return errStoppedAsk
	}
	return err
}

// ask calls do. A panic of it is an error, where anybody is told; one of the loop's
// body passes through, with all that lies above it.
func (s *askStream[Req, P]) ask(ctx context.Context, request Req, do func(context.Context, Req, func(P) error) error) (err error) {
	if s.x == nil {
		return do(ctx, request, s.hand)
	}
	defer func() {
		if s.loop.InBody() {
			return
		}
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
	}()
	return s.x.Failure(roundtrip.Pieces(do, errLost)(ctx, request, s.hand))
}

// askInVain calls do, and lets all that it answers be lost.
func (s *askStream[Req, P]) askInVain(ctx context.Context, request Req, do func(context.Context, Req, func(P) error) error) {
	_ = guarded(func() error { return do(ctx, request, func(P) error { return nil }) })
}

// hand gives the loop's body a piece, once that is told.
func (s *askStream[Req, P]) hand(piece P) error {
	if s.loop.Left() {
		return errStoppedAsk
	}
	s.x.piece(func() (json.RawMessage, error) { return unheld.JSON(piece) }, false)
	return s.body(piece)
}

// body runs the loop's body.
func (s *askStream[Req, P]) body(piece P) error {
	if !s.loop.Hand(piece) {
		s.cancel(errStoppedAsk)
		return errStoppedAsk
	}
	return nil
}

// served hands out the pieces that are not the world's.
func (s *askStream[Req, P]) served() error {
	for {
		given, ok, err := s.x.Next()
		if !ok {
			return err
		}
		var piece P
		if err := s.x.decode(given.Value, &piece); err != nil {
			return err
		}
		s.x.piece(func() (json.RawMessage, error) { return given.Value, nil }, given.Open)
		if err := s.body(piece); err != nil {
			return err
		}
	}
}

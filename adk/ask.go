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

// AskOptions holds what the engine cannot know of an ask. The zero value means an unknown effect
// and no limits. An ask takes at most one AskOptions: two are refused, because no rule could join
// them as the author of the second one meant.
type AskOptions struct {
	// Effect says whether asking changes anything outside the turn, so that a replay
	// can refuse it (WLD-6).
	Effect Effect
	// Limits says how long the answer may take.
	Limits AskLimits
	// Key is the idempotency key that is sent along with the request, for example as an HTTP
	// header, so that the recipient recognizes a repeated request. Observers get it (Crossing.Key),
	// but no trace holds it, because it may differ in each run. Empty means none.
	Key string
	// AfterAbort asks in an aborted turn too: to take back what was done, or to learn what has to
	// be known in any case. The context must not have ended with the turn; context.WithoutCancel
	// makes such a context. If it has ended, the ask is refused as usual. The crossing of such an
	// ask says so (Crossing.Flag).
	AfterAbort bool
}

// Ask asks the world. do runs outside the engine; the question and the answer cross. A replay takes
// the answer from the recording and does not call do.
//
// of names who is asked; divergences use that name. With the context of a seam call, or one made
// from it, the ask is reported; with any other context Ask only calls do (WLD-1). do is called at
// most once, and a panic in it is a *PanicError (WLD-3). In an aborted turn do is not called and
// the error is the abort's cause, unless AskOptions.AfterAbort is set; after the seam call has
// returned the error is E_CONTEXT_ENDED (WLD-5). Two AskOptions are refused.
//
// The caller gets what do returned, as it is; the trace holds its JSON (WLD-2). An ask is refused
// with E_INVALID_ANSWER if JSON cannot hold the values of the request's type, or does not give back
// those of the answer's type. So is, after do was called, an answer that has in an interface
// anything but nil, a bool, a float64, a string, or a []any or a map[string]any of these: an int64
// in an any, for example, would come back as a float64. Anything else that JSON cannot hold, such
// as NaN or a string that is not UTF-8, changes nothing for the caller, but a replay has no answer
// then (E_UNANSWERED). Use a []byte for bytes that may not be text.
//
// Of an error, a replay gives back the text, the causes, and what errors.Is finds: the sentinels
// and, for errors.As, the types that trace.Options knows or is given. A caller that needs more of
// an error has to read it within do, and return it as a member of the answer or as a sentinel of
// its own.
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

// ask is Ask for an ask that is reported.
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

// heldAnswer makes a function that makes the JSON of an answer; for an ask that failed, only if the
// answer is not zero.
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

// served returns the answer that Outside gave.
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

// decode decodes an answer from Outside, or a piece of one.
func (x *Exchange) decode(value json.RawMessage, res any) error {
	if why := unheld.Within(value); why != "" {
		return x.errUnheld(why)
	}
	if err := json.Unmarshal(value, res); err != nil {
		return x.errMisfit(err)
	}
	return nil
}

// errUnheld says that the recording lacks the answer, or a part of it, and why, if that is known.
func (x *Exchange) errUnheld(why string) error {
	message := "the recording does not hold what " + schema.Clip(x.of) + " answered"
	if why != "" {
		message += ": " + why
	}
	return &Error{Code: E_UNANSWERED, Message: message}
}

// errMisfit says that a recorded answer is no value of today's type.
func (x *Exchange) errMisfit(err error) error {
	return &Error{Code: E_INVALID_ANSWER, Message: "what " + schema.Clip(x.of) + " answered does not fit the type that is asked for", Cause: err}
}

// errLost says what JSON does not hold or would not give back.
func errLost(fault string) error { return &Error{Code: E_INVALID_ANSWER, Message: fault} }

// guarded calls user code and turns its panic into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
	}()
	return do()
}

// openAsk opens the exchange of an ask. If the ask is reported, openAsk refuses types that JSON
// does not carry. A request must only be held, because a replay compares it with another one; an
// answer must also be read back.
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

// AskStream is Ask for an answer in pieces. do passes each piece to the function that it is given.
// If that function returns an error, E_ASK_STOPPED, nobody wants more pieces. Leaving the loop
// early ends the ask: the context of do ends.
//
// The last round of the loop has the error, if there is one, and no piece. The ask begins with the
// loop. A stream can be ranged over once; a second loop gets an error (WLD-4).
func AskStream[Req, Piece any](ctx context.Context, of string, request Req, do func(context.Context, Req, func(Piece) error) error, options ...AskOptions) iter.Seq2[Piece, error] {
	return pieces.Seq(func(loop *pieces.Loop[Piece]) error {
		s := askStream[Req, Piece]{loop: loop}
		return s.run(ctx, of, request, do, options)
	}, errRangedTwice)
}

var errRangedTwice = errors.New("adk: AskStream: the stream was ranged over already: ask again for another one")

// errStoppedAsk ends an ask whose reader has stopped.
var errStoppedAsk = &Error{Code: E_ASK_STOPPED, Message: "nobody reads any more"}

// askStream is one loop over an AskStream.
type askStream[Req, P any] struct {
	loop   *pieces.Loop[P]
	x      *Exchange
	cancel context.CancelCauseFunc
}

// run asks, and returns the error for the last round of the loop.
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

// told returns the error with which the ask is reported to have ended.
func (s *askStream[Req, P]) told(err error) error {
	if s.loop.Left() {
		return errStoppedAsk
	}
	return err
}

// ask calls do. If the ask is reported, a panic of do becomes an error; a panic of the loop's body
// passes through, together with the stack above it.
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

// askInVain calls do and discards everything that it answers.
func (s *askStream[Req, P]) askInVain(ctx context.Context, request Req, do func(context.Context, Req, func(P) error) error) {
	_ = guarded(func() error { return do(ctx, request, func(P) error { return nil }) })
}

// hand reports a piece and then gives it to the loop's body.
func (s *askStream[Req, P]) hand(piece P) error {
	if s.loop.Left() {
		return errStoppedAsk
	}
	s.x.piece(func() (json.RawMessage, error) { return unheld.JSON(piece) }, false)
	return s.body(piece)
}

// body runs the loop's body. If the body leaves the loop, it ends the context of do.
func (s *askStream[Req, P]) body(piece P) error {
	if !s.loop.Hand(piece) {
		s.cancel(errStoppedAsk)
		return errStoppedAsk
	}
	return nil
}

// served hands out the pieces that Outside gives.
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

package stub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
)

// This file repeats recorded asks, and answers those of live code.

// scriptedKey marks the contexts of asks that a scripted seam makes, whose answers come from the
// recording.
type scriptedKey struct{}

func scripted(ctx context.Context) context.Context {
	return context.WithValue(ctx, scriptedKey{}, true)
}

// IsScripted reports whether an ask with this context is made by a scripted seam. The stage then
// performs its answer, too.
func IsScripted(ctx context.Context) bool { return ctx.Value(scriptedKey{}) != nil }

// ask performs the beginning of a recorded ask, without asking anything of the world.
func (s *Stage) ask(ctx context.Context, x *adk.Crossing) {
	request := func() (json.RawMessage, error) { return x.JSON, nil }
	if x.Flag { // the ask used a context that the abort did not end
		ctx = context.WithoutCancel(ctx)
	}
	exchange, err := adk.OpenExchange(scripted(ctx), x.Name, request, adk.AskOptions{Effect: adk.Effect(x.Status), AfterAbort: x.Flag})
	if err != nil {
		s.director.Answered(x, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanges[x.Op] = exchange
}

// answers performs a piece of a recorded ask that has begun, or its end.
func (s *Stage) answers(x *adk.Crossing, tell func(*adk.Exchange, *adk.Crossing)) {
	s.mu.Lock()
	exchange := s.exchanges[x.Op]
	if x.Phase == adk.Done { // a turn may ask a million times
		delete(s.exchanges, x.Op)
	}
	s.mu.Unlock()
	if exchange == nil {
		return
	}
	tell(exchange, x)
	if x.Phase == adk.Done { // the answer was performed and is compared at its crossings; nothing waits for it any more
		s.director.Answered(x, x.Err)
	}
}

// passesBy repeats the report that a request bypassed the engine.
func passesBy(ctx context.Context, x *adk.Crossing) {
	of, why, _ := strings.Cut(x.Text, ": ")
	_ = adk.PassBy(scripted(ctx), of, why)
}

// Unanswered returns the answer to an ask that has no answer in the recording.
func Unanswered() *adk.Answer { return &adk.Answer{Err: ErrUnanswered} }

// errUnread is ErrUnanswered for an answer that the recording has only in part.
var errUnread error = &adk.Error{Code: adk.E_UNANSWERED, Message: "the recording has no answer to this from here on: when it was recorded, nobody read any further"}

// RecordedAnswer returns the recorded answer of an ask. The answer is Unanswered if rec is nil,
// because the ask was not recorded, or if the recording ends before the ask does.
func RecordedAnswer(rec *calls.Step) *adk.Answer {
	if rec == nil || rec.Done == nil {
		return Unanswered()
	}
	pieces, end := rec.Notes, rec.Done.Err
	if errors.Is(end, adk.E_ASK_STOPPED) || errors.Is(end, adk.E_CONTEXT_ENDED) { // the recorded code did not read on
		end = errUnread
	}
	return &adk.Answer{Value: rec.Done.JSON, Err: end, Next: func() (adk.Piece, bool) {
		if len(pieces) == 0 {
			return adk.Piece{}, false
		}
		x := pieces[0]
		pieces = pieces[1:]
		return adk.Piece{Value: x.JSON, Open: x.Flag}, true
	}}
}

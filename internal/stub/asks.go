package stub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
)

// This file makes recorded asks again, and answers those of live code.

// scriptedKey marks contexts of asks that a scripted seam makes: the recording has
// their answers.
type scriptedKey struct{}

func scripted(ctx context.Context) context.Context {
	return context.WithValue(ctx, scriptedKey{}, true)
}

// IsScripted reports whether an ask with this context is one that a scripted seam makes
// again: what it answered is performed too.
func IsScripted(ctx context.Context) bool { return ctx.Value(scriptedKey{}) != nil }

// ask performs the beginning of a recorded ask. It asks nobody.
func (s *Stage) ask(ctx context.Context, x *adk.Crossing) {
	request := func() (json.RawMessage, error) { return x.JSON, nil }
	if x.Flag { // it was asked with a context that the abort did not end
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

// answers performs a piece of a recorded ask that was begun, or its end.
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
	if x.Phase == adk.Done { // what came was told, and is compared there: nobody waits for it any more
		s.director.Answered(x, x.Err)
	}
}

// passesBy says again that somebody was asked past the trace.
func passesBy(ctx context.Context, x *adk.Crossing) {
	of, why, _ := strings.Cut(x.Text, ": ")
	_ = adk.PassBy(scripted(ctx), of, why)
}

// Unanswered is the answer to what the recording has none to.
func Unanswered() *adk.Answer { return &adk.Answer{Err: ErrUnanswered} }

// errUnread is ErrUnanswered in the midst of an answer.
var errUnread error = &adk.Error{Code: adk.E_UNANSWERED, Message: "the recording has no answer to this from here on: when it was recorded, nobody read any further"}

// RecordedAnswer is what was recorded of an ask; nil stands for one that was not, or
// whose recording ends within.
func RecordedAnswer(rec *calls.Step) *adk.Answer {
	if rec == nil || rec.Done == nil {
		return Unanswered()
	}
	pieces, end := rec.Notes, rec.Done.Err
	if errors.Is(end, adk.E_ASK_STOPPED) || errors.Is(end, adk.E_CONTEXT_ENDED) { // nobody read on
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

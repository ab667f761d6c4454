package turn

import (
	"context"
	"encoding/json"

	"github.com/adkreplay/adkreplay/adk"
)

// This file makes asks, which are answered by the turn's own data.

// ask makes an ask, and returns the error that user code gets.
func (a *actor) ask(op *Op) error {
	if op.Asked == nil {
		return nil
	}
	options := adk.AskOptions{Effect: op.Asked.Effect, AfterAbort: op.Asked.AfterAbort}
	ctx := a.ctx
	if op.Asked.AfterAbort {
		ctx = context.WithoutCancel(ctx)
	}
	if op.Asked.Answer == nil {
		for _, err := range adk.AskStream(ctx, op.Name, op.Asked.Request, op.hand, options) {
			if err != nil || op.Flag {
				return err
			}
		}
		return nil
	}
	_, err := adk.Ask(ctx, op.Name, op.Asked.Request, op.answer, options)
	return err
}

// answer plays the world for adk.Ask.
func (op *Op) answer(context.Context, json.RawMessage) (json.RawMessage, error) {
	if err := op.Cause.Err(); err != nil {
		return nil, err
	}
	return op.Asked.Answer, nil
}

// hand plays the world for adk.AskStream, which answers in pieces.
func (op *Op) hand(_ context.Context, _ json.RawMessage, give func(json.RawMessage) error) error {
	for _, piece := range op.Asked.Pieces {
		if err := give(piece); err != nil {
			return err
		}
	}
	return op.Cause.Err()
}

package adk_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// WLD-3: an upload is recorded once its request is known, and nothing of it before. Its end is recorded
// like that of any ask.
func TestUpload(t *testing.T) {
	var late *adk.Exchange
	lines := asking(t, nil, func(ctx context.Context, _ *adk.DispatchContext) {
		x := adk.OpenUpload(ctx, "files", adk.AskOptions{Effect: adk.EffectWrites})
		assert.False(t, adk.HasHandle(x.Context()))
		assert.False(t, x.Answered())
		x.Piece(json.RawMessage(`"too early"`), false)
		x.Asked(json.RawMessage(`{ "a": 1 }`), nil)
		x.Asked(json.RawMessage(`"twice"`), nil)
		x.Piece(json.RawMessage(`"stored"`), false)
		x.Done(nil, nil)
		x.Done(nil, errBoom)
		adk.OpenUpload(ctx, "files").Asked(nil, errBoom)
		late = adk.OpenUpload(ctx, "files")
	})
	assert.Equal(t, []string{`ask files {"a":1} writes`, `piece "stored"`, "done", `ask files {"$unheld":"boom"}`, "done E_CONTEXT_ENDED"}, lines)
	late.Asked(json.RawMessage(`"after the call"`), nil) // records nothing and does no harm
	late.Done(nil, nil)
}

// WLD-3, WLD-5, WLD-6: OpenUpload returns nil where the request has to be known first, or where nothing
// is recorded.
func TestNoUpload(t *testing.T) {
	assert.Nil(t, adk.OpenUpload(context.Background(), "files"), "no handle")
	asking(t, func(config *adk.Config) {
		config.Outside = func(context.Context, adk.Question) *adk.Answer { return nil }
	}, func(ctx context.Context, _ *adk.DispatchContext) {
		assert.Nil(t, adk.OpenUpload(ctx, "files"), "somebody answers in the world's place")
	})
	var ended context.Context
	asking(t, nil, func(ctx context.Context, dc *adk.DispatchContext) {
		ended = ctx
		assert.NotNil(t, adk.OpenUpload(ctx, "files"))
		assert.NoError(t, dc.Abort(errBoom))
		assert.Nil(t, adk.OpenUpload(ctx, "files"), "aborted")
	})
	assert.Nil(t, adk.OpenUpload(ended, "files"), "after the call")
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		assert.Nil(t, adk.OpenUpload(ctx, "files"), "nobody is told")
		return dc.Ack()
	})
	assert.NoError(t, newRunner(t, config).Run(context.Background(), hello))
}

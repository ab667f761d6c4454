package perform

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// Every operation has a row, and nothing else has one. The exception is an ask: it consists of several
// calls of user code, and the stub repeats it.
func TestOperations(t *testing.T) {
	for _, kind := range adk.Kinds() {
		has := int(kind) < len(operations) && operations[kind] != nil
		assert.Equal(t, kind.Class() == adk.ClassOperation && kind != adk.KindAsk, has, "%s", kind)
	}
}

// noCode is user code that has nothing to offer.
type noCode struct{ left error }

func (noCode) Tool(adk.Handle, *adk.Crossing) (*adk.Tool, bool) { return nil, false }
func (noCode) Strand(*adk.Crossing) *adk.Strand                 { return nil }
func (noCode) Off(*adk.Crossing) func()                         { return nil }
func (c noCode) Code(*adk.Crossing) func(context.Context, Handle) error {
	return func(context.Context, Handle) error { return c.left }
}

// inExecutor calls do with the handle of an executor.
func inExecutor(t *testing.T, do func(ctx context.Context, h Handle)) {
	t.Helper()
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model",
		Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			do(ctx, Handle{Dispatch: dc})
			return dc.Ack()
		}}}
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be kind."}))
}

// A handle without a context performs nothing, and neither does a kind that is no operation.
func TestNothingToPerformWith(t *testing.T) {
	for _, kind := range append(adk.Kinds(), 0, 255) {
		_, could := Perform(t.Context(), Handle{}, &adk.Crossing{Kind: kind}, noCode{})
		assert.False(t, could, "%s", kind)
	}
	call, strand := Handle{}.Where()
	assert.Zero(t, call+strand)
	assert.Nil(t, Handle{}.Source())
}

// If user code lacks what an operation needs, the operation is not performed.
func TestWhatUserCodeLacks(t *testing.T) {
	inExecutor(t, func(ctx context.Context, h Handle) {
		for _, kind := range []adk.Kind{adk.KindNext, adk.KindRegister, adk.KindExecute, adk.KindWait, adk.KindOffAck, adk.KindOpenMedia, adk.KindAdd} {
			_, could := Perform(ctx, h, &adk.Crossing{Kind: kind}, noCode{})
			assert.False(t, could, "%s", kind)
		}
		memory := fakes.NewTool("weather", "Tells the weather.", "4 °C").Tool()
		_, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindAdd, Collection: adk.Messages, Record: memory}, noCode{})
		assert.False(t, could, "a tool is no message")
	})
}

// Perform returns the engine's answer.
func TestAnswers(t *testing.T) {
	inExecutor(t, func(ctx context.Context, h Handle) {
		made, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindNewID}, noCode{})
		assert.True(t, could)
		assert.NotEmpty(t, made.ID)
		refused, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindAdd, Collection: adk.Messages}, noCode{})
		assert.True(t, could, "no record is a nil one")
		assert.Error(t, refused.Err)
		failed := errors.New("the strand failed")
		forked, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindFork, Name: "one"}, noCode{failed})
		assert.True(t, could)
		assert.ErrorIs(t, forked.Strand.Wait(), failed)
		_, could = Perform(ctx, h, &adk.Crossing{Kind: adk.KindReportMessage, Name: "m1", Text: "Hello", Flag: true}, noCode{})
		assert.True(t, could)
	})
}

// An operation that returns nothing is marked as silent, so that a missing error is not compared with the
// recording. All others return something.
func TestSilentOperations(t *testing.T) {
	inExecutor(t, func(ctx context.Context, h Handle) {
		logged, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindReportLog, Key: string(adk.LevelInfo)}, noCode{})
		assert.True(t, could)
		assert.Equal(t, silent, logged)
		h.Next = func(context.Context) {}
		passed, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindNext}, noCode{})
		assert.True(t, could)
		assert.Equal(t, silent, passed)
		told, could := Perform(ctx, h, &adk.Crossing{Kind: adk.KindStash, Name: "draft"}, noCode{})
		assert.True(t, could)
		assert.False(t, told.Silent)
	})
}

// The cause ends the context of the dispatch, and no other context.
func TestDispatchOfAnEndedContext(t *testing.T) {
	inExecutor(t, func(ctx context.Context, h Handle) {
		gone := errors.New("the caller has left")
		end, _ := Dispatch(ctx, gone, adk.DispatchInput{Name: "late", Source: h.Source(), Executor: fakes.Script{{fakes.Ack()}}.Executor("model")})
		assert.Equal(t, adk.StatusAborted, end.Status)
		assert.Zero(t, end.Iterations)
		assert.NoError(t, ctx.Err())
	})
}

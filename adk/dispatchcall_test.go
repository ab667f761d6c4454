package adk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// planner is a dispatch whose script has one iteration.
func planner(steps ...fakes.Step) adk.DispatchInput {
	return adk.DispatchInput{Name: "planner", Executor: fakes.Script{steps}.Executor("planner-model")}
}

// alone is a raw context whose storage stores nothing.
func alone() *adk.RawDispatch {
	return &adk.RawDispatch{SystemPrompt: "Plan.", Storage: fakes.NoOpStorage()}
}

// callingTurn runs a turn whose input middleware calls do.
func callingTurn(t *testing.T, do func(ctx context.Context, tc *adk.TurnContext)) (events []string) {
	runner, err := adk.NewRunner(adk.Config{
		Executor: fakes.Script{{fakes.Ack()}}.Executor("model"),
		Storage:  fakes.NoOpStorage(),
		TurnInput: []adk.TurnMiddleware{{Name: "caller", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			do(ctx, tc)
			next(ctx)
			return nil
		}}},
	})
	require.NoError(t, err)
	runner.Observe(adk.Observability{
		DispatchEnd: func(e adk.DispatchEnd) { events = append(events, "dispatchEnd "+e.Status) },
		Error:       func(e adk.ErrorEvent) { events = append(events, "error "+string(e.Error.Code)) },
	})
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	return events
}

// DSP-1: an input with both a source and a raw context, or with neither, is invalid.
// DSP-12: an invalid input or raw context fails with its code, the error names every fault, and
// no event is emitted.
func TestDispatchRefusesInvalidInput(t *testing.T) {
	heard := 0
	listening := alone()
	listening.SystemPrompt = ""
	listening.Storage.Messages = nil
	listening.Observability.DispatchStart = func(adk.DispatchStart) { heard++ }
	for name, c := range map[string]struct {
		in    adk.DispatchInput
		code  adk.Code
		texts []string
	}{
		"nothing":        {adk.DispatchInput{}, adk.E_INVALID_LLM_DISPATCH_INPUT, []string{"Name", "Executor.Name", "Executor.Run", "neither Source nor Raw"}},
		"both":           {adk.DispatchInput{Name: "x", Executor: planner().Executor, Source: &adk.TurnContext{}, Raw: alone()}, adk.E_INVALID_LLM_DISPATCH_INPUT, []string{"both Source and Raw"}},
		"empty source":   {adk.DispatchInput{Name: "x", Executor: planner().Executor, Source: &adk.TurnContext{}}, adk.E_INVALID_LLM_DISPATCH_INPUT, []string{"Source is no context of a turn"}},
		"nil middleware": {adk.DispatchInput{Name: "x", Executor: planner().Executor, Raw: alone(), Input: []adk.DispatchMiddleware{{}}}, adk.E_INVALID_LLM_DISPATCH_INPUT, []string{"Input[0].Run", "Input[0].Name"}},
		"raw":            {adk.DispatchInput{Name: "x", Executor: planner().Executor, Raw: listening}, adk.E_INVALID_LLM_EXECUTION_CONTEXT, []string{"SystemPrompt", "Storage.Messages"}},
	} {
		t.Run(name, func(t *testing.T) {
			end, err := adk.Dispatch(t.Context(), c.in)
			require.ErrorIs(t, err, c.code)
			assert.Zero(t, end)
			for _, text := range c.texts {
				assert.Contains(t, err.Error(), text)
			}
		})
	}
	assert.Zero(t, heard)
}

// DSP-1: within a turn the dispatch sees what the turn sees, and flushes to it.
// DSP-7: a failed dispatch emits one error event, whoever called it.
// DSP-8: after a nack Dispatch returns the end and the error; after an ack or abort it returns no error.
func TestDispatchInTurn(t *testing.T) {
	errPlan := errors.New("no plan")
	events := callingTurn(t, func(ctx context.Context, tc *adk.TurnContext) {
		require.NoError(t, tc.Stash().Set("city", "Oslo"))
		in := planner(fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			assert.Equal(t, "Oslo", dc.Stash().Get("city", nil))
			assert.Equal(t, tc.TurnID(), dc.TurnID())
			return nil
		}), fakes.Say("A plan.").As("plan"), fakes.Ack())
		in.Source = tc
		end, err := adk.Dispatch(ctx, in)
		require.NoError(t, err)
		assert.Equal(t, adk.StatusAck, end.Status)
		assert.Equal(t, 1, end.Iterations)
		assert.True(t, tc.Messages().Has("plan"))

		in = planner(fakes.Say("A bad plan.").As("bad"), fakes.Nack(errPlan))
		in.Source = tc
		end, err = adk.Dispatch(ctx, in)
		assert.Same(t, errPlan, err)
		assert.Equal(t, err, end.Error)
		assert.Equal(t, adk.StatusNack, end.Status)
		assert.False(t, tc.Messages().Has("bad"))
	})
	assert.Equal(t, []string{"dispatchEnd ack", "error E_LLM_EXECUTION_NACKED", "dispatchEnd nack", "dispatchEnd ack"}, events)
}

// DSP-7, DSP-8: a stage that returns the error of a nacked dispatch fails itself. There are two error
// events, one for the dispatch and one for the stage.
func TestReturnedNackIsAFailureOfItsOwn(t *testing.T) {
	config, heard := newConfig(), &outcome{}
	config.TurnInput = []adk.TurnMiddleware{{Name: "plans", Run: func(ctx context.Context, tc *adk.TurnContext, _ adk.Next) error {
		in := planner(fakes.Nack(errBoom))
		in.Source = tc
		_, err := adk.Dispatch(ctx, in)
		return err
	}}}
	runTurn(t, config, heard.watch(hello))
	require.Len(t, heard.errors, 2)
	assert.Equal(t, adk.E_LLM_EXECUTION_NACKED, heard.errors[0].Error.Code)
	assert.Equal(t, heard.ends[0].DispatchID, heard.errors[0].DispatchID)
	assert.Equal(t, adk.E_INPUT_PIPELINE_ERROR, heard.errors[1].Error.Code)
	assert.Equal(t, "plans", heard.errors[1].Error.Name)
	assert.Empty(t, heard.errors[1].DispatchID)
	assert.Same(t, errBoom, heard.errors[1].Error.Cause)
}

// ABT-12: an abort in a dispatch of a turn aborts the turn.
func TestAbortInADispatchOfATurnAbortsTheTurn(t *testing.T) {
	events := callingTurn(t, func(ctx context.Context, tc *adk.TurnContext) {
		in := planner(fakes.Abort(errors.New("enough")))
		in.Source = tc
		end, err := adk.Dispatch(ctx, in)
		assert.NoError(t, err)
		assert.Equal(t, adk.StatusAborted, end.Status)
		assert.True(t, tc.Aborted())
	})
	assert.Equal(t, []string{"dispatchEnd aborted"}, events)
}

// ABT-12, ABT-11: a dispatch whose own context has ended runs no iteration and is aborted, and the
// turn goes on.
func TestDispatchWithAnEndedContext(t *testing.T) {
	ends := map[string]func(context.Context) (context.Context, func()){
		"cancelled": func(ctx context.Context) (context.Context, func()) {
			below, cancel := context.WithCancelCause(ctx)
			cancel(errBoom)
			return below, func() {}
		},
		"deadline": func(ctx context.Context) (context.Context, func()) {
			below, cancel := context.WithDeadlineCause(ctx, time.Unix(0, 0), errBoom)
			return below, cancel
		},
	}
	for name, ended := range ends {
		t.Run(name, func(t *testing.T) {
			events := callingTurn(t, func(ctx context.Context, tc *adk.TurnContext) {
				in := planner(fakes.Ack())
				in.Source = tc
				below, release := ended(ctx)
				defer release()
				end, err := adk.Dispatch(below, in)
				assert.NoError(t, err, "DSP-8")
				assert.Equal(t, adk.StatusAborted, end.Status)
				assert.Same(t, errBoom, end.Error)
				assert.Zero(t, end.Iterations)
				assert.False(t, tc.Aborted())
			})
			assert.Equal(t, []string{"dispatchEnd aborted", "dispatchEnd ack"}, events)
		})
	}
}

// DET-5: a context cannot be the source of a dispatch after its seam call has ended.
func TestDispatchOnAnEndedContext(t *testing.T) {
	var kept *adk.TurnContext
	callingTurn(t, func(_ context.Context, tc *adk.TurnContext) { kept = tc })
	in := planner(fakes.Ack())
	in.Source = kept
	_, err := adk.Dispatch(t.Context(), in)
	assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
}

// DSP-8, EVT-5: a standalone dispatch emits its events to the listeners in its raw context only, and the
// events have no turn id.
// DEL-5: what it stores goes to the storage, and is flushed to no parent.
func TestDispatchAlone(t *testing.T) {
	storage := fakes.NewStorage()
	raw := &adk.RawDispatch{SystemPrompt: "Plan.", Storage: storage.Storage(), Instructions: []string{"Be brief."},
		Stash: map[string]any{"depth": 2}, Clock: fakes.NewClock(), IDs: fakes.NewIDs()}
	var heard []string
	raw.Functional.Message = func(e adk.MessageEvent) { heard = append(heard, "message "+e.TurnID+e.Full) }
	raw.Observability.DispatchEnd = func(e adk.DispatchEnd) { heard = append(heard, "end "+e.TurnID+e.Status) }
	in := planner(fakes.Do(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		assert.Equal(t, 2, dc.Stash().Get("depth", nil))
		assert.Equal(t, 1, dc.Instructions().Len())
		return nil
	}), fakes.Say("A plan.").As("plan"), fakes.Ack())
	in.Raw = raw
	end, err := adk.Dispatch(t.Context(), in)
	require.NoError(t, err)
	assert.Equal(t, adk.StatusAck, end.Status)
	assert.Equal(t, []string{"message A plan.", "end ack"}, heard)
	assert.Len(t, storage.Messages(), 1)
}

// ABT-12: an abort in a standalone dispatch aborts that dispatch. A standalone dispatch whose context
// is cancelled already runs no user code.
func TestDispatchAloneAborts(t *testing.T) {
	in := planner(fakes.Abort(errors.New("enough")))
	in.Raw = alone()
	end, err := adk.Dispatch(t.Context(), in)
	assert.NoError(t, err)
	assert.Equal(t, adk.StatusAborted, end.Status)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in = planner(fakes.Panic("user code ran"))
	in.Raw = alone()
	end, err = adk.Dispatch(ctx, in)
	assert.NoError(t, err)
	assert.Equal(t, adk.StatusAborted, end.Status)
	assert.Zero(t, end.Iterations)
}

// DSP-10: without gate support, waiting in a standalone dispatch fails. With gate support, a
// listener can settle the gate.
func TestGatesOfADispatchAlone(t *testing.T) {
	in := planner(fakes.WaitFor(adk.Gate{ID: "g", Reason: "may I?"}), fakes.Ack())
	in.Raw = alone()
	end, err := adk.Dispatch(t.Context(), in)
	assert.ErrorIs(t, err, adk.E_LLM_EXECUTION_GATE_NOT_SUPPORTED)
	assert.Equal(t, adk.StatusNack, end.Status)

	in.Raw = alone()
	in.Raw.Gates = true
	in.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("test", nil) }
	end, err = adk.Dispatch(t.Context(), in)
	assert.NoError(t, err)
	assert.Equal(t, adk.StatusAck, end.Status)
}

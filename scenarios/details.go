package scenarios

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// details are turns about what is easily lost: a time, a cause, one of two errors.
var details = []Scenario{
	{
		Name:  "ticking-clock",
		About: "a clock that moves with every reading: a crossing has a time of its own, and an event that of what caused it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Let me look.", "It is 4 °C."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Think("They want to know."), fakes.Stream("Let me ", "look."), fakes.Call("weather", `{"city":"Oslo"}`)},
				{fakes.Log(adk.LevelInfo, "tokens", "counted", map[string]any{"in": 12.0, "out": 4.0}), fakes.Wait(time.Second), fakes.Say("It is 4 °C."), fakes.Ack()},
			}
			config := agent(script, "How warm is it in Oslo?", weather("4 °C"))
			config.Clock = fakes.NewTickingClock(time.Millisecond)
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "waits-cut-short",
		About: "a sleep and a gate whose own context ends say why, and the turn goes on; when the turn is aborted a third wait says that",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Said: []string{"I am waiting."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Say("I am waiting."), fakes.Do(waitInVain)}}
			return agent(script, "Wait for me."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-with-errors",
		About: "an executor aborts, nacks and fails: the dispatch ends as aborted with both errors, and no error is told",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Abort(errLeft), fakes.Nack(errors.New("no answer")), fakes.Fail(errors.New("the model hung up"))}}
			return agent(script, "Go away."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "failures-of-one-pass",
		About: "two middlewares fail around one that nacks: one error is told, with all that went wrong",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_DISPATCH_PIPELINE_ERROR}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.DispatchInput = []adk.DispatchMiddleware{failing("log", errors.New("the log is full")), failing("metrics", errors.New("no metrics")),
				dispatchStep("policy", func(dc *adk.DispatchContext) error { return dc.Nack(errors.New("not today")) })}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-on-the-way-out",
		About: "a middleware aborts and panics, and the two around it fail: the dispatch ends with all of it, and the panic alone is told",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Errors: []adk.Code{adk.E_DISPATCH_PIPELINE_ERROR}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(answer("Never said."), "Hello?")
			config.DispatchInput = []adk.DispatchMiddleware{failing("log", errors.New("the log is full")), failing("metrics", errors.New("no metrics")),
				dispatchStep("policy", func(dc *adk.DispatchContext) error {
					_ = dc.Abort(errLeft) // cannot fail: the handle is its own
					panic("the policy is gone")
				})}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "bounded-arguments",
		About: "every bound of a tool's schema refuses what is beyond it; what is left out has its default",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Booked."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Call("book", `{"seats":0,"nights":1,"price":0.5,"rooms":["attic"]}`),
				fakes.Call("book", `{"seats":2.5,"nights":1,"price":0.5,"rooms":["attic"]}`),
				fakes.Call("book", `{"seats":1,"nights":1,"price":1.5,"rooms":["attic"]}`),
				fakes.Call("book", `{"seats":1,"nights":1,"price":-0.5,"rooms":["attic"]}`),
				fakes.Call("book", `{"seats":1,"nights":1,"price":0.5,"rooms":[7]}`),
				fakes.Call("book", `{"seats":1,"nights":1,"price":0.5,"rooms":["attic"],"view":"sea"}`),
				fakes.Call("book", `{"seats":1,"price":0.5}`),
				fakes.Call("book", `{"seats":1,"nights":2,"price":1,"rooms":[]}`),
			}, {fakes.Say("Booked."), fakes.Ack()}}
			return agent(script, "Book me something.", bookTool()), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "reported-in-pieces",
		About: "a tool call is reported as it comes: its arguments change, and with them its checksum; a failure is not taken back",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Do(reportInPieces), fakes.Ack()}}
			return agent(script, "Look it up."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "gate-with-defaults",
		About: "what a form leaves out has its default when the waiter gets it; a settlement that comes too late is told so",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				value, err := dc.WaitFor(ctx, adk.Gate{ID: "form", Reason: "how many?", Timeout: time.Hour, Payload: map[string]any{"most": 4.0},
					Schema: []byte(`{"type":"object","properties":{"seats":{"type":"integer","default":2},"name":{"type":"string"}},"required":["name"]}`)})
				if err != nil {
					return err
				}
				return dc.Stash().Set("form", value)
			}), fakes.Ack()}}
			turn := adk.RawTurn{SystemPrompt: prompt}
			turn.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
				_, _ = e.Gate.Resolve("form", map[string]any{"name": "Ada"})
				_, _ = e.Gate.Resolve("form", map[string]any{"name": "Grace"}) // too late: it changes nothing
			}
			return agent(script, "Book seats."), turn
		},
	},
	{
		Name:  "housekeeping",
		About: "what is not there is removed for nothing, nil in a stash's tree is nothing, and of three on-ack handlers the two that are left run in order",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Tidy."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Do(tidyUp)}, {fakes.Say("Tidy."), fakes.Do(registerHandlers), fakes.Ack()}}
			return agent(script, "Tidy up."), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "nack-without-words",
		About: "a nack without an error has a code all the same, and the dispatch ends with it",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_NACKED}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			return agent(fakes.Script{{fakes.Nack(nil)}}, "Well?"), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "write-behind-aborted",
		About: "the caller leaves while put-off changes are stored: the storage that is at it ends, and the next is not called",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1, Said: []string{"One.", "Two."}},
		Build: func(outside Outside) (adk.Config, adk.RawTurn) {
			config := agent(fakes.Script{{fakes.Say("One."), fakes.Say("Two."), fakes.Ack()}}, "Say two things.")
			config.WriteBehind = true
			config.Storage.Messages = leaving{config.Storage.Messages, outside}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// failing makes a middleware that calls next and then fails.
func failing(name string, err error) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, _ *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		return err
	}}
}

// waitInVain waits three times for something that does not happen.
func waitInVain(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	scrolled, end := context.WithCancelCause(ctx)
	end(errors.New("the user scrolled on"))
	slept := dc.Sleep(scrolled, time.Minute)
	_, asked := dc.WaitFor(scrolled, adk.Gate{ID: "still-there", Reason: "are you still there?", Timeout: time.Hour})
	h.Log(adk.LevelInfo, "waits", errors.Join(slept, asked).Error(), nil)
	if _, err := dc.Fork(ctx, "clock", func(ctx context.Context, dc *adk.DispatchContext) error {
		if err := dc.Sleep(ctx, time.Minute); err != nil {
			return err
		}
		return dc.Abort(errLeft)
	}); err != nil {
		return err
	}
	return dc.Sleep(ctx, time.Hour)
}

// bookTool is made once, because compiling its schema takes longer than running a turn.
var bookTool = sync.OnceValue(func() *adk.Tool {
	return must(adk.NewTool(adk.ToolInit{
		Name: "book", Description: "Books a hotel.", Effect: adk.EffectReads,
		InputSchema: []byte(`{"type":"object","additionalProperties":false,"required":["seats","nights","price"],"properties":{
			"seats":{"type":"integer","minimum":1},"nights":{"type":"integer","minimum":1,"maximum":30},
			"price":{"type":"number","minimum":0,"maximum":1},"rooms":{"type":"array","items":{"type":"string"}},
			"meal":{"type":"string","enum":["none","breakfast"],"default":"breakfast"}}}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("booked"), nil
		},
	}))
})

// reportInPieces reports one tool call in several reports, and stores it.
func reportInPieces(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	for _, piece := range []adk.ToolCallReport{
		{Tool: "search"},
		{Args: map[string]any{"query": "Oslo"}},
		{Args: map[string]any{"query": "Oslo weather"}},
		{Results: adk.Text("no such page"), IsError: true},
		{Complete: true},
	} {
		if _, err := h.ReportToolCall("call1", piece); err != nil {
			return err
		}
	}
	return dc.ToolCalls().Store(ctx, must(adk.NewToolCall(adk.ToolCallInit{ID: "call1", Tool: "search", Args: map[string]any{"query": "Oslo weather"},
		Results: adk.Text("no such page"), IsError: true, CreatedAt: dc.Now(), UpdatedAt: dc.Now(), CompletedAt: dc.Now()})))
}

// tidyUp removes things that do not exist, and stores a memory that has changed.
func tidyUp(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
	stashed := dc.Stash().Set("room", map[string]any{"key": nil, "lamp": map[string]any{"on": nil}, "cat": "asleep"})
	_, gone := dc.Memories().Remove("nowhere")
	_, never := dc.Tools().Unregister("nothing")
	init := remembered("room", "The room is tidy.").Init()
	init.UpdatedAt = fakes.Epoch
	return errors.Join(stashed, gone, never, dc.Memories().Store(ctx, must(adk.NewMemory(init))))
}

// registerHandlers registers three handlers and removes the second.
func registerHandlers(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
	for _, name := range []string{"first", "second", "third"} {
		off, err := dc.OnAck(name, func(_ context.Context, dc *adk.DispatchContext) { _ = dc.Stash().Set("acked."+name, true) })
		if err != nil {
			return err
		}
		if name == "second" {
			off()
		}
	}
	return nil
}

// leaving is a storage of messages. The caller of the turn leaves while it stores.
type leaving struct {
	adk.Collection[*adk.Message]
	outside Outside
}

// Store ends the context of the turn, and then stores.
func (l leaving) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	l.outside.Cancel(errLeft)
	return l.Collection.Store(ctx, scope, m)
}

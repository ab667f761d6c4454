package scenarios

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var signals = []Scenario{
	{
		Name:  "iteration-cap",
		About: "the loop has no bound of its own: a dispatch input middleware nacks the third iteration, and what it had stored stays out of the turn",
		Must:  Ending{Dispatch: adk.StatusNack, Iterations: 3, Errors: []adk.Code{adk.E_LLM_EXECUTION_NACKED}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("peek", nil)},
				{fakes.Call("peek", nil)},
			}
			config := agent(script, "Read the whole file.")
			config.DispatchInput = []adk.DispatchMiddleware{forge(fakesPeek()), noting, cap(2)}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "quality-gate",
		About: "an executor that never acks, and a dispatch output middleware that refuses two answers and acks the third",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"Dunno.", "Maybe four?", "2 + 2 = 4."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{fakes.Say("Dunno.")}, {fakes.Say("Maybe four?")}, {fakes.Say("2 + 2 = 4.")}}
			config := agent(script, "What is 2 + 2?")
			config.DispatchOutput = []adk.DispatchMiddleware{quality}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "refused-answer",
		About: "a dispatch output middleware nacks: the iteration ends, and what it stored stays out of the turn",
		Must: Ending{Dispatch: adk.StatusNack, Iterations: 1, Errors: []adk.Code{adk.E_LLM_EXECUTION_NACKED},
			Said: []string{"I would rather not say."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(fakes.Script{{fakes.Say("I would rather not say.")}}, "Tell me a secret.")
			config.DispatchOutput = []adk.DispatchMiddleware{{Name: "review", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				next(ctx)
				return dc.Nack(errors.New("no answer at all"))
			}}}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "late-signal",
		About: "the first signal stands: a second one is an error to whoever gives it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"Yes."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{{
				fakes.Say("Yes."), fakes.Ack(),
				fakes.Do(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					if err := dc.Nack(errors.New("changed my mind")); err != nil {
						h.Log(adk.LevelWarn, "signal", err.Error(), nil)
					}
					return nil
				}),
			}}
			return agent(script, "Yes or no?"), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "loud-listener",
		About: "a listener that panics disturbs nobody; the trace says that it did",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"All is well."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			turn := adk.RawTurn{SystemPrompt: prompt}
			turn.Functional.Message = func(adk.MessageEvent) { panic("the screen is gone") }
			return agent(answer("All is well."), "How are you?"), turn
		},
	},
}

func fakesPeek() *adk.Tool {
	tool := fakes.NewTool("peek", "Gives the next line of the file.", "once upon a time", "there was a loop")
	tool.Init.Ephemeral = true
	return tool.Tool()
}

// noting stores a note at the start of every iteration, even of the one that is refused.
var noting = adk.DispatchMiddleware{Name: "note", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	id := "note" + string(rune('0'+dc.Iteration()))
	if err := dc.Memories().Store(ctx, remembered(id, "An iteration began.")); err != nil {
		return err
	}
	next(ctx)
	return nil
}}

// cap makes a middleware that nacks once the model was asked most times.
func cap(most int) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: "cap", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if dc.Iteration() >= most {
			return dc.Nack(errors.New("too many iterations"))
		}
		next(ctx)
		return nil
	}}
}

// quality acks an answer that is a whole sentence with a number in it.
var quality = adk.DispatchMiddleware{Name: "quality", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	messages := dc.Messages().All()
	last := messages[len(messages)-1].Content().String()
	if last == "2 + 2 = 4." {
		if err := dc.Ack(); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

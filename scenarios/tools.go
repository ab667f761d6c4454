package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

var toolUses = []Scenario{
	{
		Name:  "tool-round-trip",
		About: "the model asks for a tool, sees its result in the next iteration, and answers",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"It is 4 °C and raining in Oslo."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("weather", `{"city":"Oslo"}`)},
				{fakes.Say("It is 4 °C and raining in Oslo."), fakes.Ack()},
			}
			return agent(script, "What is the weather in Oslo?", weather("4 °C, rain")), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "parallel-tools",
		About: "three tools of one iteration run in strands; each result finds its own call",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"Oslo 4 °C, Rome 21 °C, Lima 18 °C."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Parallel(
					fakes.Call("weather", map[string]any{"city": "Oslo"}),
					fakes.Call("weather", map[string]any{"city": "Rome"}),
					fakes.Call("weather", map[string]any{"city": "Lima"}),
				)},
				{fakes.Say("Oslo 4 °C, Rome 21 °C, Lima 18 °C."), fakes.Ack()},
			}
			return agent(script, "Compare the weather of Oslo, Rome and Lima.", slowWeather()), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "tool-failure",
		About: "a tool fails; the model is told, and finds another way",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"The weather service is down, I am afraid."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("weather", `{"city":"Oslo"}`)},
				{fakes.Say("The weather service is down, I am afraid."), fakes.Ack()},
			}
			return agent(script, "What is the weather in Oslo?", weather(errors.New("503 from the weather service"))), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "invalid-arguments",
		About: "arguments that the schema refuses run nothing; the model is told every offending path and tries again",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"It is 4 °C in Oslo."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("weather", `{"town":"Oslo","days":3}`)},
				{fakes.Call("weather", `{"city":"Oslo"}`)},
				{fakes.Say("It is 4 °C in Oslo."), fakes.Ack()},
			}
			return agent(script, "What is the weather in Oslo?", weather("4 °C")), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "ephemeral-tools",
		About: "a tool for this dispatch only: registered by a middleware, pruned by the ack",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"The first line is: once upon a time."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("peek", nil)},
				{fakes.Say("The first line is: once upon a time."), fakes.Ack()},
			}
			config := agent(script, "How does the file begin?", weather())
			config.DispatchInput = []adk.DispatchMiddleware{forge(peek("once upon a time"))}
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// slowWeather makes a tool that takes longer, on the turn's clock, for cities that are farther
// away.
func slowWeather() *adk.Tool {
	type report struct {
		takes time.Duration
		text  string
	}
	reports := map[string]report{
		"Oslo": {30 * time.Millisecond, "4 °C"},
		"Rome": {10 * time.Millisecond, "21 °C"},
		"Lima": {20 * time.Millisecond, "18 °C"},
	}
	return weather().WithHandler(func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		city, _ := args["city"].(string)
		if err := dc.Sleep(ctx, reports[city].takes); err != nil {
			return nil, err
		}
		return adk.Text(reports[city].text), nil
	})
}

// peek makes an ephemeral tool.
func peek(line string) *adk.Tool {
	tool := fakes.NewTool("peek", "Gives the first line of the file.", line)
	tool.Init.Ephemeral = true
	return tool.Tool()
}

// forge registers a tool in the dispatch, and binds the registry to the dispatch's ack.
func forge(tool *adk.Tool) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: "forge", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if dc.Iteration() == 0 {
			if err := dc.Tools().Register(tool); err != nil {
				return err
			}
			if _, err := dc.Tools().Bind(); err != nil {
				return err
			}
		}
		next(ctx)
		return nil
	}}
}

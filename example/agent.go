// Package agent is a weather assistant on adkreplay, small enough to copy: a prompt, four
// middlewares, a tool, a storage, and the options of the executor that asks a model. Its tests
// check it against recorded turns.
//
// Read it in the order of a turn: Config puts the parts together, middleware.go loads what the turn
// needs and ends the turn when there is an answer, model.go says how to ask the model, tool.go is
// the tool that the model calls, and storage.go keeps what was said.
package agent

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
)

// prompt is the system prompt.
const prompt = "You are a weather assistant. Be brief. Name the city and the day. " +
	"Ask for a forecast before you speak of the weather. If a city is not known, say so and ask which one was meant."

// Outside is what the agent talks to. Programs put their clients here. A replay calls none of them:
// their answers are in the trace.
type Outside struct {
	Model     chat.Options // made by the function Model
	Forecasts Forecasts
	Storage   *Storage
}

// Forecasts is the weather service.
type Forecasts func(ctx context.Context, q Query) (string, error)

// Query is a question to the weather service.
type Query struct {
	City  string `json:"city"`
	Days  int    `json:"days"`
	Units string `json:"units"`
}

// ErrNoSuchCity is the error of Forecasts for a city that it does not know. Asking again does not
// help.
var ErrNoSuchCity = errors.New("no such city")

// Config makes the config of the agent.
func Config(o Outside) (adk.Config, error) {
	model, err := chat.New(o.Model)
	if err != nil {
		return adk.Config{}, err
	}
	forecast, err := forecastTool(o.Forecasts)
	if err != nil {
		return adk.Config{}, err
	}
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{
			{Name: "history", Run: history},
			{Name: "profile", Run: profile},
		},
		DispatchInput: []adk.DispatchMiddleware{
			{Name: "cap", Run: limit},
		},
		Executor: model.Executor("model"),
		DispatchOutput: []adk.DispatchMiddleware{
			{Name: "finish", Run: finish},
		},
		Tools:   []*adk.Tool{forecast},
		Storage: o.Storage.Obligations(),
	}, nil
}

// Turn makes the raw turn. The user's question is in the storage already.
func Turn() adk.RawTurn { return adk.RawTurn{SystemPrompt: prompt} }

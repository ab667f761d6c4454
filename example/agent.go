// Package agent is a weather assistant on adkreplay, small enough to copy: a
// prompt, four middlewares, a tool, a storage, and the options of the executor
// that asks a model. Its tests hold it against recorded turns.
//
// Read it in the order of a turn: Config puts the parts together, middleware.go
// loads what the turn needs and says when it is done, model.go says how the model
// is asked, tool.go does the work of the tool that it wants, storage.go keeps what
// was said.
package agent

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
)

// prompt is what the model is told first.
const prompt = "You are a weather assistant. Be brief. Name the city and the day. " +
	"Ask for a forecast before you speak of the weather. If a city is not known, say so and ask which one was meant."

// Outside is what the agent talks to. Programs put their clients here. A replay asks
// none of them: what they said is in the trace.
type Outside struct {
	Model     chat.Options // Model makes them
	Forecasts Forecasts
	Storage   *Storage
}

// Forecasts is the weather service.
type Forecasts func(ctx context.Context, q Query) (string, error)

// Query is what the weather service is asked.
type Query struct {
	City  string `json:"city"`
	Days  int    `json:"days"`
	Units string `json:"units"`
}

// ErrNoSuchCity is what Forecasts answers for a city that it does not know.
// Asking again does not help.
var ErrNoSuchCity = errors.New("no such city")

// Config is the agent.
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

// Turn is what a turn begins with. What the user asks is in the storage before.
func Turn() adk.RawTurn { return adk.RawTurn{SystemPrompt: prompt} }

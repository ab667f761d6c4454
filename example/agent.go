// Package agent is a weather assistant on adkreplay, small enough to copy: a
// prompt, three middlewares, a tool, a storage, and an executor that asks a
// model. Its tests hold it against recorded turns.
//
// Read it in the order of a turn: Config puts the parts together, middleware.go
// loads what the turn needs, executor.go asks the model of model.go and runs the
// tools it wants, tool.go does their work, storage.go keeps what was said.
package agent

import (
	"context"
	"errors"

	"github.com/adkreplay/adkreplay/adk"
)

// prompt is what the model is told first.
const prompt = "You are a weather assistant. Be brief. Name the city and the day. " +
	"Ask for a forecast before you speak of the weather. If a city is not known, say so and ask which one was meant."

// Outside is what the agent talks to. Programs put their clients here. A replay asks
// none of them: what they said is in the trace.
type Outside struct {
	Model     *Model
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
		Executor: adk.Executor{Name: "model", Run: think(o.Model)},
		Tools:    []*adk.Tool{forecast},
		Storage:  o.Storage.Obligations(),
	}, nil
}

// Turn is what a turn begins with. What the user asks is in the storage before.
func Turn() adk.RawTurn { return adk.RawTurn{SystemPrompt: prompt} }

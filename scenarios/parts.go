package scenarios

import (
	"context"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// This file holds the parts from which the scenarios are made.

// must is for records that are written in the code and cannot be wrong.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// earlier is the time at which the records that a turn finds were stored.
var earlier = fakes.Epoch.Add(-time.Hour)

// asked makes a message of the user, for the storage.
func asked(id, text string) *adk.Message {
	return must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: earlier, UpdatedAt: earlier}))
}

// answered makes an earlier message of the assistant.
func answered(id, text string) *adk.Message {
	return must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: text, CreatedAt: earlier, UpdatedAt: earlier}))
}

// remembered makes a memory, for the storage or to be written by a turn.
func remembered(id, text string) *adk.Memory {
	return must(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(0.9), Importance: new(0.5), CreatedAt: earlier, UpdatedAt: earlier}))
}

// prompt is the system prompt of most scenarios.
const prompt = "You are a helpful assistant."

// agent makes the config with which most scenarios begin: a script instead of a model, a storage
// with one question, and a middleware that loads it.
func agent(script fakes.Script, question string, tools ...*adk.Tool) adk.Config {
	return adk.Config{
		Executor:  script.Executor("model"),
		Storage:   fakes.NewStorage(asked("q1", question)).Storage(),
		TurnInput: []adk.TurnMiddleware{hydrate},
		Tools:     tools,
	}
}

// hydrate loads the conversation. The engine does not fill a turn's sets by itself.
var hydrate = adk.TurnMiddleware{Name: "hydrate", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}}

// weather makes a tool with a schema and scripted answers.
func weather(answers ...any) *adk.Tool {
	return weatherTool().WithHandler(fakes.NewTool("weather", "", answers...).Handle)
}

// weatherTool is made once, as in a program, because compiling its schema takes longer than running
// a turn.
var weatherTool = sync.OnceValue(func() *adk.Tool {
	tool := fakes.NewTool("weather", "Tells the weather in a city.")
	tool.Init.InputSchema = []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	return tool.Tool()
})

// cleanUpTurn makes a middleware whose post-step runs however the downstream ends. It sets a value
// in the stash, so that the trace shows that it ran.
func cleanUpTurn(name string) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		next(ctx)
		return tc.Stash().Set("cleaned", true)
	}}
}

func cleanUpDispatch() adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: "clean-up", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		return dc.Stash().Set("cleaned", true)
	}}
}

// turnStep and dispatchStep make middlewares that do one thing and do not call next.
func turnStep(name string, do func(tc *adk.TurnContext) error) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(_ context.Context, tc *adk.TurnContext, _ adk.Next) error { return do(tc) }}
}

func dispatchStep(name string, do func(dc *adk.DispatchContext) error) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(_ context.Context, dc *adk.DispatchContext, _ adk.Next) error { return do(dc) }}
}

// answer is a script that says one thing and acks.
func answer(text string) fakes.Script { return fakes.Script{{fakes.Say(text), fakes.Ack()}} }

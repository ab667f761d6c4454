package large

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// Shape is one way in which turns grow.
type Shape struct {
	Name string
	// Turn returns the config of a turn of approximately the given number of crossings.
	Turn func(crossings int) adk.Config
}

// Shapes are the ways in which turns grow with their number of crossings.
var Shapes = []Shape{
	{"stream", stream},
	{"streams", streams},
	{"nesting", nesting},
	{"history", history},
	{"parallel", parallel},
	{"wide", wide},
	{"arguments", arguments},
	{"asks", asks},
}

// Named returns the shape with a name, and whether Shapes has one.
func Named(name string) (Shape, bool) {
	for _, s := range Shapes {
		if s.Name == name {
			return s, true
		}
	}
	return Shape{}, false
}

// Write runs a turn of approximately the given number of crossings and writes its trace. The error
// says what failed in the turn, or why its trace could not be written.
func (s Shape) Write(w io.Writer, crossings int) error {
	recorder := replay.Record(w)
	runner, err := adk.NewRunner(fakes.Deterministic(s.Turn(crossings), recorder))
	if err != nil {
		return err
	}
	var failure error
	raw := adk.RawTurn{SystemPrompt: "Be brief.", Observability: adk.Observability{Error: func(e adk.ErrorEvent) { failure = e.Error }}}
	if err := runner.Run(context.Background(), raw); err != nil {
		return err
	}
	return cmp.Or(failure, recorder.Err())
}

type execution = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error

func agent(run execution, tools ...*adk.Tool) adk.Config {
	return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage(), Tools: tools}
}

// stream is one message that comes in pieces.
func stream(crossings int) adk.Config {
	return agent(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for range crossings / 2 {
			if _, err := h.ReportMessage("m1", "some words ", false); err != nil {
				return err
			}
		}
		if _, err := h.ReportMessage("m1", "", true); err != nil {
			return err
		}
		return dc.Ack()
	})
}

// streams are many short messages.
func streams(crossings int) adk.Config {
	return agent(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for i := range crossings / 4 {
			id := "m" + strconv.Itoa(i)
			if _, err := h.ReportMessage(id, "some words", false); err != nil {
				return err
			}
			if _, err := h.ReportMessage(id, "", true); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

// nesting is an agent that calls an agent, and so on.
func nesting(crossings int) adk.Config {
	const ofOne = 15 // the crossings of a level
	return nested(crossings/ofOne, "going down")
}

// nested is an agent that says something and calls an agent that does the same, with the given
// number of levels.
func nested(levels int, said string) adk.Config {
	var level func(left int) execution
	level = func(left int) execution {
		return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := h.ReportMessage("m"+strconv.Itoa(left), said, true); err != nil {
				return err
			}
			if left > 0 {
				in := adk.DispatchInput{Name: "agent", Executor: adk.Executor{Name: "model", Run: level(left - 1)}, Source: dc}
				if _, err := adk.Dispatch(ctx, in); err != nil {
					return err
				}
			}
			return dc.Ack()
		}
	}
	return agent(level(levels))
}

// history is a conversation of many iterations, each of which stores a message and a tool call.
func history(crossings int) adk.Config {
	const ofOne = 22 // the crossings of an iteration
	tool := fakes.NewTool("weather", "Tells the weather in a city.", "4 °C")
	tool.Repeat = true
	return agent(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		i := dc.Iteration()
		if i >= crossings/ofOne {
			return dc.Ack()
		}
		at := dc.Now()
		args := map[string]any{"city": "Oslo " + strconv.Itoa(i)}
		weather, _ := dc.Tools().Get("weather")
		result, err := dc.Execute(ctx, weather, args)
		if err != nil {
			return err
		}
		call, err := adk.NewToolCall(adk.ToolCallInit{ID: "c" + strconv.Itoa(i), Tool: "weather", Args: args, Results: result, CreatedAt: at, UpdatedAt: at, CompletedAt: at})
		if err != nil {
			return err
		}
		message, err := said(i, at)
		if err != nil {
			return err
		}
		if err := dc.ToolCalls().Store(ctx, call); err != nil {
			return err
		}
		return dc.Messages().Store(ctx, message)
	}, tool.Tool())
}

func said(i int, at time.Time) (*adk.Message, error) {
	return adk.NewMessage(adk.MessageInit{ID: "m" + strconv.Itoa(i), Role: adk.RoleAssistant, Content: "It is 4 °C in Oslo.", CreatedAt: at, UpdatedAt: at})
}

// parallel is a model that calls a hundred tools at once, repeatedly.
func parallel(crossings int) adk.Config { return atOnce(100, crossings) }

// wide is a model that makes all its tool calls at once.
func wide(crossings int) adk.Config { return atOnce(max(1, crossings/crossingsOfCall), crossings) }

// crossingsOfCall is the number of crossings of a tool call in a strand of its own.
const crossingsOfCall = 9

// atOnce is a model that calls width tools at once, repeatedly.
func atOnce(width, crossings int) adk.Config {
	tool := fakes.NewTool("weather", "Tells the weather in a city.", "4 °C")
	tool.Repeat = true
	return agent(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		round := dc.Iteration()
		if round >= max(1, crossings/(width*crossingsOfCall)) {
			return dc.Ack()
		}
		for i := range width {
			_, err := dc.Fork(ctx, fmt.Sprintf("call %d", i), func(ctx context.Context, dc *adk.DispatchContext) error {
				weather, _ := dc.Tools().Get("weather")
				_, err := dc.Execute(ctx, weather, map[string]any{"city": fmt.Sprintf("Oslo %d/%d", round, i)})
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, tool.Tool())
}

// arguments calls tools with arguments of many small values.
func arguments(crossings int) adk.Config {
	const values, ofOne = 100, 6
	tool := fakes.NewTool("sum", "Adds numbers.", strings.Repeat("4", 20))
	tool.Repeat = true
	return agent(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		sum, _ := dc.Tools().Get("sum")
		for i := range crossings / ofOne {
			list := make([]any, values)
			for j := range list {
				list[j] = float64((i + j) % 10)
			}
			if _, err := dc.Execute(ctx, sum, map[string]any{"of": list}); err != nil {
				return err
			}
		}
		return dc.Ack()
	}, tool.Tool())
}

// asks asks a model repeatedly, with a kilobyte each time.
func asks(crossings int) adk.Config {
	const ofOne = 2
	type question struct{ Model, Prompt string }
	prompt := strings.Repeat("Is it cold? ", 80)
	return agent(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for i := range crossings / ofOne {
			asked := question{"small", fmt.Sprintf("%d: %s", i, prompt)}
			_, err := adk.Ask(ctx, "model", asked, func(context.Context, question) (string, error) { return "It is 4 °C in Oslo.", nil })
			if err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

// Trace returns the trace of a turn of a shape. It panics if the turn fails, which would be a
// mistake in this package.
func (s Shape) Trace(crossings int) []byte {
	var written bytes.Buffer
	if err := s.Write(&written, crossings); err != nil {
		panic(fmt.Sprintf("large: %s of %d: %v", s.Name, crossings, err))
	}
	return written.Bytes()
}

package fakes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// Tool is a tool with scripted answers: each call takes the next one. It is safe for concurrent
// use; concurrent calls take answers in the order in which they reach it. Runs that share a Tool
// also share its answers.
type Tool struct {
	// Init is what the method Tool makes the tool from, except for the handler. It may be changed
	// before that method is called.
	Init adk.ToolInit
	// Answers are given in order. Each is one of: string, []byte, adk.ToolResult, error, a handler
	// (an adk.ToolHandler or a function literal of that type), or the result of Panics.
	Answers []any
	// Repeat starts again at the first answer when all have been given. Without it a further call
	// fails with an error that says so.
	Repeat bool

	mu    sync.Mutex
	calls []map[string]any
}

// NewTool makes a scripted tool that accepts any object as arguments; set Init.InputSchema for
// another schema.
func NewTool(name, description string, answers ...any) *Tool {
	return &Tool{
		Init:    adk.ToolInit{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		Answers: answers,
	}
}

// Panics makes an answer of a Tool that makes the handler panic with value.
func Panics(value any) any { return panics{value} }

type panics struct{ value any }

// Tool returns the tool in the form in which a config takes it. It panics if Init does not make a
// valid tool, since that is a mistake in the test.
func (t *Tool) Tool() *adk.Tool {
	init := t.Init
	init.Handler = t.Handle
	tool, err := adk.NewTool(init)
	if err != nil {
		panic(fmt.Sprintf("fakes: tool %q: %v", init.Name, err))
	}
	return tool
}

// Count returns how many calls there were.
func (t *Tool) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}

// Calls returns the validated arguments of all calls, in order.
func (t *Tool) Calls() []map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := make([]map[string]any, len(t.calls))
	for i, args := range t.calls {
		calls[i] = maps.Clone(args)
	}
	return calls
}

// Handle returns the next answer, or the context's Err if the context has ended. It is the handler
// of the tool that the method Tool makes. It may also be the handler of a tool made elsewhere, for
// example to compile a schema once and not for every Tool.
func (t *Tool) Handle(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, err := t.next(args)
	if err != nil {
		return nil, err
	}
	switch a := answer.(type) {
	case string:
		return adk.Text(a), nil
	case []byte:
		return adk.Bytes(bytes.Clone(a)), nil
	case adk.ToolResult:
		return a, nil
	case error:
		return nil, a
	case panics:
		panic(a.value)
	case adk.ToolHandler:
		return a(ctx, dc, args)
	case func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error):
		return a(ctx, dc, args)
	}
	return nil, fmt.Errorf("fakes: tool %q has an answer of type %T: want a string, []byte, adk.ToolResult, error, handler or Panics",
		t.Init.Name, answer)
}

// next records the call and takes its answer.
func (t *Tool) next(args map[string]any) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.calls)
	t.calls = append(t.calls, maps.Clone(args))
	if t.Repeat && len(t.Answers) > 0 {
		i %= len(t.Answers)
	}
	if i >= len(t.Answers) {
		return nil, fmt.Errorf("fakes: tool %q has %d answers and this is call %d: give it more, or set Repeat",
			t.Init.Name, len(t.Answers), i+1)
	}
	return t.Answers[i], nil
}

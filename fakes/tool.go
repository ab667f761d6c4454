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

// Tool is a tool with canned answers: each call takes the next one. It is safe
// for concurrent use; calls that run at once take answers in the order in which
// they reach it. Runs that share it share its answers too.
type Tool struct {
	// Init is what Tool makes the tool from, but for the handler. It may be
	// changed before Tool is called.
	Init adk.ToolInit
	// Answers are given in order, each one of: string, []byte, adk.ToolResult,
	// error, a handler (adk.ToolHandler, as such or as a function literal), or
	// what Panics makes.
	Answers []any
	// Repeat begins again at the first answer when all are given. Without it a
	// further call fails and says so.
	Repeat bool

	mu    sync.Mutex
	calls []map[string]any
}

// NewTool makes a scripted tool that takes any object as its arguments; set
// Init.InputSchema for another schema.
func NewTool(name, description string, answers ...any) *Tool {
	return &Tool{
		Init:    adk.ToolInit{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
		Answers: answers,
	}
}

// Panics is an answer of a Tool: the handler panics with value.
func Panics(value any) any { return panics{value} }

type panics struct{ value any }

// Tool is the tool as a config takes it. An Init that makes no tool is a panic,
// as it is a mistake in the test.
func (t *Tool) Tool() *adk.Tool {
	init := t.Init
	init.Handler = t.Handle
	tool, err := adk.NewTool(init)
	if err != nil {
		panic(fmt.Sprintf("fakes: tool %q: %v", init.Name, err))
	}
	return tool
}

// Count is how many calls there were.
func (t *Tool) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}

// Calls are the validated arguments of all calls, in order.
func (t *Tool) Calls() []map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := make([]map[string]any, len(t.calls))
	for i, args := range t.calls {
		calls[i] = maps.Clone(args)
	}
	return calls
}

// Handle gives the next answer, or where the context has ended its Err. It is the handler
// of what Tool makes, and may be that of a tool that was made before: making one compiles
// its schema.
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

// next counts the call and takes its answer.
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

package chat

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Helpers are the 18 parts of an iteration that can be replaced, each alone: the
// renderers of the prompt, and the three that only this API needs. One that needs
// another is given it as an argument. All run in the executor's call, with its context,
// and fail it with their error (HPR-2).
type Helpers struct {
	prompt.Renderers
	// Schema gives the schema of a tool as the model is told it, a JSON object.
	Schema ToolSchema
	// Tools gives the members of tools in a request, each a JSON object.
	Tools func(ctx context.Context, tools []*adk.Tool, schema ToolSchema) ([]json.RawMessage, error)
	// Accumulator makes what puts the calls of one answer together.
	Accumulator func() Accumulator
}

// ToolSchema gives the schema of a tool as the model is told it.
type ToolSchema func(ctx context.Context, tool *adk.Tool) (json.RawMessage, error)

// DefaultHelpers are the helpers that stand where nobody replaced one.
func DefaultHelpers() Helpers {
	return Helpers{
		Renderers: prompt.DefaultRenderers(),
		Schema:    schemaOf,
		Tools:     describeTools,
		Accumulator: func() Accumulator {
			return &calls{}
		},
	}
}

// Over are the helpers, and where one is nil that of others.
func (h Helpers) Over(others Helpers) Helpers {
	h.Renderers = h.Renderers.Over(others.Renderers)
	given, below := reflect.ValueOf(&h).Elem(), reflect.ValueOf(others)
	for i := range given.NumField() {
		if field := given.Field(i); field.Kind() == reflect.Func && field.IsNil() {
			field.Set(below.Field(i))
		}
	}
	return h
}

// schemaOf is the very schema that validates (REQ-12). One that says nothing lists no
// properties, as servers want it said.
func schemaOf(_ context.Context, tool *adk.Tool) (json.RawMessage, error) {
	schema := tool.InputSchema()
	if string(schema) == `{"type":"object"}` {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema, nil
}

// describeTools tells a model of tools. All texts stand in one buffer.
func describeTools(ctx context.Context, tools []*adk.Tool, schema ToolSchema) ([]json.RawMessage, error) {
	all, size := make([]json.RawMessage, len(tools)), 0
	for i, tool := range tools {
		parameters, err := schema(ctx, tool)
		if err != nil {
			return nil, err
		}
		all[i] = parameters
		size += len(parameters) + len(tool.Name()) + len(tool.Description()) + 96
	}
	out := make([]byte, 0, size)
	for i, tool := range tools {
		begin := len(out)
		one := canonical.Open(out)
		one.Text("type", "function")
		one.Field("function")
		function := canonical.Open(one.Out)
		function.Text("name", tool.Name())
		function.Text("description", tool.Description())
		function.Field("parameters")
		function.Out = append(function.Out, all[i]...)
		one.Out = function.Close()
		out = one.Close()
		all[i] = out[begin:len(out):len(out)]
	}
	return all, nil
}

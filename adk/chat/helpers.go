package chat

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Helpers are the 18 parts of an iteration that can be replaced separately: the renderers of the
// prompt, and the three that only this API needs. A helper that needs another one gets it as an
// argument. All run in the executor's call, with its context; their error fails it (HPR-2).
type Helpers struct {
	prompt.Renderers
	// Schema returns the schema of a tool in the form for the model, a JSON object.
	Schema ToolSchema
	// Tools returns the elements of the request's tools, each a JSON object.
	Tools func(ctx context.Context, tools []*adk.Tool, schema ToolSchema) ([]json.RawMessage, error)
	// Accumulator makes the accumulator for the calls of one answer.
	Accumulator func() Accumulator
}

// ToolSchema returns the schema of a tool in the form for the model.
type ToolSchema func(ctx context.Context, tool *adk.Tool) (json.RawMessage, error)

// DefaultHelpers returns the helpers that are used if none are given.
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

// Over returns the helpers h, with those of others where h has nil.
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

// schemaOf returns the schema that also validates the arguments (REQ-12). An object schema without
// properties gets an empty list of them, which servers require.
func schemaOf(_ context.Context, tool *adk.Tool) (json.RawMessage, error) {
	schema := tool.InputSchema()
	if string(schema) == `{"type":"object"}` {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema, nil
}

// describeTools describes tools to a model. All texts share one buffer.
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

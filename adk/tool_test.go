package adk

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func answer(text string) ToolHandler {
	return func(context.Context, *DispatchContext, map[string]any) (ToolResult, error) { return Text(text), nil }
}

func toolInit(name string) ToolInit {
	return ToolInit{
		Name: name, Description: "looks " + name + " up", Handler: answer(name),
		InputSchema: json.RawMessage(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"days":{"type":"integer","default":1}}}`),
	}
}

func mustTool(t testing.TB, init ToolInit) *Tool {
	t.Helper()
	tool, err := NewTool(init)
	require.NoError(t, err)
	return tool
}

// TOL-1: every field can be read back, and zero values select the defaults.
func TestNewToolKeepsItsFields(t *testing.T) {
	plain := mustTool(t, toolInit("weather"))
	assert.Equal(t, "weather", plain.Name())
	assert.Equal(t, "looks weather up", plain.Description())
	assert.Nil(t, plain.Meta())
	assert.False(t, plain.Ephemeral())
	assert.False(t, plain.Trusted())
	assert.Equal(t, CollisionThrow, plain.OnCollision())
	assert.Equal(t, EffectUnknown, plain.Effect())
	assert.Nil(t, plain.ArtifactConstructor())

	init := toolInit("weather")
	init.Meta = map[string]any{"scope": map[string]any{"roles": []any{"admin"}}}
	init.Ephemeral, init.Trusted, init.OnCollision, init.Effect = true, true, CollisionKeep, EffectReads
	init.ArtifactConstructor = func(context.Context, ToolResult) (ToolResult, error) { return NewTokenizable("artifact"), nil }
	full := mustTool(t, init)
	artifact, err := full.WithHandler(nil).ArtifactConstructor()(t.Context(), Bytes("long"))
	require.NoError(t, err)
	assert.Equal(t, "artifact", artifact.(*Tokenizable).String())
	assert.True(t, full.Ephemeral())
	assert.True(t, full.Trusted())
	assert.Equal(t, CollisionKeep, full.OnCollision())
	assert.Equal(t, EffectReads, full.Effect())

	// A tool is immutable: it shares nothing with the values it was given, or with those it returns.
	init.Meta["scope"].(map[string]any)["roles"] = "none"
	full.Meta()["scope"] = "none"
	full.InputSchema()[0] = 'x'
	assert.Equal(t, map[string]any{"scope": map[string]any{"roles": []any{"admin"}}}, full.Meta())
	assert.True(t, json.Valid(full.InputSchema()))

	roles, found := full.MetaAt("scope.roles")
	assert.True(t, found)
	assert.Equal(t, []any{"admin"}, roles)
	roles.([]any)[0] = "none"
	roles, _ = full.MetaAt("scope.roles")
	assert.Equal(t, []any{"admin"}, roles)
	for _, path := range []string{"", "scope.", "scope.roles.0", "owner"} {
		_, found = full.MetaAt(path)
		assert.False(t, found, path)
	}
	_, found = plain.MetaAt("scope")
	assert.False(t, found)
}

// TOL-1: NewTool fails with one error that names every invalid field.
func TestNewToolNamesEveryBadField(t *testing.T) {
	_, err := NewTool(ToolInit{
		InputSchema: json.RawMessage(`{"type":"string"}`), OnCollision: "maybe", Effect: "none",
		Meta: map[string]any{"f": math.NaN()},
	})
	require.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_VALUE)
	for _, field := range []string{"Name", "Description", "InputSchema", "Handler", "Meta", "OnCollision", "Effect"} {
		assert.ErrorContains(t, err, field+": ")
	}
}

// TOL-1: NewTool refuses a schema that is invalid or does not describe an object.
func TestNewToolRefusesOtherSchemas(t *testing.T) {
	for _, raw := range []string{``, `{`, `null`, `true`, `[]`, `{}`, `{"type":"array"}`, `{"type":"object","properties":4}`, `{"type":"object","$ref":"#"}`} {
		init := toolInit("weather")
		init.InputSchema = json.RawMessage(raw)
		_, err := NewTool(init)
		require.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_VALUE, raw)
		assert.ErrorContains(t, err, "InputSchema: ")
		assert.NotContains(t, err.Error(), "Name: ")
	}
}

// TOL-2: defaults are filled in on a copy, and no value is converted.
func TestValidateFillsDefaults(t *testing.T) {
	tool := mustTool(t, toolInit("weather"))
	given := map[string]any{"city": "Rome"}
	got, err := tool.Validate(given)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"city": "Rome", "days": 1.0}, got)
	assert.Equal(t, map[string]any{"city": "Rome"}, given)

	_, err = tool.Validate(map[string]any{"city": "Rome", "days": "1"})
	assert.ErrorIs(t, err, E_INVALID_TOOL_ARGS)
}

// TOL-2: the error names every invalid path, sorted, and never a value. Unknown keys are
// refused.
func TestValidateNamesEveryPath(t *testing.T) {
	tool := mustTool(t, toolInit("weather"))
	_, err := tool.Validate(map[string]any{"days": "hunter2", "zip": "hunter2"})
	require.ErrorIs(t, err, E_INVALID_TOOL_ARGS)
	assert.EqualError(t, err, "E_INVALID_TOOL_ARGS: /city: required; /days: type, want integer; /zip: additionalProperties")

	_, err = tool.Validate(nil)
	assert.EqualError(t, err, "E_INVALID_TOOL_ARGS: /city: required")
}

// TOL-2: the schema that is shown is the one that validates. It is closed where properties are listed.
func TestDescribeShowsTheEffectiveSchema(t *testing.T) {
	for name, c := range map[string]struct{ given, want string }{
		"listed":      {`{"type":"object","properties":{}}`, `{"additionalProperties":false,"properties":{},"type":"object"}`},
		"unlisted":    {`{"type":"object"}`, `{"type":"object"}`},
		"declared":    {`{"type":"object","properties":{},"additionalProperties":true}`, `{"additionalProperties":true,"properties":{},"type":"object"}`},
		"patterns":    {`{"type":"object","properties":{},"patternProperties":{"^x":true}}`, `{"patternProperties":{"^x":true},"properties":{},"type":"object"}`},
		"nested":      {`{"type":"object","properties":{"a":{"items":{"properties":{}}}}}`, `{"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"properties":{}}}},"type":"object"}`},
		"combined":    {`{"type":"object","properties":{},"allOf":[{"properties":{"a":true}}]}`, `{"allOf":[{"properties":{"a":true}}],"properties":{},"type":"object","unevaluatedProperties":false}`},
		"definitions": {`{"type":"object","$defs":{"a":{"properties":{}}}}`, `{"$defs":{"a":{"properties":{}}},"type":"object"}`},
		"html":        {`{"type":"object","description":"a < b & c"}`, `{"description":"a < b & c","type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			init := toolInit("weather")
			init.InputSchema = json.RawMessage(c.given)
			tool := mustTool(t, init)
			assert.Equal(t, c.want, string(tool.Describe().InputSchema))
			init.InputSchema = tool.Describe().InputSchema
			assert.Equal(t, tool.Digest(), mustTool(t, init).Digest(), "closing twice changed the schema")
		})
	}
}

// TOL-2: a closed combination accepts the keys of all its parts and no others.
func TestValidateClosedCombination(t *testing.T) {
	init := toolInit("weather")
	init.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":true},"allOf":[{"properties":{"b":true}}]}`)
	tool := mustTool(t, init)
	_, err := tool.Validate(map[string]any{"a": 1, "b": 2})
	require.NoError(t, err)
	_, err = tool.Validate(map[string]any{"a": 1, "b": 2, "c": 3})
	assert.EqualError(t, err, "E_INVALID_TOOL_ARGS: /c: unevaluatedProperties")
}

// TOL-1: a copy with another handler has the same digest as the tool.
func TestWithHandler(t *testing.T) {
	tool := mustTool(t, toolInit("weather"))
	fake := tool.WithHandler(answer("fake"))
	result, err := fake.handler(t.Context(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "fake", result.(*Tokenizable).String())
	assert.Equal(t, tool.Digest(), fake.Digest())
	result, err = tool.handler(t.Context(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "weather", result.(*Tokenizable).String())
	_, err = tool.WithHandler(nil).handler(t.Context(), nil, nil)
	assert.ErrorContains(t, err, "no handler")
}

// DET-8: the JSON of a tool is fixed, and parses back to a tool with the same bytes.
func TestToolIsARecord(t *testing.T) {
	init := toolInit("weather")
	init.Meta = map[string]any{"z": int64(1) << 60, "a": 1.5, "s": "<&>", "u": uint64(math.MaxUint64)}
	init.Ephemeral, init.Effect = true, EffectWrites
	var record Record = mustTool(t, init)
	data, err := record.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"name":"weather","description":"looks weather up","inputSchema":{"additionalProperties":false,`+
		`"properties":{"city":{"type":"string"},"days":{"default":1,"type":"integer"}},"required":["city"],"type":"object"},`+
		`"ephemeral":true,"effect":"writes","meta":{"a":1.5,"s":"<&>","u":18446744073709551615,"z":1152921504606846976}}`, string(data))
	assert.Equal(t, RecordTool, record.RecordKind())
	assert.Equal(t, "weather", record.Key())
	assert.Equal(t, DigestOf(data), record.Digest())

	read, err := parseTool(data)
	require.NoError(t, err)
	again, err := read.MarshalJSON()
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(string(data), string(again)))
	_, err = read.(*Tool).handler(t.Context(), nil, nil)
	assert.ErrorContains(t, err, "read from a description")

	for _, bad := range []string{``, `4`, `{}`, `{"name":"x"}`} {
		read, err := parseTool([]byte(bad))
		require.Error(t, err, bad)
		assert.Nil(t, read)
	}
}

type forecastArgs struct {
	City string   `json:"city" jsonschema:"where"`
	Days int64    `json:"days,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

// TOL-1, TOL-2: the schema of a typed tool is derived from its struct.
func TestTypedTool(t *testing.T) {
	var got forecastArgs
	fn := func(_ context.Context, _ *DispatchContext, in forecastArgs) (ToolResult, error) {
		got = in
		return Text(in.City), nil
	}
	tool, err := NewTypedTool(ToolInit{Name: "forecast", Description: "tells"}, fn)
	require.NoError(t, err)
	args, err := tool.Validate(map[string]any{"city": "Rome", "days": int64(1 << 60), "tags": []any{"a"}})
	require.NoError(t, err)
	result, err := tool.handler(t.Context(), nil, args)
	require.NoError(t, err)
	assert.Equal(t, "Rome", result.(*Tokenizable).String())
	assert.Equal(t, forecastArgs{City: "Rome", Days: 1 << 60, Tags: []string{"a"}}, got)

	_, err = tool.Validate(map[string]any{"days": 1.5, "more": 1})
	assert.EqualError(t, err, "E_INVALID_TOOL_ARGS: /city: required; /days: type, want integer; /more: additionalProperties")
}

// TOL-1: a typed tool fails with the same errors as any other.
func TestTypedToolRefuses(t *testing.T) {
	_, err := NewTypedTool[forecastArgs](ToolInit{Name: "forecast", Description: "tells"}, nil)
	require.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_VALUE)
	assert.ErrorContains(t, err, "Handler: ")
	_, err = NewTypedTool(ToolInit{Name: "n", Description: "d"}, func(context.Context, *DispatchContext, int) (ToolResult, error) { return nil, nil })
	assert.ErrorContains(t, err, "InputSchema: ")
	_, err = NewTypedTool(ToolInit{Name: "n", Description: "d"}, func(context.Context, *DispatchContext, chan int) (ToolResult, error) { return nil, nil })
	assert.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_VALUE)
	_, err = NewTypedTool(toolInit("n"), func(context.Context, *DispatchContext, forecastArgs) (ToolResult, error) { return nil, nil })
	assert.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_VALUE)
}

// Around runs a function instead of the handler; otherwise the tool stays the same.
func TestAround(t *testing.T) {
	tool := mustTool(t, toolInit("weather"))
	around := tool.Around(func(ctx context.Context, dc *DispatchContext, args map[string]any, inner ToolHandler) (ToolResult, error) {
		result, err := inner(ctx, dc, args)
		return Text(result.(*Tokenizable).String() + " it is"), err
	})
	result, err := around.handler(t.Context(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "weather it is", result.(*Tokenizable).String())
	assert.Equal(t, tool.Digest(), around.Digest())
}

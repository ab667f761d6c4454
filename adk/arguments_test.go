package adk_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// TOL-4, HLP-3, PRM-7: Arguments are checksummed once for the report, the execution and the record
// of a call. All three have exactly the same text.
func TestArgumentsHaveOneChecksum(t *testing.T) {
	for _, raw := range []any{`{"b": 1, "a": [2.50]}`, []byte(`{"a":[2.5],"b":1}`), map[string]any{"a": []any{2.5}, "b": 1}} {
		var checksums []string
		heard := hello
		heard.Functional.ToolCall = func(e adk.ToolCallEvent) {
			e.Args["a"] = "spoiled" // each listener gets its own map
			checksums = append(checksums, e.Checksum)
		}
		heard.Observability.ToolExecutionStart = func(e adk.ToolExecutionStart) { checksums = append(checksums, e.CallID) }
		rec := &recorder{}
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			args := must(adk.NewArguments(raw))
			must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "x", Args: args}))
			result := must(dc.Execute(ctx, openTool(), args))
			record := must(adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "x", Args: args, Results: result,
				CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon}))
			checksums = append(checksums, record.Checksum())
			assert.Equal(t, map[string]any{"a": []any{2.5}, "b": 1.0}, record.Args())
			return dc.Ack()
		})
		config.Probe = rec
		require.NoError(t, newRunner(t, config).Run(t.Context(), heard))
		require.Len(t, checksums, 3)
		assert.Equal(t, checksum("x", `{"a":[2.5],"b":1}`), checksums[0])
		for _, one := range checksums {
			assert.Same(t, unsafe.StringData(checksums[0]), unsafe.StringData(one), "computed again")
		}
		for _, x := range rec.crossings() {
			if text, isText := raw.(string); isText && (x.Kind == adk.KindReportToolCall || x.Kind == adk.KindExecute && x.Phase == adk.Begin) {
				assert.Equal(t, text, x.Args, "%s tells what was given", x.Kind)
			}
		}
	}
}

// openTool is a tool that takes any arguments.
func openTool() *adk.Tool {
	return tool("x", done, func(init *adk.ToolInit) { init.InputSchema = []byte(`{"type":"object"}`) })
}

// NewArguments refuses what it cannot read. Arguments are immutable, and have a checksum for
// every tool.
func TestArguments(t *testing.T) {
	for _, bad := range []any{nil, "", "[1]", 5, (*adk.Arguments)(nil), map[string]any{"n": make(chan int)}} {
		_, err := adk.NewArguments(bad)
		assert.Error(t, err)
	}
	object := map[string]any{"n": []any{1}}
	args := must(adk.NewArguments(object))
	object["n"].([]any)[0] = 2
	args.Map()["n"].([]any)[0] = 3
	assert.Equal(t, map[string]any{"n": []any{1.0}}, args.Map())
	assert.Same(t, args, must(adk.NewArguments(args)))
	for _, name := range []string{"x", "y", "x"} {
		assert.Equal(t, checksum(name, `{"n":[1]}`), must(args.Checksum(name)))
	}
	_, err := adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "x", Args: (*adk.Arguments)(nil)})
	assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TOOL_CALL_VALUE)
	assert.ErrorContains(t, err, "want what NewArguments gives")
}

package numbers_test

import (
	"context"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
	"github.com/adkreplay/adkreplay/fakes"
)

// BenchmarkCalculate: a usual expression takes less than 20 µs beyond what the engine takes to
// execute a tool that does nothing.
func BenchmarkCalculate(b *testing.B) {
	nothing, err := adk.NewTool(adk.ToolInit{Name: "nothing", Description: "Does nothing.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("42"), nil
		}})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		tool *adk.Tool
		args map[string]any
	}{
		{"floor", nothing, map[string]any{}},
		{"usual", numbers.Calculate(), map[string]any{"expression": "sqrt(3^2 + 4^2) * (1 + 0.19) / 2"}},
	} {
		args, err := adk.NewArguments(c.args)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			if _, err := trial.In(b.Context(), fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
				for b.Loop() {
					if _, err := dc.Execute(ctx, c.tool, args); err != nil {
						return "", err
					}
				}
				return "", nil
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

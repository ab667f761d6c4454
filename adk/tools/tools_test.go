package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/times"
	"github.com/adkreplay/adkreplay/fakes"
)

// TestMain makes the tests use Go's own time zone database on every machine.
func TestMain(m *testing.M) {
	_ = os.Setenv("ZONEINFO", filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip"))
	os.Exit(m.Run())
}

// BAT-1: there are 56 tools with unique names, untrusted, not ephemeral, each with an effect. Equal
// calls make tools with equal digests.
func TestAll(t *testing.T) {
	all, again := tools.All(tools.Options{}), tools.All(tools.Options{Times: times.Options{}})
	require.Len(t, all, 56)
	_, err := adk.NewRegistry(all...)
	require.NoError(t, err)
	structured := ""
	for i, tool := range all {
		assert.Equal(t, tool.Digest(), again[i].Digest(), tool.Name())
		assert.False(t, tool.Trusted() || tool.Ephemeral(), tool.Name())
		assert.Equal(t, adk.CollisionThrow, tool.OnCollision(), tool.Name())
		assert.NotEqual(t, adk.EffectUnknown, tool.Effect(), tool.Name())
		if tool.ArtifactConstructor() != nil {
			structured += tool.Name() + " "
		}
	}
	// BAT-7: the tools whose answers are JSON.
	assert.Equal(t, "stats_describe text_analyze parse_csv parse_yaml parse_kv list_memories store_memory update_memory delete_memory "+
		"list_retrievables store_retrievable update_retrievable delete_retrievable list_standing_instructions add_standing_instruction remove_standing_instruction ", structured)
}

// property is the part of a schema that describes an argument.
type property struct {
	Type    string
	Enum    []string
	Minimum *float64
	Maximum *float64
}

// hostile are texts of the kinds that have made tools fail.
var hostile = []string{
	"", " ", "\x00", "a\nb\r\n\tc", "[]", "[1,2,3]", "[null]", `["a",{"b":[1]}]`, `{"a":1,"b":{"c":null}}`, `[{"a":1},{"a":"x"},{}]`, "nope", "-0", "1e308", "1e999", "NaN", "9007199254740993",
	"2026-03-15", "2026-02-30", "now", "9999-12-31T23:59:59Z", "0001-01-01", "next friday at 3pm", "UTC", "Europe/Oslo", "../../etc", "m", "km", "C", "K", "red", "#fff", "hsl(999,100%,50%)",
	"(", "a(b)*c", `(\w+)`, "(?i)", "$1$&$<x>$$", "*", "2+2*sqrt(9)", "[1,2;3,4]^-1", "1/0", "170!", `\frac{1}{2}`, `\sqrt[`, "{{a}}{{b.c}}", "a,b\n1,2\n", "a: &a [*a]", "k=v", "&lt;", "%ZZ", "é\u0301🎉\u202e", "\ufffd",
	strings.Repeat("a", 10_000), strings.Repeat("[", 200), strings.Repeat("(", 500), strings.Repeat("x ", 3000), strings.Repeat("ab\n", 3000), "[" + strings.Repeat("1e308,", 500) + "1]",
}

// operations are the names of operations in chains, and an unknown one.
var operations = strings.Fields(`filter sort select_keys pluck slice unique unique_by group_by flatten reverse count sum avg median min max first last chunk frequency_count top_n map_template
	uppercase titlecase camel_case slug strip_html repeat pad_start slice truncate replace_all regex_replace split indent dedent rumba`)

// draw makes random arguments for a tool from its schema.
func draw(r *rand.Rand, schema json.RawMessage) map[string]any {
	var object struct {
		Properties map[string]property
		Required   []string
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		panic(err)
	}
	args := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		p := object.Properties[name]
		required := strings.Contains(" "+strings.Join(object.Required, " ")+" ", " "+name+" ")
		if required || r.IntN(2) == 0 {
			args[name] = value(r, name, p)
		}
	}
	return args
}

func value(r *rand.Rand, name string, p property) any {
	switch {
	case len(p.Enum) > 0 && r.IntN(50) > 0:
		return p.Enum[r.IntN(len(p.Enum))]
	case p.Type == "string":
		return hostile[r.IntN(len(hostile))]
	case p.Type == "number" || p.Type == "integer":
		numbers := []float64{0, -1, 1, 2, 3, 10, 1e9, -1e9, 1e308, -1e308, 5e-324, 1.5, 12, 90, 9007199254740993}
		n := numbers[r.IntN(len(numbers))]
		if p.Minimum != nil && r.IntN(10) > 0 {
			n = max(n, *p.Minimum)
		}
		if p.Maximum != nil && r.IntN(10) > 0 {
			n = min(n, *p.Maximum)
		}
		return n
	case p.Type == "boolean":
		return r.IntN(2) == 0
	case name == "operations":
		return chain(r)
	case p.Type == "array":
		return []any{hostile[r.IntN(len(hostile))], hostile[r.IntN(len(hostile))]}
	}
	var v any
	if json.Unmarshal([]byte(hostile[r.IntN(len(hostile))]), &v) != nil {
		v = hostile[r.IntN(len(hostile))]
	}
	return v
}

func chain(r *rand.Rand) []any {
	steps := []any{}
	for range r.IntN(4) {
		step := map[string]any{"op": operations[r.IntN(len(operations))]}
		for _, name := range []string{"key", "value", "operator", "n", "size", "count", "length", "from", "to", "pattern", "replacement", "delimiter", "depth", "start", "end", "direction", "keys", "template", "char"} {
			switch r.IntN(4) {
			case 0:
				step[name] = hostile[r.IntN(len(hostile))]
			case 1:
				step[name] = float64(r.IntN(200) - 50)
			case 2:
				step[name] = []any{"a", float64(1), nil}
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// inOneDispatch runs tools in one turn, which is cheaper than a turn for each.
func inOneDispatch(t testing.TB, run func(ctx context.Context, dc *adk.DispatchContext)) {
	t.Helper()
	_, err := trial.In(context.Background(), fakes.NewStorage().Storage(), func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
		run(ctx, dc)
		return "", nil
	})
	require.NoError(t, err)
}

// mishap executes a tool and describes what it did that no tool may do, whatever its arguments are
// (BAT-2, BAT-4). It also returns how often it executed the tool.
func mishap(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, args map[string]any) (fault string, executions int) {
	answer, err := trial.Execute(ctx, dc, tool, args)
	switch {
	case errors.Is(err, adk.E_INVALID_TOOL_ARGS):
		return "", 1
	case err != nil:
		return "failed: " + err.Error(), 1
	case len(answer) > 1<<20:
		return fmt.Sprintf("answered with %d bytes", len(answer)), 1
	case !utf8.ValidString(answer):
		return "answered with invalid UTF-8", 1
	}
	if again, err := trial.Execute(ctx, dc, tool, args); tool.Effect() == adk.EffectReads && (err != nil || again != answer) {
		return fmt.Sprintf("answered otherwise the second time: %.100q, %.100q, %v", answer, again, err), 2
	}
	return "", 2
}

// BAT-2, BAT-3, BAT-4: arguments, whether or not the schema allows them, never cause a panic, a failure, a
// different answer the second time, or an unbounded answer.
func TestHostileArguments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	runs := 0
	for _, tool := range tools.All(tools.Options{}) {
		inOneDispatch(t, func(ctx context.Context, dc *adk.DispatchContext) {
			for range 60 {
				args := draw(r, tool.InputSchema())
				runs++
				if fault, _ := mishap(ctx, dc, tool, args); fault != "" {
					text, _ := json.Marshal(args)
					t.Fatalf("%s %.2000s\n%.2000s", tool.Name(), text, fault)
				}
			}
		})
	}
	assert.Equal(t, 56*60, runs)
}

// BAT-2: the same as TestHostileArguments, with seeds from the fuzzer.
func FuzzHostileArguments(f *testing.F) {
	all := tools.All(tools.Options{})
	f.Add(uint64(1), uint64(0), "x")
	f.Fuzz(func(t *testing.T, seed, which uint64, text string) {
		tool := all[which%uint64(len(all))]
		r := rand.New(rand.NewPCG(seed, which))
		inOneDispatch(t, func(ctx context.Context, dc *adk.DispatchContext) {
			for range 8 {
				args := draw(r, tool.InputSchema())
				for _, name := range slices.Sorted(maps.Keys(args)) {
					if _, ok := args[name].(string); ok && r.IntN(3) == 0 {
						args[name] = text
					}
				}
				if fault, _ := mishap(ctx, dc, tool, args); fault != "" {
					given, _ := json.Marshal(args)
					t.Fatalf("%s %.2000s\n%.2000s", tool.Name(), given, fault)
				}
			}
		})
	})
}

// BAT-4: the schemas contain the bounds of texts and lists.
func TestBoundsAreInSchemas(t *testing.T) {
	for _, tool := range tools.All(tools.Options{}) {
		var object struct {
			Properties map[string]struct {
				Type      string
				Enum      []any
				MaxLength int
				MaxItems  int
			}
		}
		require.NoError(t, json.Unmarshal(tool.InputSchema(), &object))
		for name, p := range object.Properties {
			if p.Type == "string" && p.Enum == nil {
				assert.Equal(t, 1_000_000, p.MaxLength, "%s %s", tool.Name(), name)
			}
			if p.Type == "array" {
				assert.Positive(t, p.MaxItems, "%s %s", tool.Name(), name)
			}
		}
	}
}

package codeplace_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/codeplace"
)

type seeker struct{ seen map[adk.Kind]string }

func (s *seeker) Observe(adk.RunInfo) adk.Observer { return s }
func (*seeker) Begin(adk.Step)                     {}
func (*seeker) Park(int, func() bool)              {}
func (*seeker) Resume(int)                         {}
func (s *seeker) Tell(x *adk.Crossing)             { s.seen[x.Kind] = codeplace.Here(1).User().String() }

// The place of an operation is the line of user code that made it, also in a helper and in a strand. For what
// the engine does by itself there is no place; a caller further up does not count.
func TestUser(t *testing.T) {
	s := &seeker{seen: map[adk.Kind]string{}}
	config := adk.Config{Probe: s, Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		helper(dc)
		strand, err := dc.Fork(ctx, "one", func(_ context.Context, dc *adk.DispatchContext) error {
			dc.NewID() // in a strand
			return nil
		})
		if err != nil {
			return err
		}
		if err := strand.Wait(); err != nil {
			return err
		}
		return dc.Ack() // the end
	}}}
	run(t, config)
	for kind, says := range map[adk.Kind]string{adk.KindNow: "in a helper", adk.KindNewID: "in a strand", adk.KindAck: "the end"} {
		assert.Contains(t, lineOf(t, s.seen[kind]), "// "+says, s.seen[kind])
	}
	assert.Contains(t, s.seen[adk.KindNow], "(codeplace_test.helper)")
	assert.Empty(t, s.seen[adk.KindReturn], "a call that is over")
}

func helper(dc *adk.DispatchContext) {
	dc.Now() // in a helper
}

// run runs a turn of a config with a storage that does nothing.
func run(t *testing.T, config adk.Config) {
	t.Helper()
	config.Storage = fakes.NoOpStorage()
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "You are a test."}))
}

// lineOf returns the line of source that a place in this module refers to.
func lineOf(t *testing.T, place string) string {
	t.Helper()
	file, rest, _ := strings.Cut(place, ":")
	number, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	require.NoError(t, err, place)
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	require.NoError(t, err)
	return strings.Split(string(text), "\n")[n-1]
}

// The place of a function is where it begins, relative to the module's root. The place of a method is its
// name. A value that is no function has no place.
func TestOfFunc(t *testing.T) {
	assert.Regexp(t, `^internal/codeplace/place_test\.go:\d+ \(codeplace_test\.helper\)$`, codeplace.OfFunc(helper).String())
	assert.Equal(t, "codeplace_test.(*seeker).Observe", codeplace.OfFunc((&seeker{}).Observe).String())
	assert.Equal(t, "handed in by "+codeplace.OfFunc(helper).String(), codeplace.OfFunc(helper).HandedIn())
	var none func()
	for _, what := range []any{nil, none, 7} {
		assert.Empty(t, codeplace.OfFunc(what).String())
		assert.Empty(t, codeplace.OfFunc(what).After())
	}
	assert.Empty(t, codeplace.OfEntry(0).String())
	assert.Empty(t, codeplace.OfFunc(adk.NewRunner).String(), "nobody mends an agent in the engine")
}

// A place is parsed correctly, whatever words come before it.
func TestParse(t *testing.T) {
	place := codeplace.Place{File: "agent/tool.go", Line: 12, Func: "agent.Tool"}
	for _, text := range []string{place.String(), place.After(), place.AskedAt(), place.HandedIn(), place.MadeIn(), place.Deadline(), place.Cancelled()} {
		file, line, known := codeplace.Parse(text)
		assert.True(t, known, text)
		assert.Equal(t, place.File, file, text)
		assert.Equal(t, place.Line, line, text)
	}
	for _, text := range []string{"", "agent.Tool", "after agent.Tool"} {
		_, _, known := codeplace.Parse(text)
		assert.False(t, known, text)
	}
}

// The place of what a library constructs is the caller's line in the program, and not in this module's own code.
func TestOfCaller(t *testing.T) {
	model, err := chat.New(chat.Options{Model: "m"})
	require.NoError(t, err)
	place := codeplace.OfCaller(model.Executor("model").Made)
	assert.Equal(t, "internal/codeplace/place_test.go", place.File)
	assert.Equal(t, "codeplace_test.TestOfCaller", place.Func)
	assert.Equal(t, "made in "+place.String(), place.MadeIn())
	for _, made := range []func(adk.ToolInit) (*adk.Tool, error){adk.NewTool, func(init adk.ToolInit) (*adk.Tool, error) {
		init.Handler = nil
		return adk.NewTypedTool(init, func(context.Context, *adk.DispatchContext, struct{}) (adk.ToolResult, error) { return nil, nil })
	}} {
		tool, err := made(adk.ToolInit{Name: "t", Description: "d", InputSchema: []byte(`{"type":"object"}`),
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil }})
		require.NoError(t, err)
		said := codeplace.OfTool(adk.Config{Tools: []*adk.Tool{tool}}, "t")
		assert.Regexp(t, `^made in internal/codeplace/place_test\.go:\d+ \(codeplace_test\.TestOfCaller`, said)
	}
	assert.Zero(t, codeplace.OfCaller(0))
	assert.Zero(t, codeplace.OfCaller(reflect.ValueOf(chat.New).Pointer()+1))
	assert.Empty(t, codeplace.Place{}.MadeIn())
}

// The body of a range loop over an iterator is called by a closure of the iterator's package, which bears the name
// of the function it was inlined into. It does not count as a line of that function.
func TestLoopsOverIterators(t *testing.T) {
	var places []codeplace.Place
	all := []iter.Seq[int]{slices.Values([]int{1}), slices.Values([]int{2})}
	for i := range all { // keeps the compiler from inlining the closure
		for range all[i] {
			places = codeplace.Here(0).Users()
		}
	}
	require.NotEmpty(t, places)
	for _, p := range places {
		assert.Equal(t, "internal/codeplace/place_test.go", p.File, p)
	}
}

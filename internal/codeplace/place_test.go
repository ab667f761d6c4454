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

// An operation is told with the line of user code that made it, also in a helper and in a
// strand; what the engine does by itself is not somebody's further up.
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

// run runs a turn of a config, whose storage is not asked for anything.
func run(t *testing.T, config adk.Config) {
	t.Helper()
	config.Storage = fakes.NoOpStorage()
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "You are a test."}))
}

// lineOf is the line that a place names, of a file of our module.
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

// A function is told by where it begins, from the root of the module; a method by its
// method, and what is none by nothing.
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

// Whatever words stand before a place, it is read as it was said.
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

// What a library puts together is the program's where it called for that; code of ours is none.
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

// A loop over an iterator is run by a closure of the iterator's package, which bears the name
// of the function that it was put into: it is none of its lines.
func TestLoopsOverIterators(t *testing.T) {
	var places []codeplace.Place
	all := []iter.Seq[int]{slices.Values([]int{1}), slices.Values([]int{2})}
	for i := range all { // so that the compiler does not put the closure in the place of its call
		for range all[i] {
			places = codeplace.Here(0).Users()
		}
	}
	require.NotEmpty(t, places)
	for _, p := range places {
		assert.Equal(t, "internal/codeplace/place_test.go", p.File, p)
	}
}

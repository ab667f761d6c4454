package gen_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/turn"
)

// capAt is a middleware as users write them.
func capAt(most int) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: "cap", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if dc.Iteration() >= most {
			return dc.Nack(errors.New("too many iterations"))
		}
		next(ctx)
		return nil
	}}
}

func TestAround(t *testing.T) {
	rapid.Check(t, gen.Around(gen.Knobs{}, func() gen.Mine {
		return gen.Mine{DispatchInput: []adk.DispatchMiddleware{capAt(1)}}
	}))
}

// A middleware that behaves differently in every run is found, and the turn around it is shrunk to
// nothing.
func TestAroundFinds(t *testing.T) {
	t.Chdir(t.TempDir()) // rapid writes failing cases to testdata
	runs := 0
	property := gen.Around(gen.Knobs{}, func() gen.Mine {
		return gen.Mine{TurnInput: []adk.TurnMiddleware{{Name: "counts", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			runs++
			next(ctx)
			return tc.Stash().Set("runs", runs)
		}}}}
	})
	all := complaintsOf(t, property)
	assert.Contains(t, all, turn.Unsteady)
	assert.Contains(t, all, `{"prompt":"p"}`, "the turn around it does not matter")
}

// around returns the complaints of the property about user code, for the first turn that breaks it. It
// does not shrink that turn.
func around(t *testing.T, make func() gen.Mine) string {
	t.Helper()
	t.Chdir(t.TempDir()) // rapid writes failing cases to testdata
	looks := flag.Lookup("rapid.shrinktime").Value
	defer func(usual string) { assert.NoError(t, looks.Set(usual)) }(looks.String())
	require.NoError(t, looks.Set("0s"))
	return complaintsOf(t, gen.Around(gen.Knobs{}, make))
}

// complaintsOf returns the complaints of a property that some turn breaks. It draws as many turns as finding one
// takes, which may be more than a property that always holds is checked with.
func complaintsOf(t *testing.T, property func(*rapid.T)) string {
	t.Helper()
	defer draws.Checks(1000)()
	failing := &complaints{TB: t}
	rapid.Check(failing, property)
	return strings.Join(failing.texts, "\n")
}

// divider returns a tool that divides. The careless form also divides by zero.
func divider(careless bool) gen.Mine {
	wrong := 0
	tool, err := adk.NewTool(adk.ToolInit{Name: "divide", Description: "Divides 12.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			by, _ := strconv.Atoi(fmt.Sprint(args["by"]))
			if by == 0 && !careless {
				return nil, errors.New("nothing can be divided by zero")
			}
			if by == 0 {
				wrong++
				return adk.Text("12"), nil
			}
			return adk.Text(fmt.Sprint(12 / by)), nil
		}})
	if err != nil {
		panic(err)
	}
	return gen.Mine{Tools: []*adk.Tool{tool},
		Args: map[string]*rapid.Generator[map[string]any]{"divide": rapid.Custom(func(t *rapid.T) map[string]any {
			return map[string]any{"by": rapid.Int64Range(0, 3).Draw(t, "by")}
		})},
		Check: func(turn.Run) error {
			if wrong > 0 {
				return errors.New("it divided by zero")
			}
			return nil
		}}
}

// The turn around a tool calls it with drawn arguments, and the check of the author runs after each
// run.
func TestAroundTools(t *testing.T) {
	found := around(t, func() gen.Mine { return divider(true) })
	assert.Contains(t, found, "wrong: it divided by zero")
	assert.Contains(t, found, `"by":`, "the arguments are a part of the turn")
	rapid.Check(t, gen.Around(gen.Knobs{}, func() gen.Mine { return divider(false) }))
}

// forgetful is a collection that reports success and stores nothing.
type forgetful struct{ adk.Collection[*adk.Memory] }

func (forgetful) Store(context.Context, adk.Scope, *adk.Memory) error { return nil }

// The author's storage replaces the turn's own. The author's check compares what it holds with what the turn
// wrote.
func TestAroundStorage(t *testing.T) {
	keeping := func(forgets bool) func() gen.Mine {
		return func() gen.Mine {
			kept := fakes.NewStorage()
			storage := kept.Storage()
			if forgets {
				storage.Memories = forgetful{storage.Memories}
			}
			return gen.Mine{Storage: storage, Check: func(r turn.Run) error {
				want, stores := map[string]bool{}, map[int]string{}
				for x := range r.Crossings {
					switch {
					case x.Kind == adk.KindCall && x.Seam.Name == "memories.store":
						stores[x.ID] = x.Record.Key()
					case x.Kind == adk.KindCall && x.Seam.Name == "memories.delete":
						delete(want, x.Key)
					case x.Kind == adk.KindReturn && x.Outcome == adk.OutcomeOK && stores[x.ID] != "":
						want[stores[x.ID]] = true
					}
				}
				for _, m := range kept.Memories() {
					delete(want, m.ID())
				}
				if len(want) > 0 {
					return fmt.Errorf("%d memories are gone", len(want))
				}
				return nil
			}}
		}
	}
	assert.Contains(t, around(t, keeping(true)), "wrong: ")
	rapid.Check(t, gen.Around(gen.Knobs{}, keeping(false)))
}

// The author's executor replaces the turn's own, and Close is called for each run.
func TestAroundExecutor(t *testing.T) {
	defer draws.Checks(15)() // only some of them reach an executor
	opened, closed, runs := 0, 0, 0
	acks := func() gen.Mine {
		opened++
		return gen.Mine{Close: func() { closed++ }, Executor: adk.Executor{Name: "mine", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			runs++
			return dc.Ack()
		}}}
	}
	rapid.Check(t, gen.Around(gen.Knobs{}, acks))
	assert.Positive(t, runs)
	assert.Equal(t, opened, closed)
	found := around(t, func() gen.Mine {
		return gen.Mine{Executor: adk.Executor{Name: "mine", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			runs++
			h.Log(adk.LevelInfo, "run", fmt.Sprint(runs), nil)
			return dc.Ack()
		}}}
	})
	assert.Contains(t, found, turn.Unsteady)
}

// complaints is a test that keeps its failures as texts.
type complaints struct {
	rapid.TB
	texts []string
}

func (f *complaints) Helper()         {}
func (f *complaints) Name() string    { return "complaints" }
func (f *complaints) Log(args ...any) { f.texts = append(f.texts, fmt.Sprint(args...)) }
func (f *complaints) Logf(format string, a ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, a...))
}
func (f *complaints) Errorf(format string, a ...any) { f.Logf(format, a...) }
func (f *complaints) Fatalf(format string, a ...any) { f.Logf(format, a...) }
func (f *complaints) Error(args ...any)              { f.Log(args...) }
func (f *complaints) Fatal(args ...any)              { f.Log(args...) }
func (f *complaints) FailNow()                       {}
func (f *complaints) Fail()                          {}
func (f *complaints) Failed() bool                   { return false }

package gen_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
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

// A middleware that is never the same twice is found, and the turn around it
// comes down to nothing.
func TestAroundFinds(t *testing.T) {
	t.Chdir(t.TempDir()) // rapid keeps what failed in testdata
	runs := 0
	property := gen.Around(gen.Knobs{}, func() gen.Mine {
		return gen.Mine{TurnInput: []adk.TurnMiddleware{{Name: "counts", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			runs++
			next(ctx)
			return tc.Stash().Set("runs", runs)
		}}}}
	})
	failing := &complaints{TB: t}
	rapid.Check(failing, property)
	all := strings.Join(failing.texts, "\n")
	assert.Contains(t, all, turn.Unsteady)
	assert.Contains(t, all, `{"prompt":"p"}`, "the turn around it does not matter")
}

// complaints is a test that may fail.
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

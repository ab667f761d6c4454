package codeplace_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
)

// walker notes the stack of each call of Now in user code.
type walker struct {
	stacks  codeplace.Stacks
	numbers []int32
}

func (w *walker) Observe(adk.RunInfo) adk.Observer { return w }
func (*walker) Begin(adk.Step)                     {}
func (*walker) Park(int, func() bool)              {}
func (*walker) Resume(int)                         {}
func (w *walker) Tell(x *adk.Crossing) {
	if x.Kind == adk.KindNow {
		w.numbers = append(w.numbers, w.stacks.Here(1))
	}
}

// Each stack is stored once, whatever came in between, and ends at the nearest seam call. So a loop has one stack
// for each line, and each line has its own. The stack of a goroutine that user code started ends where that
// goroutine begins.
func TestStacksAreKeptOnceUpToTheirSeamCall(t *testing.T) {
	w := &walker{}
	run(t, adk.Config{Probe: w, Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for range 2 {
			dc.Now() // at once
			dc.Now() // once more
			helper(dc)
			done := make(chan struct{})
			go func() {
				defer close(done)
				helper(dc)
			}()
			<-done
		}
		return dc.Ack()
	}}})
	assert.Equal(t, []int32{1, 2, 3, 4, 1, 2, 3, 4}, w.numbers)
	for i, says := range []string{"at once", "once more", "in a helper", "in a helper"} {
		stack := w.stacks.Of(w.numbers[i])
		assert.Contains(t, lineOf(t, stack.User().String()), "// "+says)
		apart := i == 3
		assert.Equal(t, apart, stack.IsApart(), says)
		functions := functionsOf(stack)
		assert.NotContains(t, strings.Join(functions[:len(functions)-1], "\n"), ".(*call).invoke", says)
		assert.Equal(t, !apart, strings.HasSuffix(functions[len(functions)-1], ".(*call).invoke"), says)
	}
	assert.Empty(t, w.stacks.Of(0).User().String())
	assert.False(t, w.stacks.Of(0).IsApart())
}

func functionsOf(stack codeplace.Stack) (all []string) {
	frames := runtime.CallersFrames(stack[:])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		all = append(all, f.Function)
	}
	return all
}

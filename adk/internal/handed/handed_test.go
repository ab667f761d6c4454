package handed_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
)

type handle string

func (h handle) String() string { return string(h) }

func over(beneath context.Context, h handle) *handed.Context {
	ctx := handed.Over(beneath, h)
	return &ctx
}

type own struct{}

// WLD-1: In finds the innermost handle, and a context with a handle has every value of its parents.
func TestHandleIsFound(t *testing.T) {
	beneath := context.WithValue(context.Background(), own{}, "mine")
	assert.Zero(t, handed.In[handle](beneath))
	outer := over(beneath, handle("outer"))
	inner := over(outer, handle("inner"))
	assert.Equal(t, handle("outer"), handed.In[handle](outer))
	assert.Equal(t, handle("inner"), handed.In[handle](context.WithoutCancel(inner)))
	assert.Equal(t, "mine", inner.Value(own{}))
}

// WLD-3: below Without no handle is found, and everything else of the context is unchanged.
func TestHandleIsHidden(t *testing.T) {
	beneath, cancel := context.WithCancel(context.WithValue(context.Background(), own{}, "mine"))
	assert.Equal(t, beneath, handed.Without(beneath), "there is nothing to hide")
	hidden := handed.Without(over(beneath, handle("outer")))
	assert.Zero(t, handed.In[handle](hidden))
	assert.Equal(t, "mine", hidden.Value(own{}))
	cancel()
	assert.ErrorIs(t, hidden.Err(), context.Canceled)
}

// The string of a context is composed as in package context.
func TestNames(t *testing.T) {
	ctx := over(context.Background(), handle("run"))
	for _, verb := range []string{"%v", "%s", "%#v"} {
		assert.Equal(t, "context.Background.WithSeam(run)", fmt.Sprintf(verb, ctx))
		assert.Equal(t, "context.Background.WithSeam(run).WithoutSeam", fmt.Sprintf(verb, handed.Without(ctx)))
	}
}

// Err and Deadline go straight to the context that can end and skip the ones between: with agents
// that call agents each call would otherwise go through all contexts above.
func TestContextsBetweenAreNotAsked(t *testing.T) {
	beneath, cancel := context.WithTimeout(context.Background(), time.Hour)
	inner := over(beneath, "inner")
	outer := over(inner, "outer")
	inner.Context = nil
	assert.NoError(t, outer.Err())
	_, limited := outer.Deadline()
	assert.True(t, limited)
	cancel()
	<-outer.Done()
	assert.ErrorIs(t, outer.Err(), context.Canceled)
}

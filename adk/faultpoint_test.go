package adk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// broken makes Outside answer every fault point with an error.
func broken(err error) func(*adk.Config) {
	return func(c *adk.Config) {
		c.FaultPoints = true
		c.Outside = func(context.Context, adk.Question) *adk.Answer { return &adk.Answer{Err: err} }
	}
}

// WLD-9: a fault point does nothing unless the config enables it. Then it is recorded as an ask, whose
// error is the one that Outside returns.
func TestFaultPoint(t *testing.T) {
	point := func(want error) func(ctx context.Context, _ *adk.DispatchContext) {
		return func(ctx context.Context, _ *adk.DispatchContext) {
			assert.Equal(t, want, adk.FaultPoint(ctx, "between the rows"))
		}
	}
	torn := errors.New("torn")
	assert.Empty(t, asking(t, nil, point(nil)))
	assert.Empty(t, asking(t, func(c *adk.Config) { broken(torn)(c); c.FaultPoints = false }, point(nil)))
	told := "ask " + adk.FaultPoints + "between the rows reads"
	assert.Equal(t, []string{told, "done"}, asking(t, func(c *adk.Config) { c.FaultPoints = true }, point(nil)))
	assert.Equal(t, []string{told, "done torn"}, asking(t, broken(torn), point(torn)))
	assert.NoError(t, adk.FaultPoint(context.Background(), "of nobody"))
	assert.NoError(t, adk.FaultPoint(nil, "of nobody")) //nolint:staticcheck // what is tested
}

// WLD-9: a fault point never fails on its own: not in a run that is aborted, and not after the
// call whose context it is given.
func TestFaultPointBehindTheEnd(t *testing.T) {
	torn := errors.New("torn")
	var late context.Context
	assert.Empty(t, asking(t, broken(torn), func(ctx context.Context, dc *adk.DispatchContext) {
		strand := must(dc.Fork(ctx, "worker", func(ctx context.Context, _ *adk.DispatchContext) error { late = ctx; return nil }))
		assert.NoError(t, strand.Wait())
		assert.NoError(t, adk.FaultPoint(late, "behind the call"))
		assert.NoError(t, dc.Abort(errors.New("enough")))
		assert.NoError(t, adk.FaultPoint(ctx, "in an aborted run"))
	}))
	assert.NoError(t, adk.FaultPoint(late, "behind the run"))
}

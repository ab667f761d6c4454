package timelimit_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/timelimit"
)

func late(d time.Duration, what string) error { return fmt.Errorf("%s within %s", what, d) }

// WLD-8: the context ends when a limit passes, and not before; its cause says what was
// late.
func TestLimitsEndTheContext(t *testing.T) {
	for name, c := range map[string]struct {
		limits timelimit.Limits
		pieces []time.Duration // when each piece arrives
		want   string
		at     time.Duration
	}{
		"nothing begins":          {timelimit.Limits{Headers: time.Second}, nil, "its beginning within 1s", time.Second},
		"it falls silent":         {timelimit.Limits{Headers: time.Second, Idle: 3 * time.Second}, []time.Duration{500 * time.Millisecond}, "silence within 3s", 3500 * time.Millisecond},
		"it speaks for too long":  {timelimit.Limits{Idle: 3 * time.Second, Whole: 5 * time.Second}, []time.Duration{time.Second, 3 * time.Second}, "all of it within 5s", 5 * time.Second},
		"silence before anything": {timelimit.Limits{Idle: time.Second, Whole: 5 * time.Second}, nil, "all of it within 5s", 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &timelimit.Limiter{Limits: c.limits, Late: late}
				ctx := l.Context(context.Background())
				began := time.Now()
				l.Start()
				for _, at := range c.pieces {
					time.Sleep(at - time.Since(began))
					l.Touch()
				}
				assert.NoError(t, l.Passed())
				<-ctx.Done()
				assert.Equal(t, c.at, time.Since(began))
				assert.EqualError(t, context.Cause(ctx), c.want)
				assert.Equal(t, context.Cause(ctx), l.Passed())
			})
		})
	}
}

// WLD-8: Bound says that the beginning that came is not the one waited for. The limit for the beginning then
// bounds everything, unless the limit for everything is shorter.
func TestBoundLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits timelimit.Limits
		want   string
		at     time.Duration
	}{
		"the beginning's": {timelimit.Limits{Headers: 3 * time.Second}, "its beginning within 3s", 3 * time.Second},
		"and no later":    {timelimit.Limits{Headers: 3 * time.Second, Whole: 9 * time.Second}, "its beginning within 3s", 3 * time.Second},
		"or sooner":       {timelimit.Limits{Headers: 3 * time.Second, Whole: 2 * time.Second}, "all of it within 2s", 2 * time.Second},
		"or silence":      {timelimit.Limits{Headers: 3 * time.Second, Idle: time.Second}, "silence within 1s", 2500 * time.Millisecond},
		"none":            {timelimit.Limits{Idle: time.Second}, "silence within 1s", 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &timelimit.Limiter{Limits: c.limits, Late: late}
				ctx := l.Context(context.Background())
				began := time.Now()
				l.Start()
				time.Sleep(500 * time.Millisecond)
				l.Bound()
				l.Touch()
				time.Sleep(time.Second - time.Millisecond)
				l.Touch() // a piece arrives again and again
				if c.limits.Idle == 0 {
					time.Sleep(c.at - time.Since(began) - time.Millisecond)
					assert.NoError(t, l.Passed())
				}
				<-ctx.Done()
				assert.InDelta(t, c.at, time.Since(began), float64(time.Millisecond))
				assert.EqualError(t, context.Cause(ctx), c.want)
			})
		})
	}
	told := &timelimit.Limiter{Limits: timelimit.Limits{Headers: 3}, Late: late}
	for _, takes := range []time.Duration{2, 5} {
		allowed, err := told.Allow(takes)
		told.Bound()
		if takes == 2 {
			assert.NoError(t, err)
			continue
		}
		assert.Equal(t, time.Duration(1), allowed)
		assert.Error(t, err)
	}
	ended := &timelimit.Limiter{Limits: timelimit.Limits{Headers: 3 * time.Second}, Late: late}
	synctest.Test(t, func(t *testing.T) {
		_ = ended.Context(context.Background())
		ended.Start()
		ended.Bound()
		ended.Touch()
		ended.Stop()
		time.Sleep(time.Minute)
		assert.NoError(t, ended.Passed())
		ended.Release()
	})
}

// WLD-8: what has ended is not late, and without limits nothing is.
func TestLimitsThatAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &timelimit.Limiter{Limits: timelimit.Limits{Headers: time.Second}, Late: late}
		ctx := l.Context(context.Background())
		l.Start()
		l.Stop()
		l.Touch() // comes too late to have an effect
		time.Sleep(time.Minute)
		assert.NoError(t, ctx.Err())
		assert.NoError(t, l.Passed())
		l.Release()
		assert.ErrorIs(t, context.Cause(ctx), context.Canceled)

		var none timelimit.Limiter
		assert.Equal(t, context.Background(), none.Context(context.Background()))
		none.Start()
		none.Touch()
		none.Stop()
		none.Release()
		assert.NoError(t, none.Passed())
	})
}

// WLD-8: where no real time passes, Allow says how much of a given time the limits leave.
func TestAllowOfTheTimeThatIsTold(t *testing.T) {
	l := &timelimit.Limiter{Limits: timelimit.Limits{Headers: 2, Idle: 5, Whole: 10}, Late: late}
	for _, step := range []struct {
		takes, allowed time.Duration
		late           string
	}{
		{2, 2, ""}, {5, 5, ""}, {3, 3, ""}, {1, 0, "all of it within 0s"},
	} {
		allowed, err := l.Allow(step.takes)
		assert.Equal(t, step.allowed, allowed)
		if step.late == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, step.late)
		}
	}
	slow := &timelimit.Limiter{Limits: timelimit.Limits{Headers: 2, Idle: 5}, Late: late}
	allowed, err := slow.Allow(3)
	assert.Equal(t, time.Duration(2), allowed)
	assert.EqualError(t, err, "its beginning within 2ns")

	silent := &timelimit.Limiter{Limits: timelimit.Limits{Headers: 2, Idle: 5}, Late: late}
	silent.Begin() // without any delay
	allowed, err = silent.Allow(6)
	assert.Equal(t, time.Duration(5), allowed)
	assert.EqualError(t, err, "silence within 5ns")
}

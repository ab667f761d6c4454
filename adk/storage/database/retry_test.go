package database

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
)

// STO-11: a busy database is tried again five times, after 10 ms and then after twice as long each
// time, while the context lasts.
func TestRetry(t *testing.T) {
	busy, broken, over := errors.New("database is locked"), errors.New("no such table"), errors.New("closed")
	for name, c := range map[string]struct {
		answers []error // the last one is repeated
		want    error
		calls   int
		takes   time.Duration
	}{
		"at once":    {[]error{nil}, nil, 1, 0},
		"then":       {[]error{busy, busy, nil}, nil, 3, 30 * time.Millisecond},
		"at last":    {[]error{busy, busy, busy, busy, busy, nil}, nil, 6, 310 * time.Millisecond},
		"never":      {[]error{busy}, adk.E_STORAGE_BUSY, 6, 310 * time.Millisecond},
		"for good":   {[]error{broken}, broken, 1, 0},
		"later":      {[]error{busy, broken}, broken, 2, 10 * time.Millisecond},
		"the caller": {[]error{busy, busy, over}, over, 3, 25 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if errors.Is(c.want, over) {
					time.AfterFunc(25*time.Millisecond, func() { cancel(over) })
				}
				db, begun, calls := &DB{source: Source{Busy: func(err error) bool { return errors.Is(err, busy) }}}, time.Now(), 0
				err := db.retry(ctx, func() error {
					calls++
					if answer := c.answers[min(calls, len(c.answers))-1]; !errors.Is(answer, over) {
						return answer
					}
					return busy
				})
				if c.want == nil {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, c.want)
				}
				if errors.Is(c.want, adk.E_STORAGE_BUSY) {
					assert.ErrorIs(t, err, busy, "the cause")
				}
				if !errors.Is(c.want, over) {
					assert.Equal(t, c.calls, calls)
				}
				assert.Equal(t, c.takes, time.Since(begun))
				cancel(nil)
			})
		})
	}
}

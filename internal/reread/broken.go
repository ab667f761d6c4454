package reread

import (
	"context"
	"io"
)

// Breaker gives another stream, or an error, in the place of one that a reader opened: it
// is for who tries what becomes of a reader that fails. It closes what it does not give.
type Breaker func(stream io.ReadCloser) (io.ReadCloser, error)

// BreakerKey is what a context is asked for the Breaker of its run with.
type BreakerKey struct{}

// Opened is what a reader opened, or what the context's Breaker makes of it. Who opens a
// reader calls it before anything looks at what is read: where one reader opens another,
// the inner one's stream is broken, below all that checks it.
func Opened(ctx context.Context, stream io.ReadCloser) (io.ReadCloser, error) {
	if broken, ok := ctx.Value(BreakerKey{}).(Breaker); ok && broken != nil {
		return broken(stream)
	}
	return stream, nil
}

package reread

import (
	"context"
	"io"
)

// Breaker replaces a stream that a reader opened by another stream or an error, for tests of what
// happens if a reader fails. It closes the stream unless it returns it.
type Breaker func(stream io.ReadCloser) (io.ReadCloser, error)

// BreakerKey is the key of the Breaker in the context of a run.
type BreakerKey struct{}

// Opened returns a stream that a reader opened, or what the context's Breaker makes of it. Code
// that opens a reader calls it before anything examines the stream. If one reader opens another,
// the inner stream is broken, below all checks.
func Opened(ctx context.Context, stream io.ReadCloser) (io.ReadCloser, error) {
	if broken, ok := ctx.Value(BreakerKey{}).(Breaker); ok && broken != nil {
		return broken(stream)
	}
	return stream, nil
}

// Package serial allows only one replay of live code in strands at a time: the strands of two
// replays may wait for the same lock, and neither replay knows the other's order of it.
package serial

import "context"

// underWay is full while a replay is running.
var underWay = make(chan bool, 1)

type key struct{}

// Wait blocks until no other replay is running, or until ctx ends. A replay that the code of the
// running one begins does not wait. The caller must call end when its replay is over.
func Wait(ctx context.Context) (under context.Context, end func()) {
	if ctx.Value(key{}) != nil {
		return ctx, func() {}
	}
	select {
	case underWay <- true:
		return context.WithValue(ctx, key{}, true), func() { <-underWay }
	case <-ctx.Done():
		return ctx, func() {}
	}
}

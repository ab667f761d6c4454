// Package serial has one replay of live code in strands under way at a time: what those of two
// replays wait for may be one lock, which neither has the other's order of.
package serial

import "context"

// underWay is had by the one that is.
var underWay = make(chan bool, 1)

type key struct{}

// Wait waits until no other one is under way, but for one whose code began this one, or until
// ctx has ended. end is to be called when it is over.
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

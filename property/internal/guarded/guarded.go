// Package guarded wraps the executor and the middlewares of a config with a guard. Storages are
// wrapped by internal/storages, and tools where they are known.
package guarded

import (
	"context"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Guard calls do, or not; the engine receives the error that it returns. call is the call of the
// seam.
type Guard func(call int, do func() error) error

// Config returns a config whose executor and middlewares are wrapped.
func Config(c adk.Config, by Guard) adk.Config {
	c.Executor.Run = around(c.Executor.Run, by)
	c.TurnInput, c.TurnOutput = turns(c.TurnInput, by), turns(c.TurnOutput, by)
	c.DispatchInput, c.DispatchOutput = dispatches(c.DispatchInput, by), dispatches(c.DispatchOutput, by)
	return c
}

func turns(list []adk.TurnMiddleware, by Guard) []adk.TurnMiddleware {
	list = slices.Clone(list)
	for i := range list {
		list[i].Run = around(list[i].Run, by)
	}
	return list
}

func dispatches(list []adk.DispatchMiddleware, by Guard) []adk.DispatchMiddleware {
	list = slices.Clone(list)
	for i := range list {
		list[i].Run = around(list[i].Run, by)
	}
	return list
}

// around wraps user code with a guard. Nil stays nil, so that the engine can complain of it.
func around[H interface{ Where() (call, strand int) }, A any](run func(context.Context, H, A) error, by Guard) func(context.Context, H, A) error {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, handle H, given A) error {
		call, _ := handle.Where()
		return by(call, func() error { return run(ctx, handle, given) })
	}
}

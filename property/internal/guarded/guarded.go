// Package guarded puts a guard around the executor and the middlewares of a config. It stands
// around a storage with internal/storages, and around tools where they are known.
package guarded

import (
	"context"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Guard calls what it guards, or does not; what it answers is what the engine is told. The call is
// that of the seam.
type Guard func(call int, do func() error) error

// Config is a config with a guard around its executor and its middlewares.
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

// around is user code with a guard around it; none where there is none, for the engine to complain of.
func around[H interface{ Where() (call, strand int) }, A any](run func(context.Context, H, A) error, by Guard) func(context.Context, H, A) error {
	if run == nil {
		return nil
	}
	return func(ctx context.Context, handle H, given A) error {
		call, _ := handle.Where()
		return by(call, func() error { return run(ctx, handle, given) })
	}
}

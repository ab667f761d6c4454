package adk

import (
	"context"
	"slices"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// Next runs everything downstream of a middleware, that is the later middlewares of its own
// pipeline. It returns when they have finished, however they ended (PIP-2). The executor and the
// dispatch are not downstream: they follow when the whole pipeline has ended (RUN-9, DSP-2), and a
// ctx passed to Next does not reach them. The first call counts; later ones do nothing (PIP-3). A
// nil ctx means the middleware's own.
type Next func(ctx context.Context)

// TurnMiddleware is one entry of a turn pipeline (PIP-1).
type TurnMiddleware struct {
	// Name is required and unique in its pipeline: traces, errors and replays identify the
	// middleware by it.
	Name string
	// Run is required. What it does before next is the pre-step, what it does afterwards the
	// post-step. In the input pipeline the post-step also runs before the dispatch. To hold
	// something for the whole turn, wrap the call of Runner.Run.
	Run func(ctx context.Context, tc *TurnContext, next Next) error
}

// DispatchMiddleware is one entry of a dispatch pipeline (PIP-1).
type DispatchMiddleware struct {
	// Name is required and unique in its pipeline.
	Name string
	// Run is required. In the input pipeline its post-step runs before the executor: neither
	// pipeline wraps an iteration.
	Run func(ctx context.Context, dc *DispatchContext, next Next) error
}

// Executor is the decision maker. It is called once per iteration, asks the model, runs the tools
// that the model wants, and signals when it is done.
type Executor struct {
	// Name is required.
	Name string
	// Run is required. Returning nil without a signal starts another iteration.
	Run func(ctx context.Context, dc *DispatchContext, h *Helpers) error
	// Made is where the program created the executor, if Run is a function of a library: one of the
	// program counters of runtime.Callers. Reports show it; 0 means unknown.
	Made uintptr
}

// Config is everything that a runner is made of. NewRunner copies it.
type Config struct {
	// Executor and every field of Storage are required; nothing is defaulted
	// for them (RUN-1).
	Executor Executor
	Storage  Storage

	// The four pipelines, empty by default (RUN-3).
	TurnInput      []TurnMiddleware
	TurnOutput     []TurnMiddleware
	DispatchInput  []DispatchMiddleware
	DispatchOutput []DispatchMiddleware
	// Tools are the baseline tools, with which every turn's registry begins.
	Tools []*Tool

	// Clock is SystemClock if nil, IDs is UUIDs if nil (DET-1).
	Clock Clock
	IDs   IDSource
	// Probe observes every run; nil observes none (DET-4).
	Probe Probe
	// Outside answers Ask, AskStream and transports in place of the world. Nil leaves every answer
	// to the world, which is what production needs (WLD-6).
	Outside Outside
	// FaultPoints enables the fault points of user code: each is reported, and Outside decides
	// about it. It also stops handing out an answer once its context has ended (Exchange.Broken).
	// It is for tests that break turns on purpose (WLD-9).
	FaultPoints bool
	// WriteBehind delays the calls of the storage obligations until the flush (DEL-6). The default
	// is to call them at once (DEL-1).
	WriteBehind bool
}

// RunInfo describes what is about to run: the names that people gave to the seams.
type RunInfo struct {
	// Standalone is true for a dispatch that is called without a turn.
	Standalone bool
	// Executor is the executor's name.
	Executor string
	// The names of the middlewares of each pipeline, in order.
	TurnInput, TurnOutput, DispatchInput, DispatchOutput []string
	// WriteBehind is true if persistence is delayed until the flush (DEL-6).
	WriteBehind bool
}

// info returns the names of the seams of a turn.
func (c Config) info() RunInfo {
	turnName := func(m TurnMiddleware) string { return m.Name }
	dispatchName := func(m DispatchMiddleware) string { return m.Name }
	return RunInfo{
		Executor:       c.Executor.Name,
		TurnInput:      each(c.TurnInput, turnName),
		TurnOutput:     each(c.TurnOutput, turnName),
		DispatchInput:  each(c.DispatchInput, dispatchName),
		DispatchOutput: each(c.DispatchOutput, dispatchName),
		WriteBehind:    c.WriteBehind,
	}
}

// withDefaults returns the config with its optional fields filled in and its slices copied.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.IDs == nil {
		c.IDs = UUIDs()
	}
	c.TurnInput = slices.Clone(c.TurnInput)
	c.TurnOutput = slices.Clone(c.TurnOutput)
	c.DispatchInput = slices.Clone(c.DispatchInput)
	c.DispatchOutput = slices.Clone(c.DispatchOutput)
	c.Tools = slices.Clone(c.Tools)
	return c
}

// faults lists everything that is wrong with a config, in the order of its
// fields (RUN-1).
func (c Config) faults() fieldCheck {
	var f fieldCheck
	f.executor("Executor", c.Executor)
	f.storage(c.Storage)
	fields.Steps(&f.Check, "TurnInput", c.TurnInput, func(m TurnMiddleware) (string, bool) { return m.Name, m.Run == nil })
	fields.Steps(&f.Check, "TurnOutput", c.TurnOutput, func(m TurnMiddleware) (string, bool) { return m.Name, m.Run == nil })
	fields.Steps(&f.Check, "DispatchInput", c.DispatchInput, func(m DispatchMiddleware) (string, bool) { return m.Name, m.Run == nil })
	fields.Steps(&f.Check, "DispatchOutput", c.DispatchOutput, func(m DispatchMiddleware) (string, bool) { return m.Name, m.Run == nil })
	checkRecords(&f, "Tools", sameName, c.Tools)
	f.TypedNil("Clock", c.Clock)
	f.TypedNil("IDs", c.IDs)
	f.TypedNil("Probe", c.Probe)
	return f
}

func (f *fieldCheck) executor(field string, e Executor) {
	if e.Name == "" {
		f.Fault(field+".Name", "is empty: give the executor a name")
	}
	if e.Run == nil {
		f.Fault(field+".Run", "is missing")
	}
}

func (f *fieldCheck) storage(s Storage) {
	f.NoneNil("Storage", s, "a no-op is legal, an omission is not")
}

// each returns a list with the result of of for each element.
func each[T, M any](list []T, of func(T) M) []M {
	all := make([]M, len(list))
	for i, one := range list {
		all[i] = of(one)
	}
	return all
}

package fakes

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/cues"
)

// Script says what a model does in a dispatch: it holds one slice of steps for each iteration,
// played in order.
//
//	fakes.Script{
//		{fakes.Say("Let me look."), fakes.Call("weather", `{"city":"Oslo"}`)},
//		{fakes.Say("It rains in Oslo."), fakes.Ack()},
//	}
type Script [][]Step

// Step is one thing that a scripted executor does. The steps are Utterance (Say, Think, Stream),
// ToolUse (Call), and the results of Parallel, Ack, Nack, Fail, Panic, Abort, Wait, WaitDone,
// WaitFor, Log and Do.
type Step interface {
	play(p player) error
}

// player holds what a step acts with, and the step's place in the script.
type player struct {
	ctx context.Context
	dc  *adk.DispatchContext
	h   *adk.Helpers
	at  string // iteration and index of the step, as in 0.1; default ids end with it
}

// Executor returns an executor of that name that plays the script. It holds no state, so one value
// serves concurrent runs. In an iteration beyond the script it returns an error, because otherwise
// a script that never acks or nacks would run for ever.
func (s Script) Executor(name string) adk.Executor {
	return adk.Executor{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		k := cues.Played(ctx, name, dc.Iteration())
		if k >= len(s) {
			return s.exhausted(name, k)
		}
		for i, step := range s[k] {
			if step == nil {
				return fmt.Errorf("fakes: step %d in iteration %d of executor %q is nil", i, k, name)
			}
			at := strconv.Itoa(k) + "." + strconv.Itoa(i)
			if err := step.play(player{ctx, dc, h, at}); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (s Script) exhausted(name string, k int) error {
	if len(s) == 0 {
		return fmt.Errorf("fakes: the script of executor %q has no iterations and was asked for iteration %d", name, k)
	}
	noun := "iterations"
	if len(s) == 1 {
		noun = "iteration"
	}
	return fmt.Errorf("fakes: the script of executor %q has %d %s and was asked for iteration %d: the last one neither acks nor nacks",
		name, len(s), noun, k)
}

// act is a step that consists of a function.
type act func(p player) error

func (a act) play(p player) error { return a(p) }

// Do calls f. Use it for anything that the other steps do not do.
func Do(f func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) Step {
	return act(func(p player) error { return f(p.ctx, p.dc, p.h) })
}

// Ack ends the dispatch successfully. Later steps of the iteration are still played.
func Ack() Step { return act(func(p player) error { return p.dc.Ack() }) }

// Nack ends the dispatch as failed with cause, which may be nil. Later steps of the iteration are
// still played.
func Nack(cause error) Step { return act(func(p player) error { return p.dc.Nack(cause) }) }

// Fail makes the executor return err.
func Fail(err error) Step { return act(func(player) error { return err }) }

// Panic makes the executor panic.
func Panic(value any) Step { return act(func(player) error { panic(value) }) }

// Abort aborts the turn with a reason, which may be nil. Later steps of the iteration are still
// played.
func Abort(reason error) Step { return act(func(p player) error { return p.dc.Abort(reason) }) }

// Wait sleeps for d by the config's clock.
func Wait(d time.Duration) Step {
	return act(func(p player) error { return p.dc.Sleep(p.ctx, d) })
}

// WaitDone waits until the context is done, and makes the executor return the context's cause. It
// sleeps for Forever, so that other strands run meanwhile.
func WaitDone() Step { return Wait(Forever) }

// WaitFor waits for a gate. It fails with the gate's error if the gate is rejected.
func WaitFor(gate adk.Gate) Step {
	return act(func(p player) error {
		_, err := p.dc.WaitFor(p.ctx, gate)
		return err
	})
}

// Log emits a log event. payload is plain data, or nil.
func Log(level adk.Level, kind, message string, payload any) Step {
	return act(func(p player) error {
		p.h.Log(level, kind, message, payload)
		return nil
	})
}

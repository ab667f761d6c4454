package fakes

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/cues"
)

// Script is what a model does in a dispatch: one slice of steps for each
// iteration, played in order.
//
//	fakes.Script{
//		{fakes.Say("Let me look."), fakes.Call("weather", `{"city":"Oslo"}`)},
//		{fakes.Say("It rains in Oslo."), fakes.Ack()},
//	}
type Script [][]Step

// Step is one thing that a scripted executor does. The steps are Utterance
// (Say, Think, Stream), ToolUse (Call), and those made by Parallel, Ack, Nack,
// Fail, Panic, Abort, Wait, WaitDone, WaitFor, Log and Do.
type Step interface {
	play(p player) error
}

// player is a step's place in the script, and what it acts with.
type player struct {
	ctx context.Context
	dc  *adk.DispatchContext
	h   *adk.Helpers
	at  string // iteration and index, as in 0.1: what default ids end with
}

// Executor is an executor of that name that plays the script. It holds no
// state, so one value serves concurrent runs. An iteration beyond the script is
// an error: a script that never signals would run for ever.
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

// act is a step that is nothing but a function.
type act func(p player) error

func (a act) play(p player) error { return a(p) }

// Do calls f, for whatever no other step does.
func Do(f func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) Step {
	return act(func(p player) error { return f(p.ctx, p.dc, p.h) })
}

// Ack ends the dispatch well. Steps behind it are still played.
func Ack() Step { return act(func(p player) error { return p.dc.Ack() }) }

// Nack ends the dispatch as failed with cause, which may be nil. Steps behind
// it are still played.
func Nack(cause error) Step { return act(func(p player) error { return p.dc.Nack(cause) }) }

// Fail makes the executor return err.
func Fail(err error) Step { return act(func(player) error { return err }) }

// Panic makes the executor panic.
func Panic(value any) Step { return act(func(player) error { panic(value) }) }

// Abort aborts the turn, with a reason that may be nil. Steps behind it are
// still played.
func Abort(reason error) Step { return act(func(p player) error { return p.dc.Abort(reason) }) }

// Wait sleeps for d by the config's clock.
func Wait(d time.Duration) Step {
	return act(func(p player) error { return p.dc.Sleep(p.ctx, d) })
}

// WaitDone waits until the context is done, and makes the executor return its
// cause. It sleeps for Forever, so that other strands run meanwhile.
func WaitDone() Step { return Wait(Forever) }

// WaitFor waits for a gate, and fails with what the gate was rejected with.
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

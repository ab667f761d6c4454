package stub

import (
	"context"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/perform"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// This file builds the new run: the inputs of the recorded caller, with scripted seams in place of
// the recorded ones.

// driver observes a new run and answers for its clock, its ids and the world.
type driver interface {
	adk.Probe
	adk.Clock
	adk.IDSource
	// Answer answers an ask in place of the world.
	Answer(context.Context, adk.Question) *adk.Answer
}

// RunTurn returns the run of a turn. loud makes listeners fail as their recorded counterparts did.
func RunTurn(config adk.Config, raw adk.RawTurn, loud *ListenerFaults) (func(context.Context) error, error) {
	runner, err := adk.NewRunner(config)
	if err != nil {
		return nil, Impossible(calls.LineOfHeader, fmt.Errorf("it describes a run that cannot be built: %w", err))
	}
	loud.runner = runner
	return func(ctx context.Context) error { return runner.Run(ctx, raw) }, nil
}

// RunStandalone returns the run of a standalone dispatch. It does not return the error of a nack,
// because that was recorded as a crossing and compared there.
func RunStandalone(in adk.DispatchInput) func(context.Context) error {
	return func(ctx context.Context) error {
		end, err := adk.Dispatch(ctx, in)
		if end.Status == "" {
			return err
		}
		return nil
	}
}

// MustOpen returns an error if a run cannot begin with the crossing first, or if first is nil
// because there is none.
func MustOpen(first *adk.Crossing) error {
	switch {
	case first == nil:
		return Impossible(calls.LineOfFirst, errors.New("it has no crossings"))
	case first.Kind != adk.KindCall:
		return Impossible(calls.LineOfFirst, fmt.Errorf("it begins with %s and not with a call", first.Kind))
	}
	return nil
}

// Turn returns the recorded turn with scripted seams.
func (s *Stage) Turn(first *adk.Crossing, info adk.RunInfo, d driver) (adk.Config, adk.RawTurn, error) {
	if first.Seam.Label != adk.LabelRun {
		return adk.Config{}, adk.RawTurn{}, Impossible(calls.LineOfFirst, fmt.Errorf("it begins with the call of %s and not of run", first.Seam))
	}
	in := s.dispatchInput("", info, nil)
	config := adk.Config{
		TurnInput: safetext.Each(info.TurnInput, s.turnMiddleware), TurnOutput: safetext.Each(info.TurnOutput, s.turnMiddleware),
		Executor: in.Executor, DispatchInput: in.Input, DispatchOutput: in.Output,
		Storage: s.storage(), Tools: recordsOf(first, s.Tool),
		Clock: d, IDs: d, Probe: d, WriteBehind: info.WriteBehind, Outside: d.Answer,
	}
	return config, adk.RawTurn{SystemPrompt: first.Text, Instructions: first.Texts, Stash: stashOf(first), Observability: s.Gates}, nil
}

// DispatchStandalone returns a recorded standalone dispatch with scripted seams. It installs all
// listeners at once, since listeners cannot be added to a standalone dispatch later.
func (s *Stage) DispatchStandalone(first *adk.Crossing, info adk.RunInfo, d driver, loud *ListenerFaults) adk.DispatchInput {
	in := s.dispatchInput(first.Seam.Name, info, nil)
	in.Raw = &adk.RawDispatch{
		SystemPrompt: first.Text, Instructions: first.Texts, Stash: stashOf(first), Storage: s.storage(),
		Tools: recordsOf(first, s.Tool),
		Gates: true,
		Clock: d, IDs: d, Probe: d, WriteBehind: info.WriteBehind, Outside: d.Answer,
	}
	storages.Give(in.Raw, first.Records...)
	in.Raw.Functional, in.Raw.Observability = loud.heard()
	return in
}

func (s *Stage) turnMiddleware(name string) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		id, strand := tc.Where()
		return s.script(&Handle{ctx: ctx, by: perform.Handle{Turn: tc, Next: next}}, id, strand)
	}}
}

func (s *Stage) dispatchMiddleware(name string) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		id, strand := dc.Where()
		return s.script(&Handle{ctx: ctx, by: perform.Handle{Dispatch: dc, Next: next}}, id, strand)
	}}
}

// dispatchInput returns a scripted dispatch; source is nil for a standalone one.
func (s *Stage) dispatchInput(name string, info adk.RunInfo, source adk.Source) adk.DispatchInput {
	return adk.DispatchInput{Name: name, Source: source, Executor: s.executor(info.Executor),
		Input:  safetext.Each(info.DispatchInput, s.dispatchMiddleware),
		Output: safetext.Each(info.DispatchOutput, s.dispatchMiddleware)}
}

func (s *Stage) executor(name string) adk.Executor {
	return adk.Executor{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		id, strand := dc.Where()
		return s.script(&Handle{ctx: ctx, by: perform.Handle{Dispatch: dc}}, id, strand)
	}}
}

func stashOf(first *adk.Crossing) map[string]any {
	stash, _ := first.Value.(map[string]any)
	return stash
}

// storage returns the scripted storage.
func (s *Stage) storage() adk.Storage { return storages.Of(obligations{s}) }

// recordsOf picks the records of one type from those that a run was given.
func recordsOf[T adk.Record](first *adk.Crossing, make func(T) T) []T {
	var picked []T
	for _, record := range first.Records {
		if one, ok := record.(T); ok {
			picked = append(picked, make(one))
		}
	}
	return picked
}

// Same returns its argument.
func Same[T any](record T) T { return record }

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/adk"
)

// This file builds the new run: what the recorded caller handed in, with
// scripted seams in the place of the recorded ones.

// driver is what watches a new run and answers for its clock and ids.
type driver interface {
	adk.Probe
	adk.Clock
	adk.IDSource
}

// again makes the recorded run ready to be run again. The error of what it gives
// says that the engine refused what the recording says was handed in.
func (p *player) again(info adk.RunInfo) (func(context.Context) error, error) {
	first, err := p.opening()
	if err != nil {
		return nil, err
	}
	if info.Alone {
		return runAlone(p.stage.dispatchAlone(first, info, p, &p.loud)), nil
	}
	config, raw, err := p.stage.turn(first, info, p)
	if err != nil {
		return nil, err
	}
	return runTurn(config, raw, &p.loud)
}

// runTurn is the run of a turn. Listeners that were loud are so again.
func runTurn(config adk.Config, raw adk.RawTurn, loud *loudness) (func(context.Context) error, error) {
	runner, err := adk.NewRunner(config)
	if err != nil {
		return nil, impossible(lineOfHeader, fmt.Errorf("it describes a run that cannot be built: %w", err))
	}
	loud.runner = runner
	return func(ctx context.Context) error { return runner.Run(ctx, raw) }, nil
}

// runAlone is the run of a dispatch called alone. The error of a nack has been
// told, and compared.
func runAlone(in adk.DispatchInput) func(context.Context) error {
	return func(ctx context.Context) error {
		end, err := adk.Dispatch(ctx, in)
		if end.Status == "" {
			return err
		}
		return nil
	}
}

// opening is the first crossing: the call of the run. A cancel may stand before
// it, and is made at once.
func (p *player) opening() (*adk.Crossing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.head()
	if first == nil && p.readErr != io.EOF {
		return nil, p.readErr
	}
	if err := mustOpen(first); err != nil {
		return nil, err
	}
	p.began = p.peek(0).At
	p.outside()
	return first, nil
}

// mustOpen reports whether a run can begin with a crossing; nil is none.
func mustOpen(first *adk.Crossing) error {
	switch {
	case first == nil:
		return impossible(lineOfFirst, errors.New("it has no crossings"))
	case first.Kind != adk.KindCall:
		return impossible(lineOfFirst, fmt.Errorf("it begins with %s and not with a call", first.Kind))
	}
	return nil
}

// turn is the recorded turn with scripted seams.
func (s *stage) turn(first *adk.Crossing, info adk.RunInfo, d driver) (adk.Config, adk.RawTurn, error) {
	if first.Seam.Label != adk.LabelRun {
		return adk.Config{}, adk.RawTurn{}, impossible(lineOfFirst, fmt.Errorf("it begins with the call of %s and not of run", first.Seam))
	}
	in := s.dispatchInput("", info, nil)
	config := adk.Config{
		TurnInput: each(info.TurnInput, s.turnMiddleware), TurnOutput: each(info.TurnOutput, s.turnMiddleware),
		Executor: in.Executor, DispatchInput: in.Input, DispatchOutput: in.Output,
		Storage: s.storage(), Tools: recordsOf(first, s.tool),
		Clock: d, IDs: d, Probe: d, WriteBehind: info.WriteBehind,
	}
	return config, adk.RawTurn{SystemPrompt: first.Text, Instructions: first.Texts, Stash: stashOf(first), Observability: s.gates}, nil
}

// dispatchAlone is a recorded dispatch that was called alone. Nobody can listen to
// it later on.
func (s *stage) dispatchAlone(first *adk.Crossing, info adk.RunInfo, d driver, loud *loudness) adk.DispatchInput {
	in := s.dispatchInput(first.Seam.Name, info, nil)
	in.Raw = &adk.RawDispatch{
		SystemPrompt: first.Text, Instructions: first.Texts, Stash: stashOf(first), Storage: s.storage(),
		Messages:     recordsOf(first, same[*adk.Message]),
		Memories:     recordsOf(first, same[*adk.Memory]),
		Retrievables: recordsOf(first, same[*adk.Retrievable]),
		Thoughts:     recordsOf(first, same[*adk.Thought]),
		ToolCalls:    recordsOf(first, same[*adk.ToolCall]),
		Tools:        recordsOf(first, s.tool),
		Gates:        true,
		Clock:        d, IDs: d, Probe: d, WriteBehind: info.WriteBehind,
	}
	in.Raw.Functional, in.Raw.Observability = loud.heard()
	return in
}

func stashOf(first *adk.Crossing) map[string]any {
	stash, _ := first.Value.(map[string]any)
	return stash
}

// storage is the scripted storage.
func (s *stage) storage() adk.Storage {
	return adk.Storage{
		Messages:     collection[*adk.Message]{s},
		Memories:     collection[*adk.Memory]{s},
		Retrievables: collection[*adk.Retrievable]{s},
		Thoughts:     collection[*adk.Thought]{s},
		ToolCalls:    collection[*adk.ToolCall]{s},
		Instructions: collection[*adk.Tokenizable]{s},
		Tools:        toolSource{s},
	}
}

// recordsOf picks the records of one kind out of what a run was given.
func recordsOf[T adk.Record](first *adk.Crossing, make func(T) T) []T {
	var picked []T
	for _, record := range first.Records {
		if one, ok := record.(T); ok {
			picked = append(picked, make(one))
		}
	}
	return picked
}

// same gives what it is given.
func same[T any](record T) T { return record }

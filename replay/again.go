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

// again makes the recorded run ready to be run again. The error of what it gives
// says that the engine refused what the recording says was handed in.
func (p *player) again(info adk.RunInfo, live Live) (func(context.Context) error, error) {
	first, err := p.opening()
	if err != nil {
		return nil, err
	}
	if info.Alone {
		return p.dispatchAgain(first, info, live), nil
	}
	if first.Seam.Label != adk.LabelRun {
		return nil, impossible(lineOfFirst, fmt.Errorf("it begins with the call of %s and not of run", first.Seam))
	}
	runner, err := adk.NewRunner(p.config(first, info, live))
	if err != nil {
		return nil, impossible(lineOfHeader, fmt.Errorf("it describes a run that cannot be built: %w", err))
	}
	p.runner = runner
	stash, _ := first.Value.(map[string]any)
	raw := adk.RawTurn{SystemPrompt: first.Text, Instructions: first.Texts, Stash: stash, Observability: p.watchGates()}
	return func(ctx context.Context) error { return runner.Run(ctx, raw) }, nil
}

// opening is the first crossing: the call of the run. A cancel may stand before
// it, and is made at once.
func (p *player) opening() (*adk.Crossing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.head()
	switch {
	case first == nil && p.readErr == io.EOF:
		return nil, impossible(lineOfFirst, errors.New("it has no crossings"))
	case first == nil:
		return nil, p.readErr
	case first.Kind != adk.KindCall:
		return nil, impossible(lineOfFirst, fmt.Errorf("it begins with %s and not with a call", first.Kind))
	}
	p.began = p.peek(0).At
	p.outside()
	return first, nil
}

// watchGates keeps the gates of the new run by their ids, for whoever settled
// them.
func (p *player) watchGates() adk.Observability {
	return adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gates[e.Gate.ID()] = e.Gate
	}}
}

// config is the recorded run's config with scripted seams, but for the live
// ones.
func (p *player) config(first *adk.Crossing, info adk.RunInfo, live Live) adk.Config {
	in := p.dispatchInput("", info, live, nil)
	c := adk.Config{
		Executor: in.Executor, DispatchInput: in.Input, DispatchOutput: in.Output,
		Storage: p.storage(), Tools: recordsOf(first, p.tool),
		Clock: p, IDs: p, Probe: p, WriteBehind: info.WriteBehind,
	}
	for _, name := range info.TurnInput {
		c.TurnInput = append(c.TurnInput, p.turnMiddleware(name))
	}
	for _, name := range info.TurnOutput {
		c.TurnOutput = append(c.TurnOutput, p.turnMiddleware(name))
	}
	return c
}

// dispatchAgain is a dispatch called alone.
func (p *player) dispatchAgain(first *adk.Crossing, info adk.RunInfo, live Live) func(context.Context) error {
	in := p.dispatchInput(first.Seam.Name, info, live, nil)
	stash, _ := first.Value.(map[string]any)
	in.Raw = &adk.RawDispatch{
		SystemPrompt: first.Text, Instructions: first.Texts, Stash: stash, Storage: p.storage(),
		Messages:      recordsOf(first, same[*adk.Message]),
		Memories:      recordsOf(first, same[*adk.Memory]),
		Retrievables:  recordsOf(first, same[*adk.Retrievable]),
		Thoughts:      recordsOf(first, same[*adk.Thought]),
		ToolCalls:     recordsOf(first, same[*adk.ToolCall]),
		Tools:         recordsOf(first, p.tool),
		Observability: p.watchGates(), Gates: true,
		Clock: p, IDs: p, Probe: p, WriteBehind: info.WriteBehind,
	}
	return func(ctx context.Context) error {
		end, err := adk.Dispatch(ctx, in)
		if end.Status == "" {
			return err
		}
		return nil // the error of a nack has been told, and compared
	}
}

// storage is the scripted storage.
func (p *player) storage() adk.Storage {
	return adk.Storage{
		Messages:     collection[*adk.Message]{p},
		Memories:     collection[*adk.Memory]{p},
		Retrievables: collection[*adk.Retrievable]{p},
		Thoughts:     collection[*adk.Thought]{p},
		ToolCalls:    collection[*adk.ToolCall]{p},
		Instructions: collection[*adk.Tokenizable]{p},
		Tools:        toolSource{p},
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

func same[T any](record T) T { return record }

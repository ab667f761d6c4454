package agent

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// history loads the conversation. The engine does not fill a turn's sets by itself.
func history(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// profile loads what is known of the user, and puts the units into the stash, where the tools find
// them.
func profile(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	memories, err := tc.Memories().Fetch(ctx)
	if err != nil {
		return err
	}
	units := "metric"
	for _, m := range memories {
		if _, err := tc.Memories().Add(m); err != nil {
			return err
		}
		if m.ID() == "units" {
			units = m.Content().String()
		}
	}
	if err := tc.Stash().Set("user.units", units); err != nil {
		return err
	}
	next(ctx)
	return nil
}

// mostIterations is how often the model may be asked in one turn.
const mostIterations = 3

// limit ends a dispatch in which the model goes in circles: the engine itself sets no limit.
func limit(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	if dc.Iteration() >= mostIterations {
		return dc.Nack(fmt.Errorf("the model was asked %d times and wants more", mostIterations))
	}
	next(ctx)
	return nil
}

// finish acks the dispatch when there is an answer. While the newest record is the result of a
// tool, or nothing was said, the model is asked again. (chat.Options.AutoAck would not do: it also
// acks a stream that broke off before its first word.)
func finish(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
	next(ctx)
	messages, calls := dc.Messages().All(), dc.ToolCalls().All()
	if len(messages) == 0 {
		return nil
	}
	last := messages[len(messages)-1]
	if last.Role() != adk.RoleAssistant || len(calls) > 0 && !last.CreatedAt().After(calls[len(calls)-1].CreatedAt()) {
		return nil
	}
	return dc.Ack()
}

package budget

import (
	"cmp"
	"context"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// ShedName is the name of the middleware that Shed makes.
const ShedName = "budget-shed"

// ShedOptions say what a turn may hold. Encoding and Window are as in an executor's limits;
// without both nothing is shed.
type ShedOptions struct {
	Limits
	// Reserve is how many tokens stay free, for what the dispatch adds.
	Reserve int
	// KeepMessages is how many of the newest messages stay whatever they count; less
	// than 1 means 1.
	KeepMessages int
	// Prompt says how results of tools are rendered, for they count as they are shown. Its
	// Opener is the turn's context where it is nil.
	Prompt prompt.Options
	// Report is told what went, where the turn did not fit as it was; nil for nobody.
	Report func(ctx context.Context, shed Shedding)
}

// Shedding is what went of a turn that did not fit, by the ids of the records, in the order
// in which they went.
type Shedding struct {
	Retrievables []string
	Memories     []string
	Messages     []string
	// Before and After are what the turn counted.
	Before, After Usage
	// Fits reports whether what is left fits, with the reserve.
	Fits bool
}

// Shed is a turn-input middleware that takes records out of a turn which would not fit
// (BUD-10): retrievables from the end of their set; then memories, those of the least
// confidence and importance first; then messages, the oldest first. It takes them out of
// the turn's sets alone, never out of the storage, and no more than is needed. Put it
// behind the middlewares that fill the turn.
//
// It fails with what the rendering of results fails with, and with
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS where the limits are wrong.
func Shed(options ShedOptions) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: ShedName, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if err := options.shed(ctx, tc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

func (o ShedOptions) shed(ctx context.Context, tc *adk.TurnContext) error {
	if err := prompt.OptionsError(o.Faults()); err != nil {
		return err
	}
	if !o.Enforced() {
		return nil
	}
	view := prompt.ViewOf(tc.Handle)
	if o.Prompt.Opener == nil {
		o.Prompt.Opener = tc
	}
	assembly, err := prompt.New(view, o.Prompt)
	if err != nil {
		return err
	}
	results, err := assembly.Results(ctx)
	if err != nil {
		return err
	}
	plan := o.plan(view, measured(view, results, o.Encoding, o.Counter))
	if err := plan.carryOut(tc); err != nil {
		return err
	}
	if plan.Before.Total()+o.Reserve > o.Window && o.Report != nil {
		o.Report(ctx, plan)
	}
	return nil
}

// plan says what has to go, and removes nothing.
func (o ShedOptions) plan(view prompt.View, f figures) Shedding {
	plan := Shedding{Before: f.usage, After: f.usage}
	fits := func() bool { return plan.After.Total()+o.Reserve <= o.Window }
	for i := len(view.Retrievables) - 1; i >= 0 && !fits(); i-- {
		plan.Retrievables = append(plan.Retrievables, view.Retrievables[i].ID())
		plan.After.Retrievables -= f.retrievables[i]
	}
	for _, i := range leastMemories(view.Memories) {
		if fits() {
			break
		}
		plan.Memories = append(plan.Memories, view.Memories[i].ID())
		plan.After.Memories -= f.memories[i]
	}
	oldest := oldestMessages(view.Messages)
	for _, i := range oldest[:max(0, len(oldest)-max(1, o.KeepMessages))] {
		if fits() {
			break
		}
		plan.Messages = append(plan.Messages, view.Messages[i].ID())
		plan.After.Timeline -= f.messages[i]
	}
	plan.Fits = fits()
	return plan
}

// leastMemories are the places of memories, those of the least worth first, and of equal
// ones the last of the set.
func leastMemories(memories []*adk.Memory) []int {
	at := places(len(memories))
	worth := func(i int) float64 { return memories[i].Confidence() + memories[i].Importance() }
	slices.SortFunc(at, func(a, b int) int { return cmp.Or(cmp.Compare(worth(a), worth(b)), cmp.Compare(b, a)) })
	return at
}

// oldestMessages are the places of messages by the time they were made.
func oldestMessages(messages []*adk.Message) []int {
	at := places(len(messages))
	slices.SortStableFunc(at, func(a, b int) int { return messages[a].CreatedAt().Compare(messages[b].CreatedAt()) })
	return at
}

func places(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

// carryOut removes what has to go.
func (s Shedding) carryOut(tc *adk.TurnContext) error {
	for _, id := range s.Retrievables {
		if _, err := tc.Retrievables().Remove(id); err != nil {
			return err
		}
	}
	for _, id := range s.Memories {
		if _, err := tc.Memories().Remove(id); err != nil {
			return err
		}
	}
	for _, id := range s.Messages {
		if _, err := tc.Messages().Remove(id); err != nil {
			return err
		}
	}
	return nil
}

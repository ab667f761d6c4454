package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// ShedName is the name of the middleware that Shed makes, and the kind of its log.
const ShedName = "budget-shed"

// ShedOptions say what a turn may hold. Encoding and Window are as in an executor's limits;
// without both nothing is shed.
type ShedOptions struct {
	Limits
	// Reserve is how many tokens stay free, for what the dispatch adds: 0 to the Window.
	Reserve int
	// KeepMessages is how many of the newest messages stay whatever they count; less
	// than 1 means 1.
	KeepMessages int
	// Prompt says how results of tools are rendered, for they count as they are shown. Its
	// Opener is the turn's context where it is nil.
	Prompt prompt.Options
	// Shown is a tool call as the prompt will show it: what a middleware of the dispatch, which
	// runs later, has it show by a handle counts as that. Where artifact.Handles stands in the
	// dispatch input it is Shown of the same artifact.HandleOptions. nil is each call as the
	// turn holds it, a large artifact with all of its body.
	Shown func(call *adk.ToolCall) (*adk.ToolCall, error)
}

// shedding is what goes of a turn that does not fit, by the ids of the records, in the
// order in which they go, and what the turn counts before and after.
type shedding struct {
	retrievables, memories, messages []string
	before, after                    Usage
	fits                             bool // what is left, with the reserve
}

// Shed is a turn-input middleware that takes records out of a turn which would not fit
// (BUD-10): retrievables from the end of their set; then memories, those of the least
// confidence and importance first; then messages, the oldest first. It takes them out of
// the turn's sets alone, never out of the storage, and no more than is needed. A turn that
// did not fit as it was has one log of the kind ShedName: what went, by id, what was counted
// before and after, and whether that fits.
//
// Put it behind the middlewares that fill the turn: what comes later is not counted. It stands
// before artifact.Handles, which is of the dispatch: without Shown it counts the bodies that
// Handles will hide, and the messages go for nothing.
//
// It fails with what the rendering of results and Shown fail with, and with
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS where the options are wrong.
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
	view, err := o.view(tc)
	if err != nil {
		return err
	}
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
	if plan.before.Total()+o.Reserve > o.Window {
		o.log(tc, plan, view)
	}
	return nil
}

// Faults are all that is wrong with the limits and the reserve; nil for nothing.
func (o ShedOptions) Faults() []adk.Fault {
	faults := o.Limits.Faults()
	switch {
	case o.Reserve < 0:
		faults = append(faults, adk.Fault{Path: "Reserve", Message: fmt.Sprintf("is %d, want 0 or more tokens", o.Reserve)})
	case o.Enforced() && o.Reserve > o.Window:
		faults = append(faults, adk.Fault{Path: "Reserve", Message: fmt.Sprintf("is %d, want at most the contextWindow, which is %d: nothing would ever fit", o.Reserve, o.Window)})
	}
	return faults
}

// log says what went.
func (o ShedOptions) log(tc *adk.TurnContext, s shedding, view prompt.View) {
	level, outcome := adk.LevelInfo, "fits now"
	if !s.fits {
		level, outcome = adk.LevelWarn, "does not fit all the same"
	}
	gone := len(s.retrievables) + len(s.memories) + len(s.messages)
	message := fmt.Sprintf("the turn %s: %d of its records went", outcome, gone)
	if o.hasDocuments(view) {
		message += "; documents that tools gave counted with their bodies: ShedOptions.Shown says for which a handle stands"
	}
	tc.Log(level, ShedName, message, map[string]any{
		"retrievables": s.retrievables, "memories": s.memories, "messages": s.messages, "fits": s.fits,
		"before": s.before.Total(), "after": s.after.Total(), "limit": o.Window, "reserve": o.Reserve, "encoding": o.Encoding,
	})
}

// plan says what has to go, and removes nothing.
func (o ShedOptions) plan(view prompt.View, f figures) shedding {
	plan := shedding{before: f.usage, after: f.usage}
	fits := func() bool { return plan.after.Total()+o.Reserve <= o.Window }
	for i := len(view.Retrievables) - 1; i >= 0 && !fits(); i-- {
		plan.retrievables = append(plan.retrievables, view.Retrievables[i].ID())
		plan.after.Retrievables -= f.retrievables[i]
	}
	for _, i := range leastMemories(view.Memories) {
		if fits() {
			break
		}
		plan.memories = append(plan.memories, view.Memories[i].ID())
		plan.after.Memories -= f.memories[i]
	}
	oldest := oldestMessages(view.Messages)
	for _, i := range oldest[:max(0, len(oldest)-max(1, o.KeepMessages))] {
		if fits() {
			break
		}
		plan.messages = append(plan.messages, view.Messages[i].ID())
		plan.after.Timeline -= f.messages[i]
	}
	plan.fits = fits()
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
func (s shedding) carryOut(tc *adk.TurnContext) error {
	for _, id := range s.retrievables {
		if _, err := tc.Retrievables().Remove(id); err != nil {
			return err
		}
	}
	for _, id := range s.memories {
		if _, err := tc.Memories().Remove(id); err != nil {
			return err
		}
	}
	for _, id := range s.messages {
		if _, err := tc.Messages().Remove(id); err != nil {
			return err
		}
	}
	return nil
}

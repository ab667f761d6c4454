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

// ShedOptions say what a turn may hold. Encoding and Window are as in an executor's limits; if one
// of them is missing, nothing is shed.
type ShedOptions struct {
	Limits
	// Reserve is how many tokens stay free for what the dispatch adds: 0 to Window.
	Reserve int
	// KeepMessages is how many of the newest messages always stay; less than 1 means 1.
	KeepMessages int
	// Prompt says how results of tools are rendered, because they count as they are shown. If its
	// Opener is nil, the turn's context is used.
	Prompt prompt.Options
	// Shown returns a tool call as the prompt will show it. Set it if a middleware of the dispatch,
	// which runs later, replaces results by handles: if artifact.Handles is in the dispatch input,
	// use its Shown with the same artifact.HandleOptions. nil counts each call as the turn holds
	// it, a large artifact with all of its body.
	Shown func(call *adk.ToolCall) (*adk.ToolCall, error)
}

// shedding says what to remove from a turn that does not fit: ids of records, in the order of their
// removal, and what the turn counts before and after.
type shedding struct {
	retrievables, memories, messages []string
	before, after                    Usage
	fits                             bool // whether the rest fits, with the reserve
}

// Shed is a turn-input middleware that removes records from a turn that would not fit (BUD-10):
// first retrievables, from the end of their set; then memories, those with the least confidence and
// importance first; then messages, the oldest first. It removes them from the turn's sets only,
// never from the storage, and no more than needed. If the turn did not fit as it was, Shed writes
// one log of the kind ShedName: the ids of what it removed, the count before and after, and whether
// that fits.
//
// Put it behind the middlewares that fill the turn; what they add later is not counted. It runs
// before artifact.Handles, which belongs to the dispatch. Without Shown it therefore counts bodies
// that Handles will hide, and removes messages for nothing.
//
// It fails with the errors of rendering results and of Shown, and with
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS if the options are wrong.
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

// Faults returns all that is wrong with the limits and the reserve, or nil.
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

// log writes what was removed.
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

// plan decides what to remove, without removing it.
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

// leastMemories returns the indexes of the memories, the least valuable first; among equal ones the
// last of the set comes first.
func leastMemories(memories []*adk.Memory) []int {
	at := places(len(memories))
	worth := func(i int) float64 { return memories[i].Confidence() + memories[i].Importance() }
	slices.SortFunc(at, func(a, b int) int { return cmp.Or(cmp.Compare(worth(a), worth(b)), cmp.Compare(b, a)) })
	return at
}

// oldestMessages returns the indexes of the messages, sorted by creation time.
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

// carryOut removes what was planned.
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

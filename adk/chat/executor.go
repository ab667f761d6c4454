package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/callers"
)

// Adapter makes executors of one set of options. It holds no state: one serves many turns
// at once.
type Adapter struct{ options layer }

// New checks options and makes an adapter. What is wrong with them is one
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS that names every fault.
func New(options Options) (*Adapter, error) {
	l := options.layer()
	if _, err := settle(l, false); err != nil {
		return nil, err
	}
	return &Adapter{l}, nil
}

// Executor is an executor of that name. Each of the overrides lies over the adapter's
// options and those before it, and what the stash says at StashKey over all of them.
// They are checked together at the start of each iteration: a fault is what the
// executor returns then, and nothing is asked.
func (a *Adapter) Executor(name string, overrides ...Options) adk.Executor {
	merged := a.options
	for _, o := range overrides {
		merged = o.layer().over(merged)
	}
	// Where no stash says more, all iterations have the same settings, which nobody changes.
	alone := sync.OnceValues(func() (*settings, error) { return settle(merged, true) })
	return adk.Executor{Name: name, Made: callers.Line(1), Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		settle, stash := alone, dc.Stash().Get(StashKey, nil)
		if stash != nil {
			settle = func() (*settings, error) { return settled(merged, stash) }
		}
		s, err := settle()
		if err != nil {
			return err
		}
		it := &iteration{settings: s, ctx: ctx, dc: dc, h: h}
		return it.run()
	}}
}

// settled are the settings of an iteration whose stash says more.
func settled(merged layer, stash any) (*settings, error) {
	over, faults := stashed(stash, merged)
	if err := prompt.OptionsError(faults); err != nil {
		return nil, err
	}
	return settle(over.over(merged), true)
}

// iteration is one call of an executor.
type iteration struct {
	*settings
	ctx   context.Context
	dc    *adk.DispatchContext
	h     *adk.Helpers
	tools *adk.Registry // the turn's, and those forged for this request alone
}

// run asks once and does what the answer says.
func (it *iteration) run() error {
	if it.stopped() {
		return nil
	}
	body, err := it.request()
	if err != nil {
		return it.ended(err)
	}
	answer, err := it.exchange(body)
	if err != nil || it.stopped() {
		return it.ended(err)
	}
	wanted, err := answer.keep()
	if err != nil {
		return it.ended(err)
	}
	if len(wanted) > 0 {
		return it.runCalls(wanted, answer.brokeOff())
	}
	if it.autoAck && !it.dc.IsSignalled() && !it.stopped() {
		return it.dc.Ack()
	}
	return nil
}

// stopped reports whether the turn is aborted.
func (it *iteration) stopped() bool { return it.ctx.Err() != nil || it.dc.Aborted() }

// ended is what the executor returns where an iteration fails: nothing in an aborted turn
// (RTY-5), nothing where the answer is to blame, which nacks, and else the error.
func (it *iteration) ended(err error) error {
	if it.stopped() {
		return nil
	}
	if e, ours := err.(*adk.Error); ours && slices.Contains(nacked, e.Code) && !it.dc.IsSignalled() {
		return it.dc.Nack(err)
	}
	return err
}

// nacked are the codes that say what became of an exchange.
var nacked = []adk.Code{
	adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR, adk.E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT,
	adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR,
}

// request makes the body, and refuses what does not fit.
func (it *iteration) request() ([]byte, error) {
	forged, err := artifact.Forge(it.dc, it.prompt.Artifacts)
	if err != nil {
		return nil, err
	}
	if it.tools, err = it.dc.Tools().Merge(adk.CollisionReplace, forged); err != nil {
		return nil, err
	}
	if err := it.checkToolChoice(); err != nil {
		return nil, err
	}
	view, options := prompt.ViewOf(it.dc.Handle), it.prompt
	view.Tools, options.Opener, options.Warn = it.tools, it.dc, it.warn
	assembly, err := prompt.New(view, options)
	if err != nil {
		return nil, err
	}
	if it.limits.Enforced() {
		results, err := assembly.Results(it.ctx)
		if err != nil {
			return nil, err
		}
		if err := it.limits.Enforce(it.h, view, results); err != nil {
			return nil, err
		}
	}
	shown, err := assembly.Prompt(it.ctx)
	if err != nil {
		return nil, err
	}
	return it.body(it.ctx, shown, it.tools.All())
}

func (it *iteration) warn(text string) { it.h.Log(adk.LevelWarn, "helper-warning", text, nil) }

// checkToolChoice looks for a choice of tools that are offered only now (REQ-15).
func (it *iteration) checkToolChoice() error {
	choice, _ := it.data["tool_choice"].(map[string]any)
	variant, _ := choice["type"].(string)
	chosen := []any{choice}
	if allowed, ok := choice["allowed_tools"].(map[string]any); ok {
		chosen, _ = allowed["tools"].([]any)
	} else {
		variant = "function"
	}
	var names []any
	for _, one := range chosen {
		name := chosenName(one)
		if tool, found := it.tools.Get(name); found && tool.Ephemeral() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if it.strictToolChoice {
		return prompt.OptionsError(fault("tool_choice", "names %v, which may be gone in the next iteration", names))
	}
	it.h.Log(adk.LevelWarn, "tool-choice-forged-artifact", "tool_choice names tools that may be gone in the next iteration",
		map[string]any{"toolNames": names, "variant": variant})
	return nil
}

// chosenName is the name in a choice of one tool.
func chosenName(choice any) string {
	object, _ := choice.(map[string]any)
	for _, kind := range sortedKeys(named) {
		if inner, ok := object[kind].(map[string]any); ok {
			name, _ := inner["name"].(string)
			return name
		}
	}
	return ""
}

// now is the time of a record that stands behind all that the dispatch holds (PRO-5).
func (it *iteration) now() time.Time { return prompt.ViewOf(it.dc.Handle).After(it.dc.Now()) }

// self is who the agent is.
func (it *iteration) self() (adk.Identity, error) {
	name := cmp.Or(it.prompt.Self, prompt.DefaultSelf)
	return adk.NewIdentity(name, name)
}

// storeMessage keeps what was said.
func (it *iteration) storeMessage(id, text string) error {
	self, err := it.self()
	if err != nil {
		return err
	}
	at := it.now()
	message, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleAssistant, Content: text, Identity: self, CreatedAt: at, UpdatedAt: at})
	if err != nil {
		return fmt.Errorf("chat: the answer is no message: %w", err)
	}
	return it.dc.Messages().Store(it.ctx, message)
}

// storeThought keeps what was thought.
func (it *iteration) storeThought(id, text string) error {
	self, err := it.self()
	if err != nil {
		return err
	}
	at := it.now()
	thought, err := adk.NewThought(adk.ThoughtInit{ID: id, Content: text, Identity: self, CreatedAt: at, UpdatedAt: at})
	if err != nil {
		return fmt.Errorf("chat: the answer's reasoning is no thought: %w", err)
	}
	return it.dc.Thoughts().Store(it.ctx, thought)
}

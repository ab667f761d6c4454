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

// Adapter makes executors from one set of options. It holds no state and can serve many turns at
// once.
type Adapter struct{ options layer }

// New checks options and makes an adapter. The error is one
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS that lists every fault.
func New(options Options) (*Adapter, error) {
	l := options.layer()
	if _, err := settle(l, false); err != nil {
		return nil, err
	}
	return &Adapter{l}, nil
}

// Executor returns an executor with a name. Each of the overrides goes over the adapter's options
// and the overrides before it; what the stash has at StashKey goes over all of them. The result is
// checked at the start of each iteration: if it has a fault, the executor returns the error and
// sends no request.
func (a *Adapter) Executor(name string, overrides ...Options) adk.Executor {
	merged := a.options
	for _, o := range overrides {
		merged = o.layer().over(merged)
	}
	// Without options in the stash, all iterations share the same settings, which are never
	// changed.
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

// settled returns the settings of an iteration with options in the stash.
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
	tools *adk.Registry // the turn's tools, and those forged for this request
}

// run makes one exchange and does what the answer says.
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

// ended returns what the executor returns for an error: nil in an aborted turn (RTY-5); the result
// of a nack if the exchange failed; otherwise the error itself.
func (it *iteration) ended(err error) error {
	if it.stopped() {
		return nil
	}
	if e, ours := err.(*adk.Error); ours && slices.Contains(nacked, e.Code) && !it.dc.IsSignalled() {
		return it.dc.Nack(err)
	}
	return err
}

// nacked are the codes of a failed exchange, which nack the dispatch.
var nacked = []adk.Code{
	adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR, adk.E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT,
	adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR,
}

// request returns the request's body, or an error if the prompt does not fit.
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

// checkToolChoice warns of, or refuses, a tool_choice that names tools which exist for this request
// only (REQ-15).
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

// chosenName returns the name in a choice of one tool.
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

// now returns the time for a record that has to come after all that the dispatch holds (PRO-5).
func (it *iteration) now() time.Time { return prompt.ViewOf(it.dc.Handle).After(it.dc.Now()) }

// self returns the identity of the agent.
func (it *iteration) self() (adk.Identity, error) {
	name := cmp.Or(it.prompt.Self, prompt.DefaultSelf)
	return adk.NewIdentity(name, name)
}

// storeMessage stores the answer's message.
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

// storeThought stores the answer's reasoning.
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

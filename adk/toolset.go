package adk

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/plain"
)

// ToolSet is a context's registry of tools, used through a handle (TOL-6). The registry belongs to
// the turn or the dispatch: nothing reaches the baseline tools (TOL-9), and what a dispatch
// registers does not reach its turn (DSP-13).
type ToolSet struct{ call *call }

func (t ToolSet) registry() *Registry { return &t.call.visible.tools }

// All returns the tools in the order of their registration, in a new slice.
func (t ToolSet) All() []*Tool { return t.registry().All() }

// Get returns the tool of that name, and whether there is one.
func (t ToolSet) Get(name string) (*Tool, bool) { return t.registry().Get(name) }

// Has reports whether there is a tool of that name.
func (t ToolSet) Has(name string) bool { return t.registry().Has(name) }

// Register adds a tool. A name that is taken is E_TOOL_ALREADY_REGISTERED; a tool that NewTool did
// not make is E_INVALID_INITIAL_TOOL_VALUE.
func (t ToolSet) Register(tool *Tool) error { return t.register(tool, false) }

// Replace adds a tool, or puts it in the place of the one with its name.
func (t ToolSet) Replace(tool *Tool) error { return t.register(tool, true) }

func (t ToolSet) register(tool *Tool, overwrite bool) (err error) {
	if !made(tool) {
		return errNoTool()
	}
	put := t.registry().Register
	if overwrite {
		put = t.registry().Replace
	}
	ended := t.call.step(KindRegister, func(_ time.Time, x *Crossing) {
		if err = put(tool); x != nil {
			x.Record, x.Flag, x.Err = tool, overwrite, err
		}
	})
	return cmp.Or(ended, err)
}

// Unregister removes the tool of that name; found reports whether there was one.
func (t ToolSet) Unregister(name string) (found bool, err error) {
	err = t.call.step(KindUnregister, func(_ time.Time, x *Crossing) {
		if found = t.registry().Unregister(name); x != nil {
			x.Name, x.Flag = name, found
		}
	})
	return found, err
}

// PruneEphemeral removes the ephemeral tools and returns their names, in order.
func (t ToolSet) PruneEphemeral() (pruned []string, err error) {
	err = t.call.step(KindPrune, func(_ time.Time, x *Crossing) {
		if pruned = t.registry().PruneEphemeral(); x != nil {
			x.Texts = pruned
		}
	})
	return pruned, err
}

// Merge makes a registry from the context's tools and those of the others, as MergeRegistries does,
// and changes none of them (TOL-7). The new registry is the caller's: the context does not get its
// tools. Offer a model what its All returns, and execute what its Get returns.
func (t ToolSet) Merge(onClash Collision, others ...*Registry) (*Registry, error) {
	return MergeRegistries(onClash, append([]*Registry{t.registry()}, others...)...)
}

// PruneHandler is the name of the on-ack handler that ToolSet.Bind registers.
const PruneHandler = "prune-ephemeral"

// Bind makes the context prune its ephemeral tools when the dispatch is acked, and only then
// (TOL-8). It returns a function that undoes the binding.
func (t ToolSet) Bind() (unbind func(), err error) {
	if t.call.dispatch == nil {
		return nil, fmt.Errorf("adk: Bind on the tools of a turn context: only a dispatch can be acked")
	}
	return t.call.dc.OnAck(PruneHandler, func(_ context.Context, dc *DispatchContext) {
		_, _ = dc.Tools().PruneEphemeral() // cannot fail: the handle is the handler's own
	})
}

// Fetch gets tools from the storage. It does not register them.
func (t ToolSet) Fetch(ctx context.Context) ([]*Tool, error) {
	var fetched []*Tool
	tools := Records[*Tool]{t.call, &toolSpecs}
	err := tools.span(ctx, KindFetch, nil, "", func(at *call) error {
		var err error
		fetched, err = callFetch(ctx, at, toolSpecs.row(), at.run.config.Storage.Tools.Fetch)
		return err
	}, nil)
	return fetched, err
}

// Execute runs a tool. It computes the call id from the arguments as they are given (TOL-4),
// validates them, and runs the handler between the two tool execution events (TOL-3). args is an
// object, JSON text of one, or *Arguments; for a tool without arguments it is {}, not nil. Invalid
// arguments are E_INVALID_TOOL_ARGS, and the handler does not run. A failure of the handler is
// E_TOOL_DOWNSTREAM_ERROR. In an aborted turn no handler begins, and the error is the abort's cause
// (ABT-7).
func (dc *DispatchContext) Execute(ctx context.Context, tool *Tool, args any) (ToolResult, error) {
	if !made(tool) {
		return nil, fmt.Errorf("adk: execute of a nil tool or a zero one: give it one that NewTool made")
	}
	if ctx == nil {
		return nil, errNilContext(KindExecute)
	}
	c := dc.call
	if err := c.enter(KindExecute); err != nil {
		return nil, err
	}
	r := c.run
	op := c.begin(KindExecute, func(x *Crossing) { x.Record, x.Args = tool, givenArguments(args) })
	err := r.refusal()
	r.mu.Unlock()

	var given ToolResult
	if err == nil {
		given, err = c.executeTool(ctx, tool, args)
	}
	c.done(KindExecute, op, err, nil)
	return given, err
}

func (c *call) executeTool(ctx context.Context, tool *Tool, raw any) (ToolResult, error) {
	object, err := toolArguments(raw)
	if err != nil {
		return nil, &Error{Code: E_INVALID_TOOL_ARGS, Message: fmt.Sprintf("arguments of %s: %s", tool.Name(), err)}
	}
	callID, err := toolChecksum(tool.Name(), raw, object)
	if err != nil {
		return nil, &Error{Code: E_INVALID_TOOL_ARGS, Message: fmt.Sprintf("arguments of %s: %s", tool.Name(), err)}
	}
	validated, err := tool.Validate(object)
	if err != nil {
		return nil, err
	}
	var started time.Time
	finished := false
	// If a handler or a listener ends its goroutine, the execution is still reported as ended
	// (PIP-11).
	defer func() {
		if !finished {
			c.emitToolExecutionEnd(tool, callID, started, true)
		}
	}()
	if !c.emitToolExecutionStart(tool, callID, validated, &started) {
		finished = true
		return nil, context.Cause(c.run.ctx)
	}
	handling := c.run.openUnlessAborted(c, Seam{Label: LabelTool, Name: tool.Name()}, opened{args: validated})
	if handling == nil {
		return nil, context.Cause(c.run.ctx)
	}
	res := handling.invoke(func() result {
		own := plain.Copy(validated).(map[string]any) // listeners may have kept theirs
		given, err := c.run.handlerOf(tool)(handling.hand(ctx), &handling.dc, own)
		if err == nil {
			given, err = checkedResult(given)
		}
		if err == nil && given == nil {
			err = fmt.Errorf("the handler gave no result: give text, bytes or media (TOL-5)")
		}
		if err != nil {
			given = nil
		}
		return result{err: err, tool: given}
	})
	finished = true
	c.emitToolExecutionEnd(tool, callID, started, res.err != nil)
	if res.err != nil {
		return nil, &Error{Code: E_TOOL_DOWNSTREAM_ERROR, Message: "tool " + tool.Name() + " failed", Cause: res.err}
	}
	return res.tool, nil
}

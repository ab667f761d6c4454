package artifact

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// HandlesName is the name of the middleware that Handles makes.
const HandlesName = "artifact-handles"

// HandleOptions say which results a prompt shows by a handle.
type HandleOptions struct {
	// From is the least length in bytes of an artifact that is shown by a handle; 0 means every
	// artifact. A handle takes about 2 KB of the prompt itself, and that of JSON or Markdown more
	// than 3 KB, because it lists the questions. Below 8 KB it saves little.
	From int64
}

// Handles is a dispatch-input middleware that makes a prompt show large results by a handle in the
// place of their bodies (ART-5). Before each call of the model, it replaces tool calls whose result
// is one artifact of at least options.From bytes by calls that are not inline. The model reads what
// the body is, and with which forged tools it can query it. Handles changes only the set of the
// dispatch, never the storage, so that another From also applies to records that were stored
// before. Answers of forged tools stay inline. Put it behind the middlewares that add tool calls to
// the dispatch.
//
// A turn-input middleware runs before it and sees the bodies. For example, budget.Shed would remove
// messages to make room for bodies that no prompt will hold; set its option Shown to
// HandleOptions.Shown of the same options.
//
// Nothing else shows a handle: without Handles, or a tool or middleware of your own that makes its
// calls with Inline false, every body is in the prompt (ART-6).
//
// It fails with E_INVALID_ARTIFACT_CONFIG if the options are wrong.
func Handles(options HandleOptions) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: HandlesName, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if err := options.show(dc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

// Shown returns a tool call as a prompt shows it behind Handles with the same options: not inline
// if its result is an artifact that is large enough, otherwise the call itself. It is for code that
// counts before the dispatch (budget.ShedOptions).
//
// It fails with E_INVALID_ARTIFACT_CONFIG if the options are wrong.
func (o HandleOptions) Shown(call *adk.ToolCall) (*adk.ToolCall, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	mark, ok := eligible(call)
	if !ok || !call.Inline() || mark.Bytes < o.From {
		return call, nil
	}
	init := call.Init()
	init.Inline = new(false)
	return adk.NewToolCall(init)
}

func (o HandleOptions) check() error {
	if o.From >= 0 {
		return nil
	}
	fault := adk.Fault{Path: "From", Message: fmt.Sprintf("is %d, want 0 or more bytes", o.From)}
	return &adk.Error{Code: adk.E_INVALID_ARTIFACT_CONFIG, Message: fault.Path + ": " + fault.Message, Faults: []adk.Fault{fault}}
}

func (o HandleOptions) show(dc *adk.DispatchContext) error {
	if err := o.check(); err != nil {
		return err
	}
	for _, call := range dc.ToolCalls().All() {
		shown, err := o.Shown(call)
		if err != nil {
			return err
		}
		if shown == call {
			continue
		}
		if _, err := dc.ToolCalls().Add(shown); err != nil {
			return err
		}
	}
	return nil
}

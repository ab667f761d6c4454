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
	// From is how many bytes an artifact has at least that is shown by a handle; 0 is every
	// artifact. A handle takes some 2 KB of the prompt itself, and that of JSON or Markdown
	// more than 3 KB, since it says what can be asked: below 8 KB it saves little.
	From int64
}

// Handles is a dispatch-input middleware that has a prompt show large results by a handle in
// the place of their bodies (ART-5): before each call of the model, it takes tool calls whose
// result is one artifact of at least so many bytes for calls that are not inline. The model
// reads what the body is, and with which forged tools to ask it. It changes the set of the
// dispatch alone, and never the storage, so that another bound is good for what was stored
// before. What forged tools answer stays inline. Put it behind the middlewares that add tool
// calls to the dispatch.
//
// A turn-input middleware runs before it, and sees the bodies: budget.Shed takes messages away
// to make room for what no prompt will hold, unless its options have HandleOptions.Shown of the
// same options.
//
// Nothing shows a handle by itself: without Handles, or a tool or middleware of one's own
// that makes its calls with Inline false, every body stands in the prompt (ART-6).
//
// It fails with E_INVALID_ARTIFACT_CONFIG where the options are wrong.
func Handles(options HandleOptions) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: HandlesName, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if err := options.show(dc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}
}

// Shown is a tool call as a prompt shows it behind Handles with the same options: not inline
// where its result is an artifact that is large enough, and else the call itself. It is for
// what counts before the dispatch (budget.ShedOptions).
//
// It fails with E_INVALID_ARTIFACT_CONFIG where the options are wrong.
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

package budget

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// view returns the turn as the prompt will show it.
func (o ShedOptions) view(tc *adk.TurnContext) (prompt.View, error) {
	view := prompt.ViewOf(tc.Handle)
	if o.Shown == nil {
		return view, nil
	}
	shown := make([]*adk.ToolCall, len(view.ToolCalls))
	for i, call := range view.ToolCalls {
		var err error
		if shown[i], err = o.Shown(call); err != nil {
			return view, err
		}
	}
	view.ToolCalls = shown
	return view, nil
}

// hasDocuments reports whether documents were counted in full for which a handle might stand.
func (o ShedOptions) hasDocuments(view prompt.View) bool {
	return o.Shown == nil && slices.ContainsFunc(view.ToolCalls, func(call *adk.ToolCall) bool {
		media, single := call.Results().(*adk.Media)
		return single && call.Inline() && media.Kind() == adk.MediaDocument
	})
}

package artifact

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// toolMeta is the meta entry that makes a tool an artifact tool, also when the tool is read from a
// trace (ART-10).
const toolMeta = "artifact.tool"

// NewTool makes an artifact tool: its answers are final text that cannot be queried further
// (ART-10). It fails as adk.NewTool does, and if init has an ArtifactConstructor. A handler that
// returns media fails when it is called.
func NewTool(init adk.ToolInit) (*adk.Tool, error) {
	return newTool(init, map[string]any{"tool": true})
}

// newTool makes an artifact tool with a meta entry.
func newTool(init adk.ToolInit, about map[string]any) (*adk.Tool, error) {
	meta := maps.Clone(init.Meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["artifact"] = about
	init.Meta = meta
	constructor, handler := init.ArtifactConstructor, init.Handler
	init.ArtifactConstructor = nil
	if handler != nil {
		init.Handler = wordsOnly(handler)
	}
	tool, err := adk.NewTool(init)
	if constructor == nil {
		return tool, err
	}
	fault := adk.Fault{Path: "ArtifactConstructor", Message: "want none, an artifact tool answers in words"}
	refusal := &adk.Error{Code: adk.E_INVALID_INITIAL_TOOL_VALUE, Message: fault.Path + ": " + fault.Message, Faults: []adk.Fault{fault}}
	if others, ok := errors.AsType[*adk.Error](err); ok {
		refusal.Message = others.Message + "; " + refusal.Message
		refusal.Faults = append(slices.Clone(others.Faults), fault)
	}
	return nil, refusal
}

func wordsOnly(handler adk.ToolHandler) adk.ToolHandler {
	return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		result, err := handler(ctx, dc, args)
		switch result.(type) {
		case *adk.Media, adk.MediaList:
			if err == nil {
				return nil, fmt.Errorf("the handler gave %T: an artifact tool answers with text or bytes", result)
			}
		}
		return result, err
	}
}

// IsTool reports whether a tool is an artifact tool.
func IsTool(tool *adk.Tool) bool {
	if tool == nil {
		return false
	}
	marked, _ := tool.MetaAt(toolMeta)
	return marked == true
}

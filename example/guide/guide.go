// Package guide is an agent that uses the tools of an MCP server. It has no tools of its own: each
// turn asks the server for its tools and offers them to the model.
//
// All requests to the server and their answers are recorded in every trace, whatever transport is
// used: a replay needs no server.
package guide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adkreplay/adkreplay/adk"
)

// Server is an MCP server as the agent sees it. A *mcp.ClientSession of the official SDK is one.
type Server interface {
	ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// Executor runs the model. It finds the server's tools in the dispatch.
type Executor func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error

// Config makes the config of the agent. It has the tools that the server offers when the turn
// begins.
func Config(server Server, think Executor, storage adk.Storage) adk.Config {
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{{Name: "mcp", Run: offer(server)}},
		Executor:  adk.Executor{Name: "model", Run: think},
		Storage:   storage,
	}
}

// name is the name of the server in traces.
const name = "mcp guide"

// offer makes a middleware that registers the tools of the server in the turn.
func offer(server Server) func(context.Context, *adk.TurnContext, adk.Next) error {
	return func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		for cursor := ""; ; {
			listed, err := adk.Ask(ctx, name, &mcp.ListToolsParams{Cursor: cursor}, server.ListTools, adk.AskOptions{Effect: adk.EffectReads})
			if err != nil {
				return fmt.Errorf("the server does not say what it offers: %w", err)
			}
			for _, offered := range listed.Tools {
				tool, err := toolOf(server, offered)
				if err != nil {
					return err
				}
				if err := tc.Tools().Register(tool); err != nil {
					return err
				}
			}
			if cursor = listed.NextCursor; cursor == "" {
				break
			}
		}
		next(ctx)
		return nil
	}
}

// toolOf makes a tool of the agent from a tool of the server. Its effect is what the server's
// annotations say, if there are any.
func toolOf(server Server, offered *mcp.Tool) (*adk.Tool, error) {
	schema, err := json.Marshal(offered.InputSchema)
	if err != nil {
		return nil, err
	}
	effect := adk.EffectUnknown
	if hints := offered.Annotations; hints != nil {
		effect = adk.EffectWrites
		if hints.ReadOnlyHint {
			effect = adk.EffectReads
		}
	}
	return adk.NewTool(adk.ToolInit{
		Name:        offered.Name,
		Description: offered.Description,
		InputSchema: schema,
		Effect:      effect,
		Handler: func(ctx context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			params := &mcp.CallToolParams{Name: offered.Name, Arguments: args}
			said, err := adk.Ask(ctx, name, params, server.CallTool, adk.AskOptions{Effect: effect})
			if err != nil {
				return nil, err
			}
			return resultOf(said)
		},
	})
}

// resultOf joins the texts of a tool's result. If the server marks the result as an error, it is
// returned as one.
func resultOf(said *mcp.CallToolResult) (adk.ToolResult, error) {
	var lines []string
	for _, content := range said.Content {
		text, ok := content.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("the server answers with %T, and the agent reads texts", content)
		}
		lines = append(lines, text.Text)
	}
	if said.IsError {
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	return adk.Text(strings.Join(lines, "\n")), nil
}

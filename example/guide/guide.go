// Package guide is an agent whose tools are those of an MCP server. It has none of its
// own: each turn asks the server what it offers and gives that to the model.
//
// What the server is asked, and what it answers, is part of every trace, by whatever
// transport it is reached: a replay needs no server.
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

// Server is an MCP server as the agent sees it. A session of the official SDK that asks
// one is Session's.
type Server interface {
	ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// Executor runs the model. It finds the server's tools in the dispatch.
type Executor func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error

// Config is the agent: what it may do is what the server offers when the turn begins.
func Config(server Server, think Executor, storage adk.Storage) adk.Config {
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{{Name: "mcp", Run: offer(server)}},
		Executor:  adk.Executor{Name: "model", Run: think},
		Storage:   storage,
	}
}

// name is who is asked, in traces.
const name = "mcp guide"

// offer gives the turn the tools of the server.
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

// toolOf is a tool of the server as one of the agent. Its effect is what the server says
// of it, if it says so.
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

// resultOf is what a tool said, as one text. What the server calls an error is one.
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

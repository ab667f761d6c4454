package sdks

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// askMCP opens an MCP session, as one would in a turn, asks the server for its tools, and calls one of them
// twice.
func askMCP(ctx context.Context, client *http.Client, url string) (string, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "sdks", Version: "1.0.0"}, nil).
		Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		return "", err
	}
	var said []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		said = append(said, tool.Name)
	}
	for _, name := range []string{"Ann", ""} {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": name}})
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprint(result.Content[0].(*mcp.TextContent).Text, result.IsError))
	}
	return strings.Join(said, ", "), session.Close()
}

// WLD-1, WLD-2, WLD-4: a session of an MCP client over HTTP is part of the turn in which it is opened,
// and is replayed without its server.
func TestMCPOverHTTP(t *testing.T) {
	type who struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets."}, func(_ context.Context, _ *mcp.CallToolRequest, in who) (*mcp.CallToolResult, any, error) {
		if in.Name == "" {
			return nil, nil, fmt.Errorf("nobody is there")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name + "!"}}}, nil, nil
	})
	for _, c := range []struct {
		name    string
		options mcp.StreamableHTTPOptions
		asks    int
	}{
		{"events", mcp.StreamableHTTPOptions{}, 7},
		{"JSON", mcp.StreamableHTTPOptions{JSONResponse: true}, 7},
		{"stateless", mcp.StreamableHTTPOptions{Stateless: true}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			serving := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &c.options))
			t.Cleanup(serving.Close)
			want, err := askMCP(t.Context(), &http.Client{}, serving.URL)
			require.NoError(t, err)
			require.Equal(t, "greet, Hello, Ann!false, nobody is theretrue", want)
			held(t, askMCP, serving.URL, want, nil, c.asks)
		})
	}
}

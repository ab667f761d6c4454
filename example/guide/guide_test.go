package guide_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/agent/guide"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
)

// sights is an MCP server that knows two cities.
func sights() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "sights", Version: "1.0.0"}, nil)
	type city struct {
		City string `json:"city" jsonschema:"the name of the city, in English"`
	}
	known := map[string]string{"Lisbon": "the tower of Belém", "Oslo": "the opera"}
	mcp.AddTool(server, &mcp.Tool{Name: "sights", Description: "Tells what there is to see in a city.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, any, error) {
			sight := known[in.City]
			if sight == "" {
				return nil, nil, errors.New("no such city: " + in.City)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: sight}}}, nil, nil
		})
	return server
}

// reached are the ways to reach a server.
var reached = map[string]func(t *testing.T) mcp.Transport{
	"in memory": func(t *testing.T) mcp.Transport {
		ours, theirs := mcp.NewInMemoryTransports()
		session, err := sights().Connect(t.Context(), theirs, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Wait() })
		return ours
	},
	"over HTTP": func(t *testing.T) mcp.Transport {
		server := sights()
		serving := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		t.Cleanup(serving.Close)
		return &mcp.StreamableClientTransport{Endpoint: serving.URL}
	},
}

// script is a model whose replies are known: it asks of two cities, one of them unknown,
// and says what it was told.
func script(cities ...string) guide.Executor {
	return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		tool, ok := dc.Tools().Get("sights")
		if !ok {
			return errors.New("there is no such tool")
		}
		var said []string
		for _, city := range cities {
			result, err := dc.Execute(ctx, tool, map[string]any{"city": city})
			if err != nil {
				said = append(said, "nothing in "+city)
				continue
			}
			said = append(said, result.(*adk.Tokenizable).String())
		}
		if _, err := h.ReportMessage("m1", strings.Join(said, "; "), true); err != nil {
			return err
		}
		return dc.Ack()
	}
}

// A turn with the tools of a server is recorded, by whatever transport the server was
// reached, and played again without it.
func TestServerIsReplayed(t *testing.T) {
	for name, reach := range reached {
		t.Run(name, func(t *testing.T) {
			session, err := mcp.NewClient(&mcp.Implementation{Name: "guide", Version: "1.0.0"}, nil).Connect(t.Context(), reach(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			var trace bytes.Buffer
			said := ""
			recorder := replay.Record(&trace)
			config := guide.Config(session, script("Lisbon", "Atlantis"), fakes.NewStorage().Storage())
			config.Probe = recorder
			runner, err := adk.NewRunner(config)
			if err != nil {
				t.Fatal(err)
			}
			turn := adk.RawTurn{SystemPrompt: "Be a guide."}
			turn.Functional.Message = func(e adk.MessageEvent) { said = e.Full }
			if err := errors.Join(runner.Run(t.Context(), turn), recorder.Err(), session.Close()); err != nil {
				t.Fatal(err)
			}
			if want := "the tower of Belém; nothing in Atlantis"; said != want {
				t.Fatalf("the guide said %q, want %q", said, want)
			}
			property.Check(t, bytes.NewReader(trace.Bytes()))

			for name, c := range map[string]struct {
				think guide.Executor
				red   string
			}{
				"unchanged":      {script("Lisbon", "Atlantis"), ""},
				"another city":   {script("Oslo", "Atlantis"), "Oslo"},
				"a city is lost": {script("Lisbon"), "execute"},
			} {
				t.Run(name, func(t *testing.T) {
					report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{
						Config: guide.Config(nobody{}, c.think, adk.Storage{}), Turn: adk.RawTurn{SystemPrompt: "Be a guide."},
						Seams: []string{replay.Prompt, replay.Middleware, replay.Executor, replay.Tools, replay.ToolCode}})
					if err != nil {
						t.Fatal(err)
					}
					if (report.Divergence == nil) != (c.red == "") || !strings.Contains(report.String(), c.red) {
						t.Errorf("got %s", report)
					}
				})
			}
		})
	}
}

// session is one with a server in memory.
func session(t *testing.T, server *mcp.Server) *mcp.ClientSession {
	ours, theirs := mcp.NewInMemoryTransports()
	serving, err := server.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	asking, err := mcp.NewClient(&mcp.Implementation{Name: "guide", Version: "1.0.0"}, nil).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = asking.Close(), serving.Wait() })
	return asking
}

// Whether the server of today still offers what it did is seen where a replay may ask it:
// Live.Outside names who may be asked, by the name that the agent gives to adk.Ask.
func TestServerOfToday(t *testing.T) {
	type city struct {
		City     string `json:"city" jsonschema:"the name of the city, in English"`
		Language string `json:"language"`
	}
	changed := mcp.NewServer(&mcp.Implementation{Name: "sights", Version: "2.0.0"}, nil)
	mcp.AddTool(changed, &mcp.Tool{Name: "sights", Description: "Tells what there is to see in a city.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, city) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the tower of Belém"}}}, nil, nil
		})
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	config := guide.Config(session(t, sights()), script("Lisbon"), fakes.NewStorage().Storage())
	config.Probe = recorder
	runner, err := adk.NewRunner(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be a guide."}), recorder.Err()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server *mcp.Server
		red    string
	}{
		"as it was":     {sights(), ""},
		"another input": {changed, "language"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{
				Config: guide.Config(session(t, c.server), script("Lisbon"), adk.Storage{}), Turn: adk.RawTurn{SystemPrompt: "Be a guide."},
				Seams: []string{replay.Prompt, replay.Middleware, replay.Executor, replay.Tools, replay.ToolCode}, Outside: []string{"mcp guide"}})
			if err != nil {
				t.Fatal(err)
			}
			if (report.Divergence == nil) != (c.red == "") || !strings.Contains(report.String(), c.red) {
				t.Errorf("got %s", report)
			}
			t.Logf("%s", report)
		})
	}
}

// nobody is a server that must not be asked.
type nobody struct{}

func (nobody) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	panic("the server was asked what it offers")
}

func (nobody) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	panic("the server was asked to do something")
}

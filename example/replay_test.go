package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/agent"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// folder holds the recorded turns.
const folder = "testdata/turns"

// reading is how traces are read: with the errors that the agent tells apart, so that
// they are themselves again. They are written with the same ones.
var reading = trace.Options{Sentinels: map[string]error{"agent.ErrNoSuchCity": agent.ErrNoSuchCity}}

// The agent of today does in every recorded turn what it did when it was
// recorded: its prompt, middlewares, executor and tools run. What the model, the weather
// service and the storage said comes from the trace, and what they are asked is held
// against it.
func TestReplay(t *testing.T) {
	golden.Replay(t, folder, func(string) replay.Live { return today(agent.Model("http://localhost/v1", "", "small")) }, reading)
}

// today is the agent of today in a replay.
func today(model chat.Options) replay.Live {
	nobody := func(context.Context, agent.Query) (string, error) { panic("the service was asked") }
	config := must(agent.Config(agent.Outside{Model: model, Forecasts: nobody, Storage: must(agent.NewStorage())}))
	return replay.Live{Config: config, Turn: agent.Turn(), Seams: []string{
		replay.Prompt, replay.Tools, replay.Middleware, replay.Executor, replay.ToolCode}}
}

// The transcript of the turn in which most happens.
func TestTranscript(t *testing.T) {
	for _, c := range turns {
		if c.name == "busy-and-unknown" {
			golden.Transcript(t, c.name, c.run)
		}
	}
}

func TestStorage(t *testing.T) {
	err := fakes.TestStorage(func() adk.Storage { return must(agent.NewStorage()).Obligations() })
	if err != nil {
		t.Error(err)
	}
}

// Whatever changes in what the model is asked, the replay is red, and its first lines
// name what changed.
func TestChangedRequestsAreRed(t *testing.T) {
	shown := chat.DefaultHelpers()
	for _, c := range []struct {
		name, member string
		change       func(model *chat.Options)
	}{
		{"nothing", "", func(*chat.Options) {}},
		{"a memory is dropped", "request.body.messages[0].content", func(o *chat.Options) {
			o.Helpers.Memories = func(context.Context, []prompt.Item[*adk.Memory]) (string, error) { return "", nil }
		}},
		{"a result of a tool is cut", "request.body.messages[5].content", func(o *chat.Options) {
			o.Helpers.ToolResult = func(ctx context.Context, call *adk.ToolCall, tool *adk.Tool, with prompt.Setting) (prompt.Content, error) {
				content, err := shown.ToolResult(ctx, call, tool, with)
				content.Text = content.Text[:4]
				return content, err
			}
		}},
		{"the temperature", "request.body.temperature", func(o *chat.Options) { o.Temperature = new(0.9) }},
		{"the model", "request.body.model", func(o *chat.Options) { o.Model = "large" }},
		{"the schema of a tool", "request.body.tools[0].function.parameters.properties.days.maximum", func(o *chat.Options) {
			o.Helpers.Schema = func(ctx context.Context, tool *adk.Tool) (json.RawMessage, error) {
				schema, err := shown.Schema(ctx, tool)
				return bytes.Replace(schema, []byte(`"maximum":7`), []byte(`"maximum":14`), 1), err
			}
		}},
		{"the order of the messages", "request.body.messages[1]", func(o *chat.Options) {
			o.Helpers.History = func(ctx context.Context, of prompt.History) (*prompt.Prompt, error) {
				all, err := shown.History(ctx, of)
				all.Messages[1], all.Messages[2] = all.Messages[2], all.Messages[1]
				return all, err
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := agent.Model("http://localhost/v1", "", "small")
			c.change(&model)
			file, err := os.Open(filepath.Join(folder, "two-cities.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			report, err := replay.Verify(t.Context(), file, today(model), reading)
			if err != nil {
				t.Fatal(err)
			}
			if (report.Divergence == nil) != (c.member == "") {
				t.Fatalf("got %s", report)
			}
			lines := strings.Split(report.String(), "\n")
			first := strings.Join(strings.Fields(strings.Join(lines[:min(10, len(lines))], " ")), "") // a long name is broken
			if !strings.Contains(first, c.member) {
				t.Errorf("the first lines do not name %s:\n%s", c.member, report)
			}
		})
	}
}

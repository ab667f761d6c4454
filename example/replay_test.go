package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/agent"

	"github.com/adkreplay/adkreplay/adk"
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
	golden.Replay(t, folder, func(string) replay.Live { return today(agent.NewModel("http://localhost/v1", "", "small", nil)) }, reading)
}

// today is the agent of today in a replay.
func today(model *agent.Model) replay.Live {
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
// name what changed. The change is made where an agent's own code would make it.
func TestChangedRequestsAreRed(t *testing.T) {
	unchanged := func(map[string]any) {}
	for _, c := range []struct {
		name, member string
		change       func(request map[string]any)
	}{
		{"nothing", "", unchanged},
		{"a memory is dropped", "request.body.messages[0].content", func(r map[string]any) {
			system := messages(r)[0].(map[string]any)
			system["content"], _, _ = strings.Cut(system["content"].(string), "\nOf the user you know")
		}},
		{"a result of a tool is cut", "request.body.messages[5].content", func(r map[string]any) {
			for _, one := range messages(r) {
				if m := one.(map[string]any); m["role"] == "tool" {
					m["content"] = m["content"].(string)[:4]
				}
			}
		}},
		{"the temperature", "request.body.temperature", func(r map[string]any) { r["temperature"] = 0.9 }},
		{"the model", "request.body.model", func(r map[string]any) { r["model"] = "large" }},
		{"the schema of a tool", "request.body.tools[0].function.parameters.properties.days.maximum", func(r map[string]any) {
			parameters := r["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)["parameters"].(map[string]any)
			parameters["properties"].(map[string]any)["days"].(map[string]any)["maximum"] = 14
		}},
		{"the order of the messages", "request.body.messages[1]", func(r map[string]any) {
			all := messages(r)
			all[1], all[2] = all[2], all[1]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := agent.NewModel("http://localhost/v1", "", "small", nil)
			model.Client.Transport = changing{model.Client.Transport, c.change}
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

func messages(request map[string]any) []any { return request["messages"].([]any) }

// changing changes the requests of a client before they are asked.
type changing struct {
	http.RoundTripper
	change func(request map[string]any)
}

func (c changing) RoundTrip(req *http.Request) (*http.Response, error) {
	var body map[string]any
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return nil, err
	}
	c.change(body)
	changed := must(json.Marshal(body))
	req = req.Clone(req.Context())
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(changed)), nil }
	return c.RoundTripper.RoundTrip(req)
}

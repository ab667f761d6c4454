package scenarios

import (
	"context"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/tools/numbers"
	"github.com/adkreplay/adkreplay/fakes"
)

var artifacts = []Scenario{
	{
		Name:  "artifact-grep",
		About: "a log of 200 lines stays out of the prompt: the model asks for the lines that it needs",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"The disk of node 7 is full."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("log", nil)},
				{fakes.Call("artifact_line_count", `{"callId":"c0.0"}`), fakes.Call("artifact_grep", `{"callId":"c0.0","pattern":"error","flags":"i"}`)},
				{fakes.Say("The disk of node 7 is full."), fakes.Ack()},
			}
			return forging(agent(script, "What is wrong with the cluster?", giving("log", "Gives the log.", artifact.Text, clusterLog())), artifact.Config{}), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "artifact-json",
		About: "a list of orders is asked by JSON path; a path that is none fails, and the model mends it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 4, Said: []string{"Order 3 is open, for 99.50."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			const orders = `{"orders":[{"id":1,"state":"paid","total":12.00},{"id":2,"state":"paid","total":7.25},{"id":3,"state":"open","total":99.50}]}`
			script := fakes.Script{
				{fakes.Call("orders", nil)},
				{fakes.Call("artifact_json_keys", `{"callId":"c0.0"}`), fakes.Call("artifact_json_get", `{"callId":"c0.0","path":"orders[open]"}`)},
				{fakes.Call("artifact_json_get", `{"callId":"c0.0","path":"$.orders[?@.state == 'open']"}`)},
				{fakes.Say("Order 3 is open, for 99.50."), fakes.Ack()},
			}
			return forging(agent(script, "Which order is open?", giving("orders", "Gives all orders.", artifact.JSON, orders)), artifact.Config{}), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "artifact-markdown",
		About: "of a manual the model reads the headings first, and then the lines of one section",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"Hold the button for ten seconds."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			const manual = "---\ntitle: Manual\n---\n# Manual\n\nRead me.\n\n## Setup\n\nPlug it *in*.\n\n## Reset\n\nHold the **button** for ten seconds, see [the picture](reset.png).\n"
			script := fakes.Script{
				{fakes.Call("manual", nil)},
				{fakes.Call("artifact_md_sections", `{"callId":"c0.0","depth":2}`), fakes.Call("artifact_md_text", `{"callId":"c0.0","startLine":12,"endLine":14}`)},
				{fakes.Say("Hold the button for ten seconds."), fakes.Ack()},
			}
			return forging(agent(script, "How do I reset it?", giving("manual", "Gives the manual.", artifact.Markdown, manual)), artifact.Config{}), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "artifact-spooled",
		About: "the body of an earlier turn lies in a spool: the record that the storage holds names it, and a question reads it",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"As the log of yesterday says, the disk of node 7 was full."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			spool := artifact.NewMemorySpool()
			entry := must(spool.Write(context.Background(), "yesterday", strings.NewReader(clusterLog())))
			body := must(artifact.New(artifact.Init{ID: "call-1", Flavour: artifact.TextFlavour, Filename: "log.txt", Reader: artifact.MemoryReader([]byte(clusterLog())), TrustTier: adk.TrustThirdPartyPublic, Known: &entry}))
			past := must(adk.NewToolCall(adk.ToolCallInit{ID: "call-1", Tool: "log", Args: map[string]any{}, Results: body.WithReader(nil), Inline: new(false), CreatedAt: earlier, UpdatedAt: earlier, CompletedAt: earlier}))
			script := fakes.Script{
				{fakes.Call("artifact_grep", `{"callId":"call-1","pattern":"ERROR"}`)},
				{fakes.Say("As the log of yesterday says, the disk of node 7 was full."), fakes.Ack()},
			}
			config := agent(script, "What was wrong yesterday?")
			config.Storage = artifact.Spooling(fakes.NewStorage(asked("q1", "What was wrong yesterday?"), past).Storage(), spool, artifact.SpoolingOptions{})
			config.TurnInput = append(config.TurnInput, adk.TurnMiddleware{Name: "recall", Run: recallCalls})
			return forging(config, artifact.Config{Spool: spool}), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "forged-tools",
		About: "tools are forged anew before every call of the model, for the artifacts that there are then; an answer of theirs is none, and the ack prunes them",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"Both begin with a."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("read", `{"name":"one"}`)},
				{fakes.Call("artifact_head", `{"callId":"c0.0","n":1}`), fakes.Call("artifact_head", `{"callId":"c1.0"}`), fakes.Call("read", `{"name":"two"}`)},
				{fakes.Call("artifact_head", `{"callId":"c1.2","n":1}`), fakes.Say("Both begin with a."), fakes.Ack()},
			}
			read := fakes.NewTool("read", "Reads a file.", artifactOf(artifact.Text, "alpha\nbeta\n"), artifactOf(artifact.Text, "almond\nbean\n"))
			read.Init.InputSchema = []byte(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
			return forging(agent(script, "How do the files begin?", read.Tool()), artifact.Config{}), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "calculator",
		About: "the model lets a tool calculate; what goes wrong in the work is an answer, to which it reacts",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 3, Said: []string{"The hypotenuse is 13."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("calculate", `{"expression":"root(5^2 + 12^2)"}`)},
				{fakes.Call("calculate", `{"expression":"sqrt(5^2 + 12^2)"}`)},
				{fakes.Say("The hypotenuse is 13."), fakes.Ack()},
			}
			return agent(script, "How long is the hypotenuse of 5 and 12?", numbers.Calculate()), adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// forging returns the config with a middleware that forges tools before every call of the model.
func forging(config adk.Config, artifacts artifact.Config) adk.Config {
	config.DispatchInput = append(config.DispatchInput, adk.DispatchMiddleware{Name: "forge", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		forged, err := artifact.Forge(dc, artifacts)
		if err != nil {
			return err
		}
		if err := artifact.Install(dc, forged); err != nil {
			return err
		}
		next(ctx)
		return nil
	}})
	return config
}

// giving makes a tool that returns an artifact.
func giving(name, about string, construct adk.ArtifactConstructor, answer string) *adk.Tool {
	return fakes.NewTool(name, about, artifactOf(construct, answer)).Tool()
}

// artifactOf makes an artifact from a text.
func artifactOf(construct adk.ArtifactConstructor, body string) *adk.Media {
	return must(construct(context.Background(), adk.Text(body))).(*adk.Media)
}

// clusterLog makes a log in which only two lines matter.
func clusterLog() string {
	var log strings.Builder
	for i := range 200 {
		switch i {
		case 120:
			log.WriteString("12:01:00 ERROR node 7: write failed: no space left on device\n")
		case 121:
			log.WriteString("12:01:00 Error node 7: leaving the cluster\n")
		default:
			fmt.Fprintf(&log, "12:%02d:%02d info node %d: all is well\n", i/60, i%60, i%9)
		}
	}
	return log.String()
}

// recallCalls loads the tool calls of earlier turns.
func recallCalls(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	calls, err := tc.ToolCalls().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, call := range calls {
		if _, err := tc.ToolCalls().Add(call); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

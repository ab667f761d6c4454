package scenarios

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
)

var asks = []Scenario{
	{
		Name:  "asks-a-model",
		About: "the executor asks a model over HTTP: the request crosses, and each event of the answer as it is read",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 1, Said: []string{"It rains in Oslo."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			config := agent(nil, "What is the weather in Oslo?")
			config.Executor = modelOver(fakes.StreamReply("It ", "rains ", "in Oslo."), func(string) {})
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "asks-again",
		About: "a tool asks a service that is busy, waits and asks once more: two asks, of which one failed",
		Must:  Ending{Dispatch: adk.StatusAck, Iterations: 2, Said: []string{"4 °C."}},
		Build: func(Outside) (adk.Config, adk.RawTurn) {
			script := fakes.Script{
				{fakes.Call("weather", `{"city":"Oslo"}`)},
				{fakes.Say("4 °C."), fakes.Ack()},
			}
			return agent(script, "How warm is it in Oslo?", weatherTool().WithHandler(forecasts(errBusy, nil))), adk.RawTurn{SystemPrompt: prompt}
		},
	},
	{
		Name:  "abort-while-asking",
		About: "the user leaves in the middle of an answer: the reader stops, and the ask is told to have ended with the abort",
		Must:  Ending{Dispatch: adk.StatusAborted, Iterations: 1},
		Build: func(outside Outside) (adk.Config, adk.RawTurn) {
			config := agent(nil, "Tell me a long story.")
			config.Executor = modelOver(fakes.StreamReply("Once ", "upon ", "a time"), func(word string) {
				if word == "upon " {
					outside.Cancel(errLeft)
				}
			})
			return config, adk.RawTurn{SystemPrompt: prompt}
		},
	},
}

// modelOver makes an executor that asks a model over HTTP, as programs do, and reports what the
// model says. It calls heard with each word.
func modelOver(reply fakes.Reply, heard func(string)) adk.Executor {
	client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(reply)))}
	return adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		answer, err := askModel(ctx, client, dc)
		if err != nil {
			return err
		}
		defer answer.Close()
		var text strings.Builder
		lines := bufio.NewScanner(answer)
		for lines.Scan() {
			word, err := wordIn(lines.Text())
			if err != nil {
				return err
			}
			heard(word)
			text.WriteString(word)
		}
		if err := lines.Err(); err != nil {
			return err
		}
		if err := keepReply(ctx, dc, h, text.String()); err != nil {
			return err
		}
		return dc.Ack()
	}}
}

// keepReply reports what a model has said, and stores it.
func keepReply(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers, text string) error {
	said, err := h.ReportMessage("reply", text, true)
	if err != nil {
		return err
	}
	return dc.Messages().Store(ctx, must(adk.NewMessage(adk.MessageInit{ID: said.ID, Role: adk.RoleAssistant, Content: said.Full,
		CreatedAt: said.CreatedAt, UpdatedAt: said.UpdatedAt})))
}

// askModel asks for an answer that is streamed.
func askModel(ctx context.Context, client *http.Client, dc *adk.DispatchContext) (io.ReadCloser, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", dc.SystemPrompt().String()}}
	for _, m := range dc.Messages().All() {
		messages = append(messages, message{string(m.Role()), m.Content().String()})
	}
	body, err := json.Marshal(map[string]any{"model": "small", "stream": true, "messages": messages})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("the model answers %s", resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// wordIn returns the text in a line of an event stream, or nothing if there is none.
func wordIn(line string) (string, error) {
	data, found := strings.CutPrefix(line, "data: ")
	if !found || data == "[DONE]" {
		return "", nil
	}
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return "", err
	}
	if len(chunk.Choices) == 0 {
		return "", nil
	}
	return chunk.Choices[0].Delta.Content, nil
}

var errBusy = errors.New("the service is busy")

// forecasts makes a handler that asks a service, and asks once more if that fails. The n-th call of
// the service returns the n-th of the failures, and later calls the last; nil means success.
func forecasts(failures ...error) adk.ToolHandler {
	service := func(context.Context, string) (float64, error) {
		failure := failures[0]
		if len(failures) > 1 {
			failures = failures[1:]
		}
		return 4, failure
	}
	return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		for attempt := 1; ; attempt++ {
			degrees, err := adk.Ask(ctx, "forecasts", fmt.Sprint(args["city"]), service, adk.AskOptions{Effect: adk.EffectReads})
			if err == nil {
				return adk.Text(fmt.Sprint(degrees, " °C")), nil
			}
			if attempt == 2 {
				return nil, err
			}
			if err := dc.Sleep(ctx, time.Second); err != nil {
				return nil, err
			}
		}
	}
}

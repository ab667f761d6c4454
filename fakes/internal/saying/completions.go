package saying

import "encoding/json"

// The parts of an answer of Chat Completions.
type (
	completion struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
		Usage   *usage   `json:"usage,omitempty"`
	}
	choice struct {
		Index        int      `json:"index"`
		Message      *message `json:"message,omitempty"`
		Delta        *delta   `json:"delta,omitempty"`
		FinishReason *string  `json:"finish_reason"`
	}
	message struct {
		Role      string      `json:"role"`
		Content   *string     `json:"content"`
		ToolCalls []wholeCall `json:"tool_calls,omitempty"`
	}
	wholeCall struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	delta struct {
		Role      string      `json:"role,omitempty"`
		Content   string      `json:"content,omitempty"`
		ToolCalls []deltaCall `json:"tool_calls,omitempty"`
	}
	deltaCall struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
)

// CompletionStream is the answer as Chat Completions streams it.
func (a Answer) CompletionStream() Body {
	var deltas []delta
	if len(a.Calls) == 0 {
		deltas = append(deltas, delta{}) // that somebody answers is told before what
	}
	for _, piece := range a.Text {
		deltas = append(deltas, delta{Content: piece})
	}
	for i, call := range a.Calls {
		deltas = append(deltas, delta{ToolCalls: []deltaCall{{Index: i, ID: call.ID, Type: "function", Function: function{Name: call.Name}}}})
		for _, fragment := range call.ArgumentFragments {
			deltas = append(deltas, delta{ToolCalls: []deltaCall{{Index: i, Function: function{Arguments: fragment}}}})
		}
	}
	deltas[0].Role = "assistant"
	finish := a.finish("stop", "tool_calls")
	var e events
	for _, d := range deltas {
		e.data("%s", completionOf("chat.completion.chunk", choice{Delta: &d}, nil))
	}
	e.data("%s", completionOf("chat.completion.chunk", choice{Delta: &delta{}, FinishReason: &finish}, nil))
	e.data("[DONE]")
	return e.body()
}

// completion is the answer as Chat Completions says it whole.
func (a Answer) completion() (Body, error) {
	said := message{Role: "assistant"}
	if text := a.text(); text != "" || len(a.Calls) == 0 {
		said.Content = &text
	}
	for _, call := range a.Calls {
		said.ToolCalls = append(said.ToolCalls, wholeCall{call.ID, "function", function{call.Name, call.arguments()}})
	}
	finish := a.finish("stop", "tool_calls")
	return Body{ofJSON, completionOf("chat.completion", choice{Message: &said, FinishReason: &finish}, &usage{1, 1, 2})}, nil
}

func completionOf(object string, one choice, used *usage) string {
	data, _ := json.Marshal(completion{ID: "chatcmpl-fake", Object: object, Created: created, Model: model, Choices: []choice{one}, Usage: used})
	return string(data) // texts and numbers always encode
}

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
)

// Model is a model that is asked by the protocol of Chat Completions.
type Model struct {
	// URL is where it is, up to the version: https://api.openai.com/v1, say.
	URL string
	// Key is the secret that it is asked with. No trace has it.
	Key string
	// Name and Temperature are those of the protocol.
	Name        string
	Temperature float64
	// Client asks. What goes through one that NewModel made is part of a trace.
	Client *http.Client
}

// NewModel is a model behind a URL, which is asked through base; nil is
// http.DefaultTransport.
func NewModel(url, key, name string, base http.RoundTripper) *Model {
	// This one line makes all that the client asks, and what it is answered, part of a
	// trace. In a replay the answers come from there.
	crossing := adkhttp.NewTransport(base, adkhttp.Name(func(*http.Request) string { return "model" }))
	return &Model{URL: url, Key: key, Name: name, Temperature: 0.2, Client: &http.Client{Transport: crossing}}
}

// Reply is what the model says, and the tools that it wants. Without any it has
// answered.
type Reply struct {
	Text  string
	Calls []Call
}

// Call is one tool that the model wants.
type Call struct {
	ID, Tool string
	Args     string // JSON
}

// The parts of the protocol that this agent knows.
type (
	request struct {
		Model       string    `json:"model"`
		Temperature float64   `json:"temperature"`
		Messages    []message `json:"messages"`
		Tools       []tool    `json:"tools"`
	}
	message struct {
		Role    string     `json:"role"`
		Content string     `json:"content"`
		Calls   []toolCall `json:"tool_calls,omitempty"`
		CallID  string     `json:"tool_call_id,omitempty"`
		Refusal string     `json:"refusal,omitempty"`
	}
	toolCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	response struct {
		Choices []struct {
			Message      message `json:"message"`
			FinishReason string  `json:"finish_reason"`
		} `json:"choices"`
	}
)

// Reply asks the model what it makes of the conversation.
func (m *Model) Reply(ctx context.Context, dc *adk.DispatchContext) (Reply, error) {
	asked, err := m.request(dc)
	if err != nil {
		return Reply{}, err
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return Reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+m.Key)
	resp, err := m.Client.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return Reply{}, err
	}
	if resp.StatusCode != http.StatusOK {
		return Reply{}, fmt.Errorf("it answers %s", resp.Status)
	}
	return replyIn(answer)
}

// request is what the model is asked: the prompt with what is known of the user, the
// conversation, the calls of this turn with their results, and the tools.
func (m *Model) request(dc *adk.DispatchContext) (request, error) {
	system := dc.SystemPrompt().String()
	for _, memory := range dc.Memories().All() {
		system += "\nOf the user you know: " + memory.ID() + " = " + memory.Content().String() + "."
	}
	q := request{Model: m.Name, Temperature: m.Temperature, Messages: []message{{Role: "system", Content: system}}}
	for _, said := range dc.Messages().All() {
		q.Messages = append(q.Messages, message{Role: string(said.Role()), Content: said.Content().String()})
	}
	for _, done := range dc.ToolCalls().All() {
		args, err := json.Marshal(done.Args())
		if err != nil {
			return request{}, err
		}
		call := toolCall{ID: done.ID(), Type: "function"}
		call.Function.Name, call.Function.Arguments = done.Tool(), string(args)
		q.Messages = append(q.Messages, message{Role: "assistant", Calls: []toolCall{call}},
			message{Role: "tool", CallID: done.ID(), Content: fmt.Sprint(done.Results())})
	}
	for _, one := range dc.Tools().All() {
		described := one.Describe()
		q.Tools = append(q.Tools, tool{Type: "function", Function: function{described.Name, described.Description, described.InputSchema}})
	}
	return q, nil
}

// replyIn reads what the model answered. What it refuses is said; half an answer, none,
// and calls that cannot be told apart are none.
func replyIn(answer []byte) (Reply, error) {
	var r response
	if err := json.Unmarshal(answer, &r); err != nil {
		return Reply{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if len(r.Choices) == 0 {
		return Reply{}, errors.New("its answer has no choice")
	}
	said := r.Choices[0].Message
	reply := Reply{Text: said.Content + said.Refusal}
	switch {
	case r.Choices[0].FinishReason == "length":
		return Reply{}, errors.New("it ran out of tokens in the middle of its answer")
	case reply.Text == "" && len(said.Calls) == 0:
		return Reply{}, errors.New("its answer says nothing")
	}
	known := map[string]bool{}
	for _, call := range said.Calls {
		if known[call.ID] {
			return Reply{}, fmt.Errorf("two of its calls have the id %q", call.ID)
		}
		known[call.ID] = true
		reply.Calls = append(reply.Calls, Call{ID: call.ID, Tool: call.Function.Name, Args: call.Function.Arguments})
	}
	return reply, nil
}

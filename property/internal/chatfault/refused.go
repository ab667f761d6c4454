package chatfault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Refused says for what providers refuse a request: a call of a tool without its result, or a
// result without its call. It is empty for other requests, and if request is not one to a model.
func Refused(request json.RawMessage) string {
	if !slices.ContainsFunc(signs, func(sign []byte) bool { return bytes.Contains(request, sign) }) {
		return ""
	}
	var over struct{ Body json.RawMessage }
	if json.Unmarshal(request, &over) == nil && bytes.HasPrefix(over.Body, []byte("{")) {
		request = over.Body
	}
	var asked struct {
		Messages []json.RawMessage
		Contents []json.RawMessage
		Input    json.RawMessage
		// Set if the provider keeps what was said before.
		Previous     string          `json:"previous_response_id"`
		Conversation json.RawMessage `json:"conversation"`
	}
	if json.Unmarshal(request, &asked) != nil {
		return ""
	}
	var items []json.RawMessage
	_ = json.Unmarshal(asked.Input, &items) // or it is a text
	var t talk
	for _, raw := range asked.Messages {
		t.message(raw)
	}
	for _, raw := range items {
		t.item(raw)
	}
	for _, raw := range asked.Contents {
		t.content(raw)
	}
	t.kept = t.kept || asked.Previous != "" || asked.Conversation != nil
	return t.refused()
}

// signs are byte sequences of which a request with calls or results contains one.
var signs = [][]byte{[]byte(`"tool_call`), []byte(`"tool_use`), []byte(`"function_call`), []byte(`"functionCall"`), []byte(`"functionResponse"`)}

// talk is what matters of a conversation.
type talk struct {
	steps []step
	// atOnce says that results must follow right after their calls, as in Chat Completions.
	// anywhere says that they may be anywhere after them, as in Responses. Otherwise they must be
	// in what the user says next.
	atOnce, anywhere bool
	kept             bool // the request does not contain all that was said
}

// step is what is said at once, by the model or to it.
type step struct {
	byModel        bool
	calls, results []string // by ids
}

// message adds a message of Chat Completions or of Messages.
func (t *talk) message(raw json.RawMessage) {
	var m struct {
		Role    string
		Answers string                `json:"tool_call_id"`
		Calls   []struct{ ID string } `json:"tool_calls"`
		Content json.RawMessage
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	s := step{byModel: m.Role == "assistant"}
	for _, call := range m.Calls {
		s.calls = append(s.calls, call.ID)
	}
	if m.Role == "tool" {
		s.results = []string{m.Answers}
	}
	t.atOnce = t.atOnce || len(s.calls) > 0 || len(s.results) > 0
	var blocks []struct {
		Type, ID string
		Of       string `json:"tool_use_id"`
	}
	_ = json.Unmarshal(m.Content, &blocks) // or it is a text
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			s.calls = append(s.calls, b.ID)
		case "tool_result":
			s.results = append(s.results, b.Of)
		}
	}
	t.steps = append(t.steps, s)
}

// item adds an item of Responses.
func (t *talk) item(raw json.RawMessage) {
	var item struct {
		Type string
		ID   string `json:"call_id"`
	}
	if json.Unmarshal(raw, &item) != nil {
		return
	}
	t.anywhere = true
	switch item.Type {
	case "function_call":
		t.steps = append(t.steps, step{byModel: true, calls: []string{item.ID}})
	case "function_call_output":
		t.steps = append(t.steps, step{results: []string{item.ID}})
	case "item_reference":
		t.kept = true
	}
}

// content adds a content of Gemini. Its calls are identified by their names, as they have no ids.
func (t *talk) content(raw json.RawMessage) {
	var content struct {
		Role  string
		Parts []struct {
			Call     *struct{ Name string } `json:"functionCall"`
			Response *struct{ Name string } `json:"functionResponse"`
		}
	}
	if json.Unmarshal(raw, &content) != nil {
		return
	}
	s := step{byModel: content.Role == "model"}
	for _, part := range content.Parts {
		if part.Call != nil {
			s.calls = append(s.calls, part.Call.Name)
		}
		if part.Response != nil {
			s.results = append(s.results, part.Response.Name)
		}
	}
	t.steps = append(t.steps, s)
}

// refused says what providers refuse; empty if they refuse nothing.
func (t *talk) refused() string {
	var open []string
	replied := false // since the calls were made
	for _, s := range t.steps {
		for _, id := range s.results {
			at := slices.Index(open, id)
			if at < 0 && t.kept {
				continue
			}
			if at < 0 {
				return fmt.Sprintf("a result without its call, %q", id)
			}
			open = slices.Delete(open, at, at+1)
		}
		if len(open) > 0 && (t.atOnce && len(s.results) == 0 || !t.anywhere && s.byModel && replied) {
			break
		}
		if replied = !s.byModel; s.byModel {
			open = append(open, s.calls...)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("a call without its result, %q", open[0])
	}
	return ""
}

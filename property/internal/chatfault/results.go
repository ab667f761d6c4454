package chatfault

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Result is what a request says that a call of a tool gave.
type Result struct {
	ID         string // as the model has called the call; empty where the form has none
	Tool, Args string // of the call, as it stands in the request
	Text       string
	Failed     bool // the request says that the tool failed
	Other      bool // the tool gave more than text
}

// Results are the results of calls in a request of a model, each with its call, in their order. What is no
// request of a model has none.
func Results(request json.RawMessage) []Result {
	if !slices.ContainsFunc(signs, func(sign []byte) bool { return bytes.Contains(request, sign) }) {
		return nil
	}
	var over struct{ Body json.RawMessage }
	if json.Unmarshal(request, &over) == nil && bytes.HasPrefix(over.Body, []byte("{")) {
		request = over.Body
	}
	var asked struct {
		Messages, Contents []json.RawMessage
		Input              json.RawMessage
	}
	if json.Unmarshal(request, &asked) != nil {
		return nil
	}
	var items []json.RawMessage
	_ = json.Unmarshal(asked.Input, &items) // or a text
	var t told
	for _, raw := range slices.Concat(asked.Messages, items, asked.Contents) {
		t.take(raw)
	}
	return t.results
}

// told puts the results of a request to their calls.
type told struct{ open, results []Result }

// call takes in a call.
func (t *told) call(id, tool string, args json.RawMessage) {
	var text string
	if json.Unmarshal(args, &text) != nil {
		text = string(args)
	}
	t.open = append(t.open, Result{ID: id, Tool: tool, Args: text})
}

// result takes in a result: of the call with its id, else of the first that is open, of the tool where it says
// which.
func (t *told) result(id, tool string, said json.RawMessage, failed bool) {
	at := slices.IndexFunc(t.open, func(open Result) bool {
		if id != "" && open.ID != "" {
			return open.ID == id
		}
		return tool == "" || open.Tool == tool
	})
	if at < 0 {
		return
	}
	r := t.open[at]
	t.open = slices.Delete(t.open, at, at+1)
	r.Failed = failed
	r.Text, r.Other = textOf(said)
	t.results = append(t.results, r)
}

// textOf is the text of what a tool gave, and whether there is more than text.
func textOf(said json.RawMessage) (text string, more bool) {
	if json.Unmarshal(said, &text) == nil {
		return text, false
	}
	var parts []struct {
		Type string
		Text *string
	}
	if json.Unmarshal(said, &parts) != nil {
		return string(said), false
	}
	var all strings.Builder
	for _, p := range parts {
		if p.Text == nil {
			return "", true
		}
		all.WriteString(*p.Text)
	}
	return all.String(), false
}

// take takes in a message of Chat Completions or Messages, an item of Responses, or a content of Gemini.
func (t *told) take(raw json.RawMessage) {
	var m struct {
		Role, Type string
		// Of Chat Completions.
		Answers  string `json:"tool_call_id"`
		Tool     string `json:"tool_name"`
		Name     string
		Function *struct {
			Name      string
			Arguments json.RawMessage
		} `json:"function_call"`
		Calls []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
		Content json.RawMessage
		// Of Responses.
		ID        string `json:"call_id"`
		Arguments json.RawMessage
		Output    json.RawMessage
		// Of Gemini.
		Parts []struct {
			Call *struct {
				ID, Name string
				Args     json.RawMessage
			} `json:"functionCall"`
			Response *struct {
				ID, Name string
				Response json.RawMessage
			} `json:"functionResponse"`
		}
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	switch {
	case m.Type == "function_call":
		t.call(m.ID, m.Name, m.Arguments)
	case m.Type == "function_call_output":
		t.result(m.ID, "", m.Output, false)
	case m.Role == "tool", m.Role == "function":
		t.result(m.Answers, m.Tool, m.Content, false)
	}
	if m.Function != nil {
		t.call("", m.Function.Name, m.Function.Arguments)
	}
	for _, c := range m.Calls {
		t.call(c.ID, c.Function.Name, c.Function.Arguments)
	}
	for _, p := range m.Parts {
		if c := p.Call; c != nil {
			t.call(c.ID, c.Name, c.Args)
		}
		if r := p.Response; r != nil {
			var members map[string]json.RawMessage
			failed := json.Unmarshal(r.Response, &members) == nil && members["error"] != nil
			t.result(r.ID, r.Name, r.Response, failed)
		}
	}
	var blocks []struct {
		Type, ID, Name string
		Of             string `json:"tool_use_id"`
		Input, Content json.RawMessage
		Failed         bool `json:"is_error"`
	}
	if json.Unmarshal(m.Content, &blocks) != nil { // or a text
		return
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			t.call(b.ID, b.Name, b.Input)
		case "tool_result":
			t.result(b.Of, "", b.Content, b.Failed)
		}
	}
}

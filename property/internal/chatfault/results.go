package chatfault

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/adkreplay/adkreplay/internal/modelapi"
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
	asked := modelapi.ReadRequest("", request)
	var t told
	for _, m := range asked.Messages() {
		for _, part := range m.Parts {
			t.take(part)
		}
	}
	return t.results
}

// told puts the results of a request to their calls.
type told struct{ open, results []Result }

// take takes in a part of a message: a call, or the result of one, which is that of the call with its id or,
// where calls have none, the first that is open, of the tool if it says which.
func (t *told) take(p modelapi.Part) {
	id, _ := p["id"].(string)
	switch p["type"] {
	case "tool_call":
		name, _ := p["name"].(string)
		t.open = append(t.open, Result{ID: id, Tool: name, Args: modelapi.Text(p["arguments"])})
	case "tool_call_response":
		at := slices.IndexFunc(t.open, func(open Result) bool {
			return open.ID == id || open.ID == "" && (id == "" || open.Tool == id)
		})
		if at < 0 {
			return
		}
		r := t.open[at]
		t.open = slices.Delete(t.open, at, at+1)
		members, _ := p["response"].(map[string]any)
		r.Failed = p["is_error"] == true || members["error"] != nil // as Gemini has it
		r.Text, r.Other = textOf(p["response"])
		t.results = append(t.results, r)
	}
}

// textOf is the text of what a tool gave, and whether there is more than text.
func textOf(said any) (text string, more bool) {
	parts, isList := said.([]any)
	if !isList {
		return modelapi.Text(said), false
	}
	for _, one := range parts {
		part, _ := one.(map[string]any)
		words, isText := part["text"].(string)
		if !isText {
			return "", true
		}
		text += words
	}
	return text, false
}

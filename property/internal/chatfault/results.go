package chatfault

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// Result is the result of a tool call, as a request to a model contains it.
type Result struct {
	ID         string // the id that the model gave the call; empty if the form has none
	Tool, Args string // of the call, as the request contains them
	Text       string
	Failed     bool // the request says that the tool failed
	Other      bool // the result is more than text
}

// Results returns the results in a request to a model, each with its call, in their order. It
// returns nothing if request is not one to a model.
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

// told matches the results of a request with their calls.
type told struct{ open, results []Result }

// take adds a part of a message: a call, or the result of one. The result belongs to the call with
// its id. If calls have no ids, it belongs to the first open call, of its tool if the result names
// one.
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
		r.Failed = p["is_error"] == true || members["error"] != nil // the form of Gemini
		r.Text, r.Other = textOf(p["response"])
		t.results = append(t.results, r)
	}
}

// textOf returns the text of a result, and whether it contains more than text.
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

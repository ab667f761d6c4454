package explore

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// This file breaks answers in the shape of Chat Completions: one JSON with a message, or
// a stream of events with deltas of it.

// chatPart is a piece of an answer that has a part of the message in it, or all of one that
// came without pieces.
type chatPart struct {
	at     int // the piece
	whole  bool
	http   bool
	piece  httpform.Piece // over HTTP
	tree   map[string]any
	choice map[string]any
	said   map[string]any // the message, or a delta of it
}

// chatting is an answer whose message was broken. The parts are the first choice's; one
// that the fault changes nothing of is none of its.
func chatting(breaks func(parts []*chatPart) bool) func(*asked, int) (*brokenAnswer, string) {
	return func(w *asked, _ int) (*brokenAnswer, string) {
		parts := w.chat()
		if len(parts) == 0 || !breaks(parts) {
			return nil, onlyChat
		}
		broken := w.whole()
		broken.asked, broken.pieces = false, slices.Clone(w.pieces)
		for _, p := range parts {
			if p.whole {
				broken.value = p.json()
			} else {
				broken.pieces[p.at] = adk.Piece{Value: p.json()}
			}
		}
		return broken, ""
	}
}

// chat are the parts of the message that an answer has; none where it has none.
func (w *asked) chat() (parts []*chatPart) {
	if p := (&chatPart{whole: true}); w.pieces == nil && p.read(w.value) {
		return []*chatPart{p}
	}
	for at, given := range w.pieces {
		p, text := &chatPart{at: at, http: w.http}, given.Value
		if w.http {
			var err error
			if p.piece, err = httpform.ReadPiece(given.Value); at == 0 || err != nil {
				continue
			}
			text = p.piece.Said()
		}
		if p.read(text) {
			parts = append(parts, p)
		}
	}
	return parts
}

// read reports whether a text has a part of the message, and reads it.
func (p *chatPart) read(text json.RawMessage) bool {
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber()
	if read.Decode(&p.tree) != nil {
		return false
	}
	choices, _ := p.tree["choices"].([]any)
	if len(choices) == 0 {
		return false
	}
	p.choice, _ = choices[0].(map[string]any)
	if p.said, _ = p.choice["delta"].(map[string]any); p.said == nil {
		p.said, _ = p.choice["message"].(map[string]any)
	}
	return p.said != nil
}

// json is the piece with what was changed of it.
func (p *chatPart) json() json.RawMessage {
	raw, _ := httpform.Marshal(p.tree) // what was read from JSON has one
	if !p.http {
		return raw
	}
	return p.piece.Saying(raw).JSON()
}

// calls are the calls of tools in a part, and the functions that they call.
func (p *chatPart) calls() (calls, functions []map[string]any) {
	all, _ := p.said["tool_calls"].([]any)
	for _, one := range all {
		call, _ := one.(map[string]any)
		if function, is := call["function"].(map[string]any); is {
			calls, functions = append(calls, call), append(functions, function)
		}
	}
	return calls, functions
}

// functionsOf are all functions that are called, fragment by fragment.
func functionsOf(parts []*chatPart) (all []map[string]any) {
	for _, p := range parts {
		_, functions := p.calls()
		all = append(all, functions...)
	}
	return all
}

// breakArguments leaves the arguments of the calls open.
func breakArguments(parts []*chatPart) (found bool) {
	for _, f := range functionsOf(parts) {
		if text, _ := f["arguments"].(string); text != "" {
			f["arguments"] = ""
			if !found {
				f["arguments"] = `{"city": `
			}
			found = true
		}
	}
	return found
}

// breakTool wants a tool that there is not.
func breakTool(parts []*chatPart) bool {
	for _, f := range functionsOf(parts) {
		if name, _ := f["name"].(string); name != "" {
			f["name"] = name + "_that_there_is_not"
			return true
		}
	}
	return false
}

// breakIDs gives the second call the id of the first, or makes one: the same once more.
func breakIDs(parts []*chatPart) bool {
	if first, second := idsOf(parts); second != nil {
		second["id"] = first["id"]
		return true
	}
	return twins(parts, "")
}

// breakSeveral wants the only call twice at once, the second time under an id of its own.
func breakSeveral(parts []*chatPart) bool {
	if first, second := idsOf(parts); first == nil || second != nil {
		return false
	}
	return twins(parts, againMark)
}

// againMark stands behind the id of a call that is wanted once more.
const againMark = "_again"

// twins has each call twice, the second with more in its id.
func twins(parts []*chatPart, more string) (found bool) {
	for _, p := range parts {
		all, _ := p.said["tool_calls"].([]any)
		for _, one := range slices.Clone(all) {
			call, is := one.(map[string]any)
			if !is {
				continue
			}
			twin := map[string]any{}
			for name, value := range call {
				twin[name] = value
			}
			if id, is := twin["id"].(string); is {
				twin["id"] = id + more
			}
			if _, streamed := call["index"]; streamed {
				twin["index"] = 1
			}
			all, found = append(all, twin), true
		}
		if found && all != nil {
			p.said["tool_calls"] = all
		}
	}
	return found
}

// idsOf are the calls that bring the first two ids.
func idsOf(parts []*chatPart) (first, second map[string]any) {
	for _, p := range parts {
		calls, _ := p.calls()
		for _, call := range calls {
			switch id, _ := call["id"].(string); {
			case id == "":
			case first == nil:
				first = call
			case second == nil:
				second = call
			}
		}
	}
	return first, second
}

// breakLength ends in the midst of the last arguments, or of the text.
func breakLength(parts []*chatPart) bool {
	var last map[string]any
	member := "arguments"
	for _, f := range functionsOf(parts) {
		if text, _ := f[member].(string); text != "" {
			last = f
		}
	}
	if last == nil {
		member = "content"
		for _, p := range parts {
			if text, _ := p.said[member].(string); text != "" {
				last = p.said
			}
		}
	}
	if last == nil {
		return false
	}
	text := []rune(last[member].(string))
	last[member] = string(text[:len(text)/2])
	for _, p := range parts {
		if p.choice["finish_reason"] != nil {
			p.choice["finish_reason"] = "length"
		}
	}
	return true
}

// breakRefusal says no, and nothing else.
func breakRefusal(parts []*chatPart) bool {
	for i, p := range parts {
		delete(p.said, "tool_calls")
		if _, has := p.said["content"]; has {
			p.said["content"] = nil
		}
		if p.choice["finish_reason"] != nil {
			p.choice["finish_reason"] = "stop"
		}
		if i == 0 {
			p.said["refusal"] = "I cannot help with that."
		}
	}
	return true
}

// Package chatfault breaks what models answer in the shape of Chat Completions: one JSON
// with a message, or a stream of pieces with deltas of it; and says what of a conversation they
// refuse.
package chatfault

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Answer is what was answered: Value, or Pieces where they are not nil. HTTP says that the
// pieces are those of a response, as package httpform has them.
type Answer struct {
	Value  json.RawMessage
	Pieces []adk.Piece
	HTTP   bool
}

// Fault is a way to break the message of an answer. It reports whether there is something in
// the parts of it that it changes.
type Fault func(parts []*part) bool

// The faults.
var (
	// Arguments leaves the arguments of the calls open.
	Arguments Fault = breakArguments
	// Tool wants a tool that there is not.
	Tool Fault = breakTool
	// Twins gives two calls one id.
	Twins Fault = breakIDs
	// Several wants the only call twice at once.
	Several Fault = breakSeveral
	// Length ends in the midst, as a model does that is out of tokens.
	Length Fault = breakLength
	// Refusal says no, and nothing else.
	Refusal Fault = breakRefusal
)

// Break is an answer with the fault, and whether it has any: one without a message that the
// fault changes has none. What is given stays as it is.
func (f Fault) Break(a Answer) (_ Answer, broken bool) {
	parts := a.parts()
	if len(parts) == 0 || !f(parts) {
		return Answer{}, false
	}
	a.Pieces = slices.Clone(a.Pieces)
	for _, p := range parts {
		if p.whole {
			a.Value = p.json()
		} else {
			a.Pieces[p.at] = adk.Piece{Value: p.json()}
		}
	}
	return a, true
}

// part is a piece of an answer that has a part of the message in it, or all of one that came
// without pieces. The parts are the first choice's.
type part struct {
	at     int // the piece
	whole  bool
	http   bool
	piece  httpform.Piece // over HTTP
	tree   map[string]any
	choice map[string]any
	said   map[string]any // the message, or a delta of it
}

// parts are those of the message that an answer has; none where it has none.
func (a Answer) parts() (all []*part) {
	if p := (&part{whole: true}); a.Pieces == nil && p.read(a.Value) {
		return []*part{p}
	}
	for at, given := range a.Pieces {
		p, text := &part{at: at, http: a.HTTP}, given.Value
		if a.HTTP {
			var err error
			if p.piece, err = httpform.ReadPiece(given.Value); at == 0 || err != nil {
				continue
			}
			text = p.piece.Said()
		}
		if p.read(text) {
			all = append(all, p)
		}
	}
	return all
}

// read reports whether a text has a part of the message, and reads it.
func (p *part) read(text json.RawMessage) bool {
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
func (p *part) json() json.RawMessage {
	raw, _ := unescaped.Marshal(p.tree) // what was read from JSON has one
	if !p.http {
		return raw
	}
	return p.piece.Saying(raw).JSON()
}

// calls are the calls of tools in a part, and the functions that they call.
func (p *part) calls() (calls, functions []map[string]any) {
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
func functionsOf(parts []*part) (all []map[string]any) {
	for _, p := range parts {
		_, functions := p.calls()
		all = append(all, functions...)
	}
	return all
}

// breakArguments leaves the arguments of the calls open.
func breakArguments(parts []*part) (found bool) {
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
func breakTool(parts []*part) bool {
	for _, f := range functionsOf(parts) {
		if name, _ := f["name"].(string); name != "" {
			f["name"] = name + "_that_there_is_not"
			return true
		}
	}
	return false
}

// breakIDs gives the second call the id of the first, or makes one: the same once more.
func breakIDs(parts []*part) bool {
	if first, second := idsOf(parts); second != nil {
		second["id"] = first["id"]
		return true
	}
	return doubled(parts, "")
}

// breakSeveral wants the only call twice at once, the second time under an id of its own.
func breakSeveral(parts []*part) bool {
	if first, second := idsOf(parts); first == nil || second != nil {
		return false
	}
	return doubled(parts, AgainMark)
}

// Again is a fault that gives the calls other ids, the same for the same times: a model that wants
// them once more.
func Again(times int) Fault {
	return func(parts []*part) (found bool) {
		for _, p := range parts {
			calls, _ := p.calls()
			for _, call := range calls {
				if id, _ := call["id"].(string); id != "" {
					call["id"] = id + AgainMark + strconv.Itoa(times)
				}
				found = true
			}
		}
		return found
	}
}

// AgainMark stands behind the id of a call that is wanted once more.
const AgainMark = "_again"

// doubled has each call twice, the second with more in its id.
func doubled(parts []*part, more string) (found bool) {
	for _, p := range parts {
		all, _ := p.said["tool_calls"].([]any)
		for _, one := range slices.Clone(all) {
			call, is := one.(map[string]any)
			if !is {
				continue
			}
			twin := maps.Clone(call)
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
func idsOf(parts []*part) (first, second map[string]any) {
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
func breakLength(parts []*part) bool {
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
func breakRefusal(parts []*part) bool {
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

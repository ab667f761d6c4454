package modelapi

import (
	"cmp"
	"encoding/json"
)

// Message is one message of a conversation in a common form: that of the OpenTelemetry conventions
// for generative AI.
type Message struct {
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
	// Finish is why the model stopped, if the message is an answer.
	Finish string `json:"finish_reason,omitempty"`
}

// Part is a part of a message. Its type determines its other members: text and reasoning have
// content; a tool_call has id, name and arguments; a tool_call_response has id and response. A part
// of another type is as the provider has it.
type Part map[string]any

func textPart(text string) Part { return Part{"type": "text", "content": text} }

func callPart(id, name string, args any) Part {
	if text, ok := args.(string); ok {
		var decoded any
		if json.Unmarshal([]byte(text), &decoded) == nil {
			args = decoded
		}
	}
	p := Part{"type": "tool_call", "name": name, "arguments": args}
	if id != "" {
		p["id"] = id
	}
	return p
}

func responsePart(id string, response any) Part {
	return Part{"type": "tool_call_response", "id": id, "response": response}
}

// Messages returns the conversation in a request, without the instructions that System returns.
func (r *Request) Messages() (all []Message) {
	for _, member := range talkMembers {
		switch said := r.Body[member].(type) {
		case string:
			return []Message{{Role: "user", Parts: []Part{textPart(said)}}}
		case []any:
			for _, one := range said {
				all = append(all, messageOf(one))
			}
			return all
		}
	}
	return nil
}

// System returns the instructions that are outside the conversation.
func (r *Request) System() (parts []Part) {
	for _, member := range promptMembers {
		if given := r.Body[member]; given != nil && member != "tools" {
			parts = appendParts(parts, given, 0)
		}
	}
	return parts
}

// Tools returns the definitions of the tools that can be called in a common form: type, name,
// description and parameters. A tool that is not a function, such as one that the provider executes
// itself, is as the request has it.
func (r *Request) Tools() (all []any) {
	for _, given := range listIn(r.Body, "tools") {
		one, _ := given.(map[string]any)
		switch function, declared := ObjectIn(one, "function"), declaredIn(one); {
		case function != nil:
			all = append(all, toolOf(function))
		case declared != nil: // Gemini has them in lists
			for _, function := range declared {
				all = append(all, toolOf(function))
			}
		case one["input_schema"] != nil || firstText(one, "type") == "function":
			all = append(all, toolOf(one))
		default:
			all = append(all, given)
		}
	}
	return all
}

func declaredIn(tool map[string]any) []map[string]any {
	if declared := ObjectsIn(tool, "functionDeclarations"); declared != nil {
		return declared
	}
	return ObjectsIn(tool, "function_declarations")
}

// toolOf returns the definition of a function.
func toolOf(function map[string]any) any {
	tool := map[string]any{"type": "function", "name": firstText(function, "name")}
	if text := firstText(function, "description"); text != "" {
		tool["description"] = text
	}
	for _, member := range []string{"parameters", "input_schema", "parametersJsonSchema"} {
		if schema := function[member]; schema != nil {
			tool["parameters"] = schema
			break
		}
	}
	return tool
}

// roles maps other names of roles to the common ones.
var roles = map[string]string{"model": "assistant", "function_call": "assistant", "reasoning": "assistant", "function_call_output": "tool"}

func messageOf(v any) Message {
	m, _ := v.(map[string]any)
	role := cmp.Or(firstText(m, "role"), firstText(m, "type"), "user")
	if ours := roles[role]; ours != "" {
		role = ours
	}
	return Message{Role: role, Parts: appendParts([]Part{}, v, 0)}
}

// mostNested is how deep parts of messages are searched.
const mostNested = 4

// appendParts appends the parts of a message, or of a part of one.
func appendParts(parts []Part, v any, depth int) []Part {
	switch v := v.(type) {
	case nil:
	case string:
		if v != "" {
			parts = append(parts, textPart(v))
		}
	case []any:
		for _, one := range v {
			if depth < mostNested {
				parts = appendParts(parts, one, depth+1)
			}
		}
	case map[string]any:
		return appendObject(parts, v, depth)
	default:
		parts = append(parts, Part{"type": "unknown", "content": v})
	}
	return parts
}

func appendObject(parts []Part, v map[string]any, depth int) []Part {
	kind := firstText(v, "type")
	switch function, called := ObjectIn(v, "function"), ObjectIn(v, "functionCall"); {
	case function != nil:
		return append(parts, callPart(firstText(v, "id"), firstText(function, "name"), function["arguments"]))
	case called != nil:
		return append(parts, callPart(firstText(called, "id"), firstText(called, "name"), called["args"]))
	case kind == "tool_use":
		return append(parts, callPart(firstText(v, "id"), firstText(v, "name"), v["input"]))
	case kind == "function_call":
		return append(parts, callPart(firstText(v, "call_id", "id"), firstText(v, "name"), v["arguments"]))
	case ObjectIn(v, "functionResponse") != nil:
		response := ObjectIn(v, "functionResponse")
		return append(parts, responsePart(firstText(response, "id", "name"), response["response"]))
	case kind == "tool_result" || kind == "function_call_output":
		p := responsePart(firstText(v, "tool_use_id", "call_id"), cmp.Or(v["content"], v["output"]))
		if v["is_error"] == true {
			p["is_error"] = true
		}
		return append(parts, p)
	case firstText(v, "tool_call_id") != "" || (v["role"] == "tool" || v["role"] == "function") && v["content"] != nil:
		return append(parts, responsePart(firstText(v, "tool_call_id", "tool_name", "name"), v["content"]))
	}
	if thought := firstText(v, "thinking", "reasoning_content", "reasoning"); thought != "" {
		parts = append(parts, Part{"type": "reasoning", "content": thought})
	}
	text, isText := v["text"].(string)
	switch {
	case isText:
		return append(parts, textPart(text))
	case firstText(v, "thinking") != "":
		return parts
	case (v["content"] != nil || v["parts"] != nil || v["tool_calls"] != nil || v["role"] != nil) && depth < mostNested:
		for _, member := range []string{"content", "parts", "tool_calls"} {
			parts = appendParts(parts, v[member], depth+1)
		}
		if called := ObjectIn(v, "function_call"); called != nil { // the form before there could be several calls
			parts = append(parts, callPart("", firstText(called, "name"), called["arguments"]))
		}
		return parts
	}
	if kind == "" {
		return append(parts, Part{"type": "unknown", "content": v})
	}
	return append(parts, Part(v))
}

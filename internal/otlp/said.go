package otlp

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// This file converts what was said, in the form of the conventions, to requests and answers in the
// form of Chat Completions, which all code that reads asks understands.

// part is a part of a message.
type part struct {
	Type      string `json:"type"`
	Content   any    `json:"content"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
	Response  any    `json:"response"`
	Result    any    `json:"result"`
}

// message is a message of a conversation.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason"`
}

// saidIn decodes an attribute into v. The attribute's value is structured, or the JSON text of a
// structured value.
func saidIn(n *node, key string, v any) bool {
	value := n.value(key)
	if value == nil {
		return false
	}
	raw := []byte(n.text(key))
	if value.String == nil {
		raw = jsonOf(value.plain())
	}
	return json.Unmarshal(raw, v) == nil
}

func jsonOf(v any) json.RawMessage {
	raw, err := unescaped.Marshal(v)
	if err != nil {
		return nil // for a number that JSON cannot represent
	}
	return raw
}

func textOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	if v == nil {
		return ""
	}
	return string(jsonOf(v))
}

// instructionsOf returns the system instructions of a span, or of the first model call below it
// that has any, and unsaid if there are none.
func instructionsOf(n *node) string {
	var parts []part
	if saidIn(n, "gen_ai.system_instructions", &parts) && len(parts) > 0 {
		var texts []string
		for _, p := range parts {
			texts = append(texts, textOf(p.Content))
		}
		return strings.Join(texts, "\n\n")
	}
	for _, one := range n.below {
		if text := instructionsOf(one); one.does == chat && text != unsaid {
			return text
		}
	}
	return unsaid
}

// unsaid stands for instructions that the spans do not have.
const unsaid = "(not said)"

// requestOf returns the request to a model.
func requestOf(n *node) json.RawMessage {
	body := map[string]any{"messages": []any{}}
	set := func(name string, value any, has bool) {
		if has {
			body[name] = value
		}
	}
	model := n.text("gen_ai.request.model", "gen_ai.response.model")
	set("model", model, model != "")
	most, has := n.number("gen_ai.request.max_tokens")
	set("max_tokens", most, has)
	for _, name := range []string{"temperature", "top_p"} {
		v := n.value("gen_ai.request." + name)
		set(name, v.plain(), v != nil)
	}
	var messages []message
	said := []any{}
	if text := instructionsOf(n); text != unsaid {
		said = append(said, map[string]any{"role": "system", "content": text})
	}
	if saidIn(n, "gen_ai.input.messages", &messages) {
		for _, m := range messages {
			said = append(said, m.completions()...)
		}
	}
	body["messages"] = said
	var tools []any
	if saidIn(n, "gen_ai.tool.definitions", &tools) {
		body["tools"] = toolsOf(tools)
	}
	return jsonOf(body)
}

// toolsOf converts definitions of tools to the form of Chat Completions, which nests functions in a
// member.
func toolsOf(defined []any) (all []any) {
	for _, one := range defined {
		function, _ := one.(map[string]any)
		if function["type"] == "function" && function["function"] == nil {
			delete(function, "type")
			one = map[string]any{"type": "function", "function": function}
		}
		all = append(all, one)
	}
	return all
}

// completions converts a message to the form of Chat Completions, in which the results of tools are
// separate messages.
func (m message) completions() (all []any) {
	own := map[string]any{"role": cmp.Or(m.Role, "user"), "content": ""}
	var texts []string
	var calls []any
	for _, p := range m.Parts {
		switch p.Type {
		case "tool_call":
			calls = append(calls, map[string]any{"id": p.ID, "type": "function", "function": map[string]any{"name": p.Name, "arguments": textOf(p.Arguments)}})
		case "tool_call_response":
			all = append(all, map[string]any{"role": "tool", "tool_call_id": p.ID, "content": textOf(cmp.Or(p.Response, p.Result, p.Content))})
		case "reasoning":
			own["reasoning_content"] = textOf(p.Content)
		case "text":
			texts = append(texts, textOf(p.Content))
		default:
			texts = append(texts, "["+cmp.Or(p.Type, "a part")+"]")
		}
	}
	own["content"] = strings.Join(texts, "\n")
	if len(calls) > 0 {
		own["tool_calls"] = calls
	}
	if len(texts) > 0 || len(calls) > 0 || own["reasoning_content"] != nil || len(all) == 0 {
		all = append([]any{any(own)}, all...)
	}
	return all
}

// answerOf returns the answer of a model, or nil if the span has nothing about it.
func answerOf(n *node) json.RawMessage {
	said := map[string]any{"role": "assistant", "content": nil}
	finish := ""
	var messages []message
	if saidIn(n, "gen_ai.output.messages", &messages) && len(messages) > 0 {
		finish = messages[0].Finish
		if own, ok := messages[0].completions()[0].(map[string]any); ok {
			said = own
		}
	}
	var reasons []string
	if saidIn(n, "gen_ai.response.finish_reasons", &reasons) && len(reasons) > 0 {
		finish = reasons[0]
	}
	choice := map[string]any{"index": 0, "message": said}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	body := map[string]any{"choices": []any{choice}}
	for name, key := range map[string]string{"id": "gen_ai.response.id", "model": "gen_ai.response.model"} {
		if text := n.text(key); text != "" {
			body[name] = text
		}
	}
	in, hasIn := n.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
	out, hasOut := n.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
	if hasIn || hasOut {
		cached, _ := n.number("gen_ai.usage.cache_read.input_tokens")
		thought, _ := n.number("gen_ai.usage.reasoning.output_tokens")
		body["usage"] = map[string]any{"prompt_tokens": in, "completion_tokens": out,
			"prompt_tokens_details": map[string]any{"cached_tokens": cached}, "completion_tokens_details": map[string]any{"reasoning_tokens": thought}}
	} else if n.failure() != "" && messages == nil && finish == "" {
		return nil
	}
	return jsonOf(body)
}

// argumentsOf returns the arguments of an execution.
func argumentsOf(n *node) any {
	var args map[string]any
	if saidIn(n, "gen_ai.tool.call.arguments", &args) && args != nil {
		return args
	}
	return map[string]any{}
}

// resultOf returns the result of a tool, as text.
func resultOf(n *node) adk.ToolResult {
	if v := n.value("gen_ai.tool.call.result"); v != nil {
		return adk.Text(textOf(v.plain()))
	}
	return adk.Text("")
}

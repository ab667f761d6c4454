package chatfault

import (
	"maps"

	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// completion returns the message of a chat completion, whole or in deltas; nil if there is none.
func completion(events []*event) *message {
	m, said := &message{}, []map[string]any{}
	var choices []map[string]any
	text := &words{}
	for _, e := range events {
		all := modelapi.ObjectsIn(e.tree, "choices")
		if len(all) == 0 {
			continue
		}
		part := modelapi.ObjectIn(all[0], "delta")
		if part == nil {
			part = modelapi.ObjectIn(all[0], "message")
		}
		if part == nil {
			continue
		}
		choices, said = append(choices, all[0]), append(said, part)
		text.bits = some(text.bits, place{part, "content"})
		for i, called := range modelapi.ObjectsIn(part, "tool_calls") {
			function := modelapi.ObjectIn(called, "function")
			if function == nil {
				continue
			}
			if at, ok := numberIn(called, "index"); ok {
				i = at
			}
			c := m.callAt(i)
			c.ids = some(c.ids, place{called, "id"})
			if len(c.names) == 0 { // some providers repeat it in each piece
				c.names = some(c.names, place{function, "name"})
			}
			c.arguments.bits = some(c.arguments.bits, place{function, "arguments"})
		}
	}
	if len(said) == 0 {
		return nil
	}
	m.texts = []*words{text}
	finish := func(reason string) {
		for _, choice := range choices {
			if choice["finish_reason"] != nil {
				choice["finish_reason"] = reason
			}
		}
	}
	m.double = func(c *call, id string) {
		for _, part := range said {
			all, _ := part["tool_calls"].([]any)
			for i, called := range modelapi.ObjectsIn(part, "tool_calls") {
				at, streamed := numberIn(called, "index")
				if streamed {
					i = at
				}
				if i != c.at || called == nil {
					continue
				}
				twin := maps.Clone(called)
				if textIn(twin, "id") != "" {
					twin["id"] = id
				}
				if streamed {
					twin["index"] = len(m.calls)
				}
				all = append(all, twin)
			}
			if len(all) > 0 {
				part["tool_calls"] = all
			}
		}
	}
	m.end = func() { finish("length") }
	m.refuse = func() {
		for i, part := range said {
			delete(part, "tool_calls")
			if _, has := part["content"]; has {
				part["content"] = nil
			}
			if i == 0 {
				part["refusal"] = refusal
			}
		}
		finish("stop")
	}
	return m
}

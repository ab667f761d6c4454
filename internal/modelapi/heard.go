package modelapi

import (
	"maps"
	"slices"
	"strings"
)

// heard puts together what an answer says, for those who want its words.
type heard struct {
	text, thought strings.Builder
	calls         map[int]*heardCall // by their place in the answer
}

type heardCall struct {
	id, name string
	args     strings.Builder
	given    any // the arguments, where they came as a whole
}

// message is what was said.
func (h *heard) message(finish string) Message {
	m := Message{Role: "assistant", Parts: []Part{}, Finish: finish}
	if h.thought.Len() > 0 {
		m.Parts = append(m.Parts, Part{"type": "reasoning", "content": h.thought.String()})
	}
	if h.text.Len() > 0 {
		m.Parts = append(m.Parts, textPart(h.text.String()))
	}
	for _, at := range slices.Sorted(maps.Keys(h.calls)) {
		c := h.calls[at]
		args := c.given
		if args == nil {
			args = c.args.String()
		}
		m.Parts = append(m.Parts, callPart(c.id, c.name, args))
	}
	return m
}

// call adds to the call at a place; args are all of them, or the next piece of their text.
func (h *heard) call(at int, id, name string, args any) {
	if h.calls == nil {
		h.calls = map[int]*heardCall{}
	}
	c := h.calls[at]
	if c == nil {
		c = &heardCall{}
		h.calls[at] = c
	}
	if id != "" {
		c.id = id
	}
	if name != c.name {
		c.name += name
	}
	if text, is := args.(string); is {
		c.args.WriteString(text)
	} else if args != nil {
		c.given = args
	}
}

func (h *heard) say(v map[string]any) {
	h.text.WriteString(firstText(v, "text"))
	h.thought.WriteString(firstText(v, "thinking"))
}

// take takes an event, whose form one of these knows.
func (h *heard) take(event map[string]any) {
	h.ofCompletions(event)
	h.ofMessages(event)
	h.ofResponses(event)
	h.ofGemini(event)
}

func (h *heard) ofCompletions(event map[string]any) {
	for _, choice := range objectsIn(event, "choices") {
		for _, name := range []string{"delta", "message"} {
			part := objectIn(choice, name)
			h.text.WriteString(firstText(part, "content", "refusal"))
			h.thought.WriteString(firstText(part, "reasoning_content", "reasoning"))
			for i, called := range objectsIn(part, "tool_calls") {
				if at, is := firstNumber(called, "index"); is {
					i = at
				}
				function := objectIn(called, "function")
				h.call(i, firstText(called, "id"), firstText(function, "name"), function["arguments"])
			}
		}
	}
}

func (h *heard) ofMessages(event map[string]any) {
	at, _ := firstNumber(event, "index")
	switch kind := firstText(event, "type"); kind {
	case "message":
		for i, block := range objectsIn(event, "content") {
			h.block(i, block, block["input"])
		}
	case "content_block_start":
		h.block(at, objectIn(event, "content_block"), nil)
	case "content_block_delta":
		delta := objectIn(event, "delta")
		h.say(delta)
		if piece := firstText(delta, "partial_json"); piece != "" {
			h.call(at, "", "", piece)
		}
	}
}

func (h *heard) block(at int, block map[string]any, input any) {
	h.say(block)
	if firstText(block, "type") == "tool_use" {
		h.call(at, firstText(block, "id"), firstText(block, "name"), input)
	}
}

func (h *heard) ofResponses(event map[string]any) {
	at, _ := firstNumber(event, "output_index")
	switch firstText(event, "type") {
	case "response.output_text.delta":
		h.text.WriteString(firstText(event, "delta"))
	case "response.function_call_arguments.delta":
		h.call(at, "", "", firstText(event, "delta"))
	case "response.output_item.added":
		if item := objectIn(event, "item"); firstText(item, "type") == "function_call" {
			h.call(at, firstText(item, "call_id"), firstText(item, "name"), nil)
		}
	}
	if event["object"] != "response" {
		return
	}
	for i, item := range objectsIn(event, "output") {
		if firstText(item, "type") == "function_call" {
			h.call(i, firstText(item, "call_id"), firstText(item, "name"), item["arguments"])
		}
		for _, part := range objectsIn(item, "content") {
			h.say(part)
		}
	}
}

func (h *heard) ofGemini(event map[string]any) {
	for _, one := range objectsIn(event, "candidates") {
		for _, part := range objectsIn(objectIn(one, "content"), "parts") {
			if called := objectIn(part, "functionCall"); called != nil {
				h.call(len(h.calls), firstText(called, "id"), firstText(called, "name"), called["args"])
				continue
			}
			if part["thought"] == true {
				h.thought.WriteString(firstText(part, "text"))
				continue
			}
			h.say(part)
		}
	}
}

// objectsIn are the objects of a list; what else is in it is an empty one.
func objectsIn(v map[string]any, name string) (objects []map[string]any) {
	for _, one := range listIn(v, name) {
		object, _ := one.(map[string]any)
		objects = append(objects, object)
	}
	return objects
}

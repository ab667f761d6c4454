package modelapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Choice is one of the messages in an answer, put together from its pieces.
type Choice struct {
	Index int
	// Texts are its texts, by the names of the members that contain them: content and, for
	// thoughts, reasoning_content, thinking and others.
	Texts map[string]string
	// Values are its parts that are not text, by the names of their members or by their types.
	Values map[string][]any
	// Calls are its tool calls, in the order in which they began.
	Calls []Call
	// Finish is why it ends; "" if unknown.
	Finish string
}

// Call is a tool call.
type Call struct {
	ID, Name string
	// Args are the arguments: an object or, in most forms, the JSON text of one.
	Args any
}

// Arguments returns the arguments as text.
func (c *Call) Arguments() string { return Text(c.Args) }

// Text returns a text unchanged, and any other value as JSON.
func Text(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, _ := unescaped.Marshal(v) // cannot fail: it was decoded from JSON
	return string(text)
}

// The names under which Choice.Texts has texts, whatever the provider's form.
const (
	saidContent   = "content"
	saidThinking  = "thinking"
	saidSignature = "signature"
	saidRefusal   = "refusal"
)

// thoughts are the members that contain what a model thinks.
var thoughts = []string{saidThinking, "reasoning_content", "reasoning"}

// heard puts together what an answer says, for callers that need the words.
type heard struct{ choices map[int]*heardChoice }

type heardChoice struct {
	texts  map[string]*strings.Builder
	values map[string][]any
	calls  []*heardCall
	places map[int]*heardCall // by their index in the answer
	finish string
}

type heardCall struct {
	id, name string
	args     strings.Builder
	given    any // the arguments, if they came as a whole
}

// all returns the choices, ordered by their indexes.
func (h *heard) all() (all []Choice) {
	for _, at := range slices.Sorted(maps.Keys(h.choices)) {
		c := h.choices[at]
		said := Choice{Index: at, Texts: map[string]string{}, Values: c.values, Finish: c.finish}
		for name, text := range c.texts {
			said.Texts[name] = text.String()
		}
		for _, called := range c.calls {
			args := called.given
			if args == nil {
				args = called.args.String()
			}
			said.Calls = append(said.Calls, Call{called.id, called.name, args})
		}
		all = append(all, said)
	}
	return all
}

// message returns what all choices say as one message.
func (h *heard) message(finish string) Message {
	m := Message{Role: "assistant", Parts: []Part{}, Finish: finish}
	var thought, text string
	var calls []Part
	for _, c := range h.all() {
		for _, name := range thoughts {
			thought += c.Texts[name]
		}
		text += c.Texts[saidContent] + c.Texts[saidRefusal]
		for _, called := range c.Calls {
			calls = append(calls, callPart(called.ID, called.Name, called.Args))
		}
	}
	if thought != "" {
		m.Parts = append(m.Parts, Part{"type": "reasoning", "content": thought})
	}
	if text != "" {
		m.Parts = append(m.Parts, textPart(text))
	}
	m.Parts = append(m.Parts, calls...)
	return m
}

// choice returns the choice with an index.
func (h *heard) choice(at int) *heardChoice {
	if h.choices == nil {
		h.choices = map[int]*heardChoice{}
	}
	c := h.choices[at]
	if c == nil {
		c = &heardChoice{texts: map[string]*strings.Builder{}, values: map[string][]any{}, places: map[int]*heardCall{}}
		h.choices[at] = c
	}
	return c
}

// say appends to a text.
func (c *heardChoice) say(name, text string) {
	if c.texts[name] == nil {
		c.texts[name] = &strings.Builder{}
	}
	c.texts[name].WriteString(text)
}

// value appends a value that is not text.
func (c *heardChoice) value(name string, v any) { c.values[name] = append(c.values[name], v) }

// call adds to the call at an index. args is the whole object, or the next piece of its text.
func (c *heardChoice) call(at int, id, name string, args any) {
	called := c.places[at]
	if called == nil {
		called = &heardCall{}
		c.places[at] = called
		c.calls = append(c.calls, called)
	}
	if id != "" {
		called.id = id
	}
	if name != called.name { // some providers repeat the name with each piece
		called.name += name
	}
	if text, ok := args.(string); ok {
		called.args.WriteString(text)
	} else if args != nil {
		called.given = args
	}
}

// take takes in an event, and reports whether its form is known.
func (h *heard) take(event map[string]any) bool {
	return h.ofCompletions(event) || h.ofMessages(event) || h.ofResponses(event) || h.ofGemini(event) || h.ofOllama(event)
}

func (h *heard) ofCompletions(event map[string]any) bool {
	_, saysChoices := event["choices"].([]any)
	_, saysUsage := event["usage"].(map[string]any)
	for _, part := range ObjectsIn(event, "choices") {
		at, _ := firstNumber(part, "index")
		c := h.choice(at)
		c.add(ObjectIn(part, "message"))
		c.add(ObjectIn(part, "delta"))
		if finish := firstText(part, "finish_reason"); finish != "" {
			c.finish = finish
		}
	}
	return saysChoices || saysUsage && firstText(event, "type", "object") == ""
}

// add takes in members of a message, or deltas of them.
func (c *heardChoice) add(members map[string]any) {
	for name, v := range members {
		list, isList := v.([]any)
		object, isObject := v.(map[string]any)
		text, isText := v.(string)
		switch {
		case name == "role" || v == nil || isList && len(list) == 0 || isObject && len(object) == 0:
		case name == "tool_calls" && isList:
			for i, called := range ObjectsIn(members, name) {
				function := ObjectIn(called, "function")
				if at, ok := firstNumber(called, "index"); ok {
					i = at
				} else if ObjectIn(function, "arguments") != nil { // each call comes as a whole
					i = len(c.calls)
				}
				c.call(i, firstText(called, "id"), firstText(function, "name"), function["arguments"])
			}
		case isText:
			c.say(name, text)
		default:
			c.value(name, v)
		}
	}
}

func (h *heard) ofMessages(event map[string]any) bool {
	at, _ := firstNumber(event, "index")
	switch firstText(event, "type") {
	case "message":
		for i, block := range ObjectsIn(event, "content") {
			h.block(i, block, block["input"])
		}
		h.stopped(firstText(event, "stop_reason"))
	case "message_start":
		h.choice(0)
	case "content_block_start":
		h.block(at, ObjectIn(event, "content_block"), nil)
	case "content_block_delta":
		h.blockDelta(at, ObjectIn(event, "delta"))
	case "message_delta":
		h.stopped(firstText(ObjectIn(event, "delta"), "stop_reason"))
	case "content_block_stop", "message_stop", "ping":
	default:
		return false
	}
	return true
}

func (h *heard) stopped(reason string) {
	if reason != "" {
		h.choice(0).finish = reason
	}
}

// block takes in a content block, or the beginning of one.
func (h *heard) block(at int, block map[string]any, input any) {
	c := h.choice(0)
	switch kind := firstText(block, "type"); kind {
	case "text":
		c.say(saidContent, firstText(block, "text"))
	case "thinking":
		c.say(saidThinking, firstText(block, "thinking"))
	case "tool_use":
		c.call(at, firstText(block, "id"), firstText(block, "name"), input)
	default:
		c.value(kind, block)
	}
	if signature := firstText(block, "signature"); signature != "" {
		c.say(saidSignature, signature)
	}
}

func (h *heard) blockDelta(at int, delta map[string]any) {
	c := h.choice(0)
	for name, v := range delta {
		said, isText := v.(string)
		switch {
		case name == "type":
		case isText && name == "text":
			c.say(saidContent, said)
		case isText && (name == saidThinking || name == saidSignature):
			c.say(name, said)
		case isText && name == "partial_json":
			c.call(at, "", "", said)
		default:
			c.value(name, v)
		}
	}
}

func (h *heard) ofResponses(event map[string]any) bool {
	if event["object"] == "response" {
		for i, item := range ObjectsIn(event, "output") {
			h.item(i, item)
		}
		h.ended(event)
		return true
	}
	at, _ := firstNumber(event, "output_index")
	kind := firstText(event, "type")
	switch kind {
	case "response.output_text.delta":
		h.choice(0).say(saidContent, firstText(event, "delta"))
	case "response.refusal.delta":
		h.choice(0).say(saidRefusal, firstText(event, "delta"))
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		h.choice(0).say("reasoning", firstText(event, "delta"))
	case "response.function_call_arguments.delta":
		h.choice(0).call(at, "", "", firstText(event, "delta"))
	case "response.output_item.added":
		if item := ObjectIn(event, "item"); firstText(item, "type") == "function_call" {
			h.choice(0).call(at, firstText(item, "call_id"), firstText(item, "name"), nil)
		}
	case "response.completed", "response.incomplete", "response.failed":
		h.ended(ObjectIn(event, "response"))
	}
	return strings.HasPrefix(kind, "response.")
}

// ended takes in how a complete response says that it ended.
func (h *heard) ended(response map[string]any) {
	h.stopped(firstText(response, "status"))
	for _, name := range []string{"error", "incomplete_details"} {
		if why := ObjectIn(response, name); why != nil {
			h.choice(0).value(name, why)
		}
	}
}

// item takes in an output item of a complete response.
func (h *heard) item(at int, item map[string]any) {
	c := h.choice(0)
	switch kind := firstText(item, "type"); kind {
	case "function_call":
		c.call(at, firstText(item, "call_id"), firstText(item, "name"), item["arguments"])
	case "message":
		for _, part := range ObjectsIn(item, "content") {
			if text := firstText(part, "text"); text != "" {
				c.say(saidContent, text)
			}
			if text := firstText(part, "refusal"); text != "" {
				c.say(saidRefusal, text)
			}
		}
	case "reasoning":
		for _, list := range []string{"summary", "content"} {
			for _, part := range ObjectsIn(item, list) {
				c.say("reasoning", firstText(part, "text"))
			}
		}
	default:
		c.value(kind, item)
	}
}

func (h *heard) ofGemini(event map[string]any) bool {
	_, says := event["candidates"].([]any)
	for i, one := range ObjectsIn(event, "candidates") {
		if at, ok := firstNumber(one, "index"); ok {
			i = at
		}
		c := h.choice(i)
		if finish := firstText(one, "finishReason"); finish != "" {
			c.finish = finish
		}
		for _, part := range ObjectsIn(ObjectIn(one, "content"), "parts") {
			c.part(part)
		}
	}
	if feedback := ObjectIn(event, "promptFeedback"); feedback != nil {
		h.choice(0).value("promptFeedback", feedback)
		return true
	}
	return says || ObjectIn(event, "usageMetadata") != nil
}

// part takes in a part of a candidate.
func (c *heardChoice) part(part map[string]any) {
	text, isText := part["text"].(string)
	called := ObjectIn(part, "functionCall")
	switch {
	case called != nil:
		c.call(len(c.calls), firstText(called, "id"), firstText(called, "name"), called["args"])
	case isText && part["thought"] == true:
		c.say(saidThinking, text)
	case isText:
		c.say(saidContent, text)
	default:
		c.value("part", part)
	}
	if signature := firstText(part, "thoughtSignature"); signature != "" {
		c.say(saidSignature, signature)
	}
}

// ofOllama takes in Ollama's own form, with a line for each piece.
func (h *heard) ofOllama(event map[string]any) bool {
	message, _ := ofOllama(event)
	if message == nil {
		return false
	}
	h.choice(0).add(message)
	h.stopped(firstText(event, "done_reason"))
	return true
}

// ObjectsIn returns the elements of a list. An element that is not an object becomes a nil map.
func ObjectsIn(v map[string]any, name string) (objects []map[string]any) {
	for _, one := range listIn(v, name) {
		object, _ := one.(map[string]any)
		objects = append(objects, object)
	}
	return objects
}

package chatfault

import (
	"strings"

	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// ofResponses returns the message of an answer in the form of Responses: a whole response, or
// events of which the last repeats all of it. It returns nil if the answer has another form.
func ofResponses(events []*event) *message {
	r := responses{message: &message{}, items: map[int][]*event{}, texts: map[[2]int]*words{}}
	for _, e := range events {
		r.take(e)
	}
	if !r.is {
		return nil
	}
	r.double, r.end, r.refuse = r.doubleCall, r.endEarly, r.refuseAll
	return r.message
}

type responses struct {
	*message
	is    bool
	whole map[string]any // the response, which the last event repeats
	ends  *event         // the event that repeats it; nil if the answer is only the response
	items map[int][]*event
	// first and latest are the first and the last event of any item. last is the largest number of
	// an item.
	first, latest *event
	last          int
	texts         map[[2]int]*words // by number of the item and of its part
}

func (r *responses) take(e *event) {
	kind := textIn(e.tree, "type")
	at, ofItem := numberIn(e.tree, "output_index")
	r.is = r.is || strings.HasPrefix(kind, "response.") || e.tree["object"] == "response"
	if ofItem {
		if r.first == nil {
			r.first = e
		}
		r.items[at], r.last, r.latest = append(r.items[at], e), max(r.last, at), e
	}
	part, _ := numberIn(e.tree, "content_index")
	switch kind {
	case "response.output_item.added", "response.output_item.done":
		r.item(at, modelapi.ObjectIn(e.tree, "item"))
	case "response.function_call_arguments.delta":
		c := r.callAt(at)
		c.arguments.bits = some(c.arguments.bits, place{e.tree, "delta"})
	case "response.function_call_arguments.done":
		c := r.callAt(at)
		c.arguments.again = some(c.arguments.again, place{e.tree, "arguments"})
	case "response.output_text.delta":
		w := r.text(at, part)
		w.bits = some(w.bits, place{e.tree, "delta"})
	case "response.output_text.done":
		w := r.text(at, part)
		w.again = some(w.again, place{e.tree, "text"})
	case "response.content_part.done":
		w := r.text(at, part)
		w.again = some(w.again, place{modelapi.ObjectIn(e.tree, "part"), "text"})
	case "response.completed", "response.incomplete":
		r.ends = e
		r.response(modelapi.ObjectIn(e.tree, "response"))
	}
	if e.tree["object"] == "response" {
		r.response(e.tree)
	}
}

func (r *responses) response(whole map[string]any) {
	r.whole = whole
	for i, item := range modelapi.ObjectsIn(whole, "output") {
		r.last = max(r.last, i)
		r.item(i, item)
	}
}

func (r *responses) item(at int, item map[string]any) {
	switch textIn(item, "type") {
	case "function_call":
		c := r.callAt(at)
		c.ids, c.names = some(c.ids, place{item, "call_id"}), some(c.names, place{item, "name"})
		c.arguments.again = some(c.arguments.again, place{item, "arguments"})
		c.whole = item
	case "message":
		for j, part := range modelapi.ObjectsIn(item, "content") {
			if text := (place{part, "text"}); text.text() != "" {
				w := r.text(at, j)
				w.again = append(w.again, text)
			}
		}
	}
}

func (r *responses) text(at, part int) *words {
	key := [2]int{at, part}
	if r.texts[key] == nil {
		r.texts[key] = &words{}
		r.message.texts = append(r.message.texts, r.texts[key])
	}
	return r.texts[key]
}

func (r *responses) doubleCall(c *call, id string) {
	var twins []*event
	for _, e := range r.items[c.at] {
		twin := e.clone()
		twin.tree["output_index"] = r.last + 1
		if item := modelapi.ObjectIn(twin.tree, "item"); item != nil {
			item["call_id"] = id
		}
		twins = append(twins, twin)
	}
	if len(twins) > 0 {
		r.latest.behind = append(r.latest.behind, twins...)
	}
	if all, ok := r.whole["output"].([]any); ok {
		twin := cloneOf(c.whole)
		twin["call_id"] = id
		r.whole["output"] = append(all, twin)
	}
}

func (r *responses) endEarly() {
	if r.ends != nil {
		r.ends.typed("response.incomplete")
	}
	if r.whole != nil {
		r.whole["status"] = "incomplete"
		r.whole["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	}
}

func (r *responses) refuseAll() {
	for _, all := range r.items {
		for _, e := range all {
			e.gone = true
		}
	}
	if r.first != nil {
		r.first.gone = false
		r.first.tree = map[string]any{"item_id": "msg_refusal", "output_index": 0, "content_index": 0, "delta": refusal}
		r.first.typed("response.refusal.delta")
	}
	if r.whole != nil {
		r.whole["output"] = []any{map[string]any{"type": "message", "id": "msg_refusal", "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "refusal", "refusal": refusal}}}}
	}
}

package chatfault

import (
	"strings"

	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// ofMessages returns the message of an answer in the form of Messages, whole or in events; nil if
// it has another form.
func ofMessages(events []*event) *message {
	var ends []map[string]any // the objects with the reason to stop
	m := &message{}
	blocks := map[int][]*event{}
	ok, last := false, 0
	var latest *event // the last event of a block
	texts := map[int]*words{}
	for _, e := range events {
		at, _ := numberIn(e.tree, "index")
		kind := textIn(e.tree, "type")
		switch {
		case kind == "message":
			return wholeMessage(e.tree)
		case kind == "message_delta":
			ends = append(ends, modelapi.ObjectIn(e.tree, "delta"))
		case strings.HasPrefix(kind, "content_block_"):
			blocks[at], last, latest = append(blocks[at], e), max(last, at), e
		}
		ok = ok || kind == "message_start" || kind == "message_delta"
		delta := modelapi.ObjectIn(e.tree, "delta")
		switch block := modelapi.ObjectIn(e.tree, "content_block"); {
		case kind == "content_block_start" && textIn(block, "type") == "tool_use":
			c := m.callAt(at)
			c.ids, c.names = some(c.ids, place{block, "id"}), some(c.names, place{block, "name"})
		case kind == "content_block_delta" && textIn(delta, "partial_json") != "":
			c := m.callAt(at)
			c.arguments.bits = append(c.arguments.bits, place{delta, "partial_json"})
		case kind == "content_block_delta" && textIn(delta, "text") != "":
			if texts[at] == nil {
				texts[at] = &words{}
				m.texts = append(m.texts, texts[at])
			}
			texts[at].bits = append(texts[at].bits, place{delta, "text"})
		}
	}
	if !ok {
		return nil
	}
	stop := func(reason string) {
		for _, delta := range ends {
			if delta["stop_reason"] != nil {
				delta["stop_reason"] = reason
			}
		}
	}
	m.double = func(c *call, id string) {
		for _, e := range blocks[c.at] {
			twin := e.clone()
			twin.tree["index"] = last + 1
			if block := modelapi.ObjectIn(twin.tree, "content_block"); block != nil {
				block["id"] = id
			}
			latest.behind = append(latest.behind, twin)
		}
	}
	m.end = func() { stop("max_tokens") }
	m.refuse = func() {
		for _, all := range blocks {
			for _, e := range all {
				e.gone = true
			}
		}
		stop("refusal")
	}
	return m
}

func wholeMessage(said map[string]any) *message {
	m := &message{}
	for i, block := range modelapi.ObjectsIn(said, "content") {
		switch textIn(block, "type") {
		case "tool_use":
			m.calls = append(m.calls, &call{at: i, ids: some(nil, place{block, "id"}), names: some(nil, place{block, "name"}), object: &place{block, "input"}, whole: block})
		case "text":
			m.texts = append(m.texts, &words{bits: []place{{block, "text"}}})
		}
	}
	m.double = func(c *call, id string) {
		twin := cloneOf(c.whole)
		twin["id"] = id
		said["content"] = append(said["content"].([]any), twin)
	}
	m.end = func() { said["stop_reason"] = "max_tokens" }
	m.refuse = func() { said["content"], said["stop_reason"] = []any{}, "refusal" }
	return m
}

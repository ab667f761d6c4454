package chatfault

import (
	"slices"

	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// ofGemini returns the message of an answer in the form of Gemini; nil if it has another form. A
// stream has calls in one piece, and the text in bits.
func ofGemini(events []*event) *message {
	m, text := &message{}, &words{}
	var candidates []map[string]any
	contents := map[*call]map[string]any{}
	for _, e := range events {
		all := modelapi.ObjectsIn(e.tree, "candidates")
		if len(all) == 0 || all[0] == nil {
			continue
		}
		candidates = append(candidates, all[0])
		content := modelapi.ObjectIn(all[0], "content")
		for _, part := range modelapi.ObjectsIn(content, "parts") {
			called := modelapi.ObjectIn(part, "functionCall")
			switch {
			case called != nil:
				c := m.callAt(len(m.calls))
				c.ids, c.names = some(nil, place{called, "id"}), some(nil, place{called, "name"})
				c.object, c.whole = &place{called, "args"}, part
				contents[c] = content
			case part["thought"] != true:
				text.bits = some(text.bits, place{part, "text"})
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	m.texts = []*words{text}
	finish := func(reason string) {
		for _, candidate := range candidates {
			if candidate["finishReason"] != nil {
				candidate["finishReason"] = reason
			}
		}
	}
	m.double = func(c *call, id string) {
		twin := cloneOf(c.whole)
		if len(c.ids) > 0 {
			modelapi.ObjectIn(twin, "functionCall")["id"] = id
		}
		parts := contents[c]["parts"].([]any)
		at := slices.IndexFunc(modelapi.ObjectsIn(contents[c], "parts"), func(part map[string]any) bool {
			return modelapi.ObjectIn(part, "functionCall") != nil
		})
		contents[c]["parts"] = slices.Insert(slices.Clone(parts), at+1, any(twin))
	}
	m.end = func() { finish("MAX_TOKENS") }
	m.refuse = func() {
		for _, candidate := range candidates {
			delete(candidate, "content")
		}
		finish("SAFETY")
	}
	return m
}

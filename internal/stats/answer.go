package stats

import (
	"encoding/json"
	"hash/maphash"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
)

// This file reads requests to models and their answers, in the forms that are common: Chat
// Completions, Messages, Responses and Gemini.

// talkMembers are the members of a request that hold what is said, and toolMembers those
// that say what can be called.
var (
	talkMembers   = []string{"messages", "input", "contents"}
	promptMembers = []string{"system", "instructions", "systemInstruction", "system_instruction", "tools"}
)

// request is what was asked.
type request struct {
	model  string
	isTalk bool // it is a conversation with a model
	body   map[string]any
	hash   uint64 // of what is asked again when it is asked again
}

// readRequest reads what was asked of somebody.
func readRequest(of string, raw json.RawMessage) request {
	var http struct {
		Path string          `json:"path"`
		Body json.RawMessage `json:"body"`
	}
	r := request{model: of}
	said := raw
	if json.Unmarshal(raw, &http) == nil && len(http.Body) > 0 {
		said = http.Body // headers may count how often
	}
	r.hash = maphash.Bytes(seed, append([]byte(of+"\x00"+http.Path+"\x00"), said...))
	if json.Unmarshal(said, &r.body) != nil {
		return r
	}
	r.isTalk = slices.ContainsFunc(talkMembers, func(name string) bool {
		switch r.body[name].(type) {
		case []any, string:
			return true
		}
		return false
	})
	if model, is := r.body["model"].(string); is && model != "" {
		r.model = model
	} else if model := modelInPath(http.Path); model != "" {
		r.model = model
	}
	return r
}

// modelInPath is the model that a path names, as in /v1/models/small:generateContent.
func modelInPath(at string) string {
	folder, name := path.Split(at)
	if !strings.HasSuffix(folder, "/models/") {
		return ""
	}
	model, _, _ := strings.Cut(name, ":")
	if plain, err := url.PathUnescape(model); err == nil {
		return plain
	}
	return model
}

// words are the texts that a model reads of a request.
func (r *request) words() string {
	var words strings.Builder
	for _, name := range append(slices.Clone(promptMembers), talkMembers...) {
		texts(&words, r.body[name], 0)
	}
	return words.String()
}

// unread are the members whose texts no model reads as tokens of text.
var unread = map[string]bool{"id": true, "type": true, "role": true, "tool_call_id": true, "call_id": true, "tool_use_id": true, "data": true, "url": true, "signature": true}

// deepest is how deep texts are looked for.
const deepest = 64

// texts writes the texts in a value, one a line.
func texts(out *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case string:
		out.WriteString(v)
		out.WriteByte('\n')
	case []any:
		for _, one := range v {
			if depth < deepest {
				texts(out, one, depth+1)
			}
		}
	case map[string]any:
		for _, name := range namesIn(v, nil) {
			if depth < deepest && !unread[name] {
				texts(out, v[name], depth+1)
			}
		}
	}
}

// answer is put together from the pieces in which it came.
type answer struct {
	status int
	used   *Tokens // as it says, the latest; nil where it does not
	finish string
	said   strings.Builder // text, thoughts and arguments
}

// take takes the next piece, or the whole.
func (a *answer) take(raw json.RawMessage) {
	var head httpform.Head
	if json.Unmarshal(raw, &head) == nil && head.Status != 0 {
		a.status = head.Status
	}
	event := eventIn(raw)
	if event == nil {
		return
	}
	for _, at := range []map[string]any{event, objectIn(event, "message"), objectIn(event, "response")} {
		a.count(objectIn(at, "usage"))
		a.count(objectIn(at, "usageMetadata"))
	}
	if stop := stopIn(event); stop != "" {
		a.finish = stop
	}
	a.hear(event)
}

// eventIn is what a piece of an answer says; nil where that is no object.
func eventIn(raw json.RawMessage) (event map[string]any) {
	var piece httpform.Piece
	said := raw
	if json.Unmarshal(raw, &piece) == nil {
		for _, part := range []json.RawMessage{piece.Data, piece.Line, piece.Body} {
			if part != nil {
				said = part
			}
		}
	}
	if json.Unmarshal(said, &event) != nil {
		return nil
	}
	return event
}

// StopReason is why a model stopped, where a piece of its answer says so; else empty.
func StopReason(piece json.RawMessage) string { return stopIn(eventIn(piece)) }

// count takes the tokens that an answer says. Later ones go before earlier ones.
func (a *answer) count(usage map[string]any) {
	if len(usage) == 0 {
		return
	}
	t := a.used
	if t == nil {
		t = &Tokens{}
	}
	if n, is := firstNumber(usage, "prompt_tokens", "input_tokens", "promptTokenCount"); is {
		t.In = n
	}
	if n, is := firstNumber(usage, "completion_tokens", "output_tokens", "candidatesTokenCount"); is {
		thoughts, _ := firstNumber(usage, "thoughtsTokenCount")
		t.Out = n + thoughts
	}
	cached, isWithin := firstNumber(objectIn(usage, "prompt_tokens_details"), "cached_tokens")
	if !isWithin {
		cached, isWithin = firstNumber(objectIn(usage, "input_tokens_details"), "cached_tokens")
	}
	if !isWithin {
		cached, isWithin = firstNumber(usage, "cachedContentTokenCount")
	}
	if isWithin {
		t.Cached = cached
	}
	// Messages says what was cached beside what was read, and not within it.
	beside, isBeside := firstNumber(usage, "cache_read_input_tokens")
	if created, is := firstNumber(usage, "cache_creation_input_tokens"); is || isBeside {
		if _, is := firstNumber(usage, "input_tokens"); is {
			t.In += beside + created
			t.Cached = beside
		}
	}
	a.used = t
}

// stopIn is why a model stopped, where an event says so.
func stopIn(event map[string]any) string {
	for _, list := range []string{"choices", "candidates"} {
		for _, one := range listIn(event, list) {
			choice, _ := one.(map[string]any)
			if stop := firstText(choice, "finish_reason", "finishReason"); stop != "" {
				return stop
			}
		}
	}
	for _, at := range []map[string]any{event, objectIn(event, "delta"), objectIn(event, "message")} {
		if stop := firstText(at, "stop_reason"); stop != "" {
			return stop
		}
	}
	if event["object"] == "response" {
		return firstText(event, "status")
	}
	if kind := firstText(event, "type"); kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed" {
		return firstText(objectIn(event, "response"), "status")
	}
	return ""
}

// spoken are the members in which answers say something.
var spoken = map[string]bool{"text": true, "content": true, "thinking": true, "reasoning": true, "reasoning_content": true,
	"arguments": true, "partial_json": true, "refusal": true, "delta": true, "name": true}

// hear takes what an event says, to be counted where no tokens are said. What repeats a
// whole answer behind its pieces is not heard twice.
func (a *answer) hear(event map[string]any) {
	if kind := firstText(event, "type"); strings.HasPrefix(kind, "response.") && !strings.HasSuffix(kind, ".delta") {
		return
	}
	for _, name := range []string{"choices", "candidates", "content", "content_block", "delta", "output"} {
		a.speak(name, event[name], 0)
	}
}

func (a *answer) speak(name string, v any, depth int) {
	if depth > deepest {
		return
	}
	switch v := v.(type) {
	case string:
		if spoken[name] {
			a.said.WriteString(v)
		}
	case []any:
		for _, one := range v {
			a.speak(name, one, depth+1)
		}
	case map[string]any:
		if name == "input" || name == "args" {
			text, _ := json.Marshal(v) // it was read from JSON
			if len(v) > 0 {
				a.said.Write(text)
			}
			return
		}
		for _, member := range namesIn(v, nil) {
			a.speak(member, v[member], depth+1)
		}
	}
}

func objectIn(v map[string]any, name string) map[string]any {
	object, _ := v[name].(map[string]any)
	return object
}

func listIn(v map[string]any, name string) []any {
	list, _ := v[name].([]any)
	return list
}

func firstText(v map[string]any, names ...string) string {
	for _, name := range names {
		if text, is := v[name].(string); is && text != "" {
			return text
		}
	}
	return ""
}

// mostTokens is more than any model takes: what says more is not believed.
const mostTokens = 1 << 40

func firstNumber(v map[string]any, names ...string) (int, bool) {
	for _, name := range names {
		if n, is := v[name].(float64); is && n >= 0 && n < mostTokens {
			return int(n), true
		}
	}
	return 0, false
}

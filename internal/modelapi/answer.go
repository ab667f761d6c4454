package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
)

// Answer is put together from the pieces in which it came. The zero Answer is one of which
// nothing came.
type Answer struct {
	// Status is that of HTTP, 0 where there is none.
	Status int
	// Usage is what the answer says of tokens, at the latest; nil where it does not.
	Usage *Usage
	// Finish is why the model stopped, in the words of its provider; else empty.
	Finish string
	// ID and Model are what the answer calls itself, and who it says has answered.
	ID, Model string
	// Keep has Message give what is said; without it the words are not kept apart.
	Keep bool

	said   strings.Builder
	heard  heard
	isDone bool // the provider has said that nothing follows
}

// Failed reports whether an ask went wrong that ended with err, or with none. Who had enough of
// an answer has not failed, but for one of a model that had not said that it was done.
func (a *Answer) Failed(r *Request, err error) bool {
	if a.Status >= 400 {
		return true
	}
	if errors.Is(err, adk.E_ASK_STOPPED) {
		return r.IsTalk && a.Finish == "" && !a.isDone
	}
	return err != nil
}

// Message is what the answer says, where its words are kept.
func (a *Answer) Message() Message { return a.heard.message(a.Finish) }

// Choices are the messages that the answer says, where its words are kept.
func (a *Answer) Choices() []Choice { return a.heard.all() }

// IsDone reports whether the provider has said that nothing follows.
func (a *Answer) IsDone() bool { return a.isDone }

// Usage is what an answer says of tokens.
type Usage struct {
	// In is what the model read. Cached is what of it had been read before, and Created what
	// is kept to be read again.
	In, Cached, Created int
	// Out is what it wrote, Thought what of that are thoughts.
	Out, Thought int
}

// Said is what the answer says to be counted where it says no tokens: text, thoughts and
// arguments.
func (a *Answer) Said() string { return a.said.String() }

// Take takes the next piece, or the whole. Where words are kept, it reports whether the piece
// has a form that is known here, or says that nothing follows.
func (a *Answer) Take(raw json.RawMessage) bool {
	var head httpform.Head
	if json.Unmarshal(raw, &head) == nil && head.Status != 0 {
		a.Status = head.Status
	}
	event := eventIn(raw)
	if event == nil {
		done := isDone(raw)
		a.isDone = a.isDone || done
		return done
	}
	for _, at := range []map[string]any{event, ObjectIn(event, "message"), ObjectIn(event, "response")} {
		a.count(ObjectIn(at, "usage"))
		a.count(ObjectIn(at, "usageMetadata"))
		a.ID = cmp.Or(firstText(at, "id", "responseId"), a.ID)
		a.Model = cmp.Or(firstText(at, "model", "modelVersion"), a.Model)
	}
	if message, done := ofOllama(event); message != nil {
		a.speak("message", message, 0)
		if _, says := firstNumber(event, "eval_count"); done && says {
			a.count(event)
		}
	}
	if stop := stopIn(event); stop != "" {
		a.Finish = stop
	}
	a.isDone = a.isDone || isLast(event)
	a.hear(event)
	return a.Keep && a.heard.take(event)
}

// eventIn is what a piece of an answer says; nil where that is no object.
func eventIn(raw json.RawMessage) (event map[string]any) {
	said := raw
	if piece, err := httpform.ReadPiece(raw); err == nil {
		over := piece.Said()
		if piece.Data != nil || piece.Line != nil || piece.Body != nil || bytes.HasPrefix(over, []byte("{")) { // else it is of no HTTP
			said = over
		}
	}
	whole, _ := jsondiff.Decode(string(said))
	event, _ = whole.(map[string]any)
	return event
}

// isDone reports whether a piece is what Chat Completions ends a stream with.
func isDone(raw json.RawMessage) bool {
	piece, err := httpform.ReadPiece(raw)
	return err == nil && string(piece.Data) == `"[DONE]"`
}

// IsLast reports whether a piece of an answer says that its model is done.
func IsLast(piece json.RawMessage) bool {
	if event := eventIn(piece); event != nil {
		return stopIn(event) != "" || isLast(event)
	}
	return isDone(piece)
}

// lastEvents are the types of those events behind which nothing follows.
var lastEvents = []string{"message_stop", "response.completed", "response.incomplete", "response.failed"}

func isLast(event map[string]any) bool {
	_, done := ofOllama(event)
	return done || slices.Contains(lastEvents, firstText(event, "type"))
}

// ofOllama is the message in a piece of Ollama's own form, nil in another one, and whether it is
// the last.
func ofOllama(event map[string]any) (message map[string]any, isLast bool) {
	if done, ok := event["done"].(bool); ok {
		message = ObjectIn(event, "message")
		return message, done && message != nil
	}
	return nil, false
}

// StopReason is why a model stopped, where a piece of its answer says so; else empty.
func StopReason(piece json.RawMessage) string { return stopIn(eventIn(piece)) }

// count takes the tokens that an answer says. Later ones go before earlier ones.
func (a *Answer) count(usage map[string]any) {
	if len(usage) == 0 {
		return
	}
	t := a.Usage
	if t == nil {
		t = &Usage{}
	}
	if n, ok := firstNumber(usage, "prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count"); ok {
		t.In = n
	}
	if n, ok := firstNumber(usage, "completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count"); ok {
		thoughts, _ := firstNumber(usage, "thoughtsTokenCount")
		t.Out, t.Thought = n+thoughts, thoughts
	}
	for _, name := range []string{"completion_tokens_details", "output_tokens_details"} {
		if n, ok := firstNumber(ObjectIn(usage, name), "reasoning_tokens"); ok {
			t.Thought = n
		}
	}
	cached, isWithin := firstNumber(ObjectIn(usage, "prompt_tokens_details"), "cached_tokens")
	if !isWithin {
		cached, isWithin = firstNumber(ObjectIn(usage, "input_tokens_details"), "cached_tokens")
	}
	if !isWithin {
		cached, isWithin = firstNumber(usage, "cachedContentTokenCount")
	}
	if isWithin {
		t.Cached = cached
	}
	// Messages says what was cached beside what was read, and not within it.
	beside, isBeside := firstNumber(usage, "cache_read_input_tokens")
	if created, ok := firstNumber(usage, "cache_creation_input_tokens"); ok || isBeside {
		if _, ok := firstNumber(usage, "input_tokens"); ok {
			t.In += beside + created
			t.Cached, t.Created = beside, created
		}
	}
	a.Usage = t
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
	for _, at := range []map[string]any{event, ObjectIn(event, "delta"), ObjectIn(event, "message")} {
		if stop := firstText(at, "stop_reason"); stop != "" {
			return stop
		}
	}
	if event["object"] == "response" {
		return firstText(event, "status")
	}
	if kind := firstText(event, "type"); kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed" {
		return firstText(ObjectIn(event, "response"), "status")
	}
	if _, done := ofOllama(event); done {
		return firstText(event, "done_reason")
	}
	return ""
}

// spoken are the members in which answers say something.
var spoken = map[string]bool{"text": true, "content": true, "thinking": true, "reasoning": true, "reasoning_content": true,
	"arguments": true, "partial_json": true, "refusal": true, "delta": true, "name": true}

// hear takes what an event says, to be counted where no tokens are said. What repeats a
// whole answer behind its pieces is not heard twice.
func (a *Answer) hear(event map[string]any) {
	if kind := firstText(event, "type"); strings.HasPrefix(kind, "response.") && !strings.HasSuffix(kind, ".delta") {
		return
	}
	for _, name := range []string{"choices", "candidates", "content", "content_block", "delta", "output"} {
		a.speak(name, event[name], 0)
	}
}

func (a *Answer) speak(name string, v any, depth int) {
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
		for _, member := range slices.Sorted(maps.Keys(v)) {
			a.speak(member, v[member], depth+1)
		}
	}
}

// ObjectIn is the member of a name where that is an object, and else nil.
func ObjectIn(v map[string]any, name string) map[string]any {
	object, _ := v[name].(map[string]any)
	return object
}

func listIn(v map[string]any, name string) []any {
	list, _ := v[name].([]any)
	return list
}

func firstText(v map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := v[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// mostTokens is more than any model takes: what says more is not believed.
const mostTokens = 1 << 30

func firstNumber(v map[string]any, names ...string) (int, bool) {
	for _, name := range names {
		if number, ok := v[name].(json.Number); ok {
			if n, err := number.Float64(); err == nil && n >= 0 && n < mostTokens {
				return int(n), true
			}
		}
	}
	return 0, false
}

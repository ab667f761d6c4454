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

// Answer is built from the pieces in which it arrives. The zero Answer has received nothing.
type Answer struct {
	// Status is the HTTP status; 0 if there is none.
	Status int
	// Usage is the latest report of tokens in the answer; nil if there is none.
	Usage *Usage
	// Finish is why the model stopped, in the words of its provider; "" if unknown.
	Finish string
	// ID is the answer's own id, and Model the model that it says has answered.
	ID, Model string
	// Keep says to keep the words of the answer, which Message and Choices return.
	Keep bool

	said   strings.Builder
	heard  heard
	isDone bool // the provider has said that nothing follows
}

// Failed reports whether an ask that ended with err, which may be nil, failed. A caller that
// stopped reading has not failed, except in a talk with a model that had not finished.
func (a *Answer) Failed(r *Request, err error) bool {
	if a.Status >= 400 {
		return true
	}
	if errors.Is(err, adk.E_ASK_STOPPED) {
		return r.IsTalk && a.Finish == "" && !a.isDone
	}
	return err != nil
}

// Message returns the answer as a message, if Keep is set.
func (a *Answer) Message() Message { return a.heard.message(a.Finish) }

// Choices returns the messages of the answer, if Keep is set.
func (a *Answer) Choices() []Choice { return a.heard.all() }

// IsDone reports whether the provider has said that nothing follows.
func (a *Answer) IsDone() bool { return a.isDone }

// Usage is the number of tokens that an answer reports.
type Usage struct {
	// In is how many tokens the model read. Cached is how many of these were read from a cache, and
	// Created how many were added to one.
	In, Cached, Created int
	// Out is how many tokens the model wrote, and Thought how many of these are thoughts.
	Out, Thought int
}

// Said returns text, thoughts and arguments of the answer. It is for counting tokens if the answer
// does not report them.
func (a *Answer) Said() string { return a.said.String() }

// Take adds the next piece of an answer, or the whole answer. If Keep is set, it reports whether
// the piece has a known form or says that nothing follows.
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

// eventIn returns the content of a piece of an answer, or nil if that is not an object.
func eventIn(raw json.RawMessage) (event map[string]any) {
	said := raw
	if piece, err := httpform.ReadPiece(raw); err == nil {
		over := piece.Said()
		if piece.Data != nil || piece.Line != nil || piece.Body != nil || bytes.HasPrefix(over, []byte("{")) { // otherwise it is not from HTTP
			said = over
		}
	}
	whole, _ := jsondiff.Decode(string(said))
	event, _ = whole.(map[string]any)
	return event
}

// isDone reports whether a piece is the one with which Chat Completions ends a stream.
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

// lastEvents are the types of events after which nothing follows.
var lastEvents = []string{"message_stop", "response.completed", "response.incomplete", "response.failed"}

func isLast(event map[string]any) bool {
	_, done := ofOllama(event)
	return done || slices.Contains(lastEvents, firstText(event, "type"))
}

// ofOllama returns the message in a piece of Ollama's own form, or nil if the piece has another
// form, and whether the piece is the last one.
func ofOllama(event map[string]any) (message map[string]any, isLast bool) {
	if done, ok := event["done"].(bool); ok {
		message = ObjectIn(event, "message")
		return message, done && message != nil
	}
	return nil, false
}

// StopReason returns why a model stopped, if a piece of its answer says so, and "" otherwise.
func StopReason(piece json.RawMessage) string { return stopIn(eventIn(piece)) }

// count takes in a report of tokens. A later report replaces an earlier one.
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
	// Messages reports cached tokens in addition to the read ones, and not as a part of them.
	beside, isBeside := firstNumber(usage, "cache_read_input_tokens")
	if created, ok := firstNumber(usage, "cache_creation_input_tokens"); ok || isBeside {
		if _, ok := firstNumber(usage, "input_tokens"); ok {
			t.In += beside + created
			t.Cached, t.Created = beside, created
		}
	}
	a.Usage = t
}

// stopIn returns why a model stopped, if an event says so.
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

// spoken are the members that contain what answers say.
var spoken = map[string]bool{"text": true, "content": true, "thinking": true, "reasoning": true, "reasoning_content": true,
	"arguments": true, "partial_json": true, "refusal": true, "delta": true, "name": true}

// hear collects what an event says, for counting if no tokens are reported. It skips events that
// repeat what came in pieces before.
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
			text, _ := json.Marshal(v) // cannot fail: it was decoded from JSON
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

// ObjectIn returns a member that is an object, and nil otherwise.
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

// mostTokens is more than any model can process. Larger numbers are ignored.
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

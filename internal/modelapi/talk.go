package modelapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/jsondiff"
)

// Talk is a request that is a conversation with a model, for showing it. It omits nothing of the
// request.
type Talk struct {
	// Method and Path are those of a request over HTTP; otherwise they are empty.
	Method, Path string
	// Model is the model that the request names, and ModelMember the name of the member that does;
	// both may be empty.
	Model, ModelMember string
	// Messages are the messages in the provider's form. A single text is one message.
	Messages []json.RawMessage
	// System are the names of the members of Body that contain instructions.
	System []string
	// Body are the other members of what is asked. Outside are the members of a request over HTTP
	// except for its body. Numbers in them are json.Number.
	Body, Outside map[string]any
}

// ReadTalk reads a request. It returns nil if that is not a conversation with a model.
func ReadTalk(raw json.RawMessage) *Talk {
	var http struct {
		Method, Path string
		Body         json.RawMessage
	}
	t := &Talk{}
	said := raw
	if json.Unmarshal(raw, &http) == nil && http.Path != "" && isObject(http.Body) {
		t.Method, t.Path, said = http.Method, http.Path, http.Body
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(said, &members) != nil {
		return nil
	}
	name := t.talkIn(members)
	if name == "" {
		return nil
	}
	whole, _ := jsondiff.Decode(string(raw))
	t.Body, _ = whole.(map[string]any)
	if t.Path != "" {
		t.Outside = t.Body
		t.Body, _ = t.Outside["body"].(map[string]any)
		delete(t.Outside, "body")
	}
	delete(t.Body, name)
	for member := range t.Body {
		if text, ok := t.Body[member].(string); ok && strings.EqualFold(member, "model") {
			t.Model, t.ModelMember = text, member
		}
		if slices.Contains(promptMembers, member) && member != "tools" {
			t.System = append(t.System, member)
		}
	}
	slices.Sort(t.System)
	return t
}

// talkIn finds the member that holds the conversation, under its JSON name or a Go field name, and
// sets Messages from it.
func (t *Talk) talkIn(members map[string]json.RawMessage) (name string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(talkMembers, func(known string) bool { return strings.EqualFold(known, name) }) {
			continue
		}
		if isText(members[name]) && strings.HasSuffix(t.Path, "/responses") {
			t.Messages = []json.RawMessage{members[name]}
			return name
		}
		var messages []json.RawMessage
		if json.Unmarshal(members[name], &messages) == nil && len(messages) > 0 &&
			(strings.HasSuffix(t.Path, "/chat/completions") || !slices.ContainsFunc(messages, isNoMessage)) {
			t.Messages = messages
			return name
		}
	}
	return ""
}

// isNoMessage reports whether an element has neither a role, nor a type, nor parts.
func isNoMessage(raw json.RawMessage) bool {
	var message struct {
		Role, Type string
		Parts      []json.RawMessage
	}
	return !isObject(raw) || json.Unmarshal(raw, &message) != nil || message.Role == "" && message.Type == "" && len(message.Parts) == 0
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte("{")) }
func isText(raw json.RawMessage) bool   { return bytes.HasPrefix(raw, []byte(`"`)) }

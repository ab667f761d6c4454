package modelapi

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// talkMembers are the members of a request that hold what is said, and promptMembers those
// that stand beside the conversation.
var (
	talkMembers   = []string{"messages", "input", "contents"}
	promptMembers = []string{"system", "instructions", "systemInstruction", "system_instruction", "tools"}
)

// Request is what was asked.
type Request struct {
	// Model is the one that is asked: as the request says, else who is asked.
	Model string
	// IsTalk tells that it is a conversation with a model.
	IsTalk bool
	// Method and Path are those of the request, empty where nothing was asked over HTTP.
	Method, Path string
	// Body is what is asked; nil where that is no object.
	Body map[string]any
	// Hash is of what is asked again when it is asked again. It is another one in every
	// process.
	Hash uint64
}

// seed is of the hashes of this process.
var seed = maphash.MakeSeed()

// ReadRequest reads what was asked of somebody.
func ReadRequest(of string, raw json.RawMessage) Request {
	var http struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body"`
	}
	r := Request{Model: of}
	said := raw
	if json.Unmarshal(raw, &http) == nil && len(http.Body) > 0 {
		said = http.Body // headers may count how often
	}
	r.Method, r.Path = http.Method, http.Path
	r.Hash = maphash.Bytes(seed, append([]byte(of+"\x00"+http.Path+"\x00"), said...))
	if json.Unmarshal(said, &r.Body) != nil {
		return r
	}
	r.IsTalk = slices.ContainsFunc(talkMembers, func(name string) bool {
		switch r.Body[name].(type) {
		case []any, string:
			return true
		}
		return false
	})
	if model, ok := r.Body["model"].(string); ok && model != "" {
		r.Model = model
	} else if model := modelInPath(http.Path); model != "" {
		r.Model = model
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

// Words are the texts that a model reads of a request.
func (r *Request) Words() string {
	var words strings.Builder
	for _, name := range append(slices.Clone(promptMembers), talkMembers...) {
		texts(&words, r.Body[name], 0)
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
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if depth < deepest && !unread[name] {
				texts(out, v[name], depth+1)
			}
		}
	}
}

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

// talkMembers are the members of a request that may hold the conversation, and promptMembers those
// that hold instructions and tools outside it.
var (
	talkMembers   = []string{"messages", "input", "contents"}
	promptMembers = []string{"system", "instructions", "systemInstruction", "system_instruction", "tools"}
)

// Request is what was asked.
type Request struct {
	// Model is the model that is asked, from the request or, if it names none, the name of what is
	// asked.
	Model string
	// IsTalk says that it is a conversation with a model.
	IsTalk bool
	// Method and Path are those of a request over HTTP; otherwise they are empty.
	Method, Path string
	// Body is what is asked; nil if that is not an object.
	Body map[string]any
	// Hash is equal for requests that ask the same. It differs between processes.
	Hash uint64
}

// seed is the seed of the hashes in this process.
var seed = maphash.MakeSeed()

// ReadRequest reads a request. of names what is asked.
func ReadRequest(of string, raw json.RawMessage) Request {
	var http struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body"`
	}
	r := Request{Model: of}
	said := raw
	if json.Unmarshal(raw, &http) == nil && len(http.Body) > 0 {
		said = http.Body // without the headers, which may count retries
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

// modelInPath returns the model that a path names, as in /v1/models/small:generateContent.
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

// Words returns the texts in a request that a model reads.
func (r *Request) Words() string {
	var words strings.Builder
	for _, name := range append(slices.Clone(promptMembers), talkMembers...) {
		texts(&words, r.Body[name], 0)
	}
	return words.String()
}

// unread are the members whose texts a model does not read as text.
var unread = map[string]bool{"id": true, "type": true, "role": true, "tool_call_id": true, "call_id": true, "tool_use_id": true, "data": true, "url": true, "signature": true}

// deepest is how deep texts are searched.
const deepest = 64

// texts writes the texts in a value, one on each line.
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

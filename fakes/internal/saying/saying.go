package saying

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Answer is what a model says: a text in pieces, which may be none, and calls of tools behind it.
type Answer struct {
	Text  []string
	Calls []Call
}

// Call is a call of a tool. Its arguments come in fragments that need not be JSON by themselves.
type Call struct {
	ID, Name          string
	ArgumentFragments []string
}

// Body is an answer as it goes over HTTP.
type Body struct{ ContentType, Text string }

// The types of content.
const (
	ofEvents = "text/event-stream"
	ofJSON   = "application/json"
	ofLines  = "application/x-ndjson"
)

// The models' own words for what every form says.
const (
	model   = "fake"
	created = 1735689600 // 2025-01-01 in seconds of Unix, as fakes.Epoch
)

// form is how an API answers.
type form struct {
	// path is what the path of a request ends with.
	path string
	// streams reports whether a request asks for a stream, by its member stream.
	streams func(member *bool) bool
	whole   func(a Answer) (Body, error)
	stream  func(a Answer) (Body, error)
}

const geminiStream = ":streamGenerateContent"

// forms are those that are known, by the ends of their paths.
var forms = []form{
	{"/chat/completions", asksToStream, Answer.completion, func(a Answer) (Body, error) { return a.CompletionStream(), nil }},
	{"/messages", asksToStream, Answer.messages, Answer.messagesStream},
	{"/responses", asksToStream, Answer.response, Answer.responseStream},
	{":generateContent", never, Answer.gemini, nil},
	{geminiStream, always, nil, Answer.geminiStream},
	{"/api/chat", streamsByItself, Answer.ollama, Answer.ollamaStream},
}

func asksToStream(member *bool) bool    { return member != nil && *member }
func streamsByItself(member *bool) bool { return member == nil || *member }
func never(*bool) bool                  { return false }
func always(*bool) bool                 { return true }

// To writes an answer to a request, of its URL and its body. It is none where no API is known
// there, or nothing is asked of it. The error says which arguments a form cannot say: those that are no object, where it has
// objects for them.
func (a Answer) To(address, body string) (*Body, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, nil
	}
	for _, f := range forms {
		if !strings.HasSuffix(at.Path, f.path) {
			continue
		}
		var members struct {
			Stream *bool `json:"stream"`
		}
		if json.Unmarshal([]byte(body), &members) != nil {
			return nil, nil
		}
		write := f.whole
		if f.streams(members.Stream) {
			write = f.stream
		}
		written, err := write(a)
		if err != nil {
			return nil, err
		}
		if f.path == geminiStream && at.Query().Get("alt") != "sse" {
			written = inList(written)
		}
		return &written, nil
	}
	return nil, nil
}

// text is the whole text.
func (a Answer) text() string { return strings.Join(a.Text, "") }

// finish is one word where the answer ends with a text, and the other where it calls.
func (a Answer) finish(said, called string) string {
	if len(a.Calls) > 0 {
		return called
	}
	return said
}

// arguments are those of a call, as they were given.
func (c Call) arguments() string { return strings.Join(c.ArgumentFragments, "") }

// object is the arguments where a form has an object for them.
func (c Call) object() (json.RawMessage, error) {
	text := c.arguments()
	if text == "" {
		return json.RawMessage("{}"), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("the arguments of the call %s of %s are no JSON object, as they have to be in this form: %s", c.ID, c.Name, text)
	}
	return json.RawMessage(text), nil
}

// quoted is a text as JSON.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a text always encodes
	return string(data)
}

// events are an event stream.
type events struct{ strings.Builder }

// named adds an event of a name.
func (e *events) named(name, format string, args ...any) {
	fmt.Fprintf(e, "event: %s\n", name)
	e.data(format, args...)
}

// data adds an event without a name.
func (e *events) data(format string, args ...any) {
	fmt.Fprintf(e, "data: "+format+"\n\n", args...)
}

func (e *events) body() Body { return Body{ofEvents, e.String()} }

package fakes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// Conversation is what a Provider or a Transport serves: interactions in order, recorded with
// a real provider of Chat Completions or scripted by a test.
type Conversation struct {
	// Source says where a recording comes from.
	Source       string        `json:"source"`
	Interactions []Interaction `json:"interactions"`
}

// Interaction is one request and what answers it.
type Interaction struct {
	// Request is what was sent when it was recorded. Where it has a body, Differences
	// says in what a request differs that it answered all the same.
	Request  ProviderRequest `json:"request"`
	Response Reply           `json:"response"`
	// When says which requests it answers; nil answers any, in its turn.
	When *Matcher `json:"when,omitempty"`
}

// ProviderRequest is a request as a Conversation or a Provider keeps it.
type ProviderRequest struct {
	Method string `json:"method"`
	// URL is a whole URL in a recording and where a Transport was asked, and a path
	// where a Provider was.
	URL     string      `json:"url"`
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body"`
}

// Reply is what a Provider answers: the body goes out byte for byte, a
// text/event-stream event by event.
type Reply struct {
	// Status 0 means 200.
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	// Headers are further headers, such as Retry-After.
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body"`
}

// ReadConversation reads a recorded conversation, a JSON object like
//
//	{"source": "…", "interactions": [
//	  {"request": {"method": "POST", "url": "…", "body": "…"},
//	   "response": {"status": 200, "contentType": "text/event-stream", "body": "…"}}]}
func ReadConversation(r io.Reader) (Conversation, error) {
	var c Conversation
	if err := json.NewDecoder(r).Decode(&c); err != nil {
		return Conversation{}, fmt.Errorf("fakes: not a recorded conversation: %w", jsonfault.Of(err))
	}
	if len(c.Interactions) == 0 {
		return Conversation{}, fmt.Errorf("fakes: the recorded conversation has no interactions")
	}
	return c, nil
}

// Converse is a scripted conversation of replies.
func Converse(replies ...Reply) Conversation {
	var c Conversation
	for _, reply := range replies {
		c.Interactions = append(c.Interactions, Interaction{Response: reply})
	}
	return c
}

// Provider is an HTTP server in the place of a model's provider. It answers
// each request with the next interaction of its conversation, whatever is
// asked, or, where interactions have a Matcher, with the first that fits and has
// not been used; and it remembers what was asked. It must be closed.
type Provider struct {
	server   *http.Server
	listener net.Listener
	url      string
	conversing
}

// NewProvider starts a server of the conversation on a free port of this
// machine. Where there is none it panics, since no test could go on. (It is not
// made of httptest, which adds a flag to every program that imports it.)
func NewProvider(c Conversation) *Provider {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fakes: NewProvider: " + err.Error())
	}
	p := &Provider{listener: listener, url: "http://" + listener.Addr().String(), conversing: newConversing(c)}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve)}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	return p
}

// URL is where the server is, without a slash at the end: a client's base URL.
func (p *Provider) URL() string { return p.url }

// Close stops the server. A reply that is under way is cut short, and whoever
// asks from now on is refused.
func (p *Provider) Close() {
	_ = p.server.Close()
	_ = p.listener.Close() // the server does not know it yet where Serve has not begun
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "fakes: the request's body cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	reply, err := p.next(ProviderRequest{Method: r.Method, URL: r.URL.String(), Headers: r.Header.Clone(), Body: string(body)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	reply.writeTo(w)
}

// writeTo writes the reply. A client that went away is nobody's failure here:
// what it did read is for its own side to judge.
func (r Reply) writeTo(w http.ResponseWriter) {
	r.fill(w.Header())
	if r.Status != 0 {
		w.WriteHeader(r.Status)
	}
	if !strings.HasPrefix(r.ContentType, "text/event-stream") {
		_, _ = io.WriteString(w, r.Body)
		return
	}
	flush := http.NewResponseController(w)
	for _, event := range splitEvents(r.Body) {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
		_ = flush.Flush()
	}
}

// splitEvents cuts an event stream as those who read one do, and keeps every byte.
func splitEvents(body string) (events []string) {
	split := httpform.Splitter{Form: httpform.Events}
	for rest := []byte(body); len(rest) > 0; {
		end := split.End(rest)
		if end < 0 {
			end = len(rest)
		}
		events = append(events, string(rest[:end]))
		rest = rest[end:]
	}
	return events
}

// StreamReply is a reply that streams a message in chunks, as Chat Completions
// does, and stops.
func StreamReply(chunks ...string) Reply {
	deltas := []delta{{Role: "assistant"}}
	for _, chunk := range chunks {
		deltas = append(deltas, delta{Content: chunk})
	}
	return streamOf("stop", deltas)
}

// StreamToolCall is a reply that streams one call of a function, its arguments
// in fragments that need not be JSON by themselves, and stops for the call.
func StreamToolCall(id, name string, argumentFragments ...string) Reply {
	return StreamToolCalls("", StreamedCall{id, name, argumentFragments})
}

// StreamedCall is a call of a function in a streamed reply. Its arguments come in fragments that
// need not be JSON by themselves.
type StreamedCall struct {
	ID, Name          string
	ArgumentFragments []string
}

// StreamToolCalls is a reply that streams a text, which may be empty, and then calls of
// functions, each behind the one before, and stops for them.
func StreamToolCalls(text string, calls ...StreamedCall) Reply {
	var deltas []delta
	if text != "" {
		deltas = append(deltas, delta{Content: text})
	}
	for i, call := range calls {
		deltas = append(deltas, delta{ToolCalls: []deltaCall{{Index: i, ID: call.ID, Type: "function", Function: deltaFunction{Name: call.Name}}}})
		for _, fragment := range call.ArgumentFragments {
			deltas = append(deltas, delta{ToolCalls: []deltaCall{{Index: i, Function: deltaFunction{Arguments: fragment}}}})
		}
	}
	if len(deltas) > 0 {
		deltas[0].Role = "assistant"
	}
	return streamOf("tool_calls", deltas)
}

// The parts of a chat.completion.chunk that StreamReply and StreamToolCall write.
type (
	chunk struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Created int64         `json:"created"`
		Model   string        `json:"model"`
		Choices []chunkChoice `json:"choices"`
	}
	chunkChoice struct {
		Index        int     `json:"index"`
		Delta        delta   `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	}
	delta struct {
		Role      string      `json:"role,omitempty"`
		Content   string      `json:"content,omitempty"`
		ToolCalls []deltaCall `json:"tool_calls,omitempty"`
	}
	deltaCall struct {
		Index    int           `json:"index"`
		ID       string        `json:"id,omitempty"`
		Type     string        `json:"type,omitempty"`
		Function deltaFunction `json:"function"`
	}
	deltaFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
)

// streamOf is an event stream of deltas that ends for a reason.
func streamOf(finish string, deltas []delta) Reply {
	var body bytes.Buffer
	for _, d := range deltas {
		appendChunk(&body, chunkChoice{Delta: d})
	}
	appendChunk(&body, chunkChoice{FinishReason: &finish})
	body.WriteString("data: [DONE]\n\n")
	return Reply{Status: http.StatusOK, ContentType: "text/event-stream", Body: body.String()}
}

func appendChunk(body *bytes.Buffer, choice chunkChoice) {
	data, err := json.Marshal(chunk{ID: "chatcmpl-fake", Object: "chat.completion.chunk", Created: Epoch.Unix(),
		Model: "fake", Choices: []chunkChoice{choice}})
	if err != nil {
		panic(err) // structs of text and numbers always encode
	}
	fmt.Fprintf(body, "data: %s\n\n", data)
}

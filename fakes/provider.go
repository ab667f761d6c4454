package fakes

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/adkreplay/adkreplay/fakes/internal/saying"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// Conversation is what a Provider or a Transport serves: a list of interactions, recorded with a
// model's real provider or scripted by a test.
type Conversation struct {
	// Source names where a recording comes from.
	Source       string        `json:"source"`
	Interactions []Interaction `json:"interactions"`
}

// Interaction is a request and the reply to it.
type Interaction struct {
	// Request is what was sent when the interaction was recorded. If it has a body, Differences
	// reports how a request that got this reply differs from it.
	Request  ProviderRequest `json:"request"`
	Response Reply           `json:"response"`
	// When says which requests the interaction answers. If it is nil it answers any request, in
	// order.
	When *Matcher `json:"when,omitempty"`
}

// ProviderRequest is a request as a Conversation, a Provider or a Transport keeps it.
type ProviderRequest struct {
	Method string `json:"method"`
	// URL is a whole URL in a recording and for a Transport, and a path with its query for a
	// Provider.
	URL     string      `json:"url"`
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body"`
}

// Reply is what a Provider answers. The body is sent byte for byte, a text/event-stream event by
// event. A reply made by StreamReply, StreamToolCall or StreamToolCalls is instead sent in the form
// of the API that the request asks for, unless its Body has been changed.
type Reply struct {
	// Status is the HTTP status; 0 means 200.
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	// Headers are further headers, for example Retry-After.
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body"`
	// said is what StreamReply and its like say; nil if the reply is just its Body.
	said *said
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

// Converse makes a scripted conversation of replies, each of which answers one request in order.
func Converse(replies ...Reply) Conversation {
	var c Conversation
	for _, reply := range replies {
		c.Interactions = append(c.Interactions, Interaction{Response: reply})
	}
	return c
}

// Provider is an HTTP server that replaces a model's provider. It remembers all requests. It
// answers each with the next interaction of its conversation, whatever is asked; or, where
// interactions have a Matcher, with the first interaction that fits and has not been used. It must
// be closed.
type Provider struct {
	server   *http.Server
	listener net.Listener
	url      string
	conversing
}

// NewProvider starts a server for the conversation on a free port of this machine. It panics if it
// cannot listen, because no test could go on. (It does not use httptest, which adds a flag to every
// program that imports it.)
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

// URL returns the address of the server without a trailing slash, to be used as a client's base
// URL.
func (p *Provider) URL() string { return p.url }

// Close stops the server. It cuts off a reply that is being sent, and refuses all later requests.
func (p *Provider) Close() {
	_ = p.server.Close()
	_ = p.listener.Close() // the server does not know the listener yet if Serve has not begun
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

// writeTo writes the reply. It ignores errors of writing: if the client went away, the client's own
// code has to judge what it did read.
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

// splitEvents cuts an event stream into its events, as a client does, and keeps every byte.
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

// StreamReply is a reply in which a model says a message in chunks. If the path of the request is
// that of Chat Completions, Messages, Responses, Gemini or Ollama, the reply has that form:
// streamed if the request asks for a stream, else whole. Its Body is the stream of Chat
// Completions, which is sent as it is for any other path, and always if Body has been changed.
func StreamReply(chunks ...string) Reply { return replyOf(saying.Answer{Text: chunks}) }

// StreamToolCall is a reply in which a model calls a function, in the forms of StreamReply. The
// fragments of the arguments need not be JSON by themselves, but together they should be an object.
// If they are not, a form that needs the arguments as an object cannot hold them, and the request
// fails with status 500.
func StreamToolCall(id, name string, argumentFragments ...string) Reply {
	return StreamToolCalls("", StreamedCall{id, name, argumentFragments})
}

// StreamedCall is a call of a function in a streamed reply. The fragments of its arguments need not
// be JSON by themselves.
type StreamedCall struct {
	ID, Name          string
	ArgumentFragments []string
}

// StreamToolCalls is a reply in which a model says a text, which may be empty, and then calls
// functions one after the other, as with StreamReply and StreamToolCall.
func StreamToolCalls(text string, calls ...StreamedCall) Reply {
	var a saying.Answer
	if text != "" {
		a.Text = []string{text}
	}
	for _, call := range calls {
		a.Calls = append(a.Calls, saying.Call(call))
	}
	return replyOf(a)
}

// replyOf makes the reply that says an answer.
func replyOf(a saying.Answer) Reply {
	stream := a.CompletionStream()
	return Reply{Status: http.StatusOK, ContentType: stream.ContentType, Body: stream.Text, said: &said{a, stream.Text}}
}

// said is what a model says in a reply, and the Body that the reply was made with.
type said struct {
	answer saying.Answer
	body   string
}

// to returns the reply in the form in which it answers a request.
func (r Reply) to(request ProviderRequest) (Reply, error) {
	if r.said == nil || r.said.body != r.Body {
		return r, nil
	}
	body, err := r.said.answer.To(request.URL, request.Body)
	if body != nil {
		r.ContentType, r.Body = body.ContentType, body.Text
	}
	return r, err
}

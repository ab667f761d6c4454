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

// Conversation is what a Provider or a Transport serves: interactions in order, recorded with
// a model's real provider or scripted by a test.
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
// text/event-stream event by event. One of StreamReply and its like is said in the form that is
// asked for instead, as long as its Body stays what it was.
type Reply struct {
	// Status 0 means 200.
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	// Headers are further headers, such as Retry-After.
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body"`
	// said is what StreamReply and its like say; nil for a reply that is its Body.
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

// StreamReply is a reply of a model that says a message in chunks. Where it is asked at the path of
// Chat Completions, Messages, Responses, Gemini or Ollama, it answers in that form: with a stream
// if the request asks for one, else whole. Its Body is the stream of Chat Completions, which goes
// out as it is everywhere else, and wherever it was changed.
func StreamReply(chunks ...string) Reply { return replyOf(saying.Answer{Text: chunks}) }

// StreamToolCall is a reply of a model that calls a function, as StreamReply says one. The arguments
// come in fragments that need not be JSON by themselves, but together are an object: what is none
// cannot be said in a form that has them as one, and is refused there with status 500.
func StreamToolCall(id, name string, argumentFragments ...string) Reply {
	return StreamToolCalls("", StreamedCall{id, name, argumentFragments})
}

// StreamedCall is a call of a function in a streamed reply. Its arguments come in fragments that
// need not be JSON by themselves.
type StreamedCall struct {
	ID, Name          string
	ArgumentFragments []string
}

// StreamToolCalls is a reply of a model that says a text, which may be empty, and then calls
// functions, each behind the one before, as StreamReply and StreamToolCall say them.
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

// replyOf is the reply that says an answer.
func replyOf(a saying.Answer) Reply {
	stream := a.CompletionStream()
	return Reply{Status: http.StatusOK, ContentType: stream.ContentType, Body: stream.Text, said: &said{a, stream.Text}}
}

// said is what a model says in a reply, and the body that the reply had of it.
type said struct {
	answer saying.Answer
	body   string
}

// to is the reply as it answers a request.
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

package fakes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// conversing is how far a conversation has come. It may be used by many goroutines.
type conversing struct {
	mu       sync.Mutex
	replies  []Interaction
	requests []ProviderRequest
}

// Requests are all requests so far, in order, those beyond the conversation too.
func (c *conversing) Requests() []ProviderRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// next remembers a request and takes its reply.
func (c *conversing) next(request ProviderRequest) (Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, request)
	if n := len(c.requests); n > len(c.replies) {
		return Reply{}, fmt.Errorf("fakes: the conversation has %d interactions and this is request %d: %s %s",
			len(c.replies), n, request.Method, request.URL)
	}
	return c.replies[len(c.requests)-1].Response, nil
}

// Transport answers the requests of an http.Client as a Provider does, without a server,
// a socket or a goroutine: the same on every run, and in a testing/synctest bubble too.
// A request whose context has ended is refused, and so is what is read of an answer
// then.
type Transport struct{ conversing }

// NewTransport makes a transport that answers each request with the next interaction of
// a conversation, whatever is asked. A request beyond it is an error of RoundTrip.
func NewTransport(c Conversation) *Transport {
	return &Transport{conversing{replies: c.Interactions}}
}

// RoundTrip answers a request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if ctx := req.Context(); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	reply, err := t.next(ProviderRequest{Method: req.Method, URL: req.URL.String(), Body: string(body)})
	if err != nil {
		return nil, err
	}
	return reply.response(req), nil
}

// response is the reply to a request.
func (r Reply) response(req *http.Request) *http.Response {
	status := r.Status
	if status == 0 {
		status = http.StatusOK
	}
	resp := &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Request: req}
	parts := []string{r.Body}
	if r.ContentType != "" {
		resp.Header.Set("Content-Type", r.ContentType)
	}
	if strings.HasPrefix(r.ContentType, "text/event-stream") {
		parts = splitEvents(r.Body)
	} else {
		resp.ContentLength = int64(len(r.Body))
	}
	resp.Body = &replyBody{ctx: req.Context(), parts: parts}
	return resp
}

// replyBody is a body that comes part by part.
type replyBody struct {
	ctx   context.Context
	parts []string
}

func (b *replyBody) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	for len(b.parts) > 0 && b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.parts[0])
	b.parts[0] = b.parts[0][n:]
	return n, nil
}

// Close closes nothing: there is no connection.
func (b *replyBody) Close() error { return nil }

package fakes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Transport answers the requests of an http.Client as a Provider does, but without a server, a
// socket or a goroutine. It therefore behaves the same on every run, and works inside a
// testing/synctest bubble. If the context of a request has ended, RoundTrip and reads of the
// response's body fail with the context's cause.
type Transport struct{ conversing }

// NewTransport makes a transport that answers each request with the next interaction of a
// conversation, or with the first that fits, as a Provider does. If there is none, RoundTrip
// returns an error.
func NewTransport(c Conversation) *Transport {
	return &Transport{newConversing(c)}
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
	reply, err := t.next(ProviderRequest{Method: req.Method, URL: req.URL.String(), Headers: req.Header.Clone(), Body: string(body)})
	if err != nil {
		return nil, err
	}
	return reply.response(req), nil
}

// response returns the reply as the response to a request.
func (r Reply) response(req *http.Request) *http.Response {
	status := cmp.Or(r.Status, http.StatusOK)
	resp := &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Request: req}
	parts := []string{r.Body}
	r.fill(resp.Header)
	if strings.HasPrefix(r.ContentType, "text/event-stream") {
		parts = splitEvents(r.Body)
	} else {
		resp.ContentLength = int64(len(r.Body))
	}
	resp.Body = &replyBody{ctx: req.Context(), parts: parts}
	return resp
}

// fill sets the headers of the reply.
func (r Reply) fill(header http.Header) {
	for name, values := range r.Headers {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if r.ContentType != "" {
		header.Set("Content-Type", r.ContentType)
	}
}

// replyBody is a body that is read part by part: no read crosses the end of a part.
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

// Close does nothing: there is no connection.
func (b *replyBody) Close() error { return nil }

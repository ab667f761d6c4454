package chat

import (
	"io"
	"net/http"
	"slices"
	"time"
)

// What is read behind the end that a stream has said, before its connection is given up.
const (
	mostBehind    = 4 << 10
	longestBehind = 25 * time.Millisecond
)

// reused asks with a base, and has the connection of an answer serve the next request too. A
// stream is over with [DONE], and nobody reads on; but over HTTP/1.1 what ends a body comes
// behind, and a connection whose body was not read to its end is closed. What is read here is
// beneath what a trace holds: nothing is, in it.
type reused struct {
	base http.RoundTripper
	body io.ReadCloser // of the last answer, where it is in chunks: of any length
}

// RoundTrip asks.
func (r *reused) RoundTrip(req *http.Request) (*http.Response, error) {
	base := r.base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(req)
	if r.body = nil; err == nil && slices.Contains(resp.TransferEncoding, "chunked") {
		r.body = resp.Body
	}
	return resp, err
}

// finish reads the last answer to its end, where that comes at once: a server that stays on the
// line loses it.
func (r *reused) finish() {
	if r.body == nil {
		return // the connection is not this answer's alone, or somebody answers in the world's place
	}
	late := time.AfterFunc(longestBehind, func() { _ = r.body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, r.body, mostBehind)
}

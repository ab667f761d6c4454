package chat

import (
	"io"
	"net/http"
	"slices"
	"time"
)

// These limit what is read behind the end of a stream before its connection is given up.
const (
	mostBehind    = 4 << 10
	longestBehind = 25 * time.Millisecond
)

// reused is a transport that makes the connection of an answer usable for the next request. A
// stream ends with [DONE], and the reader stops there. Over HTTP/1.1, however, the body ends a few
// bytes later, and the connection is closed if a body was not read to its end. What finish reads
// contains no data and is below adkhttp, so a trace does not have it.
type reused struct {
	base http.RoundTripper
	body io.ReadCloser // of the last answer, if its transfer is chunked; else nil
}

// RoundTrip makes a request with the base transport.
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

// finish reads the last answer to its end if that comes quickly. Otherwise it closes the body, and
// with it the connection.
func (r *reused) finish() {
	if r.body == nil {
		return // not a chunked body of HTTP/1.1, or not asked, as in a replay
	}
	late := time.AfterFunc(longestBehind, func() { _ = r.body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, r.body, mostBehind)
}

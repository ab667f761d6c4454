package adkhttp

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// served returns an answer from the recording. It goes through the same body type as an answer from
// the network.
func (t *transport) served(x *adk.Exchange, req *http.Request) (*http.Response, error) {
	first, ok, err := x.Next()
	var status int
	var headers http.Header
	if ok {
		status, headers, err = httpform.ReadHead(first.Value)
	}
	if err == nil && status == 0 {
		err = errNoHead
	}
	if err != nil {
		x.Done(nil, err)
		x.Release()
		return nil, err
	}
	resp := responseOf(status, headers, req)
	resp.Body = &servedBody{x: x, resp: resp}
	boundRefusal(x, resp)
	x.Piece(first.Value, false)
	if !t.keepRetryAfter && !x.Final() {
		quickRetry(resp)
	}
	if hasNoBody(resp) {
		resp.Body = http.NoBody
		x.Done(nil, nil)
		x.Release()
		return resp, nil
	}
	resp.Body = newBody(x, resp, t.maxBody)
	return resp, nil
}

var errNoHead = &adk.Error{Code: adk.E_UNANSWERED, Message: "what was recorded of the answer has no status"}

// responseOf makes a response with a head.
func responseOf(status int, headers http.Header, req *http.Request) *http.Response {
	if headers == nil {
		headers = http.Header{}
	}
	resp := &http.Response{StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: headers, ContentLength: -1, Request: req}
	resp.Trailer = announced(resp.Header.Get("Trailer"))
	resp.Header.Del("Trailer") // clients expect the names only in resp.Trailer
	if length := resp.Header.Get("Content-Length"); length != "" {
		if n, err := strconv.ParseInt(length, 10, 64); err == nil {
			resp.ContentLength = n
		}
	}
	return resp
}

// announced returns the trailers that a head announces, without values.
func announced(names string) http.Header {
	if names == "" {
		return nil
	}
	trailer := http.Header{}
	for name := range strings.SplitSeq(names, ", ") {
		trailer[name] = nil
	}
	return trailer
}

// quickRetry tells a client to retry without waiting, since the time has passed in the recorded
// run. A client that reads neither header, as Gemini's, waits all the same.
func quickRetry(resp *http.Response) {
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode == http.StatusConflict || resp.StatusCode >= 500 {
		resp.Header.Set("Retry-After-Ms", "0")
		resp.Header.Set("Retry-After", "0")
	}
}

// servedBody returns the bytes of the recorded pieces, and then the end.
type servedBody struct {
	x    *adk.Exchange
	resp *http.Response
	rest []byte
}

func (b *servedBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		given, ok, err := b.x.Next()
		switch {
		case !ok && err == nil:
			return 0, io.EOF
		case !ok:
			return 0, err
		}
		one, err := httpform.ReadPiece(given.Value)
		if err != nil {
			return 0, err
		}
		if err := b.addTrailers(one.Trailers); err != nil {
			return 0, err
		}
		b.rest = one.Bytes()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// addTrailers adds the trailers of a piece to the answer.
func (b *servedBody) addTrailers(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	trailers, err := httpform.ReadHeaders(raw)
	if b.resp.Trailer == nil {
		b.resp.Trailer = http.Header{}
	}
	maps.Copy(b.resp.Trailer, trailers)
	return err
}

// Close does nothing, since there is no connection.
func (b *servedBody) Close() error { return nil }

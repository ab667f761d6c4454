package adkhttp

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// served gives an answer that is not the world's, through the same hands as one that is.
func (t *transport) served(x *adk.Exchange, req *http.Request) (*http.Response, error) {
	first, ok, err := x.Next()
	var h httpform.Head
	switch {
	case ok:
		h, err = httpform.ReadHead(first.Value)
	case err == nil:
		err = errNoHead
	}
	if err == nil && h.Status == 0 {
		err = errNoHead
	}
	if err != nil {
		x.Done(nil, err)
		return nil, err
	}
	resp := responseOf(&h, req)
	resp.Body = &servedBody{x: x, resp: resp}
	x.Piece(first.Value, false)
	if hasNoBody(resp) {
		resp.Body = http.NoBody
		x.Done(nil, nil)
		return resp, nil
	}
	resp.Body = newBody(x, resp, t.maxBody)
	if !t.keepRetryAfter {
		quickRetry(resp)
	}
	return resp, nil
}

var errNoHead = &adk.Error{Code: adk.E_UNANSWERED, Message: "what was recorded of the answer has no status"}

// responseOf is an answer with a head.
func responseOf(h *httpform.Head, req *http.Request) *http.Response {
	resp := &http.Response{StatusCode: h.Status, Status: fmt.Sprintf("%d %s", h.Status, http.StatusText(h.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Request: req}
	for name, value := range h.Headers {
		for _, one := range allOf(value) {
			resp.Header.Add(name, one)
		}
	}
	resp.Trailer = announced(resp.Header.Get("Trailer"))
	resp.Header.Del("Trailer") // clients have it there alone
	if length := resp.Header.Get("Content-Length"); length != "" {
		if n, err := strconv.ParseInt(length, 10, 64); err == nil {
			resp.ContentLength = n
		}
	}
	return resp
}

// announced are the trailers that a head says will come.
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

// allOf are the values of a header as headersOf holds them.
func allOf(value any) (all []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			all = append(all, fmt.Sprint(one))
		}
	}
	return all
}

// quickRetry lets no client wait before it asks a second time: the time has passed
// already. Clients that read neither header, as that of Gemini, wait all the same.
func quickRetry(resp *http.Response) {
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode == http.StatusConflict || resp.StatusCode >= 500 {
		resp.Header.Set("Retry-After-Ms", "0")
		resp.Header.Set("Retry-After", "0")
	}
}

// servedBody gives the bytes of an answer's pieces, and then its end.
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
		if one.Trailers != nil {
			if b.resp.Trailer == nil {
				b.resp.Trailer = http.Header{}
			}
			for name, value := range one.Trailers {
				b.resp.Trailer[http.CanonicalHeaderKey(name)] = allOf(value)
			}
		}
		b.rest = one.Bytes()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close closes nothing: nobody was asked.
func (b *servedBody) Close() error { return nil }

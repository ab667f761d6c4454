package adkhttp

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// upload makes a request whose body cannot be copied. The body is passed on as it is read, so that
// the server gets the first bytes while the caller still writes the last ones (WLD-3). The request
// is reported when its body ends, or without the body if the answer comes earlier.
func (t *transport) upload(x *adk.Exchange, req, out *http.Request) (*http.Response, error) {
	body := &sentBody{ReadCloser: req.Body, left: req.ContentLength, held: holder{most: t.maxBody}}
	body.tell = func(err error) {
		if err == nil {
			x.Asked(t.requestJSON(req, body.asRead))
		} else {
			x.Asked(nil, err)
		}
	}
	out.Body = body
	resp, err := t.base.RoundTrip(out.WithContext(x.Context()))
	body.told.Do(func() { x.Asked(t.requestJSON(req, leftUnread)) })
	return t.answered(x, req, resp, err)
}

// leftUnread stands for a body that was not read to its end.
func leftUnread(dst []byte, _ *http.Request) ([]byte, json.RawMessage, error) {
	return dst, adk.Unheld("the answer came before all of it was sent"), nil
}

// sentBody is the body of a request, and keeps what is read of it.
type sentBody struct {
	io.ReadCloser
	left int64 // bytes that are still to come
	held holder
	tell func(error) // reports the request, or the error that ended its body
	told sync.Once
}

// Read reads a part of the body. It reports the request before it returns the last part.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.held.Write(p[:max(n, 0)]) // never fails
	b.left -= int64(n)
	switch {
	case err != nil && err != io.EOF:
		b.told.Do(func() { b.tell(err) })
	case err != nil, b.left <= 0:
		b.told.Do(func() { b.tell(nil) })
	}
	return n, err
}

// asRead is the bodyReader for what was read.
func (b *sentBody) asRead(dst []byte, _ *http.Request) ([]byte, json.RawMessage, error) {
	return append(dst, b.held.bytes...), b.held.unheld(), nil
}

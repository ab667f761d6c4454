package adkhttp

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
)

// upload asks the world with a body of which there is no copy: it is passed on as it is
// read, so that the world has the first of it while the caller still writes the last
// (WLD-3). The ask is told with the end of the body, or without it where the answer comes
// before that.
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

// leftUnread stands for a body that nobody has read to its end.
func leftUnread(dst []byte, _ *http.Request) ([]byte, json.RawMessage, error) {
	return dst, adk.Unheld("the answer came before all of it was sent"), nil
}

// sentBody is the body of a request, of which it keeps what is read.
type sentBody struct {
	io.ReadCloser
	left int64 // bytes that are still to come
	held holder
	tell func(error) // tells the request, or why its body has no end
	told sync.Once
}

// Read reads a part of the body. Before the last is handed out, the request is told.
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

// asRead is the bodyReader of what was read.
func (b *sentBody) asRead(dst []byte, _ *http.Request) ([]byte, json.RawMessage, error) {
	return append(dst, b.held.bytes...), b.held.unheld(), nil
}

package adkhttp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/unheld"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// requestJSON returns what is recorded of a request: method, path, query and headers, and the body
// in one of three members: body if it is compact JSON of an object or a list, text if it is any
// other text, and base64 otherwise. On success it returns unheld.ErrIsLine in place of nil, which
// says that the JSON is a finished line.
func (t *transport) requestJSON(req *http.Request, read bodyReader) (json.RawMessage, error) {
	room := 1 << 9
	if req.ContentLength > 0 {
		room += int(min(req.ContentLength, t.maxBody, 1<<30)) // the buffer grows for a larger body
	}
	o := canonical.Open(make([]byte, 0, room))
	o.Text("method", cmp.Or(req.Method, http.MethodGet))
	o.Text("path", req.URL.EscapedPath())
	queryOf(req.URL.RawQuery).write(&o, "query")
	headers := valuesOf(req.Header, unheldRequestHeader)
	boundary := headers.withoutBoundary()
	headers.write(&o, "headers")
	if err := writeBody(&o, req, read, boundary); err != nil {
		return nil, err
	}
	return o.Close(), unheld.ErrIsLine
}

// bodyReader appends the body of a request to dst. If the body is not kept, unheld is the JSON that
// stands for it.
type bodyReader func(dst []byte, req *http.Request) (all []byte, unheld json.RawMessage, err error)

// writeBody writes the body of a request. It reads the body straight into the output, so that a
// JSON body need not be copied: copying and checking it is most of what recording a request costs.
func writeBody(o *canonical.ObjectWriter, req *http.Request, read bodyReader, boundary string) error {
	end := len(o.Out)
	o.Field("body")
	begin := len(o.Out)
	all, unheld, err := read(o.Out, req)
	if err != nil {
		return err
	}
	body := all[begin:]
	if boundary != "" {
		body = bytes.ReplaceAll(body, []byte("--"+boundary), []byte("--"+oneBoundary))
	}
	switch {
	case unheld != nil:
		o.Out = append(all[:begin], unheld...)
	case httpform.IsCompact(body):
		o.Out = append(all[:begin], body...) // the bytes are in place already
	case httpform.IsText(body):
		text := string(body)
		if isForm(req) {
			text = formWithoutSecrets(text)
		}
		o.Out = all[:end]
		o.SomeText("text", text)
	default:
		text := base64.StdEncoding.EncodeToString(body)
		o.Out = all[:end]
		o.Text("base64", text)
	}
	return nil
}

// requestBody appends the body of a request. It reads a copy from GetBody if there is one;
// otherwise it reads the body and puts what it has read in front of the rest again. If the body is
// too long, unheld stands for it.
func (t *transport) requestBody(dst []byte, req *http.Request) (all []byte, unheld json.RawMessage, err error) {
	switch {
	case !hasBody(req):
		return dst, nil, nil
	case req.GetBody != nil:
		again, err := req.GetBody()
		if err != nil {
			return nil, nil, fmt.Errorf("its body cannot be read a second time: %w", err)
		}
		defer again.Close()
		return t.hold(dst, again)
	case req.ContentLength > t.maxBody:
		return dst, adk.Unheld(fmt.Sprintf("%d bytes, which are more than %d", req.ContentLength, t.maxBody)), nil
	}
	var read bytes.Buffer
	_, failed := io.Copy(&read, io.LimitReader(req.Body, req.ContentLength))
	rest := io.Reader(req.Body) // in case the body is longer than announced
	if failed != nil {
		rest = failingReader{failed}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read.Bytes()), rest), req.Body}
	return append(dst, read.Bytes()...), nil, failed
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// hold appends a whole body. Of a body that is longer than t.maxBody, unheld has the length and the
// hash.
func (t *transport) hold(dst []byte, from io.Reader) (all []byte, unheld json.RawMessage, err error) {
	h := holder{most: t.maxBody, begin: len(dst), bytes: dst}
	if _, err := io.Copy(&h, from); err != nil {
		return nil, nil, err
	}
	return h.bytes, h.unheld(), nil
}

// holder keeps the bytes that are written to it, up to most; beyond that it keeps only a hash.
type holder struct {
	most  int64
	n     int64
	begin int       // length of bytes before the first write
	bytes []byte    // what was there before, and what was written
	hash  hash.Hash // nil as long as n is at most most
}

// Write never fails.
func (h *holder) Write(p []byte) (int, error) {
	if h.taken(len(p)) {
		return h.hash.Write(p)
	}
	h.bytes = append(h.bytes, p...)
	return len(p), nil
}

// WriteString is like Write.
func (h *holder) WriteString(text string) (int, error) {
	if h.taken(len(text)) {
		return io.WriteString(h.hash, text)
	}
	h.bytes = append(h.bytes, text...)
	return len(text), nil
}

// taken counts n more bytes, and reports whether the bound is exceeded.
func (h *holder) taken(n int) bool {
	h.n += int64(n)
	if h.hash == nil && h.n > h.most {
		h.hash = sha256.New()
		h.hash.Write(h.bytes[h.begin:])
		h.bytes = h.bytes[:h.begin]
	}
	return h.hash != nil
}

// unheld returns the JSON that stands for bytes that are not kept; nil if all are kept.
func (h *holder) unheld() json.RawMessage {
	if h.hash == nil {
		return nil
	}
	return adk.Unheld(fmt.Sprintf("%d bytes with the SHA-256 %s, which are more than %d", h.n, hex.EncodeToString(h.hash.Sum(nil)), h.most))
}

// queryOf returns the parameters of a query, without secret values.
func queryOf(raw string) toldValues {
	if raw == "" {
		return nil
	}
	values, _ := url.ParseQuery(raw) // an error leaves the readable part
	for name := range values {
		if httpform.IsSecretParameter(name) {
			values[name] = []string{httpform.LeftOut}
		}
	}
	return sortedValues(values)
}

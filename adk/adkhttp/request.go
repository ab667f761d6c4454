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

// requestJSON is what is told of a request: method, path, query and headers, and the body
// in one of three members: body where it is compact JSON of an object or a list, text where
// it is any other text, and base64. It is a line as it is, as unheld.ErrIsLine says in the
// place of no error.
func (t *transport) requestJSON(req *http.Request, read bodyReader) (json.RawMessage, error) {
	room := 1 << 9
	if req.ContentLength > 0 {
		room += int(min(req.ContentLength, t.maxBody, 1<<30)) // a larger one grows
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

// bodyReader appends the body of a request. unheld stands for one that is not held.
type bodyReader func(dst []byte, req *http.Request) (all []byte, unheld json.RawMessage, err error)

// writeBody writes the body of a request. It is read to where it stands if it is JSON:
// copying and looking through it is most of what telling a request costs.
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
		o.Out = append(all[:begin], body...) // where it stands already
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

// requestBody appends the body of a request, of which it reads a copy, or puts what it
// read in the place of the rest. unheld stands for a body that is too long.
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
	rest := io.Reader(req.Body) // in case that there is more than it said
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

// hold appends a whole body, up to what is held; of a longer one it has the length and
// hash.
func (t *transport) hold(dst []byte, from io.Reader) (all []byte, unheld json.RawMessage, err error) {
	h := holder{most: t.maxBody, begin: len(dst), bytes: dst}
	if _, err := io.Copy(&h, from); err != nil {
		return nil, nil, err
	}
	return h.bytes, h.unheld(), nil
}

// holder keeps what is written to it, up to a bound; beyond that a hash.
type holder struct {
	most  int64
	n     int64
	begin int       // how many bytes stood before the first that was written
	bytes []byte    // with these
	hash  hash.Hash // nil within the bound
}

// Write never fails.
func (h *holder) Write(p []byte) (int, error) {
	if h.taken(len(p)) {
		return h.hash.Write(p)
	}
	h.bytes = append(h.bytes, p...)
	return len(p), nil
}

// WriteString is Write.
func (h *holder) WriteString(text string) (int, error) {
	if h.taken(len(text)) {
		return io.WriteString(h.hash, text)
	}
	h.bytes = append(h.bytes, text...)
	return len(text), nil
}

// taken counts n bytes more, and reports whether they are beyond the bound.
func (h *holder) taken(n int) bool {
	h.n += int64(n)
	if h.hash == nil && h.n > h.most {
		h.hash = sha256.New()
		h.hash.Write(h.bytes[h.begin:])
		h.bytes = h.bytes[:h.begin]
	}
	return h.hash != nil
}

// unheld says what is not held; nil if everything is.
func (h *holder) unheld() json.RawMessage {
	if h.hash == nil {
		return nil
	}
	return adk.Unheld(fmt.Sprintf("%d bytes with the SHA-256 %s, which are more than %d", h.n, hex.EncodeToString(h.hash.Sum(nil)), h.most))
}

// queryOf is a query by its names.
func queryOf(raw string) toldValues {
	if raw == "" {
		return nil
	}
	values, _ := url.ParseQuery(raw) // what of it can be read
	for name := range values {
		if httpform.IsSecretParameter(name) {
			values[name] = []string{httpform.LeftOut}
		}
	}
	return sortedValues(values)
}

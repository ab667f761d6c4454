package adkhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// request is what is told of a request. The body is in one of three members: body
// where it is compact JSON of an object or a list, text where it is any other text, and
// base64.
type request struct {
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Query   map[string]any  `json:"query,omitempty"`
	Headers map[string]any  `json:"headers,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Text    string          `json:"text,omitempty"`
	Base64  []byte          `json:"base64,omitempty"`
}

// requestJSON is the JSON of a request, whose body it puts back as it was.
func (t *transport) requestJSON(req *http.Request) (json.RawMessage, error) {
	held := request{Method: req.Method, Path: req.URL.EscapedPath(), Query: queryOf(req.URL.RawQuery), Headers: headersOf(req.Header, unheldRequestHeader)}
	if held.Method == "" {
		held.Method = http.MethodGet
	}
	body, unheld, err := t.requestBody(req)
	if err != nil {
		return nil, err
	}
	body = withoutBoundary(&held, body)
	switch {
	case unheld != nil:
		held.Body = unheld
	case httpform.IsCompact(body):
		return withBody(held, body)
	case httpform.IsText(body):
		held.Text = string(body)
	default:
		held.Base64 = body
	}
	return httpform.Marshal(held)
}

// withBody is the JSON of a request with a body that is JSON already: looking through it
// once more would be most of what telling a request costs.
func withBody(held request, body []byte) (json.RawMessage, error) {
	head, err := httpform.Marshal(held)
	if err != nil {
		return nil, err
	}
	all := append(make(json.RawMessage, 0, len(head)+len(`,"body":`)+len(body)), head[:len(head)-1]...)
	return append(append(append(all, `,"body":`...), body...), '}'), nil
}

// requestBody reads the body of a request from a copy of it, or puts what it read in
// the place of the rest. unheld stands for a body that is too long.
func (t *transport) requestBody(req *http.Request) (body []byte, unheld json.RawMessage, err error) {
	switch {
	case !hasBody(req):
		return nil, nil, nil
	case req.GetBody != nil:
		again, err := req.GetBody()
		if err != nil {
			return nil, nil, fmt.Errorf("its body cannot be read a second time: %w", err)
		}
		defer again.Close()
		return t.hold(again)
	case req.ContentLength > t.maxBody:
		return nil, adk.Unheld(fmt.Sprintf("%d bytes, which are more than %d", req.ContentLength, t.maxBody)), nil
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
	return read.Bytes(), nil, failed
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// hold reads a whole body, up to what is held; of a longer one the length and hash.
func (t *transport) hold(from io.Reader) (body []byte, unheld json.RawMessage, err error) {
	h := holder{most: t.maxBody}
	if _, err := io.Copy(&h, from); err != nil {
		return nil, nil, err
	}
	return h.bytes, h.unheld(), nil
}

// holder keeps what is written to it, up to a bound; beyond that a hash.
type holder struct {
	most  int64
	n     int64
	bytes []byte
	hash  hash.Hash // nil within the bound
}

// Write never fails.
func (h *holder) Write(p []byte) (int, error) {
	h.n += int64(len(p))
	if h.hash == nil && h.n > h.most {
		h.hash = sha256.New()
		h.hash.Write(h.bytes)
		h.bytes = nil
	}
	if h.hash != nil {
		return h.hash.Write(p)
	}
	h.bytes = append(h.bytes, p...)
	return len(p), nil
}

// unheld says what is not held; nil if everything is.
func (h *holder) unheld() json.RawMessage {
	if h.hash == nil {
		return nil
	}
	return adk.Unheld(fmt.Sprintf("%d bytes with the SHA-256 %s, which are more than %d", h.n, hex.EncodeToString(h.hash.Sum(nil)), h.most))
}

// withoutBoundary puts one boundary in the place of that of a multipart body, which is
// another one each time.
func withoutBoundary(held *request, body []byte) []byte {
	kind, _ := held.Headers["content-type"].(string)
	name, with, err := mime.ParseMediaType(kind)
	boundary := with["boundary"]
	if err != nil || boundary == "" || !strings.HasPrefix(name, "multipart/") {
		return body
	}
	const one = "boundary"
	with["boundary"] = one
	held.Headers["content-type"] = mime.FormatMediaType(name, with)
	return bytes.ReplaceAll(body, []byte("--"+boundary), []byte("--"+one))
}

// queryOf is a query by its names.
func queryOf(raw string) map[string]any {
	values, _ := url.ParseQuery(raw) // what of it can be read
	held := map[string]any{}
	for name, all := range values {
		if httpform.IsSecretParameter(name) {
			all = []string{leftOut}
		}
		held[name] = oneOrAll(all)
	}
	return held
}

func oneOrAll(all []string) any {
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// headersOf are the headers that are held, by their names in small letters.
func headersOf(headers http.Header, unheld func(name string) bool) map[string]any {
	held := map[string]any{}
	for name, all := range headers {
		if name = strings.ToLower(name); !unheld(name) {
			held[name] = oneOrAll(all)
		}
	}
	return held
}

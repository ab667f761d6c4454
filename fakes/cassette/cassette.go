package cassette

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// Recording is a conversation that was read from a file.
type Recording struct {
	fakes.Conversation
	// Form is the form of the file: go-vcr, VCR.py, VCR, httprr, HAR, batch, trace or conversation.
	Form string
	// Secrets counts the headers and URL parameters that were left out.
	Secrets int
	// Left lists what was left out, each with its place and the reason: from a HAR the entries that
	// are not exchanges, since a browser archives everything that a page does, and from a trace the
	// rest of an answer that its client did not read.
	Left []string
}

// Open reads the recording in a file.
func Open(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	defer f.Close()
	return Read(path, f)
}

// Read reads a recording. name is used in errors, and is the source of the conversation unless the
// recording names its own. A recording must hold at least one interaction and at most MostBytes. If
// any part of it cannot be read, Read returns an error, except for entries of a HAR that are not
// exchanges (Recording.Left).
func Read(name string, r io.Reader) (*Recording, error) {
	data, err := readAll(r)
	if err == nil && bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		data, err = uncompressed(data)
	}
	if err != nil {
		return nil, fmt.Errorf("cassette: %s: %w", name, err)
	}
	rec := &Recording{Conversation: fakes.Conversation{Source: name}}
	switch {
	case bytes.HasPrefix(data, []byte(httprrHead)):
		err = rec.readHTTPRR(data)
	case bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n\ufeff"), []byte("{")):
		err = rec.readJSON(bytes.TrimLeft(data, " \t\r\n\ufeff"))
	default:
		err = rec.readYAML(data)
	}
	if err == nil && len(rec.Interactions) == 0 {
		err = fmt.Errorf("no interactions%s", inBrackets(rec.Left))
	}
	if err != nil && rec.Form != "httprr" {
		if known := lookAlike(data); known != "" {
			err = errors.New(known)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cassette: %s: %w", name, err)
	}
	return rec, nil
}

// MostBytes is the maximal length of a recording, after it is unpacked.
const MostBytes = 256 << 20

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MostBytes+1))
	if err == nil && len(data) > MostBytes {
		err = fmt.Errorf("more than %d bytes", MostBytes)
	}
	return data, err
}

func uncompressed(data []byte) ([]byte, error) {
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return readAll(unzip)
}

// add adds an interaction. It leaves out secret headers and parameters, and unpacks the bodies.
func (rec *Recording) add(request fakes.ProviderRequest, response fakes.Reply) error {
	at := len(rec.Interactions) + len(rec.Left) + 1
	if request.Method == "" || request.URL == "" {
		return fmt.Errorf("interaction %d has no method or no URL", at)
	}
	if response.Status != 0 && (response.Status < 100 || response.Status > 599) {
		return fmt.Errorf("interaction %d has the status %d", at, response.Status)
	}
	var err error
	if response.Body, err = unpacked(response.Body, response.Headers); err != nil {
		return fmt.Errorf("interaction %d: the response's body: %w", at, err)
	}
	if request.Body, err = unpacked(request.Body, request.Headers); err != nil {
		return fmt.Errorf("interaction %d: the request's body: %w", at, err)
	}
	request.URL = rec.keptURL(request.URL)
	request.Headers, response.Headers = rec.kept(request.Headers), rec.kept(response.Headers)
	if response.ContentType == "" {
		response.ContentType = response.Headers.Get("Content-Type")
	}
	response.Headers.Del("Content-Type")
	for _, headers := range []*http.Header{&request.Headers, &response.Headers} {
		if len(*headers) == 0 {
			*headers = nil
		}
	}
	rec.Interactions = append(rec.Interactions, fakes.Interaction{Request: request, Response: response})
	return nil
}

// kept returns the headers without secrets, and without those that only describe the body's form on
// the wire.
func (rec *Recording) kept(headers http.Header) http.Header {
	kept := http.Header{}
	for name, values := range headers {
		switch name = http.CanonicalHeaderKey(name); {
		case httpform.IsSecretHeader(name):
			rec.Secrets++
		case name == "Content-Length", name == "Content-Encoding", name == "Transfer-Encoding":
			// of the wire, which the body has lef // describe the body on the wire, not the unpacked body
		default:
			kept[name] = values
		}
	}
	return kept
}

// keptURL returns a URL without the parameters that hold secrets.
func (rec *Recording) keptURL(text string) string {
	path, query, found := strings.Cut(text, "?")
	if !found {
		return text
	}
	params := strings.Split(query, "&")
	all := len(params)
	params = slices.DeleteFunc(params, func(param string) bool {
		name, _, _ := strings.Cut(param, "=")
		name, err := url.QueryUnescape(name)
		return err == nil && httpform.IsSecretParameter(name)
	})
	rec.Secrets += all - len(params)
	if len(params) == 0 {
		return path
	}
	return path + "?" + strings.Join(params, "&")
}

// unpacked returns a body as it was before it was compressed. A recorder that unpacked the body
// itself may have kept the header Content-Encoding, so unpacked also looks at the body.
func unpacked(body string, headers http.Header) (string, error) {
	var unpack func(io.Reader) (io.ReadCloser, error)
	switch kind := strings.ToLower(http.Header(canonical(headers)).Get("Content-Encoding")); {
	case kind == "" || kind == "identity":
		return body, nil
	case kind == "gzip" && strings.HasPrefix(body, "\x1f\x8b"):
		unpack = func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }
	case kind == "deflate" && strings.HasPrefix(body, "\x78"):
		unpack = zlib.NewReader
	case kind == "gzip", kind == "deflate", json.Valid([]byte(body)), strings.HasPrefix(body, "data:"), strings.HasPrefix(body, ":"):
		return body, nil
	default:
		return "", fmt.Errorf("compressed by %q, which nobody here unpacks", kind)
	}
	from, err := unpack(strings.NewReader(body))
	if err != nil {
		return "", err
	}
	data, err := readAll(from)
	return string(data), err
}

func canonical(headers http.Header) http.Header {
	all := http.Header{}
	for name, values := range headers {
		all[http.CanonicalHeaderKey(name)] = values
	}
	return all
}

// httprrHead is the first line of an httprr recording.
const httprrHead = "httprr trace v1\n"

// readHTTPRR reads pairs of a request and a response as they went over the wire, each pair after a
// line that gives their lengths.
func (rec *Recording) readHTTPRR(data []byte) error {
	rec.Form = "httprr"
	data = data[len(httprrHead):]
	for len(data) > 0 {
		at := len(rec.Interactions) + 1
		line, rest, found := bytes.Cut(data, []byte("\n"))
		var asked, answered int
		if n, err := fmt.Sscanf(string(line), "%d %d", &asked, &answered); !found || err != nil || n != 2 || asked < 0 || answered < 0 ||
			asked > len(rest) || answered > len(rest)-asked {
			return fmt.Errorf("interaction %d: %.80q is not the two lengths of what follows", at, line)
		}
		if err := rec.addWire(rest[:asked], rest[asked:asked+answered]); err != nil {
			return fmt.Errorf("interaction %d: %w", at, err)
		}
		data = rest[asked+answered:]
	}
	return nil
}

// addWire adds a request and a response as they went over the wire.
func (rec *Recording) addWire(asked, answered []byte) error {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(asked)))
	if err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	sent, err := readAll(req.Body)
	if err != nil {
		return fmt.Errorf("the request's body: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answered)), req)
	if err != nil {
		return fmt.Errorf("the response: %w", err)
	}
	defer resp.Body.Close()
	came, err := readAll(resp.Body)
	if err != nil {
		return fmt.Errorf("the response's body: %w", err)
	}
	to := req.URL.String()
	if !strings.Contains(to, "://") && req.Host != "" {
		to = "https://" + req.Host + to
	}
	return rec.add(fakes.ProviderRequest{Method: req.Method, URL: to, Headers: req.Header, Body: string(sent)},
		fakes.Reply{Status: resp.StatusCode, Headers: resp.Header, Body: string(came)})
}

// readJSON reads a HAR, a JSON recording of VCR or VCR.py, or a conversation.
func (rec *Recording) readJSON(data []byte) error {
	var form struct {
		Log          *har
		Interactions []struct{ Request struct{ URI string } }
		OfVCR        []json.RawMessage `json:"http_interactions"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return jsonfault.Of(err)
	}
	if form.Log != nil {
		rec.Form = "HAR"
		return rec.readHAR(form.Log)
	}
	if len(form.OfVCR) > 0 || len(form.Interactions) > 0 && form.Interactions[0].Request.URI != "" {
		return rec.readYAML(data) // VCR and VCR.py can write JSON too, which is also YAML
	}
	rec.Form = "conversation"
	read, err := fakes.ReadConversation(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if read.Source != "" {
		rec.Source = read.Source
	}
	for i, one := range read.Interactions {
		if err := rec.add(one.Request, one.Response); err != nil {
			return err
		}
		rec.Interactions[i].When = one.When
	}
	return nil
}

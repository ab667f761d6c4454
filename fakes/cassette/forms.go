package cassette

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/jsonfault"
)

// tape is a recording in YAML: that of go-vcr, or that of VCR.py or VCR, which write bodies, status
// and URL differently.
type tape struct {
	Interactions []taped
	OfVCR        []taped `yaml:"http_interactions"` // betamax uses it too
}

type taped struct {
	Request *struct {
		Method  string
		URL     string
		URI     string
		Headers headers
		Body    body
	}
	Response *struct {
		Code    int
		Status  yaml.Node
		Headers headers
		Body    body
	}
}

// headers have a list of values or a single value for each name.
type headers http.Header

// UnmarshalYAML reads either form.
func (h *headers) UnmarshalYAML(node *yaml.Node) error {
	var all map[string]yaml.Node
	if err := node.Decode(&all); err != nil {
		return err
	}
	*h = headers{}
	for name, value := range all {
		var one string
		var list []string
		if value.Kind == yaml.SequenceNode {
			if err := value.Decode(&list); err != nil {
				return err
			}
		} else if err := value.Decode(&one); err != nil {
			return err
		} else {
			list = []string{one}
		}
		name = http.CanonicalHeaderKey(name)
		(*h)[name] = append((*h)[name], list...)
	}
	return nil
}

// body is a text, bytes, nothing, or an object whose member string is one of these.
type body string

// UnmarshalYAML reads any of these forms.
func (b *body) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		var wrapped struct {
			String       *body
			Base64String string `yaml:"base64_string"`
		}
		if err := node.Decode(&wrapped); err != nil {
			return err
		}
		if wrapped.String != nil {
			*b = *wrapped.String
			return nil
		}
		data, err := base64.StdEncoding.DecodeString(wrapped.Base64String)
		*b = body(data)
		return err
	}
	if node.Tag == "!!null" {
		return nil
	}
	if node.Tag == "!binary" { // as Ruby writes it
		node.Tag = "!!binary"
	}
	var text string
	err := node.Decode(&text) // for !!binary this gives the bytes
	*b = body(text)
	return err
}

func (rec *Recording) readYAML(data []byte) error {
	var read tape
	if err := yaml.Unmarshal(data, &read); err != nil {
		return err
	}
	rec.Form = "go-vcr"
	for i, one := range append(read.Interactions, read.OfVCR...) {
		if one.Request == nil || one.Response == nil {
			return fmt.Errorf("interaction %d has no request or no response", i+1)
		}
		url, status := one.Request.URL, one.Response.Code
		if one.Request.URI != "" {
			rec.Form, url = "VCR.py", one.Request.URI
			if i >= len(read.Interactions) {
				rec.Form = "VCR"
			}
			var said struct{ Code int }
			if err := one.Response.Status.Decode(&said); err != nil {
				return fmt.Errorf("interaction %d: the status: %w", i+1, err)
			}
			status = said.Code
		}
		if status == 0 {
			return fmt.Errorf("interaction %d has no status", i+1)
		}
		if err := rec.add(
			fakes.ProviderRequest{Method: strings.ToUpper(one.Request.Method), URL: url, Headers: http.Header(one.Request.Headers), Body: string(one.Request.Body)},
			fakes.Reply{Status: status, Headers: http.Header(one.Response.Headers), Body: string(one.Response.Body)}); err != nil {
			return err
		}
	}
	return nil
}

// har is the log of an HTTP archive.
type har struct {
	Entries []json.RawMessage // each a harEntry
}

type harEntry struct {
	Request struct {
		Method   string      `json:"method"`
		URL      string      `json:"url"`
		Headers  []harHeader `json:"headers"`
		PostData harBody     `json:"postData"`
	} `json:"request"`
	Response struct {
		Status  int         `json:"status"`
		Headers []harHeader `json:"headers"`
		Content harBody     `json:"content"`
		Error   string      `json:"_error"`       // Chromium's, for a request without an answer or whose answer broke off
		Failure string      `json:"_failureText"` // Playwright's
	} `json:"response"`
	Messages []json.RawMessage `json:"_webSocketMessages"`
}

type harBody struct {
	MimeType string     `json:"mimeType"`
	Text     string     `json:"text"`
	Encoding string     `json:"encoding"`
	Params   []harParam `json:"params"`
	Size     float64    `json:"size"`
	Comment  string     `json:"comment"` // Firefox's, where it has left out the body
	File     string     `json:"_file"`   // Playwright's: the file that holds the text
}

// harParam is a field of a form.
type harParam struct{ Name, Value, FileName, ContentType string }

// bytes returns the bytes of a body. Of a form, the archive may hold only the fields.
func (b *harBody) bytes() (string, error) {
	switch kind, with, _ := mime.ParseMediaType(b.MimeType); {
	case b.Encoding == "base64":
		data, err := base64.StdEncoding.DecodeString(b.Text)
		return string(data), err
	case b.Text != "" || len(b.Params) == 0:
		return b.Text, nil
	case kind == "multipart/form-data":
		return multipartOf(b.Params, with["boundary"])
	}
	form := url.Values{}
	for _, one := range b.Params {
		form.Add(one.Name, one.Value)
	}
	return form.Encode(), nil
}

func multipartOf(params []harParam, boundary string) (string, error) {
	var text strings.Builder
	form := multipart.NewWriter(&text)
	err := form.SetBoundary(boundary)
	for _, one := range params {
		of := strings.TrimSuffix(multipart.FileContentDisposition(one.Name, one.FileName), `; filename=""`)
		about := textproto.MIMEHeader{"Content-Disposition": {of}}
		if one.ContentType != "" {
			about.Set("Content-Type", one.ContentType)
		}
		part, failed := form.CreatePart(about)
		if failed == nil {
			_, failed = io.WriteString(part, one.Value)
		}
		err = errors.Join(err, failed)
	}
	err = errors.Join(err, form.Close())
	return text.String(), err
}

// left says why the entry is not an exchange that could be served, or returns nothing.
func (e *harEntry) left() string {
	why := cmp.Or(e.Response.Error, e.Response.Failure)
	because := ""
	if why != "" {
		because = " (" + why + ")"
	}
	switch body := &e.Response.Content; {
	case len(e.Messages) > 0:
		return fmt.Sprintf("a WebSocket (%d messages)", len(e.Messages))
	case e.Response.Status == http.StatusSwitchingProtocols:
		return "it goes on in another protocol"
	case e.Response.Status == 0, e.Response.Status == -1: // -1 is Playwright's
		return "no answer came" + because
	case why != "":
		return "its answer was broken off" + because
	case e.Request.PostData.File != "" || body.File != "":
		return "its bodies are in files of their own: have the archive hold them, which Playwright calls to embed"
	case e.Request.PostData.isLeftOut():
		return "its request's body is not there: " + e.Request.PostData.Comment
	case body.isLeftOut():
		return "its answer's body is not there: " + body.Comment
	case body.Text == "" && body.Size > 0 && e.Request.Method != http.MethodHead:
		return fmt.Sprintf("of its answer's body only the length is there (%.0f bytes)", body.Size)
	case body.Size > float64(2*len(body.Text)+1<<10): // the size may be that of the compressed body
		return fmt.Sprintf("of its answer's body only %d of %.0f bytes are there", len(body.Text), body.Size)
	}
	return ""
}

// isLeftOut reports whether the archive has a comment instead of the body.
func (b *harBody) isLeftOut() bool { return b.Text == "" && len(b.Params) == 0 && b.Comment != "" }

type harHeader struct{ Name, Value string }

func (rec *Recording) readHAR(log *har) error {
	for i, data := range log.Entries {
		var entry harEntry
		if err := json.Unmarshal(data, &entry); err != nil {
			return fmt.Errorf("interaction %d: %w", i+1, jsonfault.Of(err))
		}
		if why := entry.left(); why != "" {
			rec.Left = append(rec.Left, fmt.Sprintf("interaction %d: %s", i+1, why))
			continue
		}
		sent, err := entry.Request.PostData.bytes()
		if err != nil {
			return fmt.Errorf("interaction %d: the request's body: %w", i+1, err)
		}
		came, err := entry.Response.Content.bytes()
		if err != nil {
			return fmt.Errorf("interaction %d: the response's body: %w", i+1, err)
		}
		answered := harHeaders(entry.Response.Headers)
		if answered.Get("Content-Type") == "" && entry.Response.Content.MimeType != "" {
			answered.Set("Content-Type", entry.Response.Content.MimeType)
		}
		if entry.Response.Content.Encoding != "base64" {
			inUTF8(answered)
		}
		if kind := answered.Get("Content-Encoding"); entry.Response.Content.Encoding != "base64" || kind != "gzip" && kind != "deflate" {
			answered.Del("Content-Encoding") // browsers archive bodies that they have unpacked
		}
		if err := rec.add(
			fakes.ProviderRequest{Method: entry.Request.Method, URL: entry.Request.URL, Headers: harHeaders(entry.Request.Headers), Body: sent},
			fakes.Reply{Status: entry.Response.Status, Headers: answered, Body: came}); err != nil {
			return err
		}
	}
	return nil
}

// inUTF8 sets the charset of an answer to UTF-8, if it names one: an archive holds the text after
// the browser has decoded it.
func inUTF8(answered http.Header) {
	kind, with, err := mime.ParseMediaType(answered.Get("Content-Type"))
	if err == nil && with["charset"] != "" && !strings.EqualFold(with["charset"], "utf-8") {
		with["charset"] = "utf-8"
		answered.Set("Content-Type", mime.FormatMediaType(kind, with))
	}
}

func harHeaders(all []harHeader) http.Header {
	header := http.Header{}
	for _, one := range all {
		if one.Name != "" && one.Name[0] != ':' { // names with a colon are pseudo-headers of HTTP/2
			header.Add(one.Name, one.Value)
		}
	}
	return header
}

// batchLine is a line of either file of a batch: a request or an answer.
type batchLine struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
	Response *struct {
		StatusCode int             `json:"status_code"`
		Body       json.RawMessage `json:"body"`
	} `json:"response"`
}

// ReadBatch reads an OpenAI batch: the file of its requests and the file of its answers, both with
// one JSON object a line. It joins them by custom_id, in the order of the requests. An id that
// occurs twice in a file, or only in one of the files, is an error that names the line.
func ReadBatch(name string, requests, answers io.Reader) (*Recording, error) {
	asked, err := batchLines(requests, "request")
	if err != nil {
		return nil, fmt.Errorf("cassette: %s: %w", name, err)
	}
	answered, err := batchLines(answers, "answer")
	if err != nil {
		return nil, fmt.Errorf("cassette: %s: %w", name, err)
	}
	byID := map[string]batchLine{}
	for _, line := range answered {
		byID[line.CustomID] = line
	}
	rec := &Recording{Form: "batch", Conversation: fakes.Conversation{Source: name}}
	for i, line := range asked {
		answer, found := byID[line.CustomID]
		if !found || answer.Response == nil {
			return nil, fmt.Errorf("cassette: %s: request %d (%.80q) has no answer", name, i+1, line.CustomID)
		}
		delete(byID, line.CustomID)
		if err := rec.add(fakes.ProviderRequest{Method: line.Method, URL: line.URL, Body: string(line.Body)},
			fakes.Reply{Status: answer.Response.StatusCode, ContentType: "application/json", Body: string(answer.Response.Body)}); err != nil {
			return nil, fmt.Errorf("cassette: %s: %w", name, err)
		}
	}
	for i, line := range answered {
		if _, left := byID[line.CustomID]; left {
			return nil, fmt.Errorf("cassette: %s: answer %d (%.80q) has no request", name, i+1, line.CustomID)
		}
	}
	if len(rec.Interactions) == 0 {
		return nil, fmt.Errorf("cassette: %s: no interactions", name)
	}
	return rec, nil
}

// batchLines reads the lines of one file and checks that each has its own id.
func batchLines(r io.Reader, what string) (all []batchLine, err error) {
	lines := bufio.NewScanner(io.LimitReader(r, MostBytes))
	lines.Buffer(nil, MostBytes)
	seen := map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var line batchLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", what, n, jsonfault.Of(err))
		}
		if line.CustomID == "" || seen[line.CustomID] {
			return nil, fmt.Errorf("%s line %d: the custom_id %.80q is none of its own", what, n, line.CustomID)
		}
		seen[line.CustomID] = true
		all = append(all, line)
	}
	return all, lines.Err()
}

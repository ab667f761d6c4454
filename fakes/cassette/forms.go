package cassette

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"go.yaml.in/yaml/v3"

	"github.com/adkreplay/adkreplay/fakes"
)

// tape is a recording in YAML: go-vcr's, and VCR.py's, whose body, status and URL are told
// otherwise.
type tape struct {
	Interactions []struct {
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
}

// headers are lists of values, or single ones.
type headers http.Header

// UnmarshalYAML reads either.
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

// body is a text, bytes, nothing, or an object with one of these as its string.
type body string

// UnmarshalYAML reads all of them.
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
	var text string
	err := node.Decode(&text) // of !!binary it is the bytes
	*b = body(text)
	return err
}

func (rec *Recording) readYAML(data []byte) error {
	var read tape
	if err := yaml.Unmarshal(data, &read); err != nil {
		return err
	}
	rec.Form = "go-vcr"
	for i, one := range read.Interactions {
		if one.Request == nil || one.Response == nil {
			return fmt.Errorf("interaction %d has no request or no response", i+1)
		}
		url, status := one.Request.URL, one.Response.Code
		if one.Request.URI != "" {
			rec.Form, url = "VCR.py", one.Request.URI
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
			fakes.ProviderRequest{Method: one.Request.Method, URL: url, Headers: http.Header(one.Request.Headers), Body: string(one.Request.Body)},
			fakes.Reply{Status: status, Headers: http.Header(one.Response.Headers), Body: string(one.Response.Body)}); err != nil {
			return err
		}
	}
	return nil
}

// har is the log of an HTTP archive.
type har struct {
	Entries []harEntry
}

type harEntry struct {
	Request struct {
		Method, URL string
		Headers     []harHeader
		PostData    harBody
	}
	Response struct {
		Status  int
		Headers []harHeader
		Content harBody
		Error   string `json:"_error"`       // Chromium's, of what had no answer, or no end
		Failure string `json:"_failureText"` // Playwright's
	}
	Messages []json.RawMessage `json:"_webSocketMessages"`
}

type harBody struct {
	MimeType, Text, Encoding string
	Size                     float64
	File                     string `json:"_file"` // Playwright's: where the text is
}

// left says why it is no exchange that could be served, or nothing.
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
	case e.Response.Status == 0, e.Response.Status == -1: // Playwright's
		return "no answer came" + because
	case why != "":
		return "its answer was broken off" + because
	case e.Request.PostData.File != "" || body.File != "":
		return "its bodies are in files of their own: have the archive hold them, which Playwright calls to embed"
	case body.Text == "" && body.Size > 0 && e.Request.Method != http.MethodHead:
		return fmt.Sprintf("of its answer's body only the length is there (%.0f bytes)", body.Size)
	}
	return ""
}

type harHeader struct{ Name, Value string }

func (rec *Recording) readHAR(log *har) error {
	for i, entry := range log.Entries {
		if why := entry.left(); why != "" {
			rec.Left = append(rec.Left, fmt.Sprintf("interaction %d: %s", i+1, why))
			continue
		}
		sent, err := harText(entry.Request.PostData.Text, entry.Request.PostData.Encoding)
		if err != nil {
			return fmt.Errorf("interaction %d: the request's body: %w", i+1, err)
		}
		came, err := harText(entry.Response.Content.Text, entry.Response.Content.Encoding)
		if err != nil {
			return fmt.Errorf("interaction %d: the response's body: %w", i+1, err)
		}
		answered := harHeaders(entry.Response.Headers)
		if answered.Get("Content-Type") == "" && entry.Response.Content.MimeType != "" {
			answered.Set("Content-Type", entry.Response.Content.MimeType)
		}
		if kind := answered.Get("Content-Encoding"); entry.Response.Content.Encoding != "base64" || kind != "gzip" && kind != "deflate" {
			answered.Del("Content-Encoding") // browsers archive what they have unpacked
		}
		if err := rec.add(
			fakes.ProviderRequest{Method: entry.Request.Method, URL: entry.Request.URL, Headers: harHeaders(entry.Request.Headers), Body: sent},
			fakes.Reply{Status: entry.Response.Status, Headers: answered, Body: came}); err != nil {
			return err
		}
	}
	return nil
}

func harText(text, encoding string) (string, error) {
	if encoding != "base64" {
		return text, nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return string(data), err
}

func harHeaders(all []harHeader) http.Header {
	header := http.Header{}
	for _, one := range all {
		if one.Name != "" && one.Name[0] != ':' { // those with a colon are HTTP/2's own
			header.Add(one.Name, one.Value)
		}
	}
	return header
}

// batchLine is a line of either file of a batch.
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

// ReadBatch reads a batch of OpenAI's: the file of its requests and that of its answers, each
// a JSON a line, which custom_id brings together, in the order of the requests. An id that
// comes twice, or on one side only, is an error with its line.
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

// batchLines are the lines of one file, each with an id of its own.
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
			return nil, fmt.Errorf("%s line %d: %w", what, n, err)
		}
		if line.CustomID == "" || seen[line.CustomID] {
			return nil, fmt.Errorf("%s line %d: the custom_id %.80q is none of its own", what, n, line.CustomID)
		}
		seen[line.CustomID] = true
		all = append(all, line)
	}
	return all, lines.Err()
}

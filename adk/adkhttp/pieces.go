package adkhttp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// head is the first piece of an answer.
type head struct {
	Status  int            `json:"status"`
	Headers map[string]any `json:"headers,omitempty"`
}

// piece is a part of a body. It says its bytes exactly, and in the form that is the
// easiest to read, to compare and to redact.
type piece struct {
	// Of an event: its name, its data and, unless it is a line feed, how its lines end.
	Event string          `json:"event,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	EOL   string          `json:"eol,omitempty"`
	// Line is a JSON that a line feed ends, Body one without.
	Line json.RawMessage `json:"line,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
	// Text is any other text, Base64 are any other bytes.
	Text   string  `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
	// Trailers follow the body.
	Trailers map[string]any `json:"trailers,omitempty"`
}

// headJSON is the head of an answer.
func headJSON(resp *http.Response) json.RawMessage {
	held := head{Status: resp.StatusCode, Headers: headersOf(resp.Header, unheldAnswerHeader)}
	for _, name := range []string{"location", "content-location"} {
		if text, ok := held.Headers[name].(string); ok {
			held.Headers[name] = withoutSecrets(text)
		}
	}
	raw, _ := marshal(held) // texts and numbers always have a JSON
	return raw
}

// pieceJSON is a part of a body.
func pieceJSON(form form, data []byte) json.RawMessage {
	raw, _ := marshal(pieceOf(form, data))
	return raw
}

func pieceOf(form form, data []byte) piece {
	switch {
	case form == eventForm:
		if p := eventOf(data); p.Data != nil && bytes.Equal(p.bytes(), data) {
			return p
		}
	case form == lineForm && bytes.HasSuffix(data, []byte("\n")):
		if line := data[:len(data)-1]; isCompact(line) {
			return piece{Line: line}
		}
	}
	switch {
	case isCompact(data):
		return piece{Body: data}
	case isText(data):
		return piece{Text: string(data)}
	}
	text := base64.StdEncoding.EncodeToString(data)
	return piece{Base64: &text}
}

// eventOf is an event of one line of data, and perhaps one with its name. Whether it
// says all that is in data is the caller's to see.
func eventOf(data []byte) (p piece) {
	eol := "\n"
	if bytes.HasSuffix(data, []byte("\r\n")) {
		eol, p.EOL = "\r\n", "\r\n"
	}
	for _, line := range strings.Split(string(data), eol) {
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			p.Data = dataJSON([]byte(text))
		} else if text, ok := strings.CutPrefix(line, "event: "); ok && p.Data == nil {
			p.Event = text
		}
	}
	return p
}

// dataJSON is the data of an event: JSON that is compact as it is, and any other text
// as a string.
func dataJSON(text []byte) json.RawMessage {
	if isCompact(text) {
		return text
	}
	if !isText(text) {
		return nil
	}
	raw, _ := marshal(string(text))
	return raw
}

// bytes is what the piece says.
func (p *piece) bytes() []byte {
	var out []byte
	eol := p.EOL
	if eol == "" {
		eol = "\n"
	}
	if p.Event != "" {
		out = append(append(append(out, "event: "...), p.Event...), eol...)
	}
	if p.Data != nil {
		data := []byte(p.Data)
		var text string
		if json.Unmarshal(p.Data, &text) == nil {
			data = []byte(text)
		}
		out = append(append(append(append(out, "data: "...), data...), eol...), eol...)
	}
	if p.Line != nil {
		out = append(append(out, p.Line...), '\n')
	}
	out = append(append(out, p.Body...), p.Text...)
	if p.Base64 != nil {
		data, _ := base64.StdEncoding.DecodeString(*p.Base64)
		out = append(out, data...)
	}
	return out
}

// parsePiece reads what pieceJSON wrote.
func parsePiece(raw json.RawMessage) (p piece, err error) {
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("adkhttp: what was recorded is no piece of an answer: %w", err)
	}
	return p, nil
}

// isCompact reports whether data is JSON of an object or a list without white space
// that says nothing, so that it comes back from a trace as it is.
func isCompact(data []byte) bool {
	if len(data) == 0 || data[0] != '{' && data[0] != '[' || !isText(data) {
		return false
	}
	var line bytes.Buffer
	return json.Compact(&line, data) == nil && bytes.Equal(line.Bytes(), data)
}

func isText(data []byte) bool { return utf8.Valid(data) }

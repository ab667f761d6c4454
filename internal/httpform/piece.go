package httpform

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// Form is how a body comes in pieces.
type Form int

// The forms of bodies.
const (
	Whole  Form = iota // all of it is one
	Events             // one event each
	Lines              // one line each
)

// Head is the first piece of an answer.
type Head struct {
	Status  int            `json:"status"`
	Headers map[string]any `json:"headers,omitempty"`
}

// Piece is a part of a body. It says its bytes exactly, and in the form that is the
// easiest to read, to compare and to redact.
type Piece struct {
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

// JSON is the piece as it is told.
func (p Piece) JSON() json.RawMessage {
	raw, _ := Marshal(p) // texts and JSON always have a JSON
	return raw
}

// PieceOf is a part of a body of a form.
func PieceOf(form Form, data []byte) Piece {
	switch {
	case form == Events:
		if p := eventOf(data); p.Data != nil && bytes.Equal(p.Bytes(), data) {
			return p
		}
	case form == Lines && bytes.HasSuffix(data, []byte("\n")):
		if line := data[:len(data)-1]; IsCompact(line) {
			return Piece{Line: line}
		}
	}
	switch {
	case IsCompact(data):
		return Piece{Body: data}
	case IsText(data):
		return Piece{Text: string(data)}
	}
	text := base64.StdEncoding.EncodeToString(data)
	return Piece{Base64: &text}
}

// eventOf is an event of one line of data, and perhaps one with its name. Whether it
// says all that is in data is the caller's to see.
func eventOf(data []byte) (p Piece) {
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
	if IsCompact(text) {
		return text
	}
	if !IsText(text) {
		return nil
	}
	raw, _ := Marshal(string(text))
	return raw
}

// Bytes is what the piece says.
func (p *Piece) Bytes() []byte {
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

// ReadPiece reads what JSON wrote.
func ReadPiece(raw json.RawMessage) (p Piece, err error) {
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("adkhttp: what was recorded is no piece of an answer: %w", err)
	}
	return p, nil
}

// IsCompact reports whether data is JSON of an object or a list without white space
// that says nothing, so that it comes back from a trace as it is.
func IsCompact(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || data[0] == '[') && jsonscan.IsCompact(data)
}

// IsText reports whether data is UTF-8.
func IsText(data []byte) bool { return utf8.Valid(data) }

// Marshal is JSON with the characters as they are, so that bodies stay verbatim.
func Marshal(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

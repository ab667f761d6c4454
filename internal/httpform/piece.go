package httpform

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/textproto"
	"strconv"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// Form is how a body is divided into pieces.
type Form int

// The forms of bodies.
const (
	Whole  Form = iota // the whole body is one piece
	Events             // one event per piece
	Lines              // one line per piece
)

// Head is the first piece of an answer.
type Head struct {
	Status  int            `json:"status"`
	Headers map[string]any `json:"headers,omitempty"`
}

// Piece is a part of a body. It holds its exact bytes, in the form that is easiest to read, to
// compare and to redact.
type Piece struct {
	// For an event: its name, its data and, unless that is a line feed, the end of its lines.
	Event string          `json:"event,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	EOL   string          `json:"eol,omitempty"`
	// Line is JSON followed by a line feed, Body is JSON without one.
	Line json.RawMessage `json:"line,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
	// Text is any other text, Base64 any other bytes.
	Text   string  `json:"text,omitempty"`
	Base64 *string `json:"base64,omitempty"`
	// Trailers follow the body; ReadHeaders reads them.
	Trailers json.RawMessage `json:"trailers,omitempty"`
}

// JSON returns the piece in the form of a trace.
func (p Piece) JSON() json.RawMessage {
	o := canonical.Open(make([]byte, 0, 64+len(p.Data)+len(p.Line)+len(p.Body)+len(p.Text)))
	o.SomeText("event", p.Event)
	someJSON(&o, "data", p.Data)
	o.SomeText("eol", p.EOL)
	someJSON(&o, "line", p.Line)
	someJSON(&o, "body", p.Body)
	o.SomeText("text", p.Text)
	if p.Base64 != nil {
		o.Text("base64", *p.Base64)
	}
	someJSON(&o, "trailers", p.Trailers)
	return o.Close()
}

func someJSON(o *canonical.ObjectWriter, name string, value json.RawMessage) {
	if len(value) > 0 {
		o.Field(name)
		o.Out = append(o.Out, value...)
	}
}

// PieceOf returns the piece of a body in a form.
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

// eventOf parses an event with one line of data, and perhaps one with its name. The caller must
// check that the result represents all of data.
func eventOf(data []byte) (p Piece) {
	eol := []byte("\n")
	if bytes.HasSuffix(data, []byte("\r\n")) {
		eol, p.EOL = []byte("\r\n"), "\r\n"
	}
	for line := range bytes.SplitSeq(data, eol) {
		if text, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			p.Data = dataJSON(text)
		} else if text, ok := bytes.CutPrefix(line, []byte("event: ")); ok && p.Data == nil {
			p.Event = string(text)
		}
	}
	return p
}

// dataJSON returns the data of an event: compact JSON unchanged, and any other text as a JSON
// string.
func dataJSON(text []byte) json.RawMessage {
	switch {
	case IsCompact(text):
		return text
	case !IsText(text):
		return nil
	}
	return canonical.AppendString(nil, string(text))
}

// Bytes returns the bytes of the piece.
func (p *Piece) Bytes() []byte {
	var out []byte
	eol := cmp.Or(p.EOL, "\n")
	if p.Event != "" {
		out = append(append(append(out, "event: "...), p.Event...), eol...)
	}
	if p.Data != nil {
		data := []byte(p.Data)
		if len(data) > 0 && data[0] == '"' {
			data, _ = jsonscan.Unquote(data)
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

// ReadHead reads the head of an answer: its status, and its headers in the form of clients.
func ReadHead(raw json.RawMessage) (status int, headers map[string][]string, err error) {
	s := jsonscan.Scanner{Data: raw}
	err = s.EachMember(func(name, value []byte) (err error) {
		switch string(name) {
		case "status":
			status, err = strconv.Atoi(string(value))
		case "headers":
			headers, err = ReadHeaders(value)
		}
		return err
	})
	if err != nil {
		return 0, nil, fmt.Errorf("adkhttp: what was recorded is no head of an answer: %w", err)
	}
	return status, headers, nil
}

// ReadHeaders reads headers or trailers. The value of each is a text, or a list of texts.
func ReadHeaders(raw json.RawMessage) (map[string][]string, error) {
	headers := map[string][]string{}
	s := jsonscan.Scanner{Data: raw}
	return headers, s.EachMember(func(name, value []byte) error {
		values, err := valuesIn(value)
		headers[textproto.CanonicalMIMEHeaderKey(string(name))] = values
		return err
	})
}

// valuesIn reads the values of a header.
func valuesIn(raw []byte) (values []string, err error) {
	if raw[0] == '"' {
		values = make([]string, 1)
		return values, readText(&values[0], raw)
	}
	var all any
	err = json.Unmarshal(raw, &all)
	list, _ := all.([]any)
	for _, one := range list {
		values = append(values, fmt.Sprint(one))
	}
	return values, err
}

// ReadPiece reads what JSON wrote.
func ReadPiece(raw json.RawMessage) (p Piece, err error) {
	s := jsonscan.Scanner{Data: raw}
	err = s.EachMember(func(name, value []byte) (err error) {
		switch string(name) {
		case "event":
			err = readText(&p.Event, value)
		case "data":
			p.Data = value
		case "eol":
			err = readText(&p.EOL, value)
		case "line":
			p.Line = value
		case "body":
			p.Body = value
		case "text":
			err = readText(&p.Text, value)
		case "base64":
			p.Base64 = new(string)
			err = readText(p.Base64, value)
		case "trailers":
			p.Trailers = value
		}
		return err
	})
	if err != nil {
		return p, fmt.Errorf("adkhttp: what was recorded is no piece of an answer: %w", err)
	}
	return p, nil
}

func readText(into *string, value []byte) error {
	if value[0] != '"' {
		return fmt.Errorf("%.60s is no text", value)
	}
	text, err := jsonscan.Unquote(value)
	*into = string(text)
	return err
}

// IsCompact reports whether data is a JSON object or list without insignificant white space, so
// that a trace gives it back unchanged.
func IsCompact(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || data[0] == '[') && jsonscan.IsCompact(data)
}

// IsText reports whether data is UTF-8.
func IsText(data []byte) bool { return utf8.Valid(data) }

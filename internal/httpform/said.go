package httpform

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// IsRequest reports whether a request is one over HTTP, in the form of package adkhttp.
func IsRequest(request json.RawMessage) bool {
	_, _, ok := RequestLine(request)
	return ok
}

// RequestLine returns the method and the path of a request over HTTP. ok is false for other
// requests.
func RequestLine(request json.RawMessage) (method, path string, ok bool) {
	var told struct{ Method, Path *string }
	if json.Unmarshal(request, &told) != nil || told.Method == nil || *told.Method == "" || told.Path == nil {
		return "", "", false
	}
	return *told.Method, *told.Path, true
}

// SameLine reports whether two requests have the same method and path, or both are not over HTTP.
func SameLine(a, b json.RawMessage) bool {
	if x, y := line.FindSubmatch(a), line.FindSubmatch(b); x != nil && y != nil { // avoids decoding requests that may be long
		return bytes.Equal(x[1], y[1]) && bytes.Equal(x[2], y[2])
	}
	method, path, _ := RequestLine(a)
	other, to, _ := RequestLine(b)
	return method == other && path == to
}

// line matches the beginning of a request, as package adkhttp writes it.
var line = regexp.MustCompile(`^\{"method":("(?:[^"\\]|\\.)+"),"path":("(?:[^"\\]|\\.)*")(?:,|\}$)`)

// Cut splits a request over HTTP into the method, the path, and a JSON object of the rest, which is
// empty if there is none. The method is empty if the request does not have the form of package
// adkhttp.
func Cut(request json.RawMessage) (method, path, rest string) {
	at := line.FindSubmatchIndex(request)
	if at == nil || json.Unmarshal(request[at[2]:at[3]], &method) != nil || json.Unmarshal(request[at[4]:at[5]], &path) != nil {
		return "", "", ""
	}
	if behind := request[at[1]:]; len(behind) > 0 {
		rest = "{" + string(behind)
	}
	return method, path, rest
}

// Said returns the content of a piece, without white space and the lines of an event around it. It
// returns nothing for an event with several lines of data, or none.
func (p *Piece) Said() []byte {
	_, said, _ := p.frame()
	return said
}

// Saying returns the piece with other content in the same event or line.
func (p *Piece) Saying(other []byte) Piece {
	before, _, behind := p.frame()
	form := Events
	if p.Line != nil {
		form = Lines
	}
	return PieceOf(form, bytes.Join([][]byte{before, other, behind}, nil))
}

// BytesOf returns the bytes of a piece in the form of a trace, or nil if told is not a piece.
func BytesOf(told json.RawMessage) []byte {
	p, err := ReadPiece(told)
	if err != nil {
		return nil
	}
	return p.Bytes()
}

// HalfOf returns a piece whose JSON content ends in its middle. ok is false if the content is not
// an object.
func HalfOf(told json.RawMessage) (half json.RawMessage, ok bool) {
	p, err := ReadPiece(told)
	if err != nil {
		return nil, false
	}
	before, said, behind := p.frame()
	if len(said) < 2 || said[0] != '{' || !json.Valid(said) {
		return nil, false
	}
	if !isEvent(before) { // an event goes on with what follows its data
		behind = nil
	}
	return PieceOf(Events, bytes.Join([][]byte{before, said[:len(said)/2], behind}, nil)).JSON(), true
}

// frame returns the bytes of the piece: its content, and what is before and after it.
func (p *Piece) frame() (before, said, behind []byte) {
	all := p.Bytes()
	begin, end := 0, len(all)
	if isEvent(all) {
		begin, end = dataLine(all)
	}
	said = all[begin:end]
	begin += len(said) - len(bytes.TrimLeft(said, space))
	said = bytes.TrimSpace(said)
	end = begin + len(said)
	return all[:begin], said, all[end:]
}

const space = " \t\r\n"

// isEvent reports whether bytes are those of an event, which never begin like JSON.
func isEvent(all []byte) bool {
	name, _, has := bytes.Cut(all, []byte(":"))
	switch string(name) {
	case "", "data", "event", "id", "retry":
		return has
	}
	return false
}

// dataLine returns the range of the only data of an event, after its name.
func dataLine(all []byte) (begin, end int) {
	at := 0
	for line := range bytes.SplitAfterSeq(all, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("data:")) {
			if end > 0 {
				return len(all), len(all)
			}
			begin, end = at+len("data:"), at+len(line)
		}
		at += len(line)
	}
	if end == 0 {
		return at, at
	}
	return begin, end
}

// WithLength returns the head of an answer, with its content length set to n if it has one.
func WithLength(head json.RawMessage, n int) json.RawMessage {
	var h Head
	err := json.Unmarshal(head, &h)
	if _, says := h.Headers[lengthHeader]; err != nil || !says {
		return head
	}
	h.Headers[lengthHeader] = strconv.Itoa(n)
	o := canonical.Open(nil)
	o.Field("status")
	o.Out = strconv.AppendInt(o.Out, int64(h.Status), 10)
	headers, _ := unescaped.Marshal(h.Headers) // cannot fail: it was decoded from JSON
	someJSON(&o, "headers", headers)
	return o.Close()
}

// lengthHeader is in lower case, as in all heads.
const lengthHeader = "content-length"

// conditions are the headers that make a server refuse a repeated request, because they name the
// previous state.
var conditions = []string{"If-Match", "If-None-Match", "If-Unmodified-Since", "Upload-Offset"}

// RepeatsSafely reports whether a request over HTTP has its effect only once, however often it is
// sent: because of its method (RFC 9110, 9.2.2) or because of a condition.
func RepeatsSafely(request json.RawMessage) bool {
	method, _, rest := Cut(request)
	if method == "PUT" || method == "DELETE" {
		return true
	}
	var told struct{ Headers json.RawMessage }
	if method == "" || json.Unmarshal([]byte(rest), &told) != nil {
		return false
	}
	headers, err := ReadHeaders(told.Headers)
	return err == nil && slices.ContainsFunc(conditions, func(name string) bool { return headers[name] != nil })
}

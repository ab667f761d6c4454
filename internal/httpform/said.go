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

// IsRequest reports whether what is asked is a request over HTTP, as package adkhttp tells it.
func IsRequest(request json.RawMessage) bool {
	_, _, ok := RequestLine(request)
	return ok
}

// RequestLine is the method and the path of what is asked, where it is a request over HTTP.
func RequestLine(request json.RawMessage) (method, path string, ok bool) {
	var told struct{ Method, Path *string }
	if json.Unmarshal(request, &told) != nil || told.Method == nil || *told.Method == "" || told.Path == nil {
		return "", "", false
	}
	return *told.Method, *told.Path, true
}

// SameLine reports whether two requests have one method and one path, or are both none over HTTP.
func SameLine(a, b json.RawMessage) bool {
	if x, y := line.FindSubmatch(a), line.FindSubmatch(b); x != nil && y != nil { // no need to read what may be long
		return bytes.Equal(x[1], y[1]) && bytes.Equal(x[2], y[2])
	}
	method, path, _ := RequestLine(a)
	other, to, _ := RequestLine(b)
	return method == other && path == to
}

// line is what a request begins with, as package adkhttp writes it.
var line = regexp.MustCompile(`^\{"method":("(?:[^"\\]|\\.)+"),"path":("(?:[^"\\]|\\.)*")(?:,|\}$)`)

// Cut is a request over HTTP in parts: the method, the path, and a JSON object of the rest,
// which is empty where there is none. The method is empty of what is no request as package
// adkhttp writes it.
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

// Said is what a piece says, without the lines of an event around it and white space: of an
// event whose data has several lines, and of one without, nothing.
func (p *Piece) Said() []byte {
	_, said, _ := p.frame()
	return said
}

// Saying is the piece that says something else in the same event or line.
func (p *Piece) Saying(other []byte) Piece {
	before, _, behind := p.frame()
	form := Events
	if p.Line != nil {
		form = Lines
	}
	return PieceOf(form, bytes.Join([][]byte{before, other, behind}, nil))
}

// BytesOf are those that a piece says, as it is told; none of what is no piece.
func BytesOf(told json.RawMessage) []byte {
	p, err := ReadPiece(told)
	if err != nil {
		return nil
	}
	return p.Bytes()
}

// HalfOf is a piece as it is told, whose JSON ends in its middle; ok is false where it says
// no object.
func HalfOf(told json.RawMessage) (half json.RawMessage, ok bool) {
	p, err := ReadPiece(told)
	if err != nil {
		return nil, false
	}
	before, said, behind := p.frame()
	if len(said) < 2 || said[0] != '{' || !json.Valid(said) {
		return nil, false
	}
	if !isEvent(before) { // which goes on with what stands behind
		behind = nil
	}
	return PieceOf(Events, bytes.Join([][]byte{before, said[:len(said)/2], behind}, nil)).JSON(), true
}

// frame is the piece's bytes: what it says, and what stands around that.
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

// isEvent reports whether bytes are those of an event: what they begin with begins no JSON.
func isEvent(all []byte) bool {
	name, _, has := bytes.Cut(all, []byte(":"))
	switch string(name) {
	case "", "data", "event", "id", "retry":
		return has
	}
	return false
}

// dataLine is where the only data of an event stand, behind its name.
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

// WithLength is the head of an answer whose body has n bytes: where it says a length, it is
// that one.
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
	headers, _ := unescaped.Marshal(h.Headers) // what was read from JSON has one
	someJSON(&o, "headers", headers)
	return o.Close()
}

// lengthHeader is as heads have it: with small letters.
const lengthHeader = "content-length"

// conditions are the headers by which a request that was done before is refused: it is bound to
// what was there then.
var conditions = []string{"If-Match", "If-None-Match", "If-Unmodified-Since", "Upload-Offset"}

// RepeatsSafely reports whether who is asked by a request over HTTP does the same once, however often
// it comes: by its method (RFC 9110, 9.2.2), or by a condition.
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

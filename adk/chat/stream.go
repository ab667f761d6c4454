package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/httpform"
)

// events splits a stream into events, whatever the pieces in which its bytes arrive.
type events struct {
	from  io.Reader
	split httpform.Splitter
	// buf[start:] was read and not yet returned; the search for the end of its event goes on at
	// buf[scan].
	buf         []byte
	start, scan int
	behindFirst bool  // the first event was returned
	err         error // the error that follows buf
}

func newEvents(from io.Reader) *events {
	return &events{from: from, split: httpform.Splitter{Form: httpform.Events}}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// next returns the next event with its line ends; it is valid until the next call. At the end of
// the stream it returns io.EOF. An event that ends with the stream counts; one that breaks off with
// an error does not.
func (e *events) next() ([]byte, error) {
	for {
		n := e.split.End(e.buf[e.scan:])
		if n >= 0 {
			e.scan += n
		} else {
			e.scan = len(e.buf)
		}
		switch {
		case e.scan-e.start > mostOfEvent:
			return nil, errTooLarge
		case n >= 0, e.err == io.EOF && e.scan > e.start:
			return e.give(), nil
		case e.err != nil:
			return nil, e.err
		}
		e.fill()
	}
}

// give returns the bytes up to scan as an event.
func (e *events) give() []byte {
	event := e.buf[e.start:e.scan]
	e.start = e.scan
	if !e.behindFirst {
		event, e.behindFirst = bytes.TrimPrefix(event, byteOrderMark), true
	}
	return event
}

// fill reads once into the buffer.
func (e *events) fill() {
	if e.start > 0 {
		e.buf = e.buf[:copy(e.buf, e.buf[e.start:])]
		e.scan, e.start = e.scan-e.start, 0
	}
	if len(e.buf) == cap(e.buf) {
		e.buf = append(make([]byte, 0, max(4096, 2*cap(e.buf))), e.buf...)
	}
	n, err := e.from.Read(e.buf[len(e.buf):cap(e.buf)])
	e.buf, e.err = e.buf[:len(e.buf)+n], err
}

// payloads returns the data of an event: its data lines joined, or each line alone if the joined
// text is no JSON (SSE-2).
func payloads(event []byte) [][]byte {
	var lines [][]byte
	for len(event) > 0 {
		var line []byte
		line, event = cutLine(event)
		data, isData := bytes.CutPrefix(line, []byte("data"))
		if !isData || len(data) > 0 && data[0] != ':' {
			continue
		}
		data = bytes.TrimPrefix(bytes.TrimPrefix(data, []byte(":")), []byte(" "))
		if len(bytes.TrimSpace(data)) > 0 {
			lines = append(lines, data)
		}
	}
	if len(lines) > 1 {
		if whole := bytes.Join(lines, []byte("\n")); json.Valid(whole) {
			return [][]byte{whole}
		}
	}
	return lines
}

// isError reports whether an event has the name error. Some servers send an error as such an event,
// whose data is the error itself.
func isError(event []byte) (ok bool) {
	if !bytes.Contains(event, []byte("error")) {
		return false // the usual case, decided quickly
	}
	for len(event) > 0 {
		var line []byte
		line, event = cutLine(event)
		if name, found := bytes.CutPrefix(line, []byte("event:")); found {
			ok = string(bytes.TrimPrefix(name, []byte(" "))) == "error"
		}
	}
	return ok
}

// cutLine cuts off the first line, which ends with a line feed, a carriage return, or both. In the
// last case the rest begins with an empty line.
func cutLine(text []byte) (line, rest []byte) {
	// Search piece by piece. If all lines end with one of the two characters, a search for the
	// other one would go through the whole text for each line.
	for from, size := 0, 512; from < len(text); from, size = from+size, 2*size {
		piece := text[from:min(from+size, len(text))]
		end := bytes.IndexByte(piece, '\n')
		if end >= 0 {
			piece = piece[:end]
		}
		if at := bytes.IndexByte(piece, '\r'); at >= 0 {
			end = at
		}
		if end >= 0 {
			return text[:from+end], text[from+end+1:]
		}
	}
	return text, nil
}

// readStream reads an answer that is a stream of events.
func (a *answer) readStream(body io.Reader, attempt int) *failure {
	a.piecewise = true
	var c chunk
	for stream := newEvents(body); ; {
		event, err := stream.next()
		switch {
		case a.stopped():
			return &failure{err: a.ctx.Err()}
		case err == io.EOF:
			a.h.Log(adk.LevelWarn, "sse-eof-without-done", "the stream ended without [DONE]", map[string]any{"finishReason": a.finish})
			return nil
		case errors.Is(err, errTooLarge):
			return &failure{err: errStream("an event or the answer is too large", nil)}
		case err != nil:
			return a.broken(err, attempt, false)
		}
		for _, data := range payloads(event) {
			data = bytes.TrimSpace(data)
			if a.sawDone = string(data) == "[DONE]"; a.sawDone {
				return nil
			}
			read := c.read(data)
			if c.Error == nil && isError(event) {
				c.Error = (*json.RawMessage)(&data)
				read = true
			}
			if !read {
				a.h.Log(adk.LevelTrace, "sse-parse-failure", "an event is no JSON object", map[string]any{"dataPreview": quote(a.blot(string(data)))})
				continue
			}
			if err := a.take(&c); err != nil {
				return &failure{err: err}
			}
		}
	}
}

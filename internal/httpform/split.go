package httpform

import (
	"bytes"
	"strings"
)

// FormOf returns the form of a body with a Content-Type header.
func FormOf(contentType string) Form {
	kind, _, _ := strings.Cut(contentType, ";") // what follows may not be a valid parameter
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/event-stream":
		return Events
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines", "application/stream+json":
		return Lines
	}
	return Whole
}

// Splitter finds the ends of pieces in bytes that arrive in arbitrary portions. Writers and readers
// of a stream both use it, so that they split the stream in the same way.
type Splitter struct {
	// Form is the form of the body.
	Form Form
	// For events: whether the current line has any bytes, whether the last byte was a carriage
	// return that ended a line, and whether it was one that ended the event, so that a line feed
	// may still belong to it.
	inLine, afterCR, ending bool
}

// End returns how many bytes of data belong to the current piece, or -1 if the piece does not end
// in data.
func (s *Splitter) End(data []byte) int {
	switch s.Form {
	case Lines:
		if at := bytes.IndexByte(data, '\n'); at >= 0 {
			return at + 1
		}
	case Events:
		return s.endOfEvent(data)
	}
	return -1
}

// endOfEvent looks for a blank line. Lines end with a line feed, a carriage return, or both.
func (s *Splitter) endOfEvent(data []byte) int {
	for i := 0; i < len(data); i++ {
		if s.inLine {
			if i += withoutEnd(data[i:]); i == len(data) {
				break
			}
		}
		b := data[i]
		if s.ending {
			s.ending, s.afterCR = false, false
			if b == '\n' {
				return i + 1
			}
			return i
		}
		switch {
		case b == '\n' && s.afterCR:
			s.afterCR = false // the rest of a line end
		case b == '\n' && !s.inLine:
			return i + 1
		case b == '\n':
			s.inLine = false
		case b == '\r' && !s.inLine:
			s.ending = true
		case b == '\r':
			s.inLine, s.afterCR = false, true
		default:
			s.inLine, s.afterCR = true, false
		}
	}
	return -1
}

// withoutEnd returns how many bytes precede the end of a line, or all of them. It searches in small
// steps, so that the cost is proportional to the result.
func withoutEnd(data []byte) int {
	for n := 0; ; {
		near := data[n:min(n+256, len(data))]
		feed := bytes.IndexByte(near, '\n')
		if feed >= 0 {
			near = near[:feed]
		}
		if at := bytes.IndexByte(near, '\r'); at >= 0 {
			return n + at
		}
		if n += len(near); feed >= 0 || n == len(data) {
			return n
		}
	}
}

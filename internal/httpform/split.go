package httpform

import (
	"bytes"
	"strings"
)

// FormOf is the form of a body with this header Content-Type.
func FormOf(contentType string) Form {
	kind, _, _ := strings.Cut(contentType, ";") // what stands behind it may be no parameter
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/event-stream":
		return Events
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines", "application/stream+json":
		return Lines
	}
	return Whole
}

// Splitter finds the ends of pieces in bytes that come in any portions: whoever tells a
// stream and whoever reads one cut it alike.
type Splitter struct {
	// Form is how the body comes.
	Form Form
	// Of events: the line has nothing in it so far, the last byte was a carriage return,
	// and one that ended the event, but for a line feed that belongs to it.
	inLine, afterCR, ending bool
}

// End is how many bytes of data belong to the piece that is under way, where it ends
// in them; -1 where it does not.
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

// endOfEvent looks for a blank line: lines end with a line feed, a carriage return, or
// both.
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
			s.afterCR = false // the rest of a line's end
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

// withoutEnd is how many bytes come before the end of a line, or all of them. It looks
// not far ahead of what it finds, so that lines of any length cost what they have.
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

package wire

import (
	"bytes"
	"iter"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// This file estimates how much memory lines take as crossings, before anything else is built from
// them. A reader that holds a trace whole and one that reads it line by line use the same estimate.

// Weight is the approximate number of bytes of a line in memory.
type Weight struct {
	// Data counts its values, and the text of values that contain others.
	Data int64
	// Records counts the records that are new in the line, with their text.
	Records int64
}

// All returns the sum of the parts.
func (w Weight) All() int64 { return w.Data + w.Records }

// Approximate sizes in bytes.
const (
	valueWeight  = 64
	memberWeight = 256  // of each member of the line beyond usualMembers
	objectWeight = 256  // added for an object with members: a map of one takes as much as one of eight
	recordWeight = 384  // of a record and its own members
	toolWeight   = 1536 // added for each value within a tool, whose schema is compiled

	usualMembers = 32
)

// Weight estimates the weight of the line that Scan read. The crossing need not be decoded.
func (d *Decoder) Weight() Weight {
	w := Weight{Data: valueWeight*int64(d.Values) + memberWeight*int64(max(0, len(d.Members)-usualMembers))}
	var x adk.Crossing
	if d.Values == 0 || d.KindAndPhase(&x) != nil { // in most lines no member contains other values
		return w
	}
	fields := x.Kind.Fields(x.Phase)
	for _, m := range d.Members {
		use := FieldNamed(fields, m.Name)
		switch {
		case use == nil || use.Field == adk.FieldJSON || m.Value[0] != '{' && m.Value[0] != '[': // held as it is
		case use.Field == adk.FieldRecord:
			w.records(m.Value, 0)
		case use.Field == adk.FieldRecords:
			w.records(m.Value, 1)
		default:
			w.Data += objectWeight*objectsIn(m.Value) + int64(len(m.Value))
		}
	}
	return w
}

// records adds a member whose records are nested in the given number of lists. A reference to an
// earlier record weighs no more than its text.
func (w *Weight) records(text []byte, lists int) {
	in, isTool, before := 0, false, w.Records
	for at, mark := range marks(text) {
		begins := mark == ','
		switch mark {
		case '{', '[':
			in++
			begins = !ends(text[at+1:])
			if in > lists+2 && mark == '{' && begins {
				w.Records += objectWeight
			}
		case '}', ']':
			in--
		case ',':
			if in == lists+1 { // after the record's number
				w.Records += recordWeight
				isTool = mayBeTool(text[at+1:])
			}
		}
		if !begins {
			continue
		}
		w.Data -= valueWeight
		if in > lists+2 {
			w.Records += valueWeight
			if isTool {
				w.Records += toolWeight
			}
		}
	}
	if w.Records > before {
		w.Records += int64(len(text))
	} else {
		w.Data += int64(len(text))
	}
}

// otherKinds are how records that are not tools begin, after their number.
var otherKinds = func() (begin []string) {
	kinds := []adk.RecordKind{adk.RecordMedia}
	for _, of := range adk.Collections() {
		kinds = append(kinds, of.Holds())
	}
	for _, kind := range kinds {
		if kind != adk.RecordTool {
			begin = append(begin, `"`+string(kind)+`":`)
		}
	}
	return begin
}()

// mayBeTool reports whether the record could be a tool: it does not begin like a record of another
// kind.
func mayBeTool(rest []byte) bool {
	return !slices.ContainsFunc(otherKinds, func(begin string) bool { return bytes.HasPrefix(rest, []byte(begin)) })
}

// objectsIn counts the objects in JSON that have members.
func objectsIn(text []byte) (count int64) {
	for at, mark := range marks(text) {
		if mark == '{' && !ends(text[at+1:]) {
			count++
		}
	}
	return count
}

// ends reports whether rest begins with the end of a container.
func ends(rest []byte) bool { return len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') }

// marks iterates over the brackets and commas of JSON outside strings, with their positions.
func marks(text []byte) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		for at := 0; at < len(text); at++ {
			switch c := text[at]; c {
			case '{', '[', '}', ']', ',':
				if !yield(at, c) {
					return
				}
			case '"':
				for at++; at < len(text) && text[at] != '"'; at++ {
					if text[at] == '\\' {
						at++
					}
				}
			}
		}
	}
}

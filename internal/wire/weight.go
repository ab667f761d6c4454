package wire

import (
	"bytes"
	"iter"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// This file says what lines take in memory once they are crossings, before anything is
// made of them: who holds a trace whole and who reads it line by line count alike.

// Weight is about how many bytes a line takes.
type Weight struct {
	// Data are its values, and the text of those that have others in them.
	Data int64
	// Records are the records that are new in it, with their text.
	Records int64
}

// All is all of it.
func (w Weight) All() int64 { return w.Data + w.Records }

// What things take, in bytes, about.
const (
	valueWeight  = 64
	memberWeight = 256  // of a member of the line, beyond those that lines have
	objectWeight = 256  // more, of an object with members: a map of one takes as much as one of eight
	recordWeight = 384  // of a record with its own members
	toolWeight   = 1536 // more, of a value within those of a tool, whose schema is compiled

	usualMembers = 32
)

// Weight is that of the line, of which nothing has to be read yet.
func (d *Decoder) Weight() Weight {
	w := Weight{Data: valueWeight*int64(d.Values) + memberWeight*int64(max(0, len(d.Members)-usualMembers))}
	var x adk.Crossing
	if d.Values == 0 || d.KindAndPhase(&x) != nil { // of most lines no member holds another value
		return w
	}
	fields := x.Kind.Fields(x.Phase)
	for _, m := range d.Members {
		use := FieldNamed(fields, m.Name)
		switch {
		case use == nil || use.Field == adk.FieldJSON || m.Value[0] != '{' && m.Value[0] != '[': // what is held as it is
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

// records takes in a member whose records lie in so many lists. What only names a record
// takes no more than its text.
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
			if in == lists+1 { // behind the record's number
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

// otherKinds are how the records begin that are no tools, behind their number.
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

// mayBeTool reports whether what follows is not certainly another record.
func mayBeTool(rest []byte) bool {
	return !slices.ContainsFunc(otherKinds, func(begin string) bool { return bytes.HasPrefix(rest, []byte(begin)) })
}

// objectsIn are the objects in JSON that have members.
func objectsIn(text []byte) (count int64) {
	for at, mark := range marks(text) {
		if mark == '{' && !ends(text[at+1:]) {
			count++
		}
	}
	return count
}

// ends reports whether a container ends with what follows.
func ends(rest []byte) bool { return len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') }

// marks are the brackets and commas of JSON, with their places, but for those in strings.
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

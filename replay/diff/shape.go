package diff

import (
	"bytes"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file removes from a field what may differ between two traces that agree: ids that are made
// afresh in every run, and times.

// idSet holds the ids of a trace.
type idSet struct {
	known map[string]bool // all ids of the trace
	made  map[string]bool // those that the run's id source made
}

// idsOf finds the ids of a trace: of the turn and its dispatches, of records, streams and gates,
// and those that user code made.
func idsOf(lines []trace.Line) idSet {
	ids := idSet{map[string]bool{}, map[string]bool{}}
	for i := range lines {
		x := &lines[i].Crossing
		for _, use := range x.Kind.Fields(x.Phase) {
			id := wire.IDOf(use, x)
			ids.known[id] = true
			if use.Names == adk.MadeID {
				ids.made[id] = true
			}
		}
		ids.record(x.Record)
		for _, record := range x.Records {
			ids.record(record)
		}
		if id, ok := state.StreamID(x.Payload); ok {
			ids.known[id] = true
		}
	}
	return ids
}

func (ids idSet) record(record adk.Record) {
	if record == nil {
		return
	}
	if message, ok := record.(*adk.Message); ok {
		for _, media := range message.Attachments() {
			ids.known[media.ID()] = true
		}
	}
	if wire.KeyedByID(record) {
		ids.known[record.Key()] = true
	}
}

// freeIDs returns the ids that may be different in the other trace: those that are in one trace
// only, and those from an id source, which starts again in every run.
func freeIDs(a, b idSet) map[string]bool {
	free := map[string]bool{}
	one := func(here, there idSet) {
		for id := range here.made {
			free[id] = true
		}
		for id := range here.known {
			if !there.known[id] {
				free[id] = true
			}
		}
	}
	one(a, b)
	one(b, a)
	delete(free, "")
	return free
}

// idUse is one occurrence of a free id.
type idUse struct {
	id string
	// names is true in an id field. Among arguments and other data, the text may be something else.
	names bool
}

// idPlace says where the id fields are in a field's JSON.
type idPlace struct {
	whole bool // the whole field is an id
	// depth is the depth of the members of a record or an event; 0 if there are none.
	depth int
}

// isID reports whether a field of a crossing holds an id.
func isID(f adk.Field, x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool {
		return use.Field == f && wire.IDOf(use, x) != ""
	})
}

// idPlaceOf returns the idPlace of a field.
func idPlaceOf(f adk.Field, x *adk.Crossing) idPlace {
	switch f {
	case adk.FieldName, adk.FieldKey:
		return idPlace{whole: isID(f, x)}
	case adk.FieldRecord:
		return idPlace{depth: 2} // {"#":1,"message":{…}}
	case adk.FieldRecords, adk.FieldResult:
		return idPlace{depth: 3}
	case adk.FieldPayload:
		return idPlace{depth: 1}
	}
	return idPlace{}
}

// shaper writes the shape of fields: their JSON with a mark in place of each free id, and in place
// of each time unless times are compared.
type shaper struct {
	free  map[string]bool
	times bool // keep times
	out   []byte
	ids   []idUse
}

// timeMembers are the members of records and events that hold times.
var timeMembers = map[string]bool{wire.EventCreatedAt: true, wire.EventUpdatedAt: true, wire.EventCompletedAt: true}

// plainTime is the member that marks a time in plain data.
const plainTime = "$time"

// add writes the shape of a field's JSON. It expects the form of package wire, without blanks
// between tokens.
func (s *shaper) add(text []byte, place idPlace) {
	depth, member := 0, ""
	for at := 0; at < len(text); {
		switch c := text[at]; c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := literalEnd(text, at)
			literal := text[at:end]
			if end < len(text) && text[end] == ':' {
				member = string(literal[1 : len(literal)-1])
				s.out = append(s.out, literal...)
			} else {
				s.literal(literal, member, depth, place)
			}
			at = end
			continue
		}
		s.out = append(s.out, text[at])
		at++
	}
}

// literal writes the shape of a string that is a value.
func (s *shaper) literal(literal []byte, member string, depth int, place idPlace) {
	inside := literal[1 : len(literal)-1]
	if !s.times && (member == plainTime || timeMembers[member] && depth == place.depth) {
		s.out = append(s.out, `"time"`...)
		return
	}
	if bytes.IndexByte(inside, '\\') >= 0 {
		if plain, err := wire.TextOfJSON(literal); err == nil {
			inside = []byte(plain)
		}
	}
	if !s.free[string(inside)] {
		s.out = append(s.out, literal...)
		return
	}
	names := place.whole && depth == 0
	if member == "id" && place.depth > 0 { // of a record or of a message's attachment
		names = depth == place.depth || depth == place.depth+2
	}
	s.ids = append(s.ids, idUse{string(inside), names})
	s.out = append(s.out, '?') // no JSON value begins with it
}

// literalEnd returns the end of the string that begins at a position.
func literalEnd(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

// renames pairs ids of two traces one to one.
type renames struct {
	ab, ba map[string]string
}

func newRenames() *renames { return &renames{ab: map[string]string{}, ba: map[string]string{}} }

// pair reports whether an id of a and one of b are a pair. It pairs them if neither has a partner.
func (r *renames) pair(a, b string) bool {
	ours, left := r.ab[a]
	theirs, right := r.ba[b]
	if !left && !right {
		a, b = strings.Clone(a), strings.Clone(b)
		r.ab[a], r.ba[b] = b, a
		return true
	}
	return left && right && ours == b && theirs == a
}

// other returns the id of b that an id of a is paired with, or the id itself if it has no pair. The
// second result is false if the id itself is the partner of another id.
func (r *renames) other(id string) (string, bool) {
	if pair, paired := r.ab[id]; paired {
		return pair, true
	}
	_, taken := r.ba[id]
	return id, !taken
}

// paired reports whether two texts are equal, or ids that are a pair.
func (r *renames) paired(a, b string) bool {
	if other, has := r.ab[a]; has {
		return other == b
	}
	_, taken := r.ba[b]
	return a == b && !taken
}

// same reports whether the ids in two equal shapes agree. It pairs those in id fields.
func (r *renames) same(a, b []idUse) bool {
	if len(a) != len(b) {
		return false
	}
	good := true
	for i := range a {
		if a[i].names && b[i].names {
			good = r.pair(a[i].id, b[i].id) && good
		} else {
			good = r.paired(a[i].id, b[i].id) && good
		}
	}
	return good
}

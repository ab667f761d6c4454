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

// This file takes out of a field what may differ between two traces that say the
// same: ids that are made anew in every run, and times.

// idSet is where ids stand and which of them may have another name in the other
// trace.
type idSet struct {
	known map[string]bool // ids of the trace
	made  map[string]bool // those that the run's id source made
}

// idsOf finds the ids of a trace: of the turn and its dispatches, of records,
// streams and gates, and those that user code had made.
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

// freeIDs are the ids that may have another name in the other trace: those that
// only one of them has, and those that an id source made, which counts anew in
// every run.
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

// idUse is a free id that stands somewhere.
type idUse struct {
	id string
	// names tells that it stands in an id field, and not among arguments or
	// other data, where it could be any text.
	names bool
}

// idPlace is where in a field's JSON an id field is.
type idPlace struct {
	whole bool // the field is an id
	// depth is how deep the members of a record or of an event lie; 0 is that
	// there are none.
	depth int
}

// isID reports whether a field of a crossing holds an id.
func isID(f adk.Field, x *adk.Crossing) bool {
	return slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool {
		return use.Field == f && wire.IDOf(use, x) != ""
	})
}

// idPlaceOf is the idPlace of a field.
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

// shaper writes the shape of fields: their JSON with a mark in the place of each
// free id, and of each time that is no difference.
type shaper struct {
	free  map[string]bool
	times bool // times are kept
	out   []byte
	ids   []idUse
}

// timeMembers are the members of records and events that hold times.
var timeMembers = map[string]bool{wire.EventCreatedAt: true, wire.EventUpdatedAt: true, wire.EventCompletedAt: true}

// plainTime is the member that marks a time in plain data.
const plainTime = "$time"

// add writes the shape of a field's JSON, as package wire writes it: there are no
// blanks between its tokens.
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
	if member == "id" && place.depth > 0 { // of a record, or of a message's attachment
		names = depth == place.depth || depth == place.depth+2
	}
	s.ids = append(s.ids, idUse{string(inside), names})
	s.out = append(s.out, '?') // no JSON begins so
}

// literalEnd is where a string that begins at a place ends.
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

// renames pairs ids of two traces, one to one.
type renames struct {
	ab, ba map[string]string
}

func newRenames() *renames { return &renames{ab: map[string]string{}, ba: map[string]string{}} }

// pair reports whether an id of a and one of b are the same but for their names,
// and pairs them where neither has a pair.
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

// other is the id of b that an id of a is paired with, or the id itself; false
// where that is the pair of another.
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

// same reports whether the ids in two equal shapes are the same, and pairs those
// in id fields.
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

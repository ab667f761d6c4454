package ordered

import "slices"

// edits records where and when a set changed, for code that updates results incrementally.
// Appending a member is not an edit. The zero edits belong to a new set.
type edits struct {
	number int // how many edits there were
	// marks are the edits that no later edit precedes in position; an edit at a place after that of
	// a later edit is irrelevant. The marks are therefore sorted by both number and place.
	marks []mark
	room  [1]mark // memory for a single mark; most sets need no more
}

// newEdits returns the edits of a new set.
func newEdits() *edits {
	e := &edits{}
	e.marks = e.room[:0]
	return e
}

// mark is an edit: its number, and the place from which on it changed the set.
type mark struct{ number, place int }

// editStep is the granularity of places: a set has at most one mark for so many members.
const editStep = 64

// note records that the set changes from a place on.
func (e *edits) note(place int) {
	place -= place % editStep
	e.number++
	from, _ := e.search(func(m mark) bool { return m.place >= place })
	e.marks = append(e.marks[:from], mark{e.number, place})
}

// search returns the first mark for which is returns true, and whether there is one. is must be
// true for all later marks as well.
func (e *edits) search(is func(mark) bool) (at int, found bool) {
	at, _ = slices.BinarySearchFunc(e.marks, true, func(m mark, _ bool) int {
		if is(m) {
			return 1
		}
		return -1
	})
	return at, at < len(e.marks)
}

func (e *edits) become(other *edits) {
	e.number, e.marks = other.number, append(e.marks[:0], other.marks...)
}

// note records that the set changes from a place on.
func (s *Set[K, V]) note(place int) {
	if s.edits == nil {
		s.edits = newEdits()
	}
	s.edits.note(place)
}

// become replaces the set's edits by a copy of another set's.
func (s *Set[K, V]) become(other *edits) {
	switch {
	case other == nil && s.edits == nil:
	case other == nil:
		s.edits.become(&edits{})
	case s.edits == nil:
		s.edits = newEdits()
		fallthrough
	default:
		s.edits.become(other)
	}
}

// Moment is a point in the history of a set and of the copies made of it since then. The zero
// Moment is before the set held anything.
type Moment struct{ edit int }

// Since returns the current moment, and how many of the first members are unchanged since an
// earlier moment. Members that were added since then come after them.
func (s *Set[K, V]) Since(then Moment) (now Moment, same int) {
	if s.edits == nil {
		return Moment{}, s.Len()
	}
	now, same = Moment{s.edits.number}, s.Len()
	if at, found := s.edits.search(func(m mark) bool { return m.number > then.edit }); found {
		same = min(same, s.edits.marks[at].place)
	}
	return now, same
}

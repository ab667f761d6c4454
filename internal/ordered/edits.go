package ordered

import "slices"

// edits remember where a set has changed, and when, for those who carry on what they
// have worked out of it. What came last is no edit. The zero edits are of a new set.
type edits struct {
	number int // of all that there were
	// marks are those that no later one lies before, and so sorted by place as by number:
	// what has happened behind a later edit tells nobody anything.
	marks []mark
	room  [1]mark // of most sets it holds the marks, and spares a slice for them
}

// newEdits are the edits of a new set.
func newEdits() *edits {
	e := &edits{}
	e.marks = e.room[:0]
	return e
}

// mark is an edit by its number, and the place from which on it changed the set.
type mark struct{ number, place int }

// editStep is how exactly places are kept: a set has a mark for so many members at most.
const editStep = 64

// note takes in that a set changes from a place on.
func (e *edits) note(place int) {
	place -= place % editStep
	e.number++
	from, _ := e.search(func(m mark) bool { return m.place >= place })
	e.marks = append(e.marks[:from], mark{e.number, place})
}

// search is the first mark that is so, as all behind it are, and whether there is one.
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

// note takes in that the set changes from a place on.
func (s *Set[K, V]) note(place int) {
	if s.edits == nil {
		s.edits = newEdits()
	}
	s.edits.note(place)
}

// become has the set have the edits of another from here on.
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

// Moment is a point in the life of a set and of the copies that were made of it since.
// The zero Moment is before it held anything.
type Moment struct{ edit int }

// Since gives the present moment, and how many of the first members are those that were
// there at an earlier one: at most so many of then, and all that came since lie behind them.
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

// Package strandtime keeps the time of each strand of a run, which never goes back.
package strandtime

import "time"

// Times are the times that were read last. The zero Times are those of a run that has
// not begun, whose strand 0 is the caller's.
type Times struct {
	first  time.Time   // of strand 0
	others []time.Time // of the strands that were forked, by their numbers less one
	latest int         // the strand that read last
}

// Read takes in what the clock says in a strand, and gives what counts: no earlier time
// than the last that was read there.
func (s *Times) Read(strand int, clock time.Time) time.Time {
	s.latest = strand
	last := s.Last(strand)
	if clock.Before(*last) && !last.IsZero() {
		return *last
	}
	*last = clock
	return clock
}

// Latest is the time of the strand that was read last.
func (s *Times) Latest() time.Time { return *s.Last(s.latest) }

// Last is the last time that was read in a strand, to be read and to be set.
func (s *Times) Last(strand int) *time.Time {
	if strand == 0 {
		return &s.first
	}
	return &s.others[strand-1]
}

// Fork numbers a strand that begins at a time.
func (s *Times) Fork(at time.Time) (number int) {
	s.others = append(s.others, at)
	return len(s.others)
}

// NotBefore brings a strand to a time, or to that of what it follows, if that is later,
// and gives it.
func (s *Times) NotBefore(strand int, began, at time.Time) time.Time {
	last := s.Last(strand)
	*last = Later(began, at)
	return *last
}

// Join brings a strand to the time of another one that has ended, if that is later.
func (s *Times) Join(strand, ended int) { s.NotBefore(strand, *s.Last(strand), *s.Last(ended)) }

// Later is the later one of two times, the second of equals; the zero time is none.
func Later(a, b time.Time) time.Time {
	if b.Before(a) && !a.IsZero() {
		return a
	}
	return b
}

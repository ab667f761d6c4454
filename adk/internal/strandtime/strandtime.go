// Package strandtime keeps the current time of each strand of a run, which never goes back.
package strandtime

import "time"

// Times holds the last clock reading of each strand. The zero Times is that of a run that has not
// begun; its strand 0 is the caller's.
type Times struct {
	first  time.Time   // of strand 0
	others []time.Time // of the forked strands; strand n is at n-1
	latest int         // the strand that read last
}

// Read takes a reading of the clock in a strand and returns the time to use: the reading, or the
// strand's last time if that is later.
func (s *Times) Read(strand int, clock time.Time) time.Time {
	s.latest = strand
	last := s.Last(strand)
	if clock.Before(*last) && !last.IsZero() {
		return *last
	}
	*last = clock
	return clock
}

// Latest returns the time of the strand that was read last.
func (s *Times) Latest() time.Time { return *s.Last(s.latest) }

// Last returns a pointer to the last time of a strand, for reading and writing.
func (s *Times) Last(strand int) *time.Time {
	if strand == 0 {
		return &s.first
	}
	return &s.others[strand-1]
}

// Fork adds a strand that begins at a time, and returns its number.
func (s *Times) Fork(at time.Time) (number int) {
	s.others = append(s.others, at)
	return len(s.others)
}

// NotBefore sets the time of a strand to at or, if that is later, to began, the time of what it
// follows. It returns that time.
func (s *Times) NotBefore(strand int, began, at time.Time) time.Time {
	last := s.Last(strand)
	*last = Later(began, at)
	return *last
}

// Join moves a strand forward to the time of another one that has ended, if that is later.
func (s *Times) Join(strand, ended int) { s.NotBefore(strand, *s.Last(strand), *s.Last(ended)) }

// Later returns the later of two times, or b if they are equal. A zero time is ignored.
func Later(a, b time.Time) time.Time {
	if b.Before(a) && !a.IsZero() {
		return a
	}
	return b
}

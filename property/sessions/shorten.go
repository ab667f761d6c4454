package sessions

import "slices"

// This file shortens the schedules of violations as far as possible, by running the subject.

// mostTries is how many schedules are run to shorten one.
const mostTries = 150

// shorten shortens the schedules of all violations.
func (e *exploring) shorten() {
	for i := range e.result.Violations {
		b := &e.result.Violations[i]
		if b.Invariant == hangs.Name || b.Invariant == steady.Name {
			continue // each try would leave goroutines behind, or prove nothing
		}
		s := shortening{e: e, best: b, key: groupOf(b.Violation), tries: mostTries}
		for s.pass() {
			continue
		}
	}
}

// size returns the number of actions and faults of a schedule.
func (s Schedule) size() int {
	n := len(s)
	for _, a := range s {
		n += len(a.Faults)
	}
	return n
}

// shortening is the search for a shorter schedule of one violation.
type shortening struct {
	e     *exploring
	best  *Breach
	key   string
	tries int
}

// pass tries each way to shorten the schedule, and reports whether one was found.
func (s *shortening) pass() bool {
	for at := range s.best.Schedule {
		shorter := append(s.best.Schedule.clone()[:at], s.best.Schedule.clone()[at+1:]...)
		if s.try(shorter) {
			return true
		}
	}
	for at, a := range s.best.Schedule {
		for f := range a.Faults {
			shorter := s.best.Schedule.clone()
			shorter[at].Faults = append(shorter[at].Faults[:f], shorter[at].Faults[f+1:]...)
			if s.try(shorter) {
				return true
			}
		}
	}
	for at, a := range s.best.Schedule {
		for _, simpler := range a.simpler() {
			shorter := s.best.Schedule.clone()
			shorter[at] = simpler
			if s.try(shorter) {
				return true
			}
		}
	}
	return false
}

// simpler returns actions that are easier to follow than a.
func (a Action) simpler() (all []Action) {
	if a.Host == "b" {
		first := a
		first.Host = "a"
		all = append(all, first)
	}
	if a.Host != "" && a.Verb != ToRelease && a.Arg > 1 {
		first := a
		first.Arg = 1
		all = append(all, first)
	}
	if a.Verb == ToSession || a.Verb == ToTenant {
		first := a
		first.Verb = Deliver
		all = append(all, first)
	}
	for at, f := range a.Faults {
		if f.Kind == Stand { // what crashes needs no second host in the meantime
			first := a
			first.Faults = slices.Clone(a.Faults)
			first.Faults[at].Kind = Crash
			all = append(all, first)
		}
	}
	return all
}

// try replaces the best schedule by a shorter one, if that shows the same violation.
func (s *shortening) try(shorter Schedule) bool {
	if s.tries--; s.tries < 0 || s.e.over() {
		return false
	}
	r := s.e.run(shorter)
	for _, v := range r.violations() {
		if groupOf(v) == s.key {
			s.e.result.shows(s.best, r, v)
			return true
		}
	}
	return false
}

package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file shortens the schedules of violations by running the subject. A random order has many
// decisions of which one matters, and instead of twenty additional messages nine may be enough. The
// number of faults is already minimal, since schedules with fewer faults are tried first.

// shorten shortens the schedules of violations as far as possible.
func (e *exploring) shorten() {
	for i := range e.result.Violations {
		b := &e.result.Violations[i]
		if e.reproducing || b.Invariant == hangs || i >= mostShown {
			continue
		}
		s := shortening{e: e, best: b, key: groupOf(b.Violation)}
		if s.chance() {
			continue
		}
		s.input()
		s.order()
		s.script()
	}
}

// shortening is the search for a shorter schedule of one violation.
type shortening struct {
	e    *exploring
	best *Breach
	key  string
}

// try replaces the best schedule by a shorter one, if that shows the same violation.
func (s *shortening) try(shorter turn.Schedule) bool {
	if s.e.over() {
		return false
	}
	n, err := s.e.resolve(shorter)
	if err != nil {
		return false
	}
	var violations []property.Violation
	s.e.workers[0].runAnd(n, false, false, func(a *attempt, stalled *stall) {
		if stalled == nil || stalled.kind == crashed {
			violations = s.e.judge(a, n, stalled).violations
		}
	})
	for _, v := range violations {
		if groupOf(v) == s.key {
			n.number = s.best.Found
			found := s.e.result.breach(n, v)
			found.Schedules, found.numbers = s.best.Schedules, s.best.numbers
			*s.best = found
			return true
		}
	}
	return false
}

// mostByChance is how often a schedule is run to see what occurs nondeterministically.
const mostByChance = 8

// chance reports whether the undisturbed turn shows the violation too, now and then. If it asks
// from goroutines of its own, their order differs from run to run, and then no fault of the
// schedule is to blame.
func (s *shortening) chance() bool {
	for n := 0; n < mostByChance && s.best.from.cost > 0 && s.e.loose.Load(); n++ {
		if s.try(turn.Schedule{}) {
			s.best.Text += "\n" + byChance
			return true
		}
	}
	return false
}

// input looks for a conversation that differs less from the usual one.
func (s *shortening) input() {
	for n := range max(0, s.best.Schedule.Input.Messages-1) {
		shorter := s.best.Schedule
		shorter.Input.Messages = n + 1
		if s.try(shorter) {
			return
		}
	}
}

// mostAnswers is the largest number of answers of the world that are left out one by one.
const mostAnswers = 20

// script leaves out answers of the world that do not matter, provided that the violation has
// another cause: leaving something out could cause it too. Leaving out an answer must make the turn
// shorter. All omissions together are kept only if the last fault then comes at most half as far
// into the run: otherwise the omissions are more to read than they save. If the order of asks is
// the system's, nothing is left out, as the answers would go to other asks.
func (s *shortening) script() {
	if len(s.best.Schedule.Faults) == 0 || s.e.over() || s.e.loose.Load() {
		return
	}
	whole := *s.best
	for n := min(mostAnswers, len(s.e.answers)); n > 0; n-- {
		shorter := s.best.Schedule
		shorter.Without = append([]int{n}, shorter.Without...)
		before, after := s.length(bare(s.best.Schedule)), s.length(bare(shorter))
		if after >= before || s.shows(bare(shorter)) {
			continue
		}
		_ = s.try(shifted(shorter, before-after))
	}
	if 2*lastFault(s.best.Schedule) > lastFault(whole.Schedule) {
		*s.best = whole
	}
}

// lastFault returns the crossing of the last fault of a schedule that has faults.
func lastFault(s turn.Schedule) int { return s.Faults[len(s.Faults)-1].At }

// bare returns the schedule without its faults and its order.
func bare(s turn.Schedule) turn.Schedule { return turn.Schedule{Input: s.Input, Without: s.Without} }

// length returns how many crossings the turn of a schedule has.
func (s *shortening) length(of turn.Schedule) int {
	n, err := s.e.resolve(of)
	if err != nil || s.e.over() {
		return 0
	}
	a, _ := s.e.workers[0].run(n, false, false)
	return len(a.crossings)
}

// shows reports whether a schedule shows the violation too.
func (s *shortening) shows(schedule turn.Schedule) bool {
	before := *s.best
	defer func() { *s.best = before }()
	return s.try(schedule)
}

// shifted returns the schedule with its faults moved back by some crossings.
func shifted(s turn.Schedule, by int) turn.Schedule {
	s.Faults = slices.Clone(s.Faults)
	for i := range s.Faults {
		s.Faults[i].At = max(1, s.Faults[i].At-by)
	}
	return s
}

// mostSingles is how many single decisions are tried instead of several.
const mostSingles = 200

// order reduces the decisions between strands: to a single one, or to the first few, and then
// without any one of them.
func (s *shortening) order() {
	if len(s.best.Schedule.Order) < 2 || s.e.over() || s.single() {
		return
	}
	for keep := 1; keep < len(s.best.Schedule.Order); keep *= 2 {
		shorter := s.best.Schedule
		shorter.Order = shorter.Order[:keep]
		if s.try(shorter) {
			break
		}
	}
	for i := len(s.best.Schedule.Order) - 1; i >= 0; i-- {
		shorter := s.best.Schedule
		shorter.Order = slices.Delete(slices.Clone(shorter.Order), i, i+1)
		s.try(shorter)
	}
}

// single looks for one decision that shows the same as several.
func (s *shortening) single() bool {
	usual := s.best.Schedule
	usual.Order = nil
	n, err := s.e.resolve(usual)
	if err != nil {
		return false
	}
	a, _ := s.e.workers[0].run(n, false, true)
	tried := 0
	for at, c := range slices.Clone(a.order.choices) {
		for _, strand := range slices.Clone(c.runnable) {
			if strand == c.chosen {
				continue
			}
			if tried++; tried > mostSingles {
				return false
			}
			shorter := s.best.Schedule
			shorter.Order = []turn.Decision{{Choice: at + 1, Strand: strand}}
			if s.try(shorter) {
				return true
			}
		}
	}
	return false
}

// GoTest returns a Go test that fails until the violation is fixed, with what shows the violation
// as its comment. The test refers to the subject of the exploration as subject, so it belongs in a
// file where that is defined.
func (f Breach) GoTest() string {
	var b strings.Builder
	name := "Test" + safetext.CamelCase(f.Invariant) + safetext.CamelCase(f.Schedule.String())
	said, _, _ := strings.Cut(f.Text, "\n")
	for line := range strings.SplitSeq(safetext.Folded(name+": "+f.Invariant+": "+said, reportColumns), "\n") {
		b.WriteString("// " + strings.TrimLeft(line, " ") + "\n")
	}
	b.WriteString("//\n")
	shown := strings.Join(append(slices.Clone(f.Where), strings.TrimSuffix(f.Stretch, "\n")), "\n")
	for line := range strings.SplitSeq(safetext.Folded(shown, reportColumns), "\n") {
		b.WriteString(strings.TrimRight("//\t"+line, " \t") + "\n")
	}
	fmt.Fprintf(&b, "func %s(t *testing.T) {\n\t%s\n}\n", name, f.Test)
	return b.String()
}

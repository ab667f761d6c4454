package explore

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/oracle"
	"github.com/adkreplay/adkreplay/property/turn"
)

// checkGiven is the invariant that a run breaks if the subject's own check fails.
const checkGiven = "the check given"

// leftBehind is the invariant that a run breaks if it leaves something open or running.
const leftBehind = "nothing is left behind"

// unbounded is the invariant that a turn breaks if it goes on until its caller gives up.
const unbounded = "a loop has a bound"

// judge checks a run against everything that applies to it, and collects the faults that can be
// added to it.
func (e *exploring) judge(a *attempt, n candidate, s *stall) tried {
	t := tried{candidate: n, waited: a.waited() && a.endless == ""}
	if s != nil && s.kind != crashed {
		if t.violations = s.violations(a); len(t.violations) > 0 {
			t.shown = a.stuck(n, s, t.violations[0])
		}
		return t
	}
	if a.after != nil {
		t.violations = append(t.violations, a.after.violations()...)
	}
	if s != nil {
		t.violations = append(t.violations, e.asked(a, n, true)...)
		if e.undisturbed != nil && n.cost == 1 {
			t.violations = append(t.violations, a.refusedAfterwards(e.undisturbed)...)
		}
		return t
	}
	if a.cut.Load() { // the exploration ended it
		return t
	}
	t.violations = append(t.violations, a.violations()...)
	held, hinted := a.held(e.undisturbed != nil && n.cost <= 1 && !a.passed())
	t.violations = append(t.violations, held...)
	if said := e.asked(a, n, false); a.isDeceived() {
		t.hints = said
	} else {
		t.violations = append(t.violations, said...)
	}
	if n.cost == 0 && a.waited() {
		t.violations = append(t.violations, a.read().StoodStill()...)
	}
	switch {
	case e.undisturbed == nil:
	case a.passed():
		if a.timed() {
			e.outside.Add(1)
		}
		t.hints = append(t.hints, a.read().StoodOutside(e.undisturbed)...)
	case n.cost == 0:
		r := a.read()
		r.Hints = hinted
		t.violations, t.hints = append(t.violations, r.Alone()...), append(t.hints, r.Fails()...)
	case n.cost == 1:
		r := a.read()
		r.Hints, r.Reordered = hinted, len(n.picks) > 0
		found, hints := r.Behold(e.undisturbed)
		t.violations, t.hints = append(t.violations, found...), append(t.hints, hints...)
	}
	if n := len(a.faults); n > 0 && a.endless == "" {
		t.hits, t.same = a.faults[n-1].hits, a.faults[n-1].same
	}
	e.isLoose(a)
	e.loosen(&t)
	e.blame(&t, a)
	if a.collect && !a.forever { // such a run goes on to its end, whatever else goes wrong
		a.lookFurther(&t, e.options.Faults)
	}
	t.choices = slices.ContainsFunc(a.order.choices, func(c choice) bool { return c.open })
	return t
}

// read returns the run as oracles see it. It is valid until the next run is read.
func (a *attempt) read() *oracle.Run {
	run := oracle.Run{Crossings: a.crossings, Unran: a.unran, Unasked: a.unasked, Broken: a.misled, Waited: a.waited(), Stood: a.stood(), TooLong: a.endless != ""}
	for i := range a.faults {
		if f := &a.faults[i]; f.fired {
			run.Faults = append(run.Faults, f.seen())
		}
	}
	if a.after != nil && a.after.attempt != nil {
		run.Next = a.after.attempt.read()
	}
	return a.oracles.Read(run)
}

// seen returns the fault as oracles see it.
func (f *planned) seen() oracle.Fault {
	seen := oracle.Fault{Fault: f.Fault, Call: f.call, Op: f.op, Before: f.moment == beforeBody, Amid: f.moment == amidBody, Deaf: f.moment == deaf,
		BrokenOff: f.broke, Repeats: worldFaults[f.Kind].repeats}
	if f.world != nil {
		seen.Of = f.world.of
	}
	return seen
}

// refusedAfterwards judges the conversation that a crashed run left behind, by what the turn that
// followed it asks.
func (a *attempt) refusedAfterwards(undisturbed *oracle.Run) []property.Violation {
	if a.after == nil || a.after.attempt == nil || a.after.stall != nil {
		return nil
	}
	run := oracle.Run{Crossings: a.crossings, Next: a.after.attempt.read()}
	return run.RefusedAfterwards(undisturbed)
}

// held returns the invariants that the run breaks and, if advised, its hints.
func (a *attempt) held(advised bool) ([]property.Violation, []property.Hint) {
	if advised {
		return a.checker.Both(a.info, a.crossings)
	}
	return a.checker.Violations(a.info, a.crossings), nil
}

// asked runs the checks of the subject, if it has any.
func (e *exploring) asked(a *attempt, n candidate, crashed bool) []property.Violation {
	if e.subject.Check == nil && a.instance.Check == nil {
		return nil
	}
	run := turn.Run{Schedule: n.schedule(), Config: a.instance.Config, Info: a.info, Crossings: a.all(), Crashed: crashed}
	if a.after != nil {
		run.Next = &a.after.run
	}
	found := e.check(a.instance, run, len(a.crossings))
	for i := range found {
		if note := a.unseen(); note != "" && found[i].Invariant == checkGiven {
			found[i].Text += "\n" + note
		}
	}
	return found
}

// isDeceived reports whether the world gave an answer that looks right and is wrong. A violation of
// the subject's check is then a hint: an agent may doubt what it is given, but need not. The same
// holds for a slow answer together with another fault: the slow answer is that of the undisturbed
// turn, although the asked function may have failed by now.
func (a *attempt) isDeceived() bool {
	return slices.ContainsFunc(a.faults, func(f planned) bool {
		return worldFaults[f.Kind].deceives || f.Kind == turn.AskSlow && !f.world.http && len(a.faults) > 1 || f.Kind == turn.ResultEmpty || f.Kind == turn.ResultCut || f.Kind == turn.AskEmpty && !f.world.http
	})
}

// violations returns what the run that followed violates.
func (f *followed) violations() []property.Violation {
	if f.stall != nil {
		return f.stall.violations(f.attempt)
	}
	found := append(f.attempt.violations(), f.checker.Violations(f.info, f.crossings)...)
	for i := range found {
		found[i].Text = "in the turn that followed: " + found[i].Text
	}
	return found
}

// violations returns what only the explorer, which runs the turn, can see.
func (a *attempt) violations() []property.Violation {
	found := slices.Clone(a.found)
	add := func(invariant, rule, format string, args ...any) {
		found = append(found, property.Violation{Invariant: invariant, Rule: rule, Crossing: len(a.crossings) + 1, Text: fmt.Sprintf(format, args...)})
	}
	if a.panicked != nil {
		add("Run answers nil", "RUN-5", "a panic left Run: %s", adk.PanicText(a.panicked))
	}
	if a.answer != nil {
		add("Run answers nil", "RUN-5", "Run answered %q", a.answer.Error())
	}
	switch {
	case a.deaf:
		add(hangs, "RUN-5", "hang: user code asked for more and more, long after its caller had cancelled, until it was refused: in %s", a.endless)
	case a.endless != "" && a.isAskedForEver():
		add(unbounded, "", "the same answer came %s, and the turn went on until its caller cancelled: in %s", inWords(mostAgain, "time"), a.endless)
	case a.endless != "":
		add(unbounded, "", "the turn went on until its caller cancelled, after %s; undisturbed it has %s: in %s",
			inWords(int(a.tooMany.Load()), "crossing"), inWords(a.usual.crossings, "crossing"), a.endless)
	}
	if a.strands != 0 {
		add(leftBehind, "DET-7", "%s had not ended when Run returned", inWords(a.strands, "strand"))
	}
	for _, f := range a.faults {
		if !f.fired && !a.passed() {
			add(unsteadyRun, "DET-2", "%s, which the same turn led to before, did not happen", f.Fault)
		}
	}
	for i := range found {
		found[i].Seam = adk.LabelRun
	}
	return found
}

// lookFurther finds the faults that can be made after those of the run.
func (a *attempt) lookFurther(t *tried, kinds []turn.FaultKind) {
	a.more = a.more[:0]
	for s := range a.spots(max(t.candidate.from, 1)) {
		at := s.place()
		told := a.refusedAt(at)
		for _, k := range kinds {
			if s.world == nil && told[k] && k.OfWorld() { // most places do not ask, and have been reported
				continue
			}
			switch why := s.refuses(k); {
			case why == "":
				for _, f := range s.variants(k) {
					a.more = append(a.more, s.plan(f))
				}
			case !told[k]:
				told[k] = true
				t.refused = append(t.refused, untriable{cell{at, k}, why})
			}
		}
	}
	t.more = slices.Clone(a.more)
}

// refusedAt returns which faults were already reported as refused at a place. Only the first reason
// is reported.
func (a *attempt) refusedAt(at place) *[turn.FaultKindEnd]bool {
	told := a.refused[at]
	if told == nil {
		if a.refused == nil {
			a.refused = map[place]*[turn.FaultKindEnd]bool{}
		}
		told = &[turn.FaultKindEnd]bool{}
		a.refused[at] = told
	}
	return told
}

package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/subtests"
)

// Options configures an exploration. The zero value means 1000 schedules.
type Options struct {
	// Schedules is the largest number of schedules to run; zero means 1000. Schedules with one
	// thing wrong alternate with random ones. Exploration.NotCovered says how many of the former
	// were not run.
	Schedules int
	// Length is the largest number of actions of a random schedule; zero means 10.
	Length int
	// First ends the exploration after the first schedule that violates something.
	First bool
	// Seed selects the random schedules. Equal seeds give equal schedules.
	Seed uint64
	// Budget limits the time of the exploration, by the system's clock; zero means no limit.
	Budget time.Duration
}

// The defaults of Options.
const (
	usualSchedules = 1000
	usualLength    = 10
)

// Explore runs sessions again and again, and breaks them at every call of their hosts, at crossings
// of their turns, and by what happens around them: redelivery, another host, time, restarts,
// releases. It checks every run against Invariants and the subject's checks.
//
// The error says that the subject makes no host. When ctx ends, the exploration ends within a
// second, whatever user code does, with what it has found, and says so in NotCovered.
func Explore(ctx context.Context, subject Subject, options Options) (*Exploration, error) {
	if err := subject.Validate(); err != nil {
		return nil, err
	}
	e := newExploring(ctx, subject, options)
	e.explore()
	e.shorten()
	e.result.Elapsed = time.Since(e.began)
	return e.result, nil
}

// RunSchedule runs one schedule of a subject twice and returns what it violates. The error says
// that the subject makes no host, or that it has no such delivery or release.
func RunSchedule(ctx context.Context, subject Subject, s Schedule) (*Exploration, error) {
	if err := subject.Validate(); err != nil {
		return nil, err
	}
	e := newExploring(ctx, subject, Options{Schedules: 1})
	if err := s.fits(len(subject.Deliveries), e.releases); err != nil {
		return nil, fmt.Errorf("%s: %w", subject.Name, err)
	}
	r := e.try(s, true)
	e.result.Elapsed = time.Since(e.began)
	if !r.isLeft {
		for _, text := range r.unmet() {
			e.note(text)
		}
	}
	return e.result, nil
}

// Test explores a subject in go test. Each violation fails a subtest that is named after the
// schedule that shows it. The log has the summary, what was not covered, and the table of what went
// wrong where.
//
//	func TestSessions(t *testing.T) { sessions.Test(t, subject, sessions.Options{}) }
func Test[Self property.T[Self]](t Self, subject Subject, options Options) {
	t.Helper()
	ctx, cancel := subtests.Within(t)
	defer cancel()
	result, err := Explore(ctx, subject, options)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	t.Logf("%s%s", result.brief(), result.Table)
	for _, b := range result.Violations {
		subtests.Fail(t, b.Schedule.String(), b)
	}
}

// Reproduce runs one schedule of a subject in go test, as a violation names it, and fails for each
// violation. If a fault of the schedule does not happen any more, as the code has changed,
// Reproduce logs that and does not fail.
func Reproduce(t property.TB, subject Subject, schedule string) {
	t.Helper()
	s, err := ParseSchedule(schedule)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	result, err := RunSchedule(context.Background(), subject, s)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	t.Logf("%s", result.brief())
	for _, b := range result.Violations {
		t.Errorf("%s", b)
	}
}

// exploring is an exploration under way.
type exploring struct {
	ctx      context.Context
	subject  Subject
	options  Options
	began    time.Time
	releases int
	result   *Exploration
	known    map[string]watchdog.Action
	latest   *run
	left     int // runs that were left behind
	crossing int // the largest number of crossings of a call so far
	stopped  string
}

func newExploring(ctx context.Context, subject Subject, o Options) *exploring {
	if o.Schedules <= 0 {
		o.Schedules = usualSchedules
	}
	if o.Length <= 0 {
		o.Length = usualLength
	}
	i := subject.Open()
	defer i.close()
	return &exploring{ctx: ctx, subject: subject, options: o, began: time.Now(), releases: len(i.Releases), known: map[string]watchdog.Action{},
		result: &Exploration{Subject: subject.Name, Seed: o.Seed, groups: map[string]int{}}}
}

// mostLeft is how many runs are left behind before the exploration ends: they never release what
// they hold.
const mostLeft = 3

// steadyEvery is the interval at which a schedule is run twice, to check that both runs do the
// same.
const steadyEvery = 16

// over reports whether the exploration must end, and records why.
func (e *exploring) over() bool {
	switch {
	case e.stopped != "":
	case e.ctx.Err() != nil:
		e.stopped = context.Cause(e.ctx).Error()
	case e.options.Budget > 0 && time.Since(e.began) >= e.options.Budget:
		e.stopped = fmt.Sprintf("the budget of %s is over", e.options.Budget)
	case e.left >= mostLeft:
		e.stopped = fmt.Sprintf("%d runs do not end", e.left)
	}
	return e.stopped != ""
}

// try runs a schedule and adds what it violates to the result. again makes it run twice.
func (e *exploring) try(s Schedule, again bool) *run {
	r := e.run(s)
	e.result.Schedules++
	if !r.isLeft {
		e.result.Table.add(r)
		for _, t := range r.calls {
			if t != nil {
				e.crossing = max(e.crossing, t.crossings())
			}
		}
	}
	for _, v := range r.violations() {
		e.result.add(r, v)
	}
	if again && !r.isLeft {
		if v, differs := unsteady(r, e.run(s)); differs {
			e.result.add(r, v)
		}
	}
	return r
}

// unsteady returns the violation of two runs of one schedule that differ.
func unsteady(r, again *run) (Violation, bool) {
	if again.isLeft || bytes.Equal(r.journal, again.journal) {
		return Violation{}, false
	}
	at, one, other := parting(r.journal, again.journal)
	text := fmt.Sprintf("two runs differ at step %d of their journals", at+1)
	var step, second session.Step
	if json.Unmarshal(one, &step) == nil && json.Unmarshal(other, &second) == nil && step.Kind == second.Kind {
		text += "\n" + sayStep(step) + inLines(compare.JSONDiff("", string(one), string(other)))
	} else {
		text += "\n" + stepOrNone(one) + "\n" + stepOrNone(other)
	}
	if from, to := r.traces[step.Turn], again.traces[second.Turn]; from != nil && to != nil && !bytes.Equal(from.Bytes(), to.Bytes()) {
		at, one, other := parting(from.Bytes(), to.Bytes())
		text += fmt.Sprintf("\nand its turn at line %d of its trace", at+1) + inLines(compare.JSONDiff("", string(one), string(other)))
	}
	return Violation{Invariant: steady.Name, Rule: steady.Rule, Text: text}, true
}

// parting returns the index of the first line in which two unequal texts differ, and both lines.
func parting(a, b []byte) (at int, one, other []byte) {
	lines, others := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for at < min(len(lines), len(others))-1 && bytes.Equal(lines[at], others[at]) {
		at++
	}
	return at, lines[at], others[at]
}

// inLines describes the fields that differ, each with the surroundings of the difference.
func inLines(fields []compare.FieldDiff) (text string) {
	for i := range fields {
		fields[i].Field = strings.TrimPrefix(fields[i].Field, ".")
	}
	for _, line := range compare.Shown(fields) {
		text += "\n  " + line
	}
	return text
}

// stepOrNone describes a line of a journal.
func stepOrNone(line []byte) string {
	var step session.Step
	if json.Unmarshal(line, &step) != nil {
		return "no further step"
	}
	return sayStep(step)
}

// run runs a schedule, and watches the run.
func (e *exploring) run(s Schedule) *run {
	r := newRun(e.subject, s)
	done := make(chan none)
	go func() {
		defer close(done)
		defer r.contain()
		r.direct()
	}()
	e.watch(r, done)
	return r
}

// contain reports a violation if code of the subject panics or ends the goroutine outside of the
// calls of a host.
func (r *run) contain() {
	value := recover()
	if !r.isJudged {
		if value == nil {
			value = errors.New("the goroutine was ended")
		}
		r.wrong(fails, "Open, a release, the check or the store: %v", value)
		r.isLeft = true
		r.thaw()
	}
}

// watch waits for a run to end. A run that stands still is first passed on, then cancelled, and
// then left behind. A run that goes on after the exploration is over is left behind too.
func (e *exploring) watch(r *run, done chan none) {
	ticker := time.NewTicker(watchdog.Often)
	defer ticker.Stop()
	dog := watchdog.Dog{Known: e.known}
	if e.options.Budget > 0 {
		dog.Patience = min(watchdog.Usual, max(e.options.Budget/4, 200*time.Millisecond))
	}
	overtime := time.Time{}
	for {
		var now time.Time
		select {
		case <-done:
			return
		case now = <-ticker.C:
		}
		f := dog.Visit(r.progress.Load(), now, r.label)
		switch f.Action {
		case watchdog.PassOn:
			r.passOn(fakes.Epoch)
		case watchdog.MoveTime:
			r.passOn(r.clock.Now().Add(longestWait))
		case watchdog.Cancel:
			r.cancel()
		case watchdog.Deadlock, watchdog.Hang:
			r.wrong(hangs, "the run stands still\n%s", watchdog.Describe(f.Goroutines))
			e.leave(r)
			return
		}
		if overtime.IsZero() && e.over() {
			overtime = now
		}
		if !overtime.IsZero() && now.Sub(overtime) >= overtimeGrace {
			e.leave(r)
			return
		}
	}
}

// overtimeGrace is how long a run may go on when the exploration is over.
const overtimeGrace = 500 * time.Millisecond

func (e *exploring) leave(r *run) {
	r.isLeft = true
	e.left++
	r.cancel()
	r.thaw()
}

// longestWait is how far time moves for a call that is blocked.
const longestWait = 10 * time.Minute

// passOn lets a run go on whose call is blocked by other means than the engine's: by another strand
// of its turn, or by what a process holds that stands still. It runs on a labelled goroutine, as
// the timers that it fires belong to the run.
func (r *run) passOn(limit time.Time) {
	passed := make(chan none)
	go func() {
		defer close(passed)
		defer r.label.Begin()()
		for _, p := range r.all() {
			if p.standing.Load() {
				p.latest.Load().goes()
			}
		}
		if t := r.current.Load(); t != nil {
			t.p.sched.PassOn(limit, func() { watchdog.Settle(settling, r.label) })
		}
	}()
	select {
	case <-passed:
	case <-time.After(settling):
	}
}

// cancel ends the context of the call that is under way.
func (r *run) cancel() {
	if t := r.current.Load(); t != nil {
		t.cancel(errWaited)
	}
}

var errWaited = errors.New("the caller waited in vain")

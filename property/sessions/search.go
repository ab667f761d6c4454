package sessions

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property/turn"
)

// way is one of the ways to derive schedules from a run.
type way struct {
	says string // what goes wrong in its schedules
	all  iter.Seq[Schedule]
}

// explore runs schedules until there are enough: those with one thing wrong, in all places, and
// random ones with many things wrong. The ways take turns, so that each of them gets its share,
// however many schedules another one has.
func (e *exploring) explore() {
	base := e.base()
	undisturbed := e.try(base, true)
	if undisturbed.broken() {
		e.note("all but the undisturbed run, which violates something by itself")
		return
	}
	e.noteCommits(undisturbed)
	ways, settled := e.ordinary(base, undisturbed), []*run{}
	for i := range e.subject.Deliveries {
		if !e.goes(abandoned(i + 1)) {
			if e.isFull() {
				e.note(fmt.Sprintf("schedules with a host that resumes delivery %d or a later one%s", i+1, e.limit()))
			}
			break
		}
		if !e.latest.isLeft {
			settled = append(settled, e.latest)
		}
	}
	ways = append(ways, e.behind(settled)...)
	e.takeTurns(append(ways, way{"many things wrong, which are drawn", e.drawn()}))
}

// drawnEvery is how many rounds of the ways with one thing wrong come for one random schedule, as
// long as any of these ways has schedules left.
const drawnEvery = 4

// takeTurns runs the schedules of several ways, one of each at a time, and notes how many are left.
// The last way is the random one, which has no end.
func (e *exploring) takeTurns(ways []way) {
	tried := make([]int, len(ways))
	nexts := make([]func() (Schedule, bool), len(ways))
	for i, w := range ways {
		next, stop := iter.Pull(w.all)
		defer stop()
		nexts[i] = next
	}
	for round, ran := 1, true; e.isGoing(); round++ {
		drawn := !ran || round%drawnEvery == 0
		ran = false
		for at, next := range nexts {
			if at == len(ways)-1 && !drawn || !e.isGoing() {
				break
			}
			if s, more := next(); more {
				e.goes(s)
				tried[at]++
				ran = ran || at < len(ways)-1
			}
		}
	}
	switch {
	case e.over():
		e.note("schedules that follow: " + e.stopped)
	case e.isFull():
		e.noteLeft(ways, tried, nexts)
	}
}

// noteLeft notes how many schedules of each way were not run because the limit was reached.
func (e *exploring) noteLeft(ways []way, tried []int, nexts []func() (Schedule, bool)) {
	for i, w := range ways {
		if i == len(ways)-1 {
			if tried[i] == 0 {
				e.note("schedules with " + w.says + e.limit())
			}
			return
		}
		left := 0
		for _, more := nexts[i](); more; _, more = nexts[i]() {
			left++
		}
		if left > 0 {
			e.note(fmt.Sprintf("%d of %s with %s%s", left, safetext.Counted(tried[i]+left, "schedule"), w.says, e.limit()))
		}
	}
}

// limit says that schedules were not run because the limit was reached.
func (e *exploring) limit() string {
	return fmt.Sprintf(": the limit of %s was reached", safetext.Counted(e.options.Schedules, "schedule"))
}

// goes runs a schedule if another one may be run, and reports whether it did.
func (e *exploring) goes(s Schedule) bool {
	if !e.isGoing() {
		return false
	}
	e.latest = e.try(s, e.result.Schedules%steadyEvery == 0)
	return true
}

// isGoing reports whether another schedule may be run.
func (e *exploring) isGoing() bool {
	return !e.over() && !e.isFull() && !(e.options.First && len(e.result.Violations) > 0)
}

// isFull reports whether the limit of schedules is reached.
func (e *exploring) isFull() bool { return e.result.Schedules >= e.options.Schedules }

func (e *exploring) note(text string) { e.result.NotCovered = append(e.result.NotCovered, text) }

// noteCommits notes that the undisturbed run has committed nothing: if nothing works, little can be
// violated.
func (e *exploring) noteCommits(undisturbed *run) {
	if undisturbed.isLeft {
		return
	}
	var codes []string
	for _, o := range undisturbed.ledger.told {
		if o.State == session.Committed {
			return
		}
		codes = append(codes, string(o.Code))
	}
	slices.Sort(codes)
	if codes = slices.Compact(codes); len(codes) > 0 {
		e.note("what a commit leads to: no delivery was committed in the undisturbed run: " + strings.Join(codes, ", "))
	}
}

// base returns the schedule that sends every delivery, one after the other.
func (e *exploring) base() (s Schedule) {
	for i := range e.subject.Deliveries {
		s = append(s, Action{Host: "a", Verb: Deliver, Arg: i + 1})
	}
	return s
}

// abandoned returns a schedule whose host dies when it has accepted a delivery, and in which
// another host settles it. That takes calls that an undisturbed delivery may not make.
func abandoned(delivery int) Schedule {
	return Schedule{{Host: "a", Verb: Deliver, Arg: delivery, Faults: []Fault{{CrashAfter, 1}}}, {Verb: Expire}, {Host: "b", Verb: Resume}}
}

// ordinary returns the ways with one thing wrong, derived from the base schedule and its run.
func (e *exploring) ordinary(base Schedule, undisturbed *run) []way {
	return []way{
		{"a delivery that comes again, or an older release", e.around(base)},
		{"a second host while the first one stands", e.stands(base, undisturbed)},
		{"a fault at a call of a host", e.atCalls(base, undisturbed)},
		{"a fault within a turn", e.inTurns(base, undisturbed)},
	}
}

// behind returns the ways with one thing more wrong, derived from the runs whose first host has
// died.
func (e *exploring) behind(settled []*run) []way {
	of := func(made func(Schedule, *run) iter.Seq[Schedule]) iter.Seq[Schedule] {
		return func(yield func(Schedule) bool) {
			for _, r := range settled {
				for s := range made(r.schedule, r) {
					if !yield(s) {
						return
					}
				}
			}
		}
	}
	return []way{
		{"a second host while one stands that resumes", of(e.stands)},
		{"a fault at a call of a host that resumes", of(e.atCalls)},
	}
}

// with returns the schedule with a fault in an action, and more actions after that action.
func (s Schedule) with(at int, f Fault, more ...Action) Schedule {
	c := s.clone()
	c[at].Faults = append(c[at].Faults, f)
	rest := append(Schedule{}, c[at+1:]...)
	return append(append(c[:at+1], more...), rest...)
}

// around returns schedules in which nothing breaks, but something unexpected is delivered, or an
// older release runs.
func (e *exploring) around(base Schedule) iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for i := range base {
			for _, verb := range []Verb{Deliver, ToSession, ToTenant, OtherPayload, OtherChannel, Erase} {
				if verb == Erase && !e.subject.Erases {
					continue
				}
				for _, host := range []string{"a", "b"} {
					again := append(base.clone()[:i+1], Action{Host: host, Verb: verb, Arg: i + 1})
					if !yield(append(again, base.clone()[i+1:]...)) {
						return
					}
				}
			}
		}
		for release := 1; release < e.releases; release++ {
			for i := range base {
				old := Schedule{{Host: "b", Verb: ToRelease, Arg: release}}
				if !yield(append(append(append(base.clone()[:i], Action{Host: "a", Verb: ToRelease, Arg: release}), base.clone()[i:]...), Action{Host: "b", Verb: Resume})) ||
					!yield(append(append(append(old, base.clone()[:i+1]...), Action{Host: "b", Verb: Deliver, Arg: 1}, Action{Host: "b", Verb: Deliver, Arg: len(base)}), base.clone()[i+1:]...)) {
					return
				}
			}
		}
	}
}

// atCalls returns schedules with one fault at each call of a host, followed by the same delivery
// again. For crashes there are also schedules without the second delivery, and ones in which the
// clock is set back: then only a host that resumes finds what the crash has left.
func (e *exploring) atCalls(base Schedule, undisturbed *run) iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for i, t := range undisturbed.calls {
			if t == nil || len(base[i].Faults) > 0 {
				continue
			}
			for n := range t.calls {
				if !yield(base.with(i, Fault{CrashAfter, n + 1}, Action{Verb: Back, Arg: daysBack})) {
					return
				}
				for _, k := range []FaultKind{Crash, CrashAfter, Fail, FailAfter} {
					again := Action{Host: "a", Verb: Deliver, Arg: max(1, base[i].Arg)}
					if !yield(base.with(i, Fault{k, n + 1}, again)) || k == CrashAfter && !yield(base[:i+1].with(i, Fault{k, n + 1})) {
						return
					}
				}
			}
		}
	}
}

// daysBack is longer than the last host goes on: a wait that lasts as long is never settled.
const daysBack = 2 * int(mostRounds*time.Hour/time.Second)

// stands returns schedules in which a second host comes while the first one stands still.
func (e *exploring) stands(base Schedule, undisturbed *run) iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for i, t := range undisturbed.calls {
			if t == nil || len(base[i].Faults) > 0 {
				continue
			}
			var points []Fault
			for n := range t.calls {
				points = append(points, Fault{Stand, n + 1})
			}
			for n := 1; n <= len(t.marks); n += max(1, len(t.marks)/mostStands) {
				points = append(points, Fault{StandInTurn, n})
			}
			next := Action{Host: "b", Verb: Deliver, Arg: max(1, base[i].Arg)}
			if base[i].Host == "b" {
				next.Host = "a"
			}
			for _, f := range points {
				if !yield(base.with(i, f, next)) ||
					e.subject.Erases && !yield(base.with(i, f, Action{Host: next.Host, Verb: Erase, Arg: next.Arg}, Action{Host: base[i].Host, Verb: GoOn})) ||
					!yield(base.with(i, f, Action{Verb: Expire}, next)) ||
					!yield(base.with(i, f, Action{Verb: Expire}, Action{Host: next.Host, Verb: Resume}, Action{Host: base[i].Host, Verb: GoOn}, next)) {
					return
				}
			}
		}
	}
}

// mostStands is at about how many crossings of a call, evenly spread, a host stands still.
const mostStands = 6

// inTurns returns schedules with one fault at each crossing.
func (e *exploring) inTurns(base Schedule, undisturbed *run) iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for i, t := range undisturbed.calls {
			for n, m := range t.marks {
				for _, k := range m.faults() {
					if !yield(base.with(i, Fault{InTurn(k), n + 1})) {
						return
					}
				}
			}
		}
	}
}

// faults returns the kinds of faults that can be made at a crossing.
func (m mark) faults() []turn.FaultKind {
	all := []turn.FaultKind{turn.Cancel, turn.CancelAfter, turn.Crash}
	within := m.kind == adk.KindCall || m.kind == adk.KindReturn
	switch {
	case within && m.seam.Label == adk.LabelStorage && m.kind == adk.KindCall:
		all = append(all, turn.StorageBefore)
	case within && m.seam.Label == adk.LabelStorage:
		all = append(all, turn.StorageAfter)
	case within && m.isUsers():
		all = append(all, turn.Fail, turn.Panic)
	}
	return all
}

// isUsers reports whether the crossing is a call, or a return, of code of the agent that the run
// wraps.
func (m mark) isUsers() bool {
	switch m.seam.Label {
	case adk.LabelExecutor, adk.LabelTool:
		return true
	case adk.LabelTurnInput, adk.LabelTurnOutput, adk.LabelDispatchInput, adk.LabelDispatchOutput:
		return !strings.HasPrefix(m.seam.Name, ownPrefix)
	}
	return false
}

// ownPrefix is how the names of a host's own middlewares begin.
const ownPrefix = "session-"

// The weights of the verbs in random schedules. Their sum is 100.
var weights = []struct {
	verb   Verb
	weight int
}{{Deliver, 40}, {Resume, 14}, {ToSession, 7}, {ToTenant, 7}, {OtherPayload, 3}, {OtherChannel, 3}, {GoOn, 8}, {Expire, 5}, {Wait, 4}, {Back, 2}, {Erase, 2}, {Restart, 3}, {ToRelease, 2}}

// drawn returns random schedules, without end.
func (e *exploring) drawn() iter.Seq[Schedule] {
	return func(yield func(Schedule) bool) {
		for n := uint64(0); yield(e.draw(rand.New(rand.NewPCG(e.options.Seed, n)))); n++ {
			continue
		}
	}
}

// draw returns a random schedule.
func (e *exploring) draw(chance *rand.Rand) (s Schedule) {
	for range 2 + chance.IntN(max(1, e.options.Length-1)) {
		s = append(s, e.drawAction(chance))
	}
	return s
}

func (e *exploring) drawAction(chance *rand.Rand) Action {
	a := Action{Verb: Deliver}
	at := chance.IntN(100)
	for _, w := range weights {
		if at -= w.weight; at < 0 {
			a.Verb = w.verb
			break
		}
	}
	if a.Verb == Erase && !e.subject.Erases {
		a.Verb = Deliver
	}
	if a.Verb == ToRelease && e.releases == 1 {
		a.Verb = Restart
	}
	takes := verbs[a.Verb]
	if takes.host {
		a.Host = []string{"a", "b"}[chance.IntN(2)]
	}
	switch {
	case a.Verb == Back:
		a.Arg = []int{1, 30, 400, daysBack}[chance.IntN(4)]
	case a.Verb == Wait:
		a.Arg = []int{1, 2, 30, 400}[chance.IntN(4)]
	case a.Verb == ToRelease:
		a.Arg = 1 + chance.IntN(e.releases)
	case takes.number:
		a.Arg = 1 + chance.IntN(len(e.subject.Deliveries))
	}
	for takes.calls && chance.IntN(100) < 40 && len(a.Faults) < 2 {
		a.Faults = append(a.Faults, e.drawFault(chance))
	}
	return a
}

// mostDrawn is the largest number of a call for a random fault.
const mostDrawn = 18

func (e *exploring) drawFault(chance *rand.Rand) Fault {
	kinds := FaultKinds()
	f := Fault{Kind: kinds[chance.IntN(len(kinds))], At: 1 + chance.IntN(mostDrawn)}
	if chance.IntN(3) == 0 {
		f.Kind = Stand
	}
	if f.Kind == StandInTurn || isInTurn(f.Kind) {
		f.At = 1 + chance.IntN(max(1, e.crossing))
	}
	return f
}

package watchdog

import (
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/codeplace"
)

// Condition is what keeps a run from making progress.
type Condition uint8

// The conditions, from the one of which least is to be expected to the one that may
// end at any time.
const (
	// Locked is that every goroutine of the run waits for another one, at least one
	// for a lock, and none in a way that time could end.
	Locked Condition = iota + 1
	// Blocked is that every goroutine of the run waits for another one, as far as
	// can be seen: a channel may be that of a timer.
	Blocked
	// Waiting is that a goroutine sleeps, or waits for the system.
	Waiting
	// Running is that a goroutine runs, or could.
	Running
	// Unseen is that the look saw none.
	Unseen
)

// blockedStates are the runtime's words for goroutines that wait for another one,
// and whether a timer could take that one's place. That one waits for a semaphore
// (semacquire) is not among them: by these goroutines wait for the runtime itself, which
// a look keeps busy.
var blockedStates = map[string]bool{
	"chan receive": true, "select": true, "sync.Cond.Wait": true,
	"chan send": false, "sync.WaitGroup.Wait": false, "chan receive (nil chan)": false, "chan send (nil chan)": false, "select (no cases)": false,
	"sync.Mutex.Lock": false, "sync.RWMutex.Lock": false, "sync.RWMutex.RLock": false, "coroutine": false,
}

// runningStates are the words for those that run or could; there are others, of goroutines
// that wait for the runtime or for a bubble.
var runningStates = map[string]bool{"running": true, "runnable": true, "preempted": true}

// systemPackages are those in which a goroutine that waits for another one waits for
// the system.
var systemPackages = []string{"net.", "net/", "internal/poll.", "os.", "os/", "syscall.", "crypto/tls.", "database/sql.", "golang.org/x/net/", "google.golang.org/grpc"}

// conditionOf says what a goroutine is kept by. One that waits within the engine or
// at a scheduler waits for whatever the others wait for.
func conditionOf(g Goroutine) Condition {
	timed, blocked := blockedStates[g.State]
	switch {
	case g.State == "IO wait" && isIdle(g):
		return Locked
	case g.State == "sleep", g.State == "IO wait", g.State == "syscall":
		return Waiting
	case !blocked:
		return Running
	case g.isHeld():
		return Locked
	case g.waitsForSystem():
		if isIdle(g) {
			return Locked
		}
		return Waiting
	case timed, g.waitsForOnce():
		return Blocked
	}
	return Locked
}

// waitsForOnce reports whether the goroutine waits until something was made that is made
// once: by whoever asked first, who may be of another run and take a while.
func (g Goroutine) waitsForOnce() bool {
	return g.waitsIn(func(function string) bool { return function == "sync.(*Once).doSlow" })
}

// idleFunctions are those in which servers, connections and pools wait for somebody to ask. Who
// reads for a client is one of them: whoever waits for the answer is on a goroutine of its own.
var idleFunctions = []string{"net.(*TCPListener).Accept", "net.(*UnixListener).Accept", "net/http.(*persistConn).writeLoop", "net/http.(*persistConn).readLoop",
	"net/http.(*http2clientConnReadLoop).run", "golang.org/x/net/http2.(*clientConnReadLoop).run",
	"net/http.(*conn).readRequest", "net/http.(*connReader).backgroundRead", "net/http.(*http2serverConn).readFrames",
	"database/sql.(*DB).connectionOpener", "database/sql.(*DB).connectionCleaner", "database/sql.(*Tx).awaitDone", "database/sql.(*Rows).awaitDone", "net/http/httptest.(*Server)", "os/signal."}

// Where a connection that is kept alive waits for the next request: in serve the first calls
// the second itself, and not by way of a handler.
const (
	serverLooks    = "bufio.(*Reader).Peek"
	serverConnects = "net/http.(*conn).serve"
)

func isIdle(g Goroutine) bool {
	for i, f := range g.Stack[:max(0, len(g.Stack)-1)] {
		if f.Function == serverLooks && g.Stack[i+1].Function == serverConnects {
			return true
		}
	}
	return slices.ContainsFunc(g.Stack, func(f Frame) bool {
		return slices.ContainsFunc(idleFunctions, func(idle string) bool { return strings.HasPrefix(f.Function, idle) })
	})
}

// isHeld reports whether the goroutine waits in the engine or at its scheduler.
func (g Goroutine) isHeld() bool { return g.waitsIn(isOurs) }

// poolOfConnections is where one waits for a connection that another goroutine has.
const poolOfConnections = "database/sql.(*DB).conn"

func (g Goroutine) waitsForSystem() bool {
	return g.waitsIn(func(function string) bool {
		return function != poolOfConnections && slices.ContainsFunc(systemPackages, func(p string) bool { return strings.HasPrefix(function, p) })
	})
}

// waitsIn reports whether the goroutine waits in such a function: one of those by which
// goroutines wait, or the one that has called them.
func (g Goroutine) waitsIn(such func(function string) bool) bool {
	for _, f := range g.Stack {
		if such(f.Function) {
			return true
		}
		if !isRuntime(f.Function) {
			return false
		}
	}
	return false
}

// isRuntime reports whether a function is one by which goroutines wait.
func isRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.") ||
		strings.HasPrefix(function, "context.") || strings.HasPrefix(function, "time.")
}

// module is what the functions of this project begin with.
const module = "github.com/adkreplay/adkreplay/"

// isOurs reports whether a function is the engine's, or belongs to what runs turns.
func isOurs(function string) bool {
	rest, ours := strings.CutPrefix(function, module)
	return ours && slices.ContainsFunc([]string{"adk.", "adk/session.", "fakes.", "replay.", "replay/internal/bycause.", "property/explore.",
		"property/internal/guarded.", "property/sessions.", "property/turn.", "internal/watchdog.Settle"},
		func(room string) bool { return strings.HasPrefix(rest, room) })
}

// Patience with runs of which no progress comes. What ends a wait by a lock is another
// goroutine, and nothing else; a channel can be that of a timer, and the system can
// take its time.
const (
	// Often is how often to visit a run, and Eagerly how often one whose like has been
	// found blocked before.
	Often   = 5 * time.Millisecond
	Eagerly = 200 * time.Microsecond
	// Usual is the patience with a run that may be at work.
	Usual = 2 * time.Second

	rarestLook     = 50 * time.Millisecond
	timePatience   = 20 * time.Millisecond // before time moves for a run whose strand is blocked
	lockPatience   = 60 * time.Millisecond
	knownPatience  = 25 * time.Millisecond
	systemPatience = 10 * time.Second
	// Bubbled is the patience with those of a bubble whom a timer may wake: nobody lives
	// through its time, which moves to the first timer.
	Bubbled = 24 * time.Hour

	// patienceOfSleepers is how many times as long those may take who also sleep.
	patienceOfSleepers = 4

	// leastLooks is how many looks in a row see a run at work before it is said to be
	// stuck in that: where the machine is busy time passes, and nobody gets to run. For the
	// same reason the process has to have had as much of the processors as there is patience.
	leastLooks = 8
)

// Action is what is to be done about a run. Those that are of no use are followed by
// the next.
type Action uint8

// The actions.
const (
	Nothing Action = iota
	// PassOn is to take the turn from the strand that has it, which is blocked outside
	// the engine.
	PassOn
	// MoveTime is to let virtual time move although a strand is blocked.
	MoveTime
	// Cancel is to cancel the run.
	Cancel
	// Deadlock is to give the run up: every goroutine of it waits for another one.
	Deadlock
	// Hang is to give the run up: it neither goes on nor comes to its end.
	Hang
)

// Finding is what a visit has found.
type Finding struct {
	Action Action
	// Silence is how long there was no progress.
	Silence time.Duration
	// Condition is what the last look at the run has found; zero before there was one.
	Condition Condition
	// AtWork says that many looks in a row have seen it at work, and nothing else, and that
	// it could be: the process had processors.
	AtWork bool
	// Goroutines are those of the run, if it is to be given up, and Outside those of them that wait
	// outside the engine, and for more than that somebody asks.
	Goroutines, Outside []Goroutine
}

// Dog watches one run after another. The zero Dog has seen nothing and has the usual
// patience.
type Dog struct {
	// Patience is that with a run that may be at work; zero is Usual.
	Patience time.Duration
	// Eager says that runs of this kind have been found blocked before.
	Eager bool
	// Known says how far patience went with goroutines that did this; nil forgets it
	// from run to run.
	Known map[string]Action
	// Beside reports whether another run is under way that may have what this one waits
	// for: one that has not ended since this one made its last progress. It may be nil.
	Beside func() bool

	progress  int64
	rarely    bool          // it is visited as watchedNext says
	visited   time.Time     // the last time, by whoever visits
	missed    time.Duration // of the time since then that is not the dog's
	since     time.Time     // the progress is what it is
	next      time.Time     // when to look again
	pause     time.Duration
	condition Condition
	bubbled   bool           // the run lives in a bubble
	running   time.Time      // every look has seen it at work since; zero where the last did not
	had       time.Duration  // what the process had had of the processors then
	looks     int            // that have seen it at work since then
	worked    int            // looks that have seen it at work at all
	hadFirst  time.Duration  // what the process had had at the first of those
	looked    uint64         // a sum of what the last look saw; zero where it saw the run at work
	same      time.Time      // looks see the same since
	sights    int            // looks that have seen the same
	beside    map[int]string // where others were at the last look who may have what the run waits for
	crowd     Condition      // what such ones did that were there in looks that see the same
	crowded   time.Time      // when a look saw one last
	done      Action         // about this silence

	used func() time.Duration // what the process has had of the processors; nil asks the system
}

// Forget makes the dog see the next visit as that of another run.
func (d *Dog) Forget() { d.since, d.condition = time.Time{}, 0 }

// IsBlocked reports whether the last look at the run has seen that all of it waits for
// others.
func (d *Dog) IsBlocked() bool { return d.condition == Locked || d.condition == Blocked }

// Visit is to be called often. Progress changes whenever the run makes any, and from
// run to run; the labels are those of the run's goroutines. Where it is not called for long
// the process has had no core, and nobody in it has done anything: much time between two
// visits counts as little.
func (d *Dog) Visit(progress int64, now time.Time, labels ...Label) Finding {
	if progress != d.progress || d.since.IsZero() {
		often := Often
		if d.Eager {
			often = Eagerly
		}
		*d = Dog{Patience: d.Patience, Eager: d.Eager, Known: d.Known, Beside: d.Beside, used: d.used, progress: progress,
			rarely: d.rarely, visited: now, since: now, next: now.Add(often), pause: often}
	}
	now = d.attended(now)
	f := Finding{Silence: now.Sub(d.since), Condition: d.condition, AtWork: d.isAtWork()}
	if now.Before(d.next) {
		return f
	}
	d.next = now.Add(d.pause)
	d.pause = min(2*d.pause, rarestLook)
	condition, all, outside := d.look(now, labels...)
	f.Goroutines, f.Outside, f.Condition, d.condition = all, outside, condition, condition
	switch {
	case condition != Running:
		d.running, d.looks = time.Time{}, 0
	case d.running.IsZero():
		d.running, d.had = now, d.processors()
		fallthrough
	default:
		if d.looks++; d.worked == 0 {
			d.hadFirst = d.had
		}
		d.worked++
	}
	f.AtWork = d.isAtWork()
	switch condition {
	case Running:
		// What sleeps and does a little between may be seen at work, above all where the
		// machine is busy: it gets more patience than what never sleeps.
		stuck := f.AtWork && now.Sub(d.running) >= d.patience()
		f.Action = d.when(stuck || d.isRestless() && f.Silence >= patienceOfSleepers*d.patience(), Hang)
	case Waiting, Unseen:
		switch most := max(systemPatience, d.patience()); {
		case f.Silence >= most && d.done < Cancel: // its caller would not wait for ever
			d.done, f.Action = Cancel, Cancel
		case f.Silence >= most+d.patience():
			f.Action = Hang
		}
	default:
		f.Action = d.blocked(condition, strings.Join(described(outside, false), "\n"), now) // however many: some may be left from runs before
	}
	return f
}

// longestGap is the most of the time between two visits that counts: what visits have that
// are a little late.
const longestGap = 2 * Often

// attended is a time by the dog's clock, which goes on while the run is visited.
func (d *Dog) attended(now time.Time) time.Time {
	gap := longestGap
	if d.rarely {
		gap = max(gap, 2*watchedNext(d.visited.Sub(d.since)-d.missed))
	}
	d.missed += max(0, now.Sub(d.visited)-gap)
	d.visited = now
	return now.Add(-d.missed)
}

// isAtWork reports whether many looks in a row have seen the run at work, while the process
// had processors to work on.
func (d *Dog) isAtWork() bool {
	return d.looks >= leastLooks && d.processors()-d.had >= d.patience()
}

// isRestless reports whether many looks have seen the run at work, though not all in a row,
// while the process had processors to work on.
func (d *Dog) isRestless() bool {
	return d.worked >= patienceOfSleepers*leastLooks && d.worked > d.looks && d.processors()-d.hadFirst >= d.patience()/patienceOfSleepers
}

// processors is what the process has had of the processors.
func (d *Dog) processors() time.Duration {
	if d.used != nil {
		return d.used()
	}
	return processorTime()
}

func (d *Dog) when(enough bool, action Action) Action {
	if !enough {
		return Nothing
	}
	return action
}

func (d *Dog) patience() time.Duration {
	switch {
	case d.bubbled:
		return Bubbled
	case d.Patience == 0:
		return Usual
	}
	return d.Patience
}

// seed is that of the sums of what looks see.
var seed = maphash.MakeSeed()

// look looks at a run that made no progress. Only what two looks see is so.
func (d *Dog) look(now time.Time, labels ...Label) (condition Condition, all, outside []Goroutine) {
	all, others := apart(labels)
	condition = Locked
	var saw maphash.Hash
	saw.SetSeed(seed)
	for _, g := range all {
		condition = max(condition, conditionOf(g))
		d.bubbled = d.bubbled || g.Bubbled
		if !g.isHeld() && !isIdle(g) {
			outside = append(outside, g)
		}
		_, _ = saw.WriteString(strconv.Itoa(g.ID) + g.State + g.Key())
	}
	if len(all) == 0 { // it has not begun, or has ended a moment ago
		condition = Unseen
	}
	looked := saw.Sum64()
	if condition >= Running {
		looked = 0
	}
	d.sights++
	if looked != d.looked || looked == 0 {
		d.looked, d.same, d.sights, d.crowd = looked, now, 0, 0
	}
	crowd := d.crowdOf(others)
	if d.Beside != nil && d.Beside() {
		crowd = Running
	}
	if crowd > 0 {
		d.crowded, d.crowd = now, max(d.crowd, crowd)
	}
	return condition, all, outside
}

// crowdOf is what goroutines of user code do outside the run of which one may have what the
// run waits for, and go on: it runs, could, sleeps or waits for the system, and did so at the
// last look. One of another run has to be where that has seen it, since it gets no core, or
// takes its time: it goes from run to run, and one that has ended would have given this one
// its turn, as a lock goes to who has waited for a millisecond.
func (d *Dog) crowdOf(others []Goroutine) (crowd Condition) {
	before := d.beside
	d.beside = nil
	for _, g := range others {
		doing := conditionOf(g)
		if doing < Waiting || doing == Running && !runningStates[g.State] || g.userCalls() == "" {
			continue
		}
		where := ""
		if g.run != "" {
			where = g.Key()
		}
		if d.beside == nil {
			d.beside = map[int]string{}
		}
		d.beside[g.ID] = where
		if last, was := before[g.ID]; was && last == where {
			crowd = max(crowd, doing)
		}
	}
	return crowd
}

// blocked decides about a run whose goroutines do the same for some time. Where somebody
// else may have what they wait for it takes much time, and many looks: that it passes
// gives nobody a core.
func (d *Dog) blocked(condition Condition, doing string, now time.Time) Action {
	same, alone := now.Sub(d.same), now.Sub(d.same)
	if same == 0 {
		return Nothing
	}
	if d.crowd > 0 {
		alone = now.Sub(d.crowded)
	}
	enough, crowded := d.patience(), d.patience()
	if d.crowd == Running && d.Known[doing] <= d.done {
		crowded *= patienceOfSleepers
	}
	passed := func(patience, extra time.Duration) bool {
		return alone >= patience+extra || same >= crowded+extra && d.sights >= patienceOfSleepers*leastLooks
	}
	switch {
	case d.Known[doing] > d.done:
		enough = knownPatience
	case condition == Locked:
		enough = min(enough, lockPatience)
	}
	switch {
	case d.done == Nothing:
	case d.done == PassOn && passed(min(timePatience, enough), 0):
	case d.done == MoveTime && passed(enough, 0):
	case d.done == Cancel && passed(enough, enough/4):
	default:
		return Nothing
	}
	d.done++
	if d.done >= Cancel && d.Known != nil {
		d.Known[doing] = max(d.Known[doing], d.done)
	}
	return d.done
}

// The pauses between two looks of Settle.
const (
	firstPause   = 20 * time.Microsecond
	longestPause = time.Millisecond
)

// Settle waits until no goroutine with one of the labels runs any more, but for the
// present one, and no longer than limit. Where the machine is busy a pause takes long, and
// who was woken gets no core meanwhile: much time between two looks counts as little.
func Settle(limit time.Duration, labels ...Label) {
	pause, looked := firstPause, time.Now()
	for waited := time.Duration(0); waited < limit; pause = min(2*pause, longestPause) {
		time.Sleep(pause) // who was woken a moment ago runs: to look at once is to look twice
		now := time.Now()
		waited, looked = waited+min(now.Sub(looked), 2*pause), now
		if !slices.ContainsFunc(Of(labels...), Goroutine.isToSettle) {
			return
		}
	}
}

// isToSettle reports whether a goroutine runs, or could, and is to come to rest. One that waits
// in Settle itself is at rest but for its looks: two would wait for each other.
func (g Goroutine) isToSettle() bool {
	return conditionOf(g) == Running && !slices.ContainsFunc(g.Stack, func(f Frame) bool { return f.Function == module+"internal/watchdog.Settle" })
}

// Describe says in a line each what goroutines do, where in user code, and how they
// came there. Those that do the same are one; of the engine's own, which wait for the
// others, it says nothing, nor of servers and connections that nobody asks, beside others.
func Describe(all []Goroutine) string { return strings.Join(described(all, true), "\n") }

// described are the lines of Describe, with how many goroutines each is of, or without.
func described(all []Goroutine, counted bool) (lines []string) {
	counts := map[string]int{}
	onlyIdle := !slices.ContainsFunc(all, func(g Goroutine) bool { return !g.isHeld() && !isIdle(g) })
	for _, g := range all {
		if (g.isHeld() || isIdle(g) && !onlyIdle) && g.userCalls() == "" {
			continue
		}
		line := g.String()
		if counts[line]++; counts[line] == 1 {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		if n := counts[line]; n > 1 && counted {
			lines[i] = fmt.Sprintf("%s (%d of them)", line, n)
		}
	}
	slices.Sort(lines)
	return lines
}

// mostFrames is how many calls of user code String names.
const mostFrames = 3

// String says what the goroutine does and where in user code, the innermost call
// first.
func (g Goroutine) String() string {
	where := g.Where()
	if where == "" && len(g.Stack) > 0 {
		where = g.Stack[len(g.Stack)-1].String()
	}
	return g.doing() + " in " + where
}

// doing is what the goroutine does: where it waits in the engine, for what user code
// asked it.
func (g Goroutine) doing() string {
	if !g.isHeld() {
		return g.State
	}
	asked := ""
	for _, f := range g.Stack {
		if isOurs(f.Function) {
			asked = f.name()
		} else if asked != "" {
			break
		}
	}
	return asked
}

// Where says where in user code the goroutine is, the innermost call first. Where there is
// none on its stack it is a library's, and the line of user code is named from which it
// comes; empty where nobody knows that, and where it is the engine's.
func (g Goroutine) Where() string {
	if g.starter == "" { // as it is where nobody needs it
		return g.userCalls()
	}
	return "a goroutine of " + g.library() + ", started by " + g.starter
}

// Innermost says in which call the goroutine is, and where that is none of user code, by which
// of these it was made. The stack is not empty.
func (g Goroutine) Innermost() string {
	at := g.Stack[0]
	users := slices.IndexFunc(g.Stack, Frame.isUsers)
	if users <= 0 {
		return at.String()
	}
	return at.String() + ", called by " + g.Stack[users].String()
}

// IsInUserCode reports whether user code is on the goroutine's stack.
func (g Goroutine) IsInUserCode() bool { return slices.ContainsFunc(g.Stack, Frame.isUsers) }

// userCalls are the innermost calls of user code on the goroutine's stack.
func (g Goroutine) userCalls() string {
	var calls []string
	for _, f := range g.Stack {
		if f.isUsers() && len(calls) < mostFrames {
			calls = append(calls, f.String())
		}
	}
	return strings.Join(calls, ", called by ")
}

// library is the package of the function that the goroutine was started with.
func (g Goroutine) library() string {
	function := g.Stack[len(g.Stack)-1].Function
	at := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[at:], ".")
	return function[:at] + name
}

// isUsers reports whether a call is one of user code, and not of a library: the standard
// one, this project's, or one that the go command fetched or that was copied to vendor.
func (f Frame) isUsers() bool {
	return !isStandard(f.Function, ownModule()) && !f.isProjects() && !strings.Contains(f.Place, "/pkg/mod/") &&
		!strings.Contains(f.Place, "/vendor/") && !strings.Contains(f.Place, "@v") // by which -trimpath names modules
}

// agents are the rooms of this project that stand for user code.
var agents = []string{"example/", "scenarios.", "internal/livetest.", "internal/turntest."}

// isProjects reports whether a call is one of this project as a library: its tests and
// examples use it.
func (f Frame) isProjects() bool {
	rest, ours := strings.CutPrefix(f.Function, module)
	return ours && !strings.Contains(f.Place, "_test.go:") &&
		!slices.ContainsFunc(agents, func(room string) bool { return strings.HasPrefix(rest, room) })
}

// String is the function, without the path of its package, and where it stands in its module.
func (f Frame) String() string {
	if p := codeplace.OfCall(f.Function, f.Place); p.Line > 0 {
		return fmt.Sprintf("%s at %s:%d", f.name(), p.File, p.Line)
	}
	return f.name() + " at " + f.Place
}

func (f Frame) name() string { return f.Function[strings.LastIndex(f.Function, "/")+1:] }

// ownModule is the module of the program, or of the test; empty where nobody knows.
var ownModule = sync.OnceValue(func() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return ""
	}
	return info.Main.Path
})

// isStandard reports whether a function is the standard library's: the first part of
// its package's path has no dot, and is not that of the program's own module, which need not
// have one.
func isStandard(function, own string) bool {
	path := function
	if slash := strings.LastIndex(function, "/"); slash >= 0 {
		path = function[:slash]
	} else {
		path, _, _ = strings.Cut(function, ".")
	}
	first, _, _ := strings.Cut(path, "/")
	own, _, _ = strings.Cut(own, "/")
	return !strings.Contains(first, ".") && first != "main" && (own == "" || strings.TrimSuffix(first, "_test") != own)
}

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

// Condition says why a run makes no progress.
type Condition uint8

// The conditions, in order from the one that is least likely to end by itself.
const (
	// Locked means that every goroutine of the run waits for another one, at least one of them for
	// a lock, and that none waits in a way that time could end.
	Locked Condition = iota + 1
	// Blocked means that every goroutine of the run waits for another one, as far as can be seen: a
	// channel may belong to a timer.
	Blocked
	// Waiting means that a goroutine sleeps, or waits for the system.
	Waiting
	// Running means that a goroutine runs, or could run.
	Running
	// Unseen means that the run has no goroutine.
	Unseen
)

// blockedStates are the runtime's names for goroutines that wait for another one, and whether a
// timer could be what they wait for. A wait for a semaphore (semacquire) is not among them:
// goroutines in that state wait for the runtime itself, which a snapshot keeps busy.
var blockedStates = map[string]bool{
	"chan receive": true, "select": true, "sync.Cond.Wait": true,
	"chan send": false, "sync.WaitGroup.Wait": false, "chan receive (nil chan)": false, "chan send (nil chan)": false, "select (no cases)": false,
	"sync.Mutex.Lock": false, "sync.RWMutex.Lock": false, "sync.RWMutex.RLock": false, "coroutine": false,
}

// runningStates are the runtime's names for goroutines that run or could run. There are further
// names for goroutines that wait for the runtime or for a bubble.
var runningStates = map[string]bool{"running": true, "runnable": true, "preempted": true}

// systemPackages are the packages in which a goroutine that waits for another one really waits for
// the system.
var systemPackages = []string{"net.", "net/", "internal/poll.", "os.", "os/", "syscall.", "crypto/tls.", "database/sql.", "golang.org/x/net/", "google.golang.org/grpc"}

// conditionOf returns what a goroutine waits for. A goroutine that waits in the engine or at a
// scheduler waits for whatever the others wait for.
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

// waitsForOnce reports whether the goroutine waits for a sync.Once. The first caller does the work;
// it may belong to another run and take a while.
func (g Goroutine) waitsForOnce() bool {
	return g.waitsIn(func(function string) bool { return function == "sync.(*Once).doSlow" })
}

// idleFunctions are the functions in which servers, connections and pools wait for work. A client's
// reader is one of them: the code that waits for the answer is on another goroutine.
var idleFunctions = []string{"net.(*TCPListener).Accept", "net.(*UnixListener).Accept", "net/http.(*persistConn).writeLoop", "net/http.(*persistConn).readLoop",
	"net/http.(*http2clientConnReadLoop).run", "golang.org/x/net/http2.(*clientConnReadLoop).run",
	"net/http.(*conn).readRequest", "net/http.(*connReader).backgroundRead", "net/http.(*http2serverConn).readFrames",
	"database/sql.(*DB).connectionOpener", "database/sql.(*DB).connectionCleaner", "database/sql.(*Tx).awaitDone", "database/sql.(*Rows).awaitDone", "net/http/httptest.(*Server)", "os/signal."}

// A kept-alive connection waits for its next request where conn.serve calls Peek directly, and not
// through a handler.
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

// poolOfConnections is the function in which code waits for a connection that another goroutine
// uses.
const poolOfConnections = "database/sql.(*DB).conn"

func (g Goroutine) waitsForSystem() bool {
	return g.waitsIn(func(function string) bool {
		return function != poolOfConnections && slices.ContainsFunc(systemPackages, func(p string) bool { return strings.HasPrefix(function, p) })
	})
}

// waitsIn reports whether the goroutine waits in a function for which such returns true: either a
// function by which goroutines wait, or the one that called it.
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

// module is the prefix of the functions of this project.
const module = "github.com/adkreplay/adkreplay/"

// isOurs reports whether a function belongs to the engine or to the code that runs turns.
func isOurs(function string) bool {
	rest, ours := strings.CutPrefix(function, module)
	return ours && slices.ContainsFunc([]string{"adk.", "adk/session.", "fakes.", "replay.", "replay/internal/bycause.", "property/explore.",
		"property/internal/guarded.", "property/sessions.", "property/turn.", "internal/watchdog.Settle"},
		func(room string) bool { return strings.HasPrefix(rest, room) })
}

// The patience with runs that make no progress. Only another goroutine can end a wait for a lock; a
// channel may belong to a timer, and the system can take its time.
const (
	// Often is the interval between visits to a run, and Eagerly the interval if a similar run was
	// found blocked before.
	Often   = 5 * time.Millisecond
	Eagerly = 200 * time.Microsecond
	// Usual is the patience with a run that may be working.
	Usual = 2 * time.Second

	rarestLook     = 50 * time.Millisecond
	timePatience   = 20 * time.Millisecond // before time moves for a run whose strand is blocked
	lockPatience   = 60 * time.Millisecond
	knownPatience  = 25 * time.Millisecond
	systemPatience = 10 * time.Second
	// Bubbled is the patience with goroutines in a bubble that a timer may wake. The time of a
	// bubble jumps to the next timer, so waiting costs nothing.
	Bubbled = 24 * time.Hour

	// patienceOfSleepers is the factor by which the patience is larger for runs that also sleep.
	patienceOfSleepers = 4

	// leastLooks is how many looks in a row must see a run at work before it counts as stuck. On a
	// busy machine time passes although the run does not get to run. For the same reason, the
	// process must also have used as much processor time as the patience.
	leastLooks = 8
)

// Action is what the visitor should do about a run. If an action does not help, a later visit
// returns the next one.
type Action uint8

// The actions.
const (
	Nothing Action = iota
	// PassOn means to take the turn from the strand that has it, because that strand is blocked
	// outside the engine.
	PassOn
	// MoveTime means to let virtual time advance although a strand is blocked.
	MoveTime
	// Cancel means to cancel the run.
	Cancel
	// Deadlock means to give up the run because all its goroutines wait for each other.
	Deadlock
	// Hang means to give up the run because it neither makes progress nor ends.
	Hang
)

// Finding is the result of a visit.
type Finding struct {
	Action Action
	// Silence is how long there was no progress.
	Silence time.Duration
	// Condition is what the last look at the run found; it is zero before the first look.
	Condition Condition
	// AtWork says that many looks in a row have seen the run running, and that the process had
	// processor time, so that it could run.
	AtWork bool
	// Goroutines are the goroutines of the run, if this visit looked at them. Outside are those of
	// them that wait outside the engine and are not idle servers or connections.
	Goroutines, Outside []Goroutine
}

// Dog watches one run after another. The zero Dog has seen nothing and has the usual patience.
type Dog struct {
	// Patience is the patience with a run that may be working; zero means Usual.
	Patience time.Duration
	// Eager says that runs of this kind have been found blocked before.
	Eager bool
	// Known holds how far the actions went with goroutines that did the same, by their description.
	// A nil map remembers nothing from run to run.
	Known map[string]Action
	// Beside reports whether another run is in progress that may hold what this run waits for: one
	// that has not ended since this run made its last progress. It may be nil.
	Beside func() bool

	progress  int64
	rarely    bool          // it is visited at the intervals of watchedNext
	visited   time.Time     // the time of the last visit
	missed    time.Duration // the part of the time since then that does not count
	since     time.Time     // when the progress last changed
	next      time.Time     // when to look again
	pause     time.Duration
	condition Condition
	bubbled   bool           // the run is in a bubble
	running   time.Time      // every look since then has seen it running; zero if the last one did not
	had       time.Duration  // the processor time of the process at running
	looks     int            // how many looks have seen it running since then
	worked    int            // how many looks have seen it running at all
	hadFirst  time.Duration  // the processor time of the process at the first of those
	looked    uint64         // a hash of what the last look saw; zero if the run was running
	same      time.Time      // looks have seen the same since then
	sights    int            // how many looks have seen the same
	beside    map[int]string // where other goroutines were at the last look that may hold what the run waits for
	crowd     Condition      // the highest condition of such goroutines while looks see the same
	crowded   time.Time      // when a look last saw one
	done      Action         // what was done about this silence

	used func() time.Duration // the processor time of the process; nil asks the system
}

// Forget makes the dog treat the next visit as one of another run.
func (d *Dog) Forget() { d.since, d.condition = time.Time{}, 0 }

// IsBlocked reports whether the last look at the run found that all its goroutines wait for others.
func (d *Dog) IsBlocked() bool { return d.condition == Locked || d.condition == Blocked }

// Visit must be called often. progress must change whenever the run makes progress, and between
// runs; labels are those of the run's goroutines. If Visit is not called for a long time, the
// process had no processor and nothing in it has run, so a long time between two visits counts as a
// short one.
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
		// A run that sleeps and does a little in between may be seen running, especially on a busy
		// machine. It gets more patience than a run that never sleeps.
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
		f.Action = d.blocked(condition, strings.Join(described(outside, false), "\n"), now) // without counts: some goroutines may be left from earlier runs
	}
	return f
}

// longestGap is how much of the time between two visits counts: enough for visits that are slightly
// late.
const longestGap = 2 * Often

// attended converts a time to the dog's clock, which advances only while the run is visited.
func (d *Dog) attended(now time.Time) time.Time {
	gap := longestGap
	if d.rarely {
		gap = max(gap, 2*watchedNext(d.visited.Sub(d.since)-d.missed))
	}
	d.missed += max(0, now.Sub(d.visited)-gap)
	d.visited = now
	return now.Add(-d.missed)
}

// isAtWork reports whether many looks in a row have seen the run running while the process had
// processor time.
func (d *Dog) isAtWork() bool {
	return d.looks >= leastLooks && d.processors()-d.had >= d.patience()
}

// isRestless reports whether many looks have seen the run running, though not all in a row, while
// the process had processor time.
func (d *Dog) isRestless() bool {
	return d.worked >= patienceOfSleepers*leastLooks && d.worked > d.looks && d.processors()-d.hadFirst >= d.patience()/patienceOfSleepers
}

// processors returns the processor time of the process.
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

// seed is the seed of the hashes of what looks see.
var seed = maphash.MakeSeed()

// look takes a snapshot of a run that made no progress. One look proves nothing; the caller relies
// on what several looks see.
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
	if len(all) == 0 { // it has not begun, or has just ended
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

// crowdOf returns the highest condition of goroutines of user code outside the run that may hold
// what the run waits for and may go on: they run, could run, sleep or wait for the system, and did
// so at the last look, too. A goroutine of another run counts only if it is still at the same
// place, because it gets no processor or takes its time. One that has moved goes from run to run;
// had it held a lock, it would have passed the lock on, since a mutex goes to a waiter of more than
// a millisecond.
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

// blocked decides about a run whose goroutines have done the same for some time. If goroutines
// outside the run may hold what it waits for, the decision takes more time and many looks, since
// the passing of time does not mean that those got to run.
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

// Settle waits until no goroutine with one of the labels is running, except for the current one,
// but no longer than limit. On a busy machine a pause takes long and a goroutine that was woken
// does not get to run, so a long time between two looks counts as a short one.
func Settle(limit time.Duration, labels ...Label) {
	pause, looked := firstPause, time.Now()
	for waited := time.Duration(0); waited < limit; pause = min(2*pause, longestPause) {
		time.Sleep(pause) // goroutines that were just woken are still running
		now := time.Now()
		waited, looked = waited+min(now.Sub(looked), 2*pause), now
		if !slices.ContainsFunc(Of(labels...), Goroutine.isToSettle) {
			return
		}
	}
}

// isToSettle reports whether a goroutine runs, or could run, so that Settle must wait for it. A
// goroutine in Settle itself counts as settled; otherwise two of them would wait for each other.
func (g Goroutine) isToSettle() bool {
	return conditionOf(g) == Running && !slices.ContainsFunc(g.Stack, func(f Frame) bool { return f.Function == module+"internal/watchdog.Settle" })
}

// Describe describes in lines what goroutines do, where in user code, and how they came there.
// Goroutines that do the same share a line. It leaves out the engine's own goroutines, which wait
// for the others, and idle servers and connections unless there is nothing else.
func Describe(all []Goroutine) string { return strings.Join(described(all, true), "\n") }

// described returns the lines of Describe, with or without the number of goroutines of each.
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

// String says what the goroutine does and where in user code, the innermost call first.
func (g Goroutine) String() string {
	where := g.Where()
	if where == "" && len(g.Stack) > 0 {
		where = g.Stack[len(g.Stack)-1].String()
	}
	return g.doing() + " in " + where
}

// doing returns what the goroutine does. If it waits in the engine, that is the function of the
// engine that user code called.
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

// Where says where in user code the goroutine is, the innermost call first. If its stack has no
// user code, Where names the library and the line of user code that started the goroutine. It
// returns "" if that is not known and for the engine's own goroutines.
func (g Goroutine) Where() string {
	if g.starter == "" { // also if it is not needed
		return g.userCalls()
	}
	return "a goroutine of " + g.library() + ", started by " + g.starter
}

// Innermost returns the innermost call of the goroutine and, if that is not user code, the
// innermost call of user code. The stack must not be empty.
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

// userCalls returns the innermost calls of user code on the goroutine's stack.
func (g Goroutine) userCalls() string {
	var calls []string
	for _, f := range g.Stack {
		if f.isUsers() && len(calls) < mostFrames {
			calls = append(calls, f.String())
		}
	}
	return strings.Join(calls, ", called by ")
}

// library returns the package of the function that the goroutine was started with.
func (g Goroutine) library() string {
	function := g.Stack[len(g.Stack)-1].Function
	at := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[at:], ".")
	return function[:at] + name
}

// isUsers reports whether a call is in user code, and not in a library: the standard library, this
// project, or a module that was fetched or copied to vendor.
func (f Frame) isUsers() bool {
	return !isStandard(f.Function, ownModule()) && !f.isProjects() && !strings.Contains(f.Place, "/pkg/mod/") &&
		!strings.Contains(f.Place, "/vendor/") && !strings.Contains(f.Place, "@v") // with -trimpath, places of modules contain @v
}

// agents are the packages of this project that stand for user code.
var agents = []string{"example/", "scenarios.", "internal/livetest.", "internal/turntest."}

// isProjects reports whether a call is in this project as a library. Its tests and examples are
// users of the library.
func (f Frame) isProjects() bool {
	rest, ours := strings.CutPrefix(f.Function, module)
	return ours && !strings.Contains(f.Place, "_test.go:") &&
		!slices.ContainsFunc(agents, func(room string) bool { return strings.HasPrefix(rest, room) })
}

// String returns the function, without the path of its package, and its place in its module.
func (f Frame) String() string {
	if p := codeplace.OfCall(f.Function, f.Place); p.Line > 0 {
		return fmt.Sprintf("%s at %s:%d", f.name(), p.File, p.Line)
	}
	return f.name() + " at " + f.Place
}

func (f Frame) name() string { return f.Function[strings.LastIndex(f.Function, "/")+1:] }

// ownModule returns the module of the program or of the test, or "" if it is not known.
var ownModule = sync.OnceValue(func() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return ""
	}
	return info.Main.Path
})

// isStandard reports whether a function belongs to the standard library: the first part of its
// package's path has no dot and is not the first part of the program's own module, which need not
// have a dot.
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

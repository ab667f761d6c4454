package watchdog

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/internal/codeplace"
)

// Frame is one call in a stack trace: the function, and its file and line.
type Frame struct{ Function, Place string }

// Goroutine is what one goroutine is doing.
type Goroutine struct {
	// ID is the runtime's number of it; zero where nobody knows.
	ID int
	// State is the runtime's word for it, such as select; empty where nobody knows.
	State string
	// Bubbled is that it lives in a testing/synctest bubble, whose time is made up.
	Bubbled bool
	// Stack has the innermost call first.
	Stack []Frame
	// Origin is where it was started; empty where nobody knows.
	Origin Frame

	parent  int    // who started it
	run     string // the number of the run whose label it has; empty for none
	starter string // the call of user code that it comes from, where it has none itself
}

// keyFrames is how many calls Key looks at: a trace has not all of a deep stack.
const keyFrames = 32

// Key tells stacks apart, by their innermost calls.
func (g Goroutine) Key() string {
	var text strings.Builder
	for _, f := range g.Stack[:min(keyFrames, len(g.Stack))] {
		if !strings.HasPrefix(f.Function, "runtime.") && f.Function != "panic" { // who has woken a moment ago is where it was
			text.WriteString(f.Place + "\n")
		}
	}
	return text.String()
}

// labelKey is the key of the label that the goroutines of a run have, and whatKey that of what the
// run is for.
const (
	labelKey = "adkreplay-run"
	whatKey  = "adkreplay-schedule"
)

var labels atomic.Int64

// Label tells the goroutines of one run from all others.
type Label struct {
	context context.Context
	run     string // its number
}

// NewLabel makes a label that nobody has.
func NewLabel() Label {
	run := strconv.FormatInt(labels.Add(1), 10)
	return Label{pprof.WithLabels(context.Background(), pprof.Labels(labelKey, run)), run}
}

// Set gives the label to the present goroutine, and to all that it starts from here
// on.
func (l Label) Set() { pprof.SetGoroutineLabels(l.context) }

// SetFor is Set, and says what the run is for, where that is not empty: a panic that ends the program
// has it in the heading of its goroutine.
func (l Label) SetFor(what string) {
	if what == "" {
		l.Set()
		return
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(l.context, pprof.Labels(whatKey, what)))
}

// roots are the goroutines that began runs, by their numbers, with the numbers of the runs.
var roots sync.Map

// Begin gives the label to the present goroutine, as the one that the run begins with.
// End is to be called when it ends.
func (l Label) Begin() (end func()) {
	l.Set()
	id := ID()
	roots.Store(id, l.run)
	return func() { roots.Delete(id) }
}

// lost are the numbers of the runs that were given up.
var lost sync.Map

// Lose says that the run is given up: what its goroutines have nobody else will get.
func (l Label) Lose() { lost.Store(l.run, true) }

func isLost(run string) bool {
	_, ok := lost.Load(run)
	return ok
}

// Group is how many goroutines have one stack.
type Group struct {
	Count int
	Goroutine
}

// Labelled are the goroutines that have one of the labels, by their stacks, the present one
// among them.
func Labelled(labels ...Label) []Group {
	return Grouped(slices.DeleteFunc(All(), func(g Goroutine) bool { return !g.has(labels) }))
}

// Grouped are goroutines by their stacks.
func Grouped(each []Goroutine) (all []Group) {
	at := map[string]int{}
	for _, g := range each {
		key := g.Key()
		i, known := at[key]
		if !known {
			i, at[key] = len(all), len(all)
			all = append(all, Group{0, g})
		}
		all[i].Count++
	}
	return all
}

// has reports whether the goroutine has one of the labels.
func (g Goroutine) has(labels []Label) bool {
	return g.run != "" && slices.ContainsFunc(labels, func(l Label) bool { return l.run == g.run })
}

// beforeLast is what stands before the last of a character, or the whole text where it is not in it.
func beforeLast(text string, c byte) string {
	if at := strings.LastIndexByte(text, c); at >= 0 {
		return text[:at]
	}
	return text
}

// All are all goroutines of the program, the present one first.
func All() (all []Goroutine) {
	for text := range strings.SplitSeq(stacks(), "\n\n") {
		all = append(all, readTraceback(text))
	}
	return all
}

// Here is the present goroutine.
func Here() Goroutine {
	text := make([]byte, 1<<14)
	g := readTraceback(string(text[:runtime.Stack(text, false)]))
	g.Stack = g.Stack[min(1, len(g.Stack)):]
	if g.needsStarter() { // a look at all goroutines is dear
		g.starter = starterOf(g, byID(All()))
	}
	return g
}

// needsStarter reports whether it takes who started the goroutine to say where it is in user
// code: it is in none itself, and not the engine's either.
func (g Goroutine) needsStarter() bool {
	return g.userCalls() == "" && len(g.Stack) > 0 && !isOurs(g.Stack[len(g.Stack)-1].Function)
}

// ID is the runtime's number of the present goroutine.
func ID() int {
	var text [64]byte
	return readTraceback(string(text[:runtime.Stack(text[:], false)])).ID
}

func byID(all []Goroutine) map[int]Goroutine {
	known := make(map[int]Goroutine, len(all))
	for _, g := range all {
		known[g.ID] = g
	}
	return known
}

// starterOf is the call of user code that started a goroutine, or the one that started it;
// empty where that has ended and left no trace.
func starterOf(g Goroutine, alive map[int]Goroutine) string {
	for {
		if g.Origin.Function == "" || g.Origin.isUsers() {
			return strings.TrimSuffix(g.Origin.String(), " at ")
		}
		parent, known := alive[g.parent]
		if !known {
			return ""
		}
		// Where user code is by now says nothing, unless it is still in the call that started it.
		within := false
		for _, f := range parent.Stack {
			if within = within || f.Function == g.Origin.Function; !f.isUsers() {
				continue
			}
			if within {
				return f.String()
			}
			return ""
		}
		g = parent
	}
}

// traces has the room of the last traces of all goroutines: one that does not fit is made
// again, and stops the program again.
var traces = sync.Pool{New: func() any { room := make([]byte, 1<<16); return &room }}

// stacks is the trace of all goroutines.
func stacks() string {
	nameLabels()
	room := traces.Get().(*[]byte)
	defer traces.Put(room)
	for {
		if n := runtime.Stack(*room, true); n < len(*room) {
			return string((*room)[:n])
		}
		*room = make([]byte, 2*len(*room))
	}
}

// nameLabels has traces name the labels of goroutines, which Go 1.26 does where GODEBUG says
// so. Nothing else says which goroutine has which label: a profile knows the labels and no
// goroutines, and what moves is not the same in both.
func nameLabels() {
	const setting = "tracebacklabels=1"
	if settings := os.Getenv("GODEBUG"); !strings.Contains(settings, setting) {
		_ = os.Setenv("GODEBUG", strings.TrimPrefix(settings+","+setting, ",")) // of two settings the last counts
	}
}

// elided begins the line of a trace that stands for the calls in the midst of a deep stack.
const elided = "..."

// readTraceback reads the trace of one goroutine: a heading with its number, its state and
// its labels, two lines for each call, and two for where it was started.
func readTraceback(text string) (g Goroutine) {
	heading, calls, _ := strings.Cut(text, "\n")
	number, state, _ := strings.Cut(strings.TrimPrefix(heading, "goroutine "), " [")
	g.ID, _ = strconv.Atoi(number)
	state, labelled, _ := strings.Cut(state, " labels:{")
	if _, run, has := strings.Cut(labelled, strconv.Quote(labelKey)+`: "`); has {
		g.run, _, _ = strings.Cut(run, `"`)
	}
	state, _, _ = strings.Cut(state, "]")
	g.State, state, _ = strings.Cut(state, ",") // behind it stands since when, and where
	g.State = strings.TrimSuffix(g.State, " (durable)")
	g.Bubbled = strings.Contains(state, "synctest bubble")
	lines := strings.Split(strings.TrimSuffix(calls, "\n"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], elided) {
			i--
			continue
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if creator, ok := strings.CutPrefix(lines[i], "created by "); ok {
			creator, parent, _ := strings.Cut(creator, " in goroutine ")
			g.parent, _ = strconv.Atoi(parent)
			g.Origin = frameOf(creator, place)
			continue
		}
		g.Stack = append(g.Stack, frameOf(beforeLast(lines[i], '('), place))
	}
	return g
}

// frameOf is a call as a trace has it, which names a closure by who called the function that it
// stands in: so a library's would pass for user code.
func frameOf(function, place string) Frame {
	return Frame{codeplace.Named(function, beforeLast(place, ':')), place}
}

// Of are the goroutines that have one of the labels, but for the present one.
func Of(labels ...Label) []Goroutine {
	all, _ := apart(labels)
	return all
}

// apart is Of, and the goroutines that have none of the labels, but for those of runs that
// were given up. User code may label its goroutines by itself, and lose the run's: who
// descends from the goroutine that began a run is of it too, as far as the ancestors live.
func apart(labels []Label) (all, others []Goroutine) {
	present := All()
	alive := byID(present)
	for _, g := range present[1:] { // the first one looks
		if g.run == "" {
			g.run = ancestry(g, alive)
		}
		switch {
		case g.has(labels):
			all = append(all, g)
		case !isLost(g.run):
			others = append(others, g)
		}
	}
	return withStarters(all, alive), others
}

// withStarters fills in where goroutines without user code come from.
func withStarters(all []Goroutine, alive map[int]Goroutine) []Goroutine {
	for i := range all {
		if all[i].needsStarter() {
			all[i].starter = starterOf(all[i], alive)
		}
	}
	return all
}

// ancestry is the number of the run that a goroutine descends from; empty where it is of none,
// and where an ancestor has ended.
func ancestry(g Goroutine, alive map[int]Goroutine) (run string) {
	for known := true; known; g, known = alive[g.parent] {
		if root, ok := roots.Load(g.ID); ok {
			return root.(string)
		}
		if g.run != "" {
			return g.run
		}
	}
	return ""
}

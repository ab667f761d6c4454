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
	// ID is the runtime's number of the goroutine; 0 if it is not known.
	ID int
	// State is the runtime's name for its state, such as select; "" if it is not known.
	State string
	// Bubbled says that it is in a testing/synctest bubble, which has its own time.
	Bubbled bool
	// Stack has the innermost call first.
	Stack []Frame
	// Origin is where it was started; empty if that is not known.
	Origin Frame

	parent  int    // the goroutine that started it
	run     string // the number of the run whose label it has; "" for none
	starter string // the call of user code that it comes from, if it has none itself
}

// keyFrames is how many calls Key uses: the trace of a deep stack is incomplete.
const keyFrames = 32

// Key identifies a stack by its innermost calls.
func (g Goroutine) Key() string {
	var text strings.Builder
	for _, f := range g.Stack[:min(keyFrames, len(g.Stack))] {
		if !strings.HasPrefix(f.Function, "runtime.") && f.Function != "panic" { // a goroutine that has just been woken is still at the same place
			text.WriteString(f.Place + "\n")
		}
	}
	return text.String()
}

// labelKey is the key of the label of a run's goroutines, and whatKey the key of the label that
// says what the run is for.
const (
	labelKey = "adkreplay-run"
	whatKey  = "adkreplay-schedule"
)

var labels atomic.Int64

// Label identifies the goroutines of one run.
type Label struct {
	context context.Context
	run     string // the number of the run
}

// NewLabel returns a new, unique label.
func NewLabel() Label {
	run := strconv.FormatInt(labels.Add(1), 10)
	return Label{pprof.WithLabels(context.Background(), pprof.Labels(labelKey, run)), run}
}

// Set sets the label on the current goroutine, and on all that it starts from then on.
func (l Label) Set() { pprof.SetGoroutineLabels(l.context) }

// SetFor is like Set, and also records what the run is for, unless what is empty. A panic that ends
// the program shows it in the heading of its goroutine.
func (l Label) SetFor(what string) {
	if what == "" {
		l.Set()
		return
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(l.context, pprof.Labels(whatKey, what)))
}

// roots maps the numbers of the goroutines that began runs to the numbers of the runs.
var roots sync.Map

// Begin sets the label on the current goroutine as the one that begins the run. end must be called
// when the goroutine ends.
func (l Label) Begin() (end func()) {
	l.Set()
	id := ID()
	roots.Store(id, l.run)
	return func() { roots.Delete(id) }
}

// lost holds the numbers of the runs that were given up.
var lost sync.Map

// Lose records that the run was given up, so that what its goroutines hold is lost for other runs.
func (l Label) Lose() { lost.Store(l.run, true) }

func isLost(run string) bool {
	_, ok := lost.Load(run)
	return ok
}

// Group is a number of goroutines with the same stack.
type Group struct {
	Count int
	Goroutine
}

// Labelled returns the goroutines that have one of the labels, grouped by their stacks, including
// the current one.
func Labelled(labels ...Label) []Group {
	return Grouped(slices.DeleteFunc(All(), func(g Goroutine) bool { return !g.has(labels) }))
}

// Grouped groups goroutines by their stacks.
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

// beforeLast returns the text before the last c, or the whole text if there is no c.
func beforeLast(text string, c byte) string {
	if at := strings.LastIndexByte(text, c); at >= 0 {
		return text[:at]
	}
	return text
}

// All returns all goroutines of the program, the current one first.
func All() (all []Goroutine) {
	for text := range strings.SplitSeq(stacks(), "\n\n") {
		all = append(all, readTraceback(text))
	}
	return all
}

// Here returns the current goroutine.
func Here() Goroutine {
	text := make([]byte, 1<<14)
	g := readTraceback(string(text[:runtime.Stack(text, false)]))
	g.Stack = g.Stack[min(1, len(g.Stack)):]
	if g.needsStarter() { // a snapshot of all goroutines is slow
		g.starter = starterOf(g, byID(All()))
	}
	return g
}

// needsStarter reports whether the goroutine can be located in user code only by the one that
// started it: it has no user code on its stack, and is not the engine's.
func (g Goroutine) needsStarter() bool {
	return g.userCalls() == "" && len(g.Stack) > 0 && !isOurs(g.Stack[len(g.Stack)-1].Function)
}

// ID returns the runtime's number of the current goroutine.
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

// starterOf returns the call of user code that started a goroutine, directly or through other
// goroutines. It returns "" if one of those has ended.
func starterOf(g Goroutine, alive map[int]Goroutine) string {
	for {
		if g.Origin.Function == "" || g.Origin.isUsers() {
			return strings.TrimSuffix(g.Origin.String(), " at ")
		}
		parent, known := alive[g.parent]
		if !known {
			return ""
		}
		// The parent's current position counts only if it is still in the call that started the
		// goroutine.
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

// traces pools buffers of the last size. A trace that does not fit its buffer must be taken again,
// which stops the program again.
var traces = sync.Pool{New: func() any { room := make([]byte, 1<<16); return &room }}

// stacks returns the traces of all goroutines.
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

// nameLabels makes traces include the labels of goroutines, which Go 1.26 does if GODEBUG says so.
// Nothing else tells which goroutine has which label: a profile has the labels but not the
// goroutines, and by the time of a second snapshot the goroutines have moved.
func nameLabels() {
	const setting = "tracebacklabels=1"
	if settings := os.Getenv("GODEBUG"); !strings.Contains(settings, setting) {
		_ = os.Setenv("GODEBUG", strings.TrimPrefix(settings+","+setting, ",")) // the last of two equal settings counts
	}
}

// elided begins the line of a trace that stands for the omitted calls in the middle of a deep
// stack.
const elided = "..."

// readTraceback parses the trace of one goroutine: a heading with its number, state and labels, two
// lines for each call, and two for where it was started.
func readTraceback(text string) (g Goroutine) {
	heading, calls, _ := strings.Cut(text, "\n")
	number, state, _ := strings.Cut(strings.TrimPrefix(heading, "goroutine "), " [")
	g.ID, _ = strconv.Atoi(number)
	state, labelled, _ := strings.Cut(state, " labels:{")
	if _, run, has := strings.Cut(labelled, strconv.Quote(labelKey)+`: "`); has {
		g.run, _, _ = strings.Cut(run, `"`)
	}
	state, _, _ = strings.Cut(state, "]")
	g.State, state, _ = strings.Cut(state, ",") // what follows says since when, and in which bubble
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

// frameOf returns a call of a trace. A trace names a closure after the caller that its function was
// inlined into, so a library's closure would pass for user code; codeplace.Named corrects that.
func frameOf(function, place string) Frame {
	return Frame{codeplace.Named(function, beforeLast(place, ':')), place}
}

// Of returns the goroutines that have one of the labels, except for the current one.
func Of(labels ...Label) []Goroutine {
	all, _ := apart(labels)
	return all
}

// apart returns the goroutines of Of, and also all others, except those of runs that were given up.
// User code may set its own labels and so lose the run's label; therefore a goroutine that descends
// from the one that began a run belongs to that run, as long as its ancestors live.
func apart(labels []Label) (all, others []Goroutine) {
	present := All()
	alive := byID(present)
	for _, g := range present[1:] { // the first one is the current goroutine
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

// withStarters sets the starters of goroutines that have no user code.
func withStarters(all []Goroutine, alive map[int]Goroutine) []Goroutine {
	for i := range all {
		if all[i].needsStarter() {
			all[i].starter = starterOf(all[i], alive)
		}
	}
	return all
}

// ancestry returns the number of the run that a goroutine descends from. It returns "" if there is
// none, or if an ancestor has ended.
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

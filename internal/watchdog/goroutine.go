package watchdog

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	run     string // the text of the label of the run that it descends from, where that is known
	starter string // the call of user code that it comes from, where it has none itself
}

// keyFrames is how many calls Key looks at: neither a trace nor a profile has all of a
// deep stack.
const keyFrames = 32

// Key tells stacks apart, by their innermost calls.
func (g Goroutine) Key() string {
	var text strings.Builder
	for _, f := range g.Stack[:min(keyFrames, len(g.Stack))] {
		// The profile leaves some of the runtime's calls out, and others have another name.
		if !strings.HasPrefix(f.Function, "runtime.") && f.Function != "panic" {
			text.WriteString(f.Place + "\n")
		}
	}
	return text.String()
}

// labelKey is the key of the label that the goroutines of a run have.
const labelKey = "adkreplay-run"

var labels atomic.Int64

// Label tells the goroutines of one run from all others.
type Label struct {
	context context.Context
	text    []byte
}

// NewLabel makes a label that nobody has.
func NewLabel() Label {
	number := strconv.FormatInt(labels.Add(1), 10)
	return Label{pprof.WithLabels(context.Background(), pprof.Labels(labelKey, number)),
		[]byte(strconv.Quote(labelKey) + ":" + strconv.Quote(number))}
}

// Set gives the label to the present goroutine, and to all that it starts from here
// on.
func (l Label) Set() { pprof.SetGoroutineLabels(l.context) }

// roots are the goroutines that began runs, by their numbers, with the texts of labels.
var roots sync.Map

// Begin gives the label to the present goroutine, as the one that the run begins with.
// End is to be called when it ends.
func (l Label) Begin() (end func()) {
	l.Set()
	id := ID()
	roots.Store(id, string(l.text))
	return func() { roots.Delete(id) }
}

// lost are the texts of the labels of runs that were given up.
var lost sync.Map

// Lose says that the run is given up: what its goroutines have nobody else will get.
func (l Label) Lose() { lost.Store(string(l.text), true) }

func isLost(label string) bool {
	_, is := lost.Load(label)
	return is
}

// Group is how many goroutines have one stack.
type Group struct {
	Count int
	Goroutine
}

// Labelled are the goroutines that have one of the labels, by their stacks; their
// states are not known.
func Labelled(labels ...Label) (all []Group) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	for text := range bytes.SplitSeq(profile.Bytes(), []byte("\n\n")) {
		if slices.ContainsFunc(labels, func(l Label) bool { return bytes.Contains(text, l.text) }) {
			all = append(all, readGroup(string(text)))
		}
	}
	return all
}

// readGroup reads what a profile says of goroutines with one stack: how many they
// are, and a line for each call.
func readGroup(text string) (g Group) {
	for line := range strings.Lines(text) {
		parts := strings.Fields(line)
		switch {
		case len(parts) > 1 && parts[1] == "@": // the first group stands below a heading
			g.Count, _ = strconv.Atoi(parts[0])
		case len(parts) == 4 && parts[0] == "#":
			function, _, _ := cutLast(parts[2], "+0x")
			g.Stack = append(g.Stack, Frame{function, parts[3]})
		}
	}
	return g
}

// cutLast is strings.Cut around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(text, separator); at >= 0 {
		return text[:at], text[at+len(separator):], true
	}
	return text, "", false
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
	if g.userCalls() == "" {
		g.starter = starterOf(g, byID(All()))
	}
	return g
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
		known := false
		if g, known = alive[g.parent]; !known {
			return ""
		}
		for _, f := range g.Stack {
			if f.isUsers() {
				return f.String()
			}
		}
	}
}

// traces has the room of the last traces of all goroutines: one that does not fit is made
// again, and stops the program again.
var traces = sync.Pool{New: func() any { room := make([]byte, 1<<16); return &room }}

// stacks is the trace of all goroutines.
func stacks() string {
	room := traces.Get().(*[]byte)
	defer traces.Put(room)
	for {
		if n := runtime.Stack(*room, true); n < len(*room) {
			return string((*room)[:n])
		}
		*room = make([]byte, 2*len(*room))
	}
}

// readTraceback reads the trace of one goroutine: a heading with its number and its
// state, two lines for each call, and two for where it was started.
func readTraceback(text string) (g Goroutine) {
	heading, calls, _ := strings.Cut(text, "\n")
	number, state, _ := strings.Cut(strings.TrimPrefix(heading, "goroutine "), " [")
	g.ID, _ = strconv.Atoi(number)
	state, _, _ = strings.Cut(state, "]")
	g.State, state, _ = strings.Cut(state, ",") // behind it stands since when, and where
	g.State = strings.TrimSuffix(g.State, " (durable)")
	g.Bubbled = strings.Contains(state, "synctest bubble")
	lines := strings.Split(strings.TrimSuffix(calls, "\n"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if creator, is := strings.CutPrefix(lines[i], "created by "); is {
			creator, parent, _ := strings.Cut(creator, " in goroutine ")
			g.parent, _ = strconv.Atoi(parent)
			g.Origin = Frame{creator, place}
			continue
		}
		function, _, _ := cutLast(lines[i], "(")
		g.Stack = append(g.Stack, Frame{function, place})
	}
	return g
}

// Of are the goroutines that have one of the labels, but for the present one. It
// reports whether these are all of them. Who descends from the goroutine that began a
// run is known at one look; of those whose parents have ended a profile says it, and
// while such a one moves, its stack is not the same in both.
func Of(labels ...Label) (all []Goroutine, whole bool) {
	all, _, whole = apart(labels)
	return all, whole
}

// apart is Of, and the goroutines that have none of the labels, but for those of runs that
// were given up.
func apart(labels []Label) (all, others []Goroutine, whole bool) {
	present := All()
	alive := byID(present)
	var orphans []Goroutine
	looks := 0 // the present goroutine is one of them
	for i, g := range present {
		label, known := ancestry(g, alive)
		ours := known && slices.ContainsFunc(labels, func(l Label) bool { return label == string(l.text) })
		switch {
		case i == 0 && ours:
			looks = 1
		case i == 0:
		case ours:
			all = append(all, g)
		case !known && !isForeign(g, labels):
			orphans = append(orphans, g)
		case !isLost(label):
			g.run = label
			others = append(others, g)
		}
	}
	if len(orphans) == 0 {
		return withStarters(all, alive), others, true
	}
	found, strangers, missing := adopted(orphans, all, labels)
	if missing == looks {
		for _, g := range strangers {
			for _, l := range labels {
				foreign.Store(stranger{g.ID, string(l.text)}, true)
			}
		}
	}
	return withStarters(append(all, found...), alive), append(others, strangers...), missing == looks
}

// withStarters fills in where goroutines without user code come from.
func withStarters(all []Goroutine, alive map[int]Goroutine) []Goroutine {
	for i := range all {
		if all[i].userCalls() == "" {
			all[i].starter = starterOf(all[i], alive)
		}
	}
	return all
}

// foreign are the goroutines that are known not to have a label: labels are inherited,
// and stay.
var foreign sync.Map

type stranger struct {
	id    int
	label string
}

func isForeign(g Goroutine, labels []Label) bool {
	return !slices.ContainsFunc(labels, func(l Label) bool {
		_, known := foreign.Load(stranger{g.ID, string(l.text)})
		return !known
	})
}

// ancestry is the label of the run that a goroutine descends from, empty for none. It is
// not known where an ancestor has ended.
func ancestry(g Goroutine, alive map[int]Goroutine) (label string, known bool) {
	for {
		if root, ok := roots.Load(g.ID); ok {
			return root.(string), true
		}
		if g.parent == 0 {
			return "", true
		}
		if g, known = alive[g.parent]; !known {
			return "", false
		}
	}
}

// adopted are the orphans that have one of the labels, by their stacks, those of which
// that is not seen, and how many more goroutines have one than are known to.
func adopted(orphans, known []Goroutine, labels []Label) (all, others []Goroutine, missing int) {
	wanted := map[string]int{}
	for _, g := range Labelled(labels...) {
		wanted[g.Key()] += g.Count
		missing += g.Count
	}
	for _, g := range known {
		wanted[g.Key()]--
		missing--
	}
	for _, g := range orphans {
		key := g.Key()
		if wanted[key] <= 0 {
			others = append(others, g)
			continue
		}
		wanted[key]--
		missing--
		all = append(all, g)
	}
	return all, others, missing
}

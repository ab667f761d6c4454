package explore

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// This file finds the goroutines that runs leave behind, and says where they were
// started. Every goroutine inherits the label of the one that starts it, so those
// of a program's other parts, and of other explorations, are not seen.

// explorations numbers explorations, for the labels of their goroutines.
var explorations atomic.Int64

// labelled is a context whose label every goroutine inherits that is started
// while turns are explored, and the label as the runtime's profile writes it.
func labelled() (context.Context, []byte) {
	const key = "adkreplay-exploration"
	number := strconv.FormatInt(explorations.Add(1), 10)
	labels := pprof.WithLabels(context.Background(), pprof.Labels(key, number))
	return labels, []byte(strconv.Quote(key) + ":" + strconv.Quote(number))
}

// stray is what several goroutines are doing that are still there.
type stray struct {
	count  int
	stack  []stackFrame // the innermost call first
	state  string       // such as select; empty where nobody knows
	origin stackFrame   // where it was started; empty where nobody knows
}

// stackFrame is one call in a stack trace.
type stackFrame struct{ function, place string }

// leaks looks for strays of explored runs.
type leaks struct {
	label      []byte
	background []string // functions whose goroutines may stay
}

// explorerLane is the function that an explorer's own goroutines run.
const explorerLane = "property/explore.(*lane).serve"

// pooled are functions of goroutines that belong to a pool of connections, and not
// to who asked it for one.
var pooled = regexp.MustCompile(`^(` +
	`net/http\.\(\*persistConn\)\.writeLoop|` +
	`net/http\.\(\*Transport\)\.(dialConnFor|startDialConnForLocked.*)|` +
	`(net/http|net/http/internal/http2|golang\.org/x/net/http2)\.\(\*(http2)?ClientConn\)\.readLoop|` +
	`database/sql\.\(\*DB\)\.(connectionOpener|connectionCleaner))$`)

// The function that reads a connection of net/http, and what it does while nobody
// uses the connection. One that does something else has a response whose body
// nobody has read to its end or closed.
const (
	connectionReader = "net/http.(*persistConn).readLoop"
	awaitsResponse   = "bufio.(*Reader).Peek"
)

// mayStay reports whether a goroutine with such a stack may outlive a turn.
func (l leaks) mayStay(s stray) bool {
	calls := func(function string) bool {
		return slices.ContainsFunc(s.stack, func(f stackFrame) bool { return f.function == function })
	}
	for _, f := range s.stack {
		if strings.HasSuffix(f.function, explorerLane) || pooled.MatchString(f.function) || slices.Contains(l.background, f.function) {
			return true
		}
	}
	return calls(connectionReader) && calls(awaitsResponse)
}

// now are the strays of this moment.
func (l leaks) now() (strays []stray) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(group, string(l.label)) {
			continue
		}
		if s := readGroup(group); !l.mayStay(s) {
			strays = append(strays, s)
		}
	}
	return strays
}

// readGroup reads what a profile says of goroutines with one stack: how many they
// are, and a line for each call.
func readGroup(group string) (s stray) {
	for line := range strings.Lines(group) {
		parts := strings.Fields(line)
		switch {
		case len(parts) > 1 && parts[1] == "@": // the first group stands below a heading
			s.count, _ = strconv.Atoi(parts[0])
		case len(parts) == 4 && parts[0] == "#":
			function, _, _ := cutLast(parts[2], "+0x")
			s.stack = append(s.stack, stackFrame{function, parts[3]})
		}
	}
	return s
}

// cutLast is strings.Cut around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(text, separator); at >= 0 {
		return text[:at], text[at+len(separator):], true
	}
	return text, "", false
}

// Patience with goroutines that are about to end: how often they are looked for at
// once, and how often with a pause before it.
const (
	looksAtOnce = 20
	looksLater  = 50
	lookPause   = 5 * time.Millisecond
)

// beyond are the strays beyond those that there were. Those that are about to end
// are given the time to do so.
func (l leaks) beyond(before []stray) (left []stray) {
	for look := range looksAtOnce + looksLater {
		if left = moreThan(before, l.now()); len(left) == 0 {
			return nil
		}
		if look >= looksAtOnce {
			time.Sleep(lookPause)
		}
		for range 100 {
			runtime.Gosched()
		}
	}
	return withOrigins(left)
}

// moreThan are the strays of one moment that were not there at another.
func moreThan(before, strays []stray) (left []stray) {
	known := map[string]int{}
	for _, s := range before {
		known[s.key()] += s.count
	}
	for _, s := range strays {
		more := s.count - known[s.key()]
		known[s.key()] = max(0, -more)
		if s.count = more; more > 0 {
			left = append(left, s)
		}
	}
	return left
}

// key tells stacks apart.
func (s stray) key() string {
	var text strings.Builder
	for _, f := range s.stack {
		if !strings.HasPrefix(f.function, "runtime.") { // the profile leaves some of them out
			text.WriteString(f.place + "\n")
		}
	}
	return text.String()
}

// withOrigins fills in what only a trace of all goroutines says, which knows no
// labels: it is the same stack that tells which they are.
func withOrigins(strays []stray) []stray {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 2); err != nil {
		return strays
	}
	byStack := map[string]stray{}
	for text := range strings.SplitSeq(all.String(), "\n\n") {
		s := readTraceback(text)
		byStack[s.key()] = s
	}
	for i, s := range strays {
		traced := byStack[s.key()]
		strays[i].state, strays[i].origin = traced.state, traced.origin
	}
	return strays
}

// readTraceback reads the trace of one goroutine: a heading with its state, two
// lines for each call, and two for where it was started.
func readTraceback(text string) (s stray) {
	heading, calls, _ := strings.Cut(text, "\n")
	_, state, _ := strings.Cut(heading, "[")
	s.state, _, _ = strings.Cut(state, "]")
	lines := strings.Split(calls, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if creator, is := strings.CutPrefix(lines[i], "created by "); is {
			creator, _, _ = strings.Cut(creator, " in goroutine ")
			s.origin = stackFrame{creator, place}
			continue
		}
		function, _, _ := cutLast(lines[i], "(")
		s.stack = append(s.stack, stackFrame{function, place})
	}
	return s
}

// String says how many they are, where they were started and where they are.
func (s stray) String() string {
	text := inWords(s.count, "goroutine")
	if s.origin.function != "" {
		text += fmt.Sprintf(" started by %s at %s", s.origin.function, s.origin.place)
	}
	if len(s.stack) == 0 {
		return text
	}
	at := s.stack[len(s.stack)-1]
	text += fmt.Sprintf(", in %s at %s", at.function, at.place)
	if s.state != "" {
		text += " (" + s.state + ")"
	}
	if at.function == connectionReader {
		text += ": the body of a response was neither read to its end nor closed"
	}
	return text
}

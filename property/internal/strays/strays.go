package strays

import (
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// Stray is a group of goroutines that are still there and do the same.
type Stray = watchdog.Group

// Watch looks for strays of explored runs.
type Watch struct {
	// Labels returns the labels of the runs.
	Labels func() []watchdog.Label
	// Background names functions whose goroutines may stay.
	Background []string
	// Over reports whether there is no time left to wait for goroutines that are about to end.
	Over func() bool
}

// explorerLane is the function that an explorer's own goroutines run.
const explorerLane = "property/explore.(*lane).serve"

// pooled matches functions of goroutines that belong to a pool of connections, and not to the code
// that asked for a connection.
var pooled = regexp.MustCompile(`^(` +
	`net/http\.\(\*persistConn\)\.writeLoop|` +
	`net/http\.\(\*Transport\)\.(dialConnFor|startDialConnForLocked.*)|` +
	`(net/http|net/http/internal/http2|golang\.org/x/net/http2)\.\(\*(http2)?ClientConn\)\.readLoop|` +
	`database/sql\.\(\*DB\)\.(connectionOpener|connectionCleaner))$`)

// The function that reads a connection of net/http, and the function that it calls while the
// connection is unused. A reader that does something else has a response whose body was neither
// read to its end nor closed.
const (
	connectionReader = "net/http.(*persistConn).readLoop"
	awaitsResponse   = "bufio.(*Reader).Peek"
)

// clientSends is the function with which a client of net/http sends a request. clientWaiter is the
// prefix of the goroutine that meanwhile enforces the client's timeout. It ends with the request,
// which never ends if the explorer breaks the client off: that cannot happen outside of an
// exploration.
const (
	clientSends  = "net/http.send"
	clientWaiter = "net/http.setRequestCancel."
)

// InClient reports whether the current goroutine sends a request with a client of net/http.
func InClient() bool {
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if frame.Function == clientSends || !more {
			return frame.Function == clientSends
		}
	}
}

// OfClients returns the goroutines that clients have left behind which were broken off in InClient,
// as one group of that number; none if there are none.
func (w Watch) OfClients(brokenOff int) []Stray {
	if brokenOff == 0 { // a look at all goroutines is expensive
		return nil
	}
	for _, s := range w.Now() {
		if ofClient(s) {
			s.Count = brokenOff
			return []Stray{s}
		}
	}
	return nil
}

// ofClient reports whether a goroutine enforces the timeout of a client of net/http.
func ofClient(s Stray) bool {
	return slices.ContainsFunc(s.Stack, func(f watchdog.Frame) bool { return strings.HasPrefix(f.Function, clientWaiter) })
}

// mayStay reports whether a goroutine with such a stack may outlive a turn.
func (w Watch) mayStay(s Stray) bool {
	calls := func(function string) bool {
		return slices.ContainsFunc(s.Stack, func(f watchdog.Frame) bool { return f.Function == function })
	}
	for _, f := range s.Stack {
		if strings.HasSuffix(f.Function, explorerLane) || pooled.MatchString(f.Function) || slices.Contains(w.Background, f.Function) {
			return true
		}
	}
	return calls(connectionReader) && calls(awaitsResponse)
}

// Now returns the current strays.
func (w Watch) Now() []Stray { return slices.DeleteFunc(watchdog.Labelled(w.Labels()...), w.mayStay) }

// Beyond returns the current strays except for those in before. It waits for goroutines that are
// about to end; if there is no time left to wait, it returns none.
func (w Watch) Beyond(before []Stray) []Stray {
	for rest := (watchdog.Rest{}); ; rest.Pause() {
		over := rest.IsOver() // only goroutines that are seen after this have stayed
		left := moreThan(before, w.Now())
		switch {
		case len(left) == 0, !over && rest.IsLong() && w.Over():
			return nil
		case over:
			return left
		}
	}
}

// moreThan returns the strays that are not in before.
func moreThan(before, strays []Stray) (left []Stray) {
	known := map[string]int{}
	for _, s := range before {
		known[keyOf(s)] += s.Count
	}
	for _, s := range strays {
		more := s.Count - known[keyOf(s)]
		known[keyOf(s)] = max(0, -more)
		if s.Count = more; more > 0 {
			left = append(left, s)
		}
	}
	return left
}

// keyOf identifies a stray. All strays of clients have one key, wherever they are: on a busy
// machine such a goroutine may not have begun when it is counted, and wait later.
func keyOf(s Stray) string {
	if ofClient(s) {
		return clientWaiter
	}
	return s.Key()
}

// openers are the functions of package sql that start the goroutines which wait for the end of a
// transaction, or of rows.
var openers = []string{"database/sql.(*DB).beginDC", "database/sql.(*Rows).initContextClose"}

// held are functions of the standard library whose goroutines stay until user code ends something,
// and what it has not ended then. User code has not started these goroutines itself.
var held = map[string]string{
	connectionReader:                 "the body of a response was neither read to its end nor closed",
	"database/sql.(*Tx).awaitDone":   "a transaction was neither committed nor rolled back",
	"database/sql.(*Rows).awaitDone": "rows were neither read to their end nor closed",
}

// Unended says what package sql keeps open for goroutines with a label, except for the goroutines
// in before. It waits for what is about to end, and returns an empty string if nothing is open, and
// if another goroutine still runs user code, which may end it. Call it before the context of the
// run ends: that closes everything, and hides what user code forgot to close.
func Unended(label watchdog.Label, before []int) string {
	for rest := (watchdog.Rest{}); ; rest.Pause() {
		over := rest.IsOver()
		open, users := opened(label, before)
		switch {
		case len(open) == 0, over && users:
			return ""
		case over:
			return Text(watchdog.Grouped(open))
		}
	}
}

// opened returns the goroutines of Unended at this moment, including those that are about to end,
// and whether other goroutines run user code.
func opened(label watchdog.Label, before []int) (open []watchdog.Goroutine, users bool) {
	for _, g := range watchdog.Of(label) {
		switch {
		case slices.Contains(before, g.ID):
		case slices.Contains(openers, g.Origin.Function):
			open = append(open, g)
		default:
			users = users || g.IsInUserCode()
		}
	}
	return open, users
}

// Open returns the numbers of the goroutines that keep something open at this moment, except for
// those in before.
func Open(label watchdog.Label, before []int) []int {
	open, _ := opened(label, before)
	return numbers(open)
}

// Numbers returns the numbers of all goroutines with a label, except for the current one.
func Numbers(label watchdog.Label) []int { return numbers(watchdog.Of(label)) }

func numbers(all []watchdog.Goroutine) (ids []int) {
	for _, g := range all {
		ids = append(ids, g.ID)
	}
	return ids
}

// Text says how many goroutines there are in all and, for each group, how many, where they were
// started and where they are.
func Text(strays []Stray) string {
	count, each, whose := 0, "", ""
	for _, s := range strays {
		count += s.Count
		each += "\n" + line(s)
		if len(s.Stack) == 0 || held[s.Stack[len(s.Stack)-1].Function] == "" {
			whose = ": started by user code, and waited for by nobody"
		}
	}
	return safetext.Counted(count, "goroutine") + " had not ended when the turn had" + whose + each
}

func line(s Stray) string {
	text := safetext.Counted(s.Count, "goroutine")
	if s.Origin.Function != "" {
		text += " started by " + s.Origin.String()
	}
	if len(s.Stack) == 0 {
		return text
	}
	at := s.Stack[len(s.Stack)-1]
	text += ", in " + at.String()
	if s.State != "" {
		text += " (" + s.State + ")"
	}
	if what := held[at.Function]; what != "" {
		text += ": " + what
	}
	return text
}

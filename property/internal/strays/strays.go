package strays

import (
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// Stray is what several goroutines are doing that are still there.
type Stray = watchdog.Group

// Watch looks for strays of explored runs.
type Watch struct {
	// Labels gives those of the runs.
	Labels func() []watchdog.Label
	// Background are the functions whose goroutines may stay.
	Background []string
	// Over reports whether there is no time left to wait for those that are about to end.
	Over func() bool
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

// What a client of net/http sends a request with, and what has it keep to its timeout
// meanwhile. That ends with the request, which has no end where the client is broken off: no
// world does that.
const (
	clientSends  = "net/http.send"
	clientWaiter = "net/http.setRequestCancel."
)

// InClient reports whether the present goroutine sends a request with a client of net/http.
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

// OfClients are as many goroutines as clients left that were broken off in InClient, if there
// are any.
func (w Watch) OfClients(brokenOff int) []Stray {
	if brokenOff == 0 { // a look at all goroutines is dear
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

// ofClient reports whether a goroutine keeps a client of net/http to its timeout.
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

// Now are the strays of this moment.
func (w Watch) Now() []Stray { return slices.DeleteFunc(watchdog.Labelled(w.Labels()...), w.mayStay) }

// Beyond are the strays beyond those that there were. Those that are about to end are given
// the time to do so; where there is none left, nobody is said to be one.
func (w Watch) Beyond(before []Stray) []Stray {
	for rest := (watchdog.Rest{}); ; rest.Pause() {
		over := rest.IsOver() // it is those who are there behind it who stay
		left := moreThan(before, w.Now())
		switch {
		case len(left) == 0, !over && rest.IsLong() && w.Over():
			return nil
		case over:
			return left
		}
	}
}

// moreThan are the strays of one moment that were not there at another.
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

// keyOf tells strays apart. Those of clients are one, wherever they are: on a busy machine one
// has not begun when it is counted, and waits later.
func keyOf(s Stray) string {
	if ofClient(s) {
		return clientWaiter
	}
	return s.Key()
}

// openers begin the goroutines of package sql that wait for the end of a transaction, and of rows.
var openers = []string{"database/sql.(*DB).beginDC", "database/sql.(*Rows).initContextClose"}

// held are functions of the standard library's goroutines that stay until user code ends
// something, and what it has not ended then. It has started none of them itself.
var held = map[string]string{
	connectionReader:                 "the body of a response was neither read to its end nor closed",
	"database/sql.(*Tx).awaitDone":   "a transaction was neither committed nor rolled back",
	"database/sql.(*Rows).awaitDone": "rows were neither read to their end nor closed",
}

// Unended says what package sql keeps open for goroutines with a label beyond what there was before, once what
// is about to end has had the time to; empty where that is nothing. The end of their context ends it, and hides
// who has forgotten to.
func Unended(label watchdog.Label, before []int) string {
	for rest := (watchdog.Rest{}); ; rest.Pause() {
		over := rest.IsOver()
		open := opened(label, before)
		switch {
		case len(open) == 0:
			return ""
		case over:
			return Text(watchdog.Grouped(open))
		}
	}
}

// opened are the goroutines of Unended at this moment, those that are about to end too.
func opened(label watchdog.Label, before []int) []watchdog.Goroutine {
	return slices.DeleteFunc(watchdog.Of(label), func(g watchdog.Goroutine) bool {
		return !slices.Contains(openers, g.Origin.Function) || slices.Contains(before, g.ID)
	})
}

// Open are the numbers of the goroutines that keep something open at this moment, beyond those that there were
// before.
func Open(label watchdog.Label, before []int) (ids []int) {
	for _, g := range opened(label, before) {
		ids = append(ids, g.ID)
	}
	return ids
}

// Text says how many there are in all, and of each how many, where they were started and where
// they are.
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
